"""All methods that suppress cells: a pattern is chosen, the attack judges it, and a certificate proves it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from cellguard.attack.audit import Audit, audit
from cellguard.attack.external_totals import ExternalTotals
from cellguard.inputs.assessed_screen import assessed_words
from cellguard.inputs.assessing import assess_tables, insiders_of, read_known_totals
from cellguard.inputs.assessment import Assessment
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_explanations import NAME as EXPLANATIONS
from cellguard.io.stored_explanations import write_explanations
from cellguard.machine import memory_taken, memory_there
from cellguard.methods.suppress.files.cell_tables import write_cells
from cellguard.methods.suppress.files.certificate import write_certificate
from cellguard.methods.suppress.files.seed_file import write_seed
from cellguard.methods.suppress.files.transmission import write_transmissions
from cellguard.methods.suppress.judged_sums import SumSearch, on_grown
from cellguard.methods.suppress.reinforce import SLACKS, can_be_reinforced, reinforced
from cellguard.methods.suppress.report.signing import Baseline
from cellguard.methods.suppress.result import Choice, SuppressionResult
from cellguard.methods.suppress.screen import audit_words
from cellguard.methods.suppress.suppress import Suppression, padded
from cellguard.methods.suppress.time_estimate import TimeEstimate
from cellguard.run_context import Run, timed, told_seconds
from cellguard.seam.look import SUPPRESSED, Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen
from cellguard.table.pattern import Pattern

_EARLIER = "--time-limit ends it earlier."


@dataclass(frozen=True, eq=False)
class PatternMethod(Method[Assessment, SuppressionResult]):
    """A method whose answer is a pattern: it says what to suppress, and leaves the proof to the attack.

    ``accept_no_rules`` releases tables to which no rule is applied, ``intervals`` has the audit work out every exact
    interval, ``compare`` is the folder of an earlier run that the officer's page compares with.
    """

    accept_no_rules: bool = False
    intervals: bool = False
    compare: str | Path | None = None
    ends_early: ClassVar[bool] = True
    attacked: ClassVar[bool] = True
    look: ClassVar[Look] = SUPPRESSED
    robustness: ClassVar[str] = (
        "Every figure that is published is true. A later table of the same respondents must know of this one "
        "(previous), or both be in one job."
    )
    flexibility: ClassVar[str] = (
        "The pattern depends on all tables of the set, so another table may mean another pattern."
    )

    @property
    def folder(self) -> str:
        """Return `suppress`: whoever chose a pattern, its folder reads alike."""
        return "suppress"

    @abstractmethod
    def choose(self, assessment: Assessment, known: ExternalTotals, run: Run) -> Pattern | Suppression:
        """Choose which cells to suppress."""

    def choose_by_turns(self, sums: SumSearch, known: ExternalTotals, run: Run) -> Pattern | Suppression:
        """Choose which cells to suppress, if need be by turns with ``sums``, which judges the sums that these tell."""
        return self.choose(sums.assessment, known, run)

    def expected_memory(self, assessed: Assessment) -> float:
        """Return a guess of how many GiB it takes in all."""
        work = TimeEstimate.of(assessed.needs).memory(insiders=assessed.job.insiders)
        return max(work, memory_taken())

    def reinforce(
        self, sums: SumSearch, judged: Audit, chosen: Suppression, slack: float, known: ExternalTotals, run: Run
    ) -> Suppression | None:
        """Return a pattern with more slack for what an audit did not prove, or None if there is none."""
        assessed = sums.assessment
        return reinforced(
            judged,
            chosen,
            slack,
            known=known.sums,
            insiders=insiders_of(assessed),
            coalition=assessed.job.attack.coalition,
            run=run,
        )

    def expected_seconds(self, assessed: Assessment) -> float:
        """Return a guess of how long protection takes; a second, where no search is needed."""
        return 1.0

    def assess(self, run: Run, seconds: dict[str, float]) -> Assessment:
        """Build the job's tables, link them, apply the rules and say what protection must achieve."""
        self._baseline()  # what cannot be read is reported before the work
        return assess_tables(self.job, run, seconds)

    def _baseline(self) -> Baseline | None:
        """Return the run to compare with."""
        if self.compare is None:
            return None
        folder = OutputFolder(self.compare)
        return Baseline(str(self.compare), folder.summary(), folder.statuses())

    def protect(self, assessed: Assessment, run: Run, seconds: dict[str, float]) -> SuppressionResult:
        """Choose a pattern, and attack it."""
        known = read_known_totals(assessed)
        with timed("choosing the cells to suppress", run, seconds) as here:
            expected, beyond = self._expected(assessed)
            warned = f"Warning: this {expected}" if beyond else f"this {expected}"
            here.expect(self.expected_seconds(assessed), warned, notice=beyond)
            sums = SumSearch(assessed, known.sums, here)
            chosen = self.choose_by_turns(sums, known, here)
        return prove(self, sums, chosen, known, run, seconds)

    def assessed_summary(self, assessed: Assessment) -> dict[str, Any]:
        """Return what the rules find, and what protection may take."""
        seconds, memory = self.expected_seconds(assessed), self.expected_memory(assessed)
        return assessed.summary() | {"expected": {"seconds": round(seconds, 1), "memory_gib": round(memory, 2)}}

    def assessed_screen(self, assessed: Assessment) -> Screen:
        """Return what the rules find, and how long protection may take."""
        cured = self.accept_no_rules or not assessed.findings.without_rules
        expected, beyond = self._expected(assessed)
        expected = f"Protecting them {expected}"
        return [*assessed_words(assessed.summary(), cured=cured), expected if beyond else f"{expected}; {_EARLIER}"]

    def _expected(self, assessed: Assessment) -> tuple[str, bool]:
        """Describe how long it may take and how much memory; say also whether that is more than is there or known."""
        memory, there = self.expected_memory(assessed), memory_there()
        text = f"may take some {told_seconds(self.expected_seconds(assessed))} and {memory:.1f} GiB of memory"
        if memory > there:
            return (
                f"{text}, and there are {there:.1f}. Protect tables of fewer dimensions or levels, or (of very many "
                "respondents) say `attack: {insiders: false}`",
                True,
            )
        if TimeEstimate.of(assessed.needs).proof_is_unknown:
            return (
                f"{text}, and no proof of so many counts in three dimensions or more has been seen to end. "
                "Protect tables of fewer dimensions or levels, or round the counts",
                True,
            )
        return text, False

    def screen(self, outcome: Outcome[SuppressionResult], folder: Path | None) -> Screen:
        """Return the verdict, the tables, what gives cells away, and what was written."""
        written = []
        if folder is not None:
            allowed = "no rule was applied" if outcome.protected.findings.without_rules else "may be published"
            written = [f"{folder}/release ({allowed})"] if outcome.release is not None else []
            written = [", ".join([*written, f"{folder}/internal (confidential)"])]
        search = outcome.protected.suppression
        return audit_words(outcome.summary, written, cured=outcome.release is not None, search=search)

    def write_internal(self, outcome: Outcome[SuppressionResult], inside: Path) -> None:
        """Write every cell with status and reasons, facts, explanations, what is to be sent, and the seed of costs."""
        write_cells(inside, outcome.protected)
        write_transmissions(inside, outcome.protected, outcome.job.formats)
        write_explanations(inside / EXPLANATIONS, outcome.protected.explanations, outcome.protected.findings.tables)
        chosen = outcome.protected.suppression
        if chosen is not None and chosen.seed is not None:
            write_seed(inside, chosen.seed)

    def about(self, outcome: Outcome[SuppressionResult], table: str) -> Mapping[str, Any]:
        """Return nothing: a table that says nothing of a method has suppressed cells, however they were chosen."""
        return {}

    def seal(self, outcome: Outcome[SuppressionResult], folder: Path) -> None:
        """Write the certificate, which names the digest of every other file."""
        write_certificate(folder, outcome)

    def pages(self, outcome: Outcome[SuppressionResult]) -> Mapping[str, str]:
        """Return the officer's page and the public one."""
        from cellguard.methods.suppress.report import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_page(outcome, self._baseline())}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_page(outcome.release)
        return pages


def prove(
    method: PatternMethod,
    search: SumSearch,
    chosen: Pattern | Suppression,
    known: ExternalTotals,
    run: Run,
    seconds: dict[str, float],
) -> SuppressionResult:
    """Attack a pattern as an outsider would, and as each respondent would if the job says so.

    What is not proven of a pattern that an engine chose goes back for more slack, and is attacked again, a few times at
    most.
    """
    suppression, pattern = (chosen, chosen.pattern) if isinstance(chosen, Suppression) else (None, chosen)
    suppression, judged = _attack(method, search, suppression, pattern, known, run, seconds)
    for slack in SLACKS:
        if suppression is None or not can_be_reinforced(judged):
            break
        with timed("giving more slack to what is not proven", run.endless(), seconds) as here:
            wider = method.reinforce(search, judged, suppression, slack, known, here)
        if wider is not None:
            suppression, judged = _attack(method, search, wider, wider.pattern, known, run, seconds)
    assessed = search.assessment
    return SuppressionResult(
        assessed.findings,
        judged,
        known,
        assessed.job,
        suppression,
        method.accept_no_rules,
        tuple(assessed.warnings()),
        assessed.counts,
        assessed.inputs,
        search.judged(),
        Choice.of(suppression),
    )


def _attack(
    method: PatternMethod,
    search: SumSearch,
    suppression: Suppression | None,
    pattern: Pattern,
    known: ExternalTotals,
    run: Run,
    seconds: dict[str, float],
) -> tuple[Suppression | None, Audit]:
    """Judge all sums that a pattern tells, and attack it."""
    search.grow(pattern)  # of the last pattern all that it tells must be judged
    assessed = search.assessment
    pattern = on_grown(pattern, assessed.needs)
    if suppression is not None:
        suppression = replace(suppression, pattern=pattern, costs=padded(suppression.costs, assessed.needs))
    with timed("auditing", run.endless(), seconds) as here:
        judged = audit(
            assessed.needs,
            pattern,
            known=known.sums,
            intervals=method.intervals,
            insiders=insiders_of(assessed),
            coalition=assessed.job.attack.coalition,
            hints=() if suppression is None else suppression.hints,
            run=here,
        )
    return suppression, judged
