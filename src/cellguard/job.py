"""The one pipeline that every face uses: from a job to its outcome, and from an output folder back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from cellguard.assessment import Assessment, rule_doubts
from cellguard.attack.audit import audit
from cellguard.attack.foreign import Intervals
from cellguard.errors import InputError, did_you_mean, listing
from cellguard.files.compare import Again, compare
from cellguard.files.excel import check_excel
from cellguard.files.folder import OutputFolder
from cellguard.files.joined import ReadFolder, infer_folders
from cellguard.files.write import check_room
from cellguard.methods.hiding import assess_tables, read_known_totals, step
from cellguard.methods.suppression import Given
from cellguard.protect.method import Method, Protected
from cellguard.protect.outcome import Outcome
from cellguard.protect.suppress.explain import explain_pattern
from cellguard.results.proven import Proven
from cellguard.spec.jobfile import Job
from cellguard.spec.registry import find_method
from cellguard.table.tableset import TableSet
from cellguard.types import Run
from cellguard.verify.verify import CHECKS, Check


def run(job: Job, *, folder: str | Path | None = None, within: Run = Run(), **asked: Any) -> Outcome[Any]:  # noqa: ANN401, B008
    """Protect a job's tables as one set by their method, and check the result. Nothing is written.

    Parameters
    ----------
    job
        What to protect and how.
    folder
        Where the results will go, if that is known: whether there is room is checked before the search.
    within
        Progress, a deadline and threads.
    asked
        What the method can be asked for a single run: ``warm`` (an earlier output folder), ``accept_no_rules`` and
        ``intervals`` for suppression; ``multipliers`` (a saved file) and ``checked`` for perturbation.

    Raises
    ------
    InputError
        If the job, its data or what is asked is wrong.
    NotProtected
        If no pattern can be safe; the message says what to give up.

    >>> import tempfile
    >>> from cellguard.spec.jobfile import Job
    >>> text = "region,turnover,firms\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n"
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text(text)
    ...     table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"min_frequency": 3}],
    ...              "cells": {"source": "t.csv", "count": "firms"}}
    ...     outcome = run(Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> outcome.release["t"].value
    ['100', '', '50', '']
    """
    return _run(cast("type[Method[Any, Any]]", find_method(job.method)).of(job, asked), folder, within)


def audit_job(job: Job, *, within: Run = Run(), **asked: Any) -> Outcome[Proven]:  # noqa: ANN401, B008
    """Audit the pattern that a job describes: its unsafe cells, and the cells said to be ``secondary``.

    Parameters and errors are those of `run`.
    """
    refuse_other(job, "suppress")
    return _run(Given.of(job, asked), None, within)


def _run(method: Method[Any, Any], folder: str | Path | None, within: Run) -> Outcome[Any]:
    check_formats(method.job)
    seconds: dict[str, float] = {}
    assessed = method.assess(within, seconds)
    if folder is not None:
        check_room(folder, _cells(assessed))
    protected = method.protect(assessed, within, seconds)
    return _outcome(method, protected, seconds)


def _cells(assessed: Any) -> int:  # noqa: ANN401
    tables = getattr(assessed, "tables", ())
    return sum(len(table) for table in getattr(tables, "tables", tables))


def _outcome(method: Method[Any, Any], protected: Protected, seconds: dict[str, float]) -> Outcome[Any]:
    return Outcome(method, protected, seconds, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))


def refuse_other(job: Job, method: str) -> None:
    """Refuse a job whose tables are protected by another method than the one that is wanted here."""
    if job.method != method:
        done, wanted = find_method(job.method).participle, find_method(method).participle
        raise InputError(f"the job's tables are {done}, not {wanted}; use `cellguard protect` or `cellguard.run`")


def assess_job(job: Job, *, within: Run = Run()) -> Assessment:  # noqa: B008
    """Build the job's tables, link them, apply the rules and say what protection must achieve.

    Parameters
    ----------
    job
        What to protect and how; the method does not matter yet.
    within
        Progress.

    Raises
    ------
    InputError
        If the job or its data are wrong.

    >>> import tempfile
    >>> from cellguard.spec.jobfile import Job
    >>> table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}],
    ...          "cells": {"source": "t.csv", "count": "n"}}
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text("region,x,n\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n")
    ...     found = assess_job(Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> found.headline
    '1 unsafe cell of 4; nothing is protected yet'
    """
    return assess_tables(job, within, {})


def check_formats(job: Job) -> None:
    """Refuse a format that cannot be written here, before any work is done."""
    if "xlsx" in job.formats:
        check_excel()


def audit_folder(
    folder: str | Path,
    *,
    others: Sequence[str | Path] = (),
    intervals: bool = False,
    within: Run = Run(),  # noqa: B008
) -> Outcome[Proven]:
    """Audit an output folder anew, from its stored facts and hierarchies.

    Parameters
    ----------
    folder
        What a run wrote.
    others
        Further output folders: the attacker has all of these releases, and must come near to no unsafe cell of any.
    intervals
        Whether to work out the exact interval of every hidden cell.
    within
        Progress and threads.
    """
    seconds: dict[str, float] = {}
    with step("reading the folder", within, seconds):
        stored = OutputFolder(folder).stored(others)
    sums = None if stored.known is None else stored.known.sums
    with step("auditing", within, seconds):
        judged = audit(stored.needs, stored.pattern, known=sums, intervals=intervals, run=within.endless())
    proven = Proven(stored.findings, judged, stored.known, notes=tuple(rule_doubts(stored.findings)))
    return _outcome(Given(Job.load(OutputFolder(folder).inside / "job.yaml")), proven, seconds)


def infer_releases(
    folder: str | Path,
    others: Sequence[str | Path],
    *,
    within: Run = Run(),  # noqa: B008
) -> Intervals:
    """Work out from several releases what they tell of hidden cells, although some have no internal half.

    The first folder must have one. Without all true values it can only be told which cells are known exactly.
    """
    releases: list[ReadFolder | Path] = [OutputFolder(folder).read()]
    for other in others:
        here = OutputFolder(other)
        alone = here.outside if here.outside.is_dir() else Path(other)
        releases.append(here.read() if here.has_internal() else alone)
    return infer_folders(releases, within)


def verify_inputs(inside: str | Path, job: Job, *, within: Run = Run()) -> tuple[Check, ...]:  # noqa: B008
    """Check that the internal half of an output folder is what a job gives: its words, its files, and their facts.

    These checks go beyond those of `cellguard.verify`, which has the folder alone and takes its facts as given.
    """
    refuse_other(job, "suppress")
    assessment = assess_job(job, within=within)
    known = read_known_totals(assessment)
    again = Again(assessment.job, assessment.inputs, assessment.findings, None if known is None else known.sums)
    differences = compare(Path(inside), again)
    return tuple(
        Check(number, f"{name} again", wrong is None, wrong or "as stored")
        for number, (name, wrong) in enumerate(differences.items(), start=CHECKS + 1)
    )


def diff_folders(first: str | Path, second: str | Path) -> dict[str, list[tuple[str, str, str]]]:
    """Return for each table the cells whose status differs between two output folders: cell, old and new status."""
    old, new = OutputFolder(first).statuses(), OutputFolder(second).statuses()
    changed = {}
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name, {}), new.get(name, {})
        cells = dict.fromkeys([*a, *b])
        changed[name] = [(c, a.get(c, "absent"), b.get(c, "absent")) for c in cells if a.get(c) != b.get(c)]
    return changed


def explain_cell(folder: str | Path, name: str, *, table: str | None = None) -> list[str]:
    """Say in words why a cell of an output folder is hidden: its reasons, what protects it, or what it protects."""
    stored = OutputFolder(folder).stored()
    needs, pattern, tables = stored.needs, stored.pattern, stored.needs.tables
    known = None if stored.known is None else stored.known.sums
    number = _table_with(tables, name, table)
    cell = int(tables.cells_of[number][tables.tables[number].find(name)])
    if needs.primary[cell]:
        reasons = stored.findings.by_table[number].why(name) or ["unsafe in a linked table"]
        moved = explain_pattern(needs, pattern, only=cell, known=known).through.values()
        through = [tables.cell_name(c) for c in sorted(set().union(*moved))]
        return [f"{name} is primary: {'; '.join(reasons)}.", "It is protected through " + listing(through, 20) + "."]
    if pattern.unpublished[cell]:
        return [f"{name} is in no release."]
    if not pattern.secondary[cell]:
        return [f"{name} is published{_since(tables, cell)}."]
    without = replace(pattern, secondary=pattern.secondary & (np.arange(len(tables)) != cell))
    lost = np.flatnonzero(audit(needs, without, known=known).failing)
    if not len(lost):
        return [f"{name} is secondary. Every unsafe cell would be protected without it too."]
    names = [tables.cell_name(int(c)) for c in lost]
    return [f"{name} is secondary. Without it these unsafe cells would not be protected: {listing(names, 20)}."]


def _since(tables: TableSet, cell: int) -> str:
    """Say which table of an earlier release shows a cell, if one does."""
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.release == "earlier" and (~table.unpublished & (cells == cell)).any():
            return f", and was so before: {table.name}"
    return ""


def _table_with(tables: TableSet, cell: str, wanted: str | None) -> int:
    """Return the number of the wanted table, or of the one table that has a cell of that name."""
    names = [table.name for table in tables.tables]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"no table {wanted!r}{did_you_mean(wanted, names)}")
        return names.index(wanted)
    having = [n for n, t in enumerate(tables.tables) if cell in {t.cell_name(i) for i in range(len(t))}]
    if not having:
        raise InputError(f"no table has a cell {cell!r}; write it as codes joined by /")
    if len({int(tables.cells_of[n][tables.tables[n].find(cell)]) for n in having}) > 1:
        told = listing([names[n] for n in having])
        raise InputError(f"the tables {told} have a cell {cell!r}; say which with --table")
    return having[0]
