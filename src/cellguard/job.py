"""The one pipeline that every face uses: from a job to findings and requirements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.attack.audit import Audit, audit
from cellguard.attack.totals import Known, read_known
from cellguard.errors import InputError, NotProtected, did_you_mean, listing
from cellguard.files.build import build_tables, refuse_changed
from cellguard.files.compare import Again, compare
from cellguard.files.excel import check_excel
from cellguard.files.folder import read_folder, read_known_sums, read_statuses
from cellguard.files.jobfile import Job
from cellguard.files.output import Outcome, write_output
from cellguard.files.write import check_room
from cellguard.protect.suppress.costs import parse_cost, set_costs
from cellguard.protect.suppress.explain import Explanations, explain_pattern
from cellguard.protect.suppress.suppress import suppress
from cellguard.protect.suppress.witness import witness
from cellguard.protection import Requirements, require
from cellguard.results import Assessment, Audited, rule_doubts
from cellguard.rules.assess import assess
from cellguard.table.apriori import State
from cellguard.table.facts import BoolArray
from cellguard.table.pattern import Pattern, release
from cellguard.table.tableset import TableSet, link
from cellguard.types import Run, Tell, silent
from cellguard.verify.verify import CHECKS, Check
from cellguard.world.knowledge import Knowledge

_UNTIL_STOPPED = 10_000


def audit_job(job: Job, *, intervals: bool = False, threads: int = 1, tell: Tell = silent) -> Audited:
    """Audit the pattern that a job describes: its unsafe cells, and the cells said to be ``secondary``."""
    _refuse_perturbed(job)
    assessment = assess_job(job, tell=tell)
    linked = assessment.tables
    hidden = np.zeros(len(linked), bool)
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        hidden[cells] |= table.apriori.has(State.secondary)
    pattern = Pattern(linked, assessment.needs.primary, hidden & ~assessment.needs.primary)
    known = _known(assessment)
    seconds = dict(assessment.seconds)
    with _step("auditing", seconds, tell):
        found = _audit(assessment.needs, pattern, known, intervals, threads, tell)
    return Audited(
        assessment.findings,
        found,
        seconds,
        known,
        job,
        notes=tuple(assessment.warnings()),
        counts=assessment.counts,
        inputs=assessment.inputs,
    )


def protect_job(
    job: Job,
    *,
    folder: str | Path | None = None,
    warm: str | Path | None = None,
    seconds_allowed: float | None = None,
    threads: int = 1,
    tell: Tell = silent,
) -> Audited:
    """Protect a job's tables as one set, and prove it: assess, suppress, audit.

    ``folder`` is where the results will go, if that is known: whether there is room is checked before the search.
    ``warm`` is the output folder of an earlier run, its pattern is the start. With ``seconds_allowed`` the search runs
    until then, and the best safe pattern so far is taken; the result may then differ from run to run.
    """
    _refuse_perturbed(job)
    assessment = assess_job(job, tell=tell)
    if folder is not None:
        check_room(folder, sum(len(table) for table in assessment.tables.tables))
    seconds = dict(assessment.seconds)
    known = _known(assessment)
    if assessment.needs.unprotectable.any():
        raise NotProtected(assessment.warnings()[-1])
    with _step("choosing the cells to hide", seconds, tell):
        wanted = {spec.name: parse_cost(spec.protect.cost) for spec in job.tables}
        costs = set_costs(assessment.tables, assessment.needs.primary, wanted)
        start = None if warm is None else _earlier(warm, assessment.tables)
        engine = witness if seconds_allowed is None else partial(witness, rounds=_UNTIL_STOPPED)
        sums = None if known is None else known.sums
        search = Run.within(seconds_allowed, tell=tell)
        chosen = suppress(assessment.needs, costs, engine=engine, start=start, known=sums, run=search)
    with _step("auditing", seconds, tell):
        found = _audit(assessment.needs, chosen.pattern, known, False, threads, tell)
    return Audited(
        assessment.findings,
        found,
        seconds,
        known,
        job,
        chosen,
        notes=tuple(assessment.warnings()),
        counts=assessment.counts,
        inputs=assessment.inputs,
    )


def _known(assessment: Assessment) -> Known | None:
    """Read the totals that the attacker has, if the job names any."""
    job = assessment.job
    if not job.known:
        return None
    known = read_known(job.path(job.known), assessment.tables)
    refuse_changed(job, {job.known: assessment.inputs.get(job.known, "")})
    return known


def _refuse_perturbed(job: Job) -> None:
    if job.is_perturbed:
        raise InputError("the job's tables are perturbed, not suppressed; use `cellguard perturb` or `perturb_job`")


def _earlier(folder: str | Path, tables: TableSet) -> BoolArray:
    """Return which distinct cells an earlier run hid; cells that it did not have are not hidden."""
    old = read_statuses(folder)
    hidden = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        statuses = old.get(table.name, {})
        names = [table.cell_name(i) for i in range(len(table))]
        hidden[cells] |= np.array([statuses.get(name) in {"primary", "secondary"} for name in names], bool)
    return hidden


def diff_folders(first: str | Path, second: str | Path) -> dict[str, list[tuple[str, str, str]]]:
    """Return for each table the cells whose status differs between two output folders: cell, old and new status."""
    old, new = read_statuses(first), read_statuses(second)
    found = {}
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name, {}), new.get(name, {})
        cells = dict.fromkeys([*a, *b])
        found[name] = [(c, a.get(c, "absent"), b.get(c, "absent")) for c in cells if a.get(c) != b.get(c)]
    return found


def explain_cell(folder: str | Path, name: str, *, table: str | None = None) -> list[str]:
    """Say in words why a cell of an output folder is hidden: its reasons, what protects it, or what it protects."""
    findings, needs, pattern = read_folder(folder)
    tables = needs.tables
    known = read_known_sums(folder, tables)
    number = _table_with(tables, name, table)
    cell = int(tables.cells_of[number][tables.tables[number].find(name)])
    if needs.primary[cell]:
        reasons = findings.by_table[number].why(name) or ["unsafe in a linked table"]
        moved = explain_pattern(needs, pattern, only=cell, known=known).through.values()
        through = [tables.cell_name(c) for c in sorted(set().union(*moved))]
        return [f"{name} is primary: {'; '.join(reasons)}.", "It is protected through " + listing(through, 20) + "."]
    if not pattern.secondary[cell]:
        return [f"{name} is published."]
    without = replace(pattern, secondary=pattern.secondary & (np.arange(len(tables)) != cell))
    lost = np.flatnonzero(audit(needs, without, known=known).failing)
    if not len(lost):
        return [f"{name} is secondary. Every unsafe cell would be protected without it too."]
    names = [tables.cell_name(int(c)) for c in lost]
    return [f"{name} is secondary. Without it these unsafe cells would not be protected: {listing(names, 20)}."]


def _table_with(tables: TableSet, cell: str, wanted: str | None) -> int:
    """Return the number of the wanted table, or of the one table that has a cell of that name."""
    names = [table.name for table in tables.tables]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"no table {wanted!r}{did_you_mean(wanted, names)}")
        return names.index(wanted)
    at = [n for n, t in enumerate(tables.tables) if cell in {t.cell_name(i) for i in range(len(t))}]
    if not at:
        raise InputError(f"no table has a cell {cell!r}; write it as codes joined by /")
    if len({int(tables.cells_of[n][tables.tables[n].find(cell)]) for n in at}) > 1:
        raise InputError(f"the tables {listing([names[n] for n in at])} have a cell {cell!r}; say which with --table")
    return at[0]


def audit_folder(folder: str | Path, *, intervals: bool = False, threads: int = 1, tell: Tell = silent) -> Audited:
    """Audit an output folder anew, from its stored facts and hierarchies."""
    seconds: dict[str, float] = {}
    with _step("reading the folder", seconds, tell):
        findings, needs, pattern = read_folder(folder)
    known = _stored_known(folder, needs.tables)
    with _step("auditing", seconds, tell):
        found = _audit(needs, pattern, known, intervals, threads, tell)
    return Audited(findings, found, seconds, known, notes=tuple(rule_doubts(findings)))


def verify_inputs(inside: str | Path, job: Job, *, tell: Tell = silent) -> tuple[Check, ...]:
    """Check that the internal half of an output folder is what a job gives: its words, its files, and their facts.

    These checks go beyond those of `cellguard.verify`, which has the folder alone and takes its facts as given.
    """
    _refuse_perturbed(job)
    assessment = assess_job(job, tell=tell)
    known = _known(assessment)
    again = Again(job, assessment.inputs, assessment.findings, None if known is None else known.sums)
    found = compare(Path(inside), again)
    return tuple(
        Check(number, f"{name} again", wrong is None, wrong or "as stored")
        for number, (name, wrong) in enumerate(found.items(), start=CHECKS + 1)
    )


def _stored_known(folder: str | Path, tables: TableSet) -> Known | None:
    sums = read_known_sums(folder, tables)
    return None if sums is None else Known(sums, np.full(sums.shape[0], np.nan))


def release_job(
    done: Audited, folder: str | Path, *, force: bool = False, accept_no_rules: bool = False, tell: Tell = silent
) -> list[str]:
    """Write the output folder of a safe audit: the release, the internal files and the certificate.

    A table without rules is released only if that is accepted; then every summary and report says so. Returns what a
    person should know of it: that a report was left out because its extra is not installed, say.
    """
    if done.job is None:
        raise InputError("only the audit of a job can be released")
    if done.findings.without_rules and not accept_no_rules:
        raise NotProtected(f"{done.headline.text}; give every table `rules`, or say that you accept it without")
    check_formats(done.job)
    tell("explaining")
    known = None if done.known is None else done.known.sums
    why = explain_pattern(done.audit.needs, done.audit.pattern, known=known, run=Run(tell))
    costs = None if done.suppression is None else done.suppression.costs
    tell("writing")
    summary = done.summary()
    pages, notes = _pages(done, summary, why)
    outcome = Outcome(done.job, done.findings, done.audit, summary, why, costs, pages, known)
    write_output(folder, outcome, force=force)
    return notes


def check_formats(job: Job) -> None:
    """Refuse a format that cannot be written here, before any work is done."""
    if "xlsx" in job.formats:
        check_excel()


def _pages(done: Audited, summary: dict[str, Any], why: Explanations) -> tuple[dict[str, str], list[str]]:
    """Return the reports by their path in the output folder, if the job wants them and can have them, and notes."""
    if done.job is None or "html" not in done.job.formats or done.audit.verdict != "safe":
        return {}, []
    from cellguard.report import page
    from cellguard.report.case import Case

    if not page.available():
        return {}, [f"No report was made, since it needs an extra. Get it with: {page.GET_IT}"]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    known = 0 if done.known is None else int(done.known.sums.shape[0])
    case = Case(done.findings, done.audit, summary, why, known, made)
    dimensions = {d.name: d for t in done.audit.needs.tables.tables for d in t.dimensions}
    public = page.public_page(release(done.audit.pattern, done.audit.values), dimensions)
    return {"internal/report.html": page.internal_page(case), "release/report.html": public}, []


def _audit(
    needs: Requirements, pattern: Pattern, known: Known | None, intervals: bool, threads: int, tell: Tell
) -> Audit:
    sums = None if known is None else known.sums
    return audit(needs, pattern, known=sums, intervals=intervals, run=Run(tell, threads=threads))


def assess_job(job: Job, *, tell: Tell = silent) -> Assessment:
    """Build the job's tables, link them, apply the rules and say what protection must achieve."""
    seconds: dict[str, float] = {}
    with _step("reading the tables", seconds, tell):
        built = build_tables(job)
    with _step("linking the tables", seconds, tell):
        linked = link(built.tables, job.equations)
    with _step("applying the rules", seconds, tell):
        findings = assess(linked, {spec.name: spec.rules for spec in job.tables})
    with _step("setting protection levels", seconds, tell):
        attack = job.attack
        knowledge = Knowledge(attack.lower, attack.upper, attack.percent, attack.crossing == "checked")
        needs = require(findings, knowledge, run=Run(tell))
    return Assessment(job, findings, needs, seconds, built.notes, built.counts, built.inputs)


@contextmanager
def _step(name: str, seconds: dict[str, float], tell: Tell) -> Iterator[None]:
    tell(name)
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
