"""The one pipeline that every face uses: from a job to its outcome, and from an output folder back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cellguard.attack.audit import audit
from cellguard.attack.nearness import nearest_to
from cellguard.attack.third_party import Intervals
from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.io.linked_folders import ReadFolder, infer_folders
from cellguard.io.stored_run import Stored
from cellguard.io.stored_sums import sums_of_folder
from cellguard.io.write import check_room
from cellguard.io.writers.excel import check_excel
from cellguard.job.jobfile import Job
from cellguard.job.registry import find_method
from cellguard.methods.suppress.assessment import Assessment, rule_doubts
from cellguard.methods.suppress.explained_cell import explain_one, find_cell
from cellguard.methods.suppress.files.input_recheck import RebuiltInputs, compare
from cellguard.methods.suppress.files.rewriting import rewrite_release
from cellguard.methods.suppress.hide_together import hidden_with
from cellguard.methods.suppress.judged_sums import with_unsafe_sums
from cellguard.methods.suppress.method import FixedPattern
from cellguard.methods.suppress.pattern_method import assess_tables, read_known_totals
from cellguard.methods.suppress.result import Choice, SuppressionResult
from cellguard.run_context import Run, timed
from cellguard.seam.method import Method, Result
from cellguard.seam.outcome import Outcome
from cellguard.verifier.verify import CHECKS, Check, Verification
from cellguard.verifier.verify import verify as verify_files


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
    >>> from cellguard.job.jobfile import Job
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


def audit_job(job: Job, *, within: Run = Run(), **asked: Any) -> Outcome[SuppressionResult]:  # noqa: ANN401, B008
    """Audit the pattern that a job describes: its unsafe cells, and the cells said to be ``secondary``.

    Parameters and errors are those of `run`.
    """
    refuse_other(job, "suppress")
    return _run(FixedPattern.of(job, asked), None, within)


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


def _outcome(method: Method[Any, Any], protected: Result, seconds: dict[str, float]) -> Outcome[Any]:
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
    >>> from cellguard.job.jobfile import Job
    >>> table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}],
    ...          "cells": {"source": "t.csv", "count": "n"}}
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text("region,x,n\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n")
    ...     found = assess_job(Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> found.headline
    '1 unsafe cell of 4; nothing is protected yet'
    """
    method = cast("type[Method[Any, Any]]", find_method(job.method))
    if not method.tabular:
        raise InputError(f"what is {method.participle} has no table to assess; `cellguard map JOB --dry-run` does it")
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
) -> Outcome[SuppressionResult]:
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
    with timed("reading the folder", within, seconds):
        stored = OutputFolder(folder).stored(others)
    sums = None if stored.known is None else stored.known.sums
    with timed("auditing", within, seconds):
        judged = audit(
            stored.needs,
            stored.pattern,
            known=sums,
            intervals=intervals,
            insiders=stored.insiders,
            coalition=stored.coalition,
            run=within.endless(),
        )
    notes, choice = tuple(rule_doubts(stored.findings)), _choice_of(OutputFolder(folder))
    proven = SuppressionResult(stored.findings, judged, stored.known, notes=notes, choice=choice)
    return _outcome(FixedPattern(Job.load(OutputFolder(folder).inside / "job.yaml")), proven, seconds)


def _choice_of(folder: OutputFolder) -> Choice:
    """Return who chose the secondaries of a folder; if it does not tell, the engine, of which less is known."""
    try:
        said = folder.summary().get("choice")
    except InputError:
        said = None
    return Choice(said) if said in list(Choice) else Choice.ENGINE


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


def verify(
    folder: str | Path, *, release: str | Path | None = None, internal: str | Path | None = None
) -> Verification:
    """Check an output folder with code of its own: the certificate, and the public files byte for byte.

    Parameters
    ----------
    folder
        An output folder, or the certificate of one.
    release, internal
        The two halves of the folder, if they are elsewhere.

    Returns
    -------
    Verification
        ``valid``, the ``checks`` with what each found, ``warnings``, the ``trusted`` rules, and what of the folder is
        ``not_checked``.

    Raises
    ------
    InputError
        If there is no certificate. Whatever else is wrong is a failed check.

    >>> verify("nowhere")
    Traceback (most recent call last):
    cellguard.errors.InputError: nowhere is not a file; name the certificate.json of an output folder
    """
    path = Path(folder)
    certificate = path / "internal" / "certificate.json" if path.is_dir() else path
    return verify_files(certificate, release=release, internal=internal, rewrite=rewrite_release)


def verify_inputs(inside: str | Path, job: Job, *, within: Run = Run()) -> tuple[Check, ...]:  # noqa: B008
    """Check that the internal half of an output folder is what a job gives: its words, its files, and their facts.

    These checks go beyond those of `cellguard.verify`, which has the folder alone and takes its facts as given.
    """
    refuse_other(job, "suppress")
    assessment = assess_job(job, within=within)
    known = read_known_totals(assessment)
    assessment = with_unsafe_sums(assessment, sums_of_folder(Path(inside), assessment.tables))
    again = RebuiltInputs(assessment.job, assessment.inputs, assessment.findings, None if known is None else known.sums)
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


def compare_folders(first: str | Path, second: str | Path) -> dict[str, list[Any]]:
    """Return the figures of two output folders side by side: cells by status, cost, how far from the least, verdict."""
    summaries = [OutputFolder(folder).summary() for folder in (first, second)]
    figures: dict[str, list[Any]] = {}
    for word in ("cells", "primary", "secondary"):
        figures[word] = [summary.get("set", {}).get(word) for summary in summaries]
    for word in ("cost", "gap", "verdict"):
        figures[word] = [summary.get(word) for summary in summaries]
    return {word: pair for word, pair in figures.items() if pair != [None, None]}


def explain_cell(folder: str | Path, name: str, *, table: str | None = None) -> list[str]:
    """Say in words what a cell of an output folder is, what the rules say of it, and why it is hidden or not."""
    stored = OutputFolder(folder).stored()
    known = None if stored.known is None else stored.known.sums
    needs = stored.needs
    lines = explain_one(stored.findings, needs, stored.pattern, name, table=table, known=known)
    number, position = find_cell(needs.tables, name, table)
    cell = int(needs.tables.cells_of[number][position])
    followed = hidden_with(stored.pattern, Job.load(OutputFolder(folder).inside / "job.yaml")).get(cell, ())
    along = [f"The job has it hidden with {response}." for response in followed]
    return [*lines, *along, *(_nearest_lines(stored, cell) if needs.primary[cell] else [])]


def _nearest_lines(stored: Stored, cell: int) -> list[str]:
    """Say how near the respondents come to the others of an unsafe cell, if the folder tells who they are."""
    if stored.insiders is None:
        return []
    known = None if stored.known is None else stored.known.sums
    judged = audit(stored.needs, stored.pattern, known=known, insiders=stored.insiders, coalition=stored.coalition)
    if judged.inside is None:
        return []
    near = nearest_to(judged.inside, cell)
    return [
        f"{n.who[:1].upper()}{n.who[1:]} can tell the largest other respondent to within {n.percent:,.1f} %"
        + (", which is too near." if n.failing else ".")
        for n in near
    ] or ["No respondent can estimate another one in it."]
