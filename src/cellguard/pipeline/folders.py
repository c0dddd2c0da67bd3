"""From an output folder back: audit, verify, explain and compare what a run wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cellguard.attack.audit import audit
from cellguard.attack.nearness import nearest_to, respondents_of, suspects
from cellguard.attack.third_party import Intervals
from cellguard.errors import InputError
from cellguard.inputs.assessing import read_known_totals
from cellguard.inputs.assessment import rule_doubts
from cellguard.io.folder import OutputFolder
from cellguard.io.linked_folders import ReadFolder, infer_folders
from cellguard.io.stored_explanations import NAME as EXPLANATIONS
from cellguard.io.stored_explanations import StoredExplanations, read_explanations
from cellguard.io.stored_run import Stored
from cellguard.io.stored_sums import sums_of_folder
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared, find_method, refuse_other
from cellguard.methods.suppress.explained_cell import Context, explain_one, find_cell
from cellguard.methods.suppress.files.input_recheck import RebuiltInputs, compare
from cellguard.methods.suppress.files.rewriting import rewrite_folder
from cellguard.methods.suppress.hide_together import hidden_with
from cellguard.methods.suppress.judged_sums import with_unsafe_sums
from cellguard.methods.suppress.method import FixedPattern
from cellguard.methods.suppress.result import Choice, SuppressionResult
from cellguard.pipeline.changed_cell import explain_changed
from cellguard.pipeline.jobs import assess_job, outcome_of
from cellguard.run_context import Run, timed
from cellguard.seam.outcome import Outcome
from cellguard.verifier.verify import CHECKS, Check, Verification
from cellguard.verifier.verify import verify as verify_files

if TYPE_CHECKING:
    from cellguard.seam.method import Method


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
        Whether to work out the exact interval of every suppressed cell.
    within
        Progress and threads.
    """
    seconds: dict[str, float] = {}
    with timed("reading the folder", within, seconds):
        stored = OutputFolder(folder).stored(others)
    with timed("auditing", within.endless(), seconds) as here:
        judged = audit(
            stored.needs,
            stored.pattern,
            known=stored.known.sums,
            intervals=intervals,
            insiders=stored.insiders,
            coalition=stored.coalition,
            run=here,
        )
    notes, choice = tuple(rule_doubts(stored.findings)), Choice.of_folder(OutputFolder(folder))
    proven = SuppressionResult(stored.findings, judged, stored.known, notes=notes, choice=choice)
    return outcome_of(FixedPattern(Job.load(OutputFolder(folder).inside / "job.yaml")), proven, seconds)


def infer_releases(
    folder: str | Path,
    others: Sequence[str | Path],
    *,
    within: Run = Run(),  # noqa: B008
) -> Intervals:
    """Work out from several releases what they tell of suppressed cells, although some have no internal half.

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
        If there is no certificate. Any other fault is a failed check.

    Examples
    --------
    >>> verify("nowhere")
    Traceback (most recent call last):
    cellguard.errors.InputError: nowhere is not a file; name an output folder of cellguard, or its certificate.json
    """
    if not isinstance(folder, str | PathLike):
        raise InputError(
            f"verify checks a folder, not {type(folder).__name__}; write one by outcome.write('out'), and name it"
        )
    path = Path(folder)
    certificate = path / "internal" / "certificate.json" if path.is_dir() else path
    if path.is_dir() and not certificate.is_file() and release is None and internal is None:
        found = verify_if_possible(path)
        if found is not None:
            return found
        OutputFolder(path).refuse_uncertified()
    return verify_files(certificate, release=release, internal=internal, rewrite=rewrite_folder)


def verify_if_possible(folder: str | Path) -> Verification | None:
    """Check an output folder as its method does; None if there is nothing in it to be checked."""
    method = OutputFolder(folder).method
    if declared(method).attacked:
        return verify_files(Path(folder) / "internal" / "certificate.json", rewrite=rewrite_folder)
    return cast("type[Method[Any, Any]]", find_method(method)).verify(Path(folder))


def verify_inputs(inside: str | Path, job: Job, *, within: Run = Run()) -> tuple[Check, ...]:  # noqa: B008
    """Check that the internal half of an output folder is what a job gives: its words, its files, and their facts.

    These checks go beyond those of `cellguard.verify`, which has the folder alone and takes its facts as given.
    """
    refuse_other(job.method, "suppress")
    assessment = assess_job(job, within=within)
    known = read_known_totals(assessment)
    assessment = with_unsafe_sums(assessment, sums_of_folder(Path(inside), assessment.tables))
    again = RebuiltInputs(assessment.job, assessment.inputs, assessment.findings, known.sums)
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
    for word in ("hexagons", "shown", "sensitive", "units_moved", "mu", "lost_records"):
        figures[word] = [_of_map(summary, word) for summary in summaries]
    for word in ("cost", "gap", "verdict"):
        figures[word] = [summary.get(word) for summary in summaries]
    return {word: pair for word, pair in figures.items() if pair != [None, None]}


def _of_map(summary: Mapping[str, Any], word: str) -> object:
    """Return a figure of a map, which is the one table of its run; None of anything else."""
    tables = list(summary.get("tables", {}).values())
    return tables[0].get(word) if len(tables) == 1 and "hexagons" in tables[0] else None


@dataclass(frozen=True, eq=False)
class Explainer:
    """An output folder that is asked about one cell after the other. Confidential."""

    output: OutputFolder
    stored: Stored
    kept: StoredExplanations

    @classmethod
    def of(cls, folder: str | Path) -> Explainer:
        """Read an output folder."""
        output = OutputFolder(folder)
        stored = output.stored()
        return cls(output, stored, read_explanations(output.inside / EXPLANATIONS, stored.needs.tables))

    def lines(self, name: str, table: str | None = None) -> list[str]:
        """Say in words what a cell is, what the rules say of it, and why it is suppressed or not."""
        stored, needs = self.stored, self.stored.needs
        number, position = find_cell(needs.tables, name, table)
        cell = int(needs.tables.cells_of[number][position])
        interval = self.output.interval(needs.tables.tables[number].name, position)
        context = Context(
            stored.known.sums,
            self.kept,
            stored.insiders,
            stored.coalition,
            self.followed,
            {} if interval is None else {cell: interval},
        )
        lines = explain_one(stored.findings, needs, stored.pattern, name, table=table, context=context)
        along = [f"The job has it suppressed with {response}." for response in self.followed.get(cell, ())]
        return [*lines, *along, *(_nearest_lines(stored, cell, self.kept) if needs.primary[cell] else [])]

    @cached_property
    def followed(self) -> Mapping[int, Sequence[str]]:
        """The cells that the job has suppressed with other responses."""
        return hidden_with(self.stored.pattern, Job.load(self.output.inside / "job.yaml"))


def explain_cell(folder: str | Path, name: str, *, table: str | None = None) -> list[str]:
    """Say in words what a cell of an output folder is, what the rules say of it, and why it is suppressed or not.

    What the run knew is read from the folder. Only of an older one, which does not tell, is it worked out by an audit.
    Of a table whose figures were changed it is said how, and whatever else the method tells.
    """
    if declared(OutputFolder(folder).method).attacked:
        return Explainer.of(folder).lines(name, table)
    return explain_changed(folder, name, table)


def _nearest_lines(stored: Stored, cell: int, kept: StoredExplanations) -> list[str]:
    """Describe how closely the respondents come to the others of an unsafe cell, if the folder tells who they
    are.
    """
    if stored.insiders is None:
        return []
    known = stored.known.sums
    near = None
    if kept.suspects is not None and cell in kept.suspects:
        prover = respondents_of(stored.needs, stored.pattern, stored.insiders, known, coalition=stored.coalition)
        near = nearest_to(prover, cell, kept.suspects[cell])
    if near is None:
        judged = audit(stored.needs, stored.pattern, known=known, insiders=stored.insiders, coalition=stored.coalition)
        if judged.inside is None:
            return []
        near = nearest_to(judged.inside.prover, cell, suspects(judged.inside, cell)) or []
    if not near:
        return ["No respondent can estimate another one in it."]
    lines = [
        f"{n.who[:1].upper()}{n.who[1:]} can estimate the largest other respondent to within {n.percent:,.1f} %"
        + (", which is too close." if n.failing else ".")
        for n in near
    ]
    numbered = any(n.insider >= 0 for n in near)
    return [*lines, "Insiders are numbered; internal/insiders.parquet has their contributions."] if numbered else lines
