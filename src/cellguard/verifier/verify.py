"""Check an output folder against its certificate: ten checks, each passed or failed with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellguard.errors import InputError, file_name
from cellguard.verifier import checks
from cellguard.verifier.cells import Cells, identify
from cellguard.verifier.clusters import read_pieces
from cellguard.verifier.coalitions import Coalitions
from cellguard.verifier.cover_cells import read_between
from cellguard.verifier.determined import Known, check_determined, read_parts, unknown_cells
from cellguard.verifier.digests import EXPLANATIONS, SEED, check_digests, check_names
from cellguard.verifier.facts import read_facts
from cellguard.verifier.fitted import check_fitted, check_parted
from cellguard.verifier.formats import Released, check_formats
from cellguard.verifier.hierarchies import read_dimensions
from cellguard.verifier.insider_requirements import read_demands
from cellguard.verifier.insiders import check_contributors, check_inside, read_contributors
from cellguard.verifier.intervals import check_intervals
from cellguard.verifier.job import (
    check_decimals,
    check_job,
    check_judged,
    check_origins,
    check_together,
    judged_between,
    made_from_records,
    never_negative,
    not_shown,
    read_job,
    was_chosen,
    with_earlier,
)
from cellguard.verifier.populations import check_differences, check_selected, is_uncrossed
from cellguard.verifier.relations import Matrix, build, with_known, with_sums
from cellguard.verifier.requirements import Capacities, Needs, capacities, needs
from cellguard.verifier.requirements import with_sums as sums_limited
from cellguard.verifier.rewriting import Rewrite, check_rewritten, check_sent, not_rewritten, sent_files, written
from cellguard.verifier.rows import read_internal, read_release, read_rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import unknown_names
from cellguard.verifier.spec import EARLIER, OFFICERS_PAGE, read_spec
from cellguard.verifier.stages import Refused, Stage, attempt
from cellguard.verifier.stored import Folder, read_bytes, read_json
from cellguard.verifier.summary import check_summary, not_checked
from cellguard.verifier.sums import check_sums
from cellguard.verifier.witnesses import Witnesses, check_moves, check_relations, read_witnesses
from cellguard.verifier.words import SUMMARY, Claim, check_words, read_claim
from cellguard.verifier.world import (
    NOT_CHECKED,
    World,
    build_world,
    check_base,
    check_worlds,
    moved_groups,
    with_listed,
)

CHECKS = 10
INPUTS = f"{SUMMARY}: inputs"
LABELS = "internal/hierarchies/*.csv: labels of codes"
NOT_CHECKED_COLUMNS = ("reasons", "cost", "interval_lower and interval_upper beyond what witnesses reach")


@dataclass(frozen=True)
class Check:
    """One of the checks: what it is, whether it passed, and what was seen or what is wrong."""

    number: int
    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """All checks of a certificate, things worth knowing, and the rules that had to be taken on trust.

    ``said`` counts the distinct cells of which something was stated in advance, by what was said. ``not_checked`` names
    what the folder says that no check works out again: figures of the summary, columns, and pages. ``claims`` is what
    was checked, in the folder's own words: the headline, and all that it leaves open; nothing of a folder that fails.
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    trusted: tuple[str, ...]
    said: Mapping[str, int]
    not_checked: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)


def verify(
    certificate: str | Path,
    *,
    release: str | Path | None = None,
    internal: str | Path | None = None,
    rewrite: Rewrite | None = None,
) -> Verification:
    """Check an output folder and its certificate in exact arithmetic.

    The certificate's own folder is the internal one and ``release`` its sibling, by default. Whatever is
    wrong with the files is a failed check; only a certificate that is not there at all is an error. ``rewrite`` writes
    the public files once more from the released rows; without it, those that are no CSV files are named as not checked.
    """
    path = Path(certificate)
    if not path.is_file():
        raise InputError(
            f"{file_name(path)} is not a file; name an output folder of cellguard, or its certificate.json"
        )
    inner = Path(internal).resolve() if internal is not None else path.absolute().parent
    outer = Path(release).resolve() if release is not None else inner.parent / "release"
    work = _Work(path, Folder(outer, inner), rewrite)
    made = tuple(_run(number, name, method) for number, (name, method) in enumerate(work.checks, start=1))
    claims = work.claims() if all(check.passed for check in made) else ()
    return Verification(made, work.warnings(), work.trusted(), work.said(), work.not_checked(), claims)


def _run(number: int, name: str, method: Callable[[], str]) -> Check:
    try:
        return Check(number, name, True, attempt(name, method))
    except Refused as error:
        return Check(number, name, False, str(error))


class _Work:
    """The stages that the checks share, each made once and only if a check asks for it."""

    def __init__(self, path: Path, folder: Folder, rewrite: Rewrite | None) -> None:
        self._path, self._folder, self._rewrite = path, folder, rewrite
        self.document = Stage("certificate.json", self._read_document)
        self.spec = Stage("certificate.json", lambda: read_spec(self.document.get()))
        self.job = Stage("the job", lambda: with_earlier(read_job(self._folder), self.spec.get()))
        self.internal = Stage("an internal table", self._read_internal)
        self.cells = Stage("the cells", self._identify)
        self.sums = Stage("the sums", lambda: read_parts(self._folder, self.cells.get()))
        self.listed = Stage("the relations", lambda: build(self.cells.get()))
        self.relations = Stage("the relations", self._relations)
        self.rows = Stage("an internal table", lambda: read_rows(self.cells.get(), self.internal.get()))
        self.release = Stage("a release table", self._read_release)
        self.facts = Stage("the facts", self._read_facts)
        self.contributors = Stage("the contributors", lambda: read_contributors(self._folder, self.cells.get()))
        self.counted = Stage("the job", lambda: never_negative(self.job.get(), self.spec.get()))
        self.limits = Stage("the bounds", self._limits)
        self.pieces = Stage("the world", lambda: read_pieces(self._folder, self.cells.get()))
        self.between = Stage("the world", lambda: read_between(self._folder, self.cells.get(), self.pieces.get()))
        self.moves = Stage("the witnesses", self._read_moves)
        self.witnesses = Stage("the witnesses", lambda: self.moves.get().listed(self.cells.get().count))
        self.written = Stage("the public files", lambda: written(self._folder, self._rewrite))
        self.checks: tuple[tuple[str, Callable[[], str]], ...] = (
            ("cells and relations", self._check_relations),
            ("rows", self._check_rows),
            ("published values", self._check_published),
            ("primaries are suppressed everywhere", self._check_hidden),
            ("rules and protection levels", self._check_needs),
            ("witnesses", self._check_witnesses),
            ("protection levels are reached", self._check_reached),
            ("insiders", self._check_insiders),
            ("digests", self._check_digests),
            ("summary", self._check_summary),
        )

    def _read_document(self) -> Mapping[str, Any]:
        return read_json(self._path.read_bytes(), "certificate.json")

    def _read_internal(self) -> tuple[dict[str, Any], ...]:
        return tuple(read_internal(self._folder, table) for table in self.spec.get().tables)

    def _identify(self) -> Cells:
        spec = self.spec.get()
        dimensions = read_dimensions(self._folder, spec.dimensions)
        codes = [[part[f"by:{d}"] for d in t.by] for t, part in zip(spec.tables, self.internal.get(), strict=True)]
        return identify(spec, dimensions, codes)

    def _read_release(self) -> tuple[Any, ...]:
        cells = self.cells.get()
        return tuple(read_release(self._folder, cells, part, i) for i, part in enumerate(self.internal.get()))

    def _read_facts(self) -> tuple[Any, ...]:
        tables = zip(self.spec.get().tables, self.internal.get(), strict=True)
        return tuple(read_facts(self._folder, t, [part[f"by:{d}"] for d in t.by]) for t, part in tables)

    def _relations(self) -> Matrix:
        return with_sums(self.listed.get(), self.sums.get().relations(self.cells.get()))

    def _limits(self) -> Capacities:
        cells, rows = self.cells.get(), self.rows.get()
        told = [(EARLIER in t or not t["cells"]) and not isinstance(t["publish"], str) for t in self.job.get().tables]
        made = [i for i, tells in enumerate(told) if tells]
        limits = with_listed(capacities(cells, rows, self.facts.get(), self.counted.get()), cells, rows, made)
        return sums_limited(limits, self.sums.get().relations(cells))

    def _read_moves(self) -> Witnesses:
        return read_witnesses(self._folder, self.cells.get(), self.between.get().value.size)

    def _build_world(self) -> World:
        cells, pieces, between = self.cells.get(), self.pieces.get(), self.between.get()
        moved = moved_groups(self.moves.get(), cells, pieces, between)
        return build_world(cells, self.rows.get(), pieces, between, moved, self.counted.get())

    def _check_relations(self) -> str:
        cells = self.cells.get()
        relations = self.relations.get()
        check_job(self.job.get(), self.spec.get())
        check_selected(self.job.get(), cells)
        return f"{cells.count} distinct cells and {relations.shape[0]} relations"

    def _check_rows(self) -> str:
        cells, rows = self.cells.get(), self.rows.get()
        checks.check_once(cells)
        checks.check_order(cells)
        self.release.get()
        checks.check_copies(cells, rows)
        checks.check_facts(cells, rows, self.facts.get())
        checks.check_shown(cells, rows, not_shown(self.job.get(), cells, self.facts.get()))
        check_sums(cells, rows, self.relations.get())
        return f"{cells.cell.size} rows in {len(cells.spec.tables)} tables"

    def _check_published(self) -> str:
        cells, release = self.cells.get(), self.release.get()
        files = self.document.get()["files"]
        check_formats(Released(self._folder, cells, self.rows.get(), release), files)
        check_decimals(self.job.get(), cells, self.rows.get())
        if self._rewrite is not None:
            check_rewritten(self._folder, files, self.written.get())
        return f"{sum(part.shown.size for part in release)} released rows"

    def _check_hidden(self) -> str:
        checks.check_hidden(self.cells.get(), self.rows.get(), self.release.get())
        checks.check_earlier(self.cells.get(), self.rows.get(), self.facts.get())
        check_together(self.job.get(), self.cells.get(), self.rows.get())
        return "no table shows what another suppresses"

    def _check_needs(self) -> str:
        cells = self.cells.get()
        rules = [[parse_rule(rule) for rule in table.rules] for table in cells.spec.tables]
        checks.check_trust(cells.spec, unknown_names(rule for part in rules for rule in part))
        check_origins(self.job.get(), cells, self.facts.get())
        asked = needs(cells, self.facts.get(), rules, self.limits.get())
        checks.check_needs(cells, self.rows.get(), asked)
        check_differences(cells, self.rows.get(), self.document.get().get("not_checked") or ())
        check_fitted(cells)
        check_parted(cells.spec, self.pieces.get(), self.between.get())
        sums = self._check_sums(asked)
        trusted = ", ".join(cells.spec.trusted)
        return f"{int(asked.unsafe.sum())} unsafe cells{sums}" + (f"; taken on trust: {trusted}" if trusted else "")

    def _check_sums(self, asked: Needs) -> str:
        check_judged(self.job.get(), self.spec.get())
        cells, rows, parts = self.cells.get(), self.rows.get(), self.sums.get()
        unknown = unknown_cells(cells, rows, checks.known_cells(cells, rows))
        records = made_from_records(self.job.get())
        known = Known(cells, rows, self.listed.get(), self.facts.get(), unknown, asked.unsafe, records)
        who = self.contributors.get() if cells.spec.inside is not None and cells.spec.linked else None
        many = check_determined(self._folder, known, parts, self.document.get().get("not_checked"), who)
        return f" and {many} sums of cells" if many else ""

    def _check_witnesses(self) -> str:
        cells, proof = self.cells.get(), self.witnesses.get()
        check_moves(proof, cells, checks.known_cells(cells, self.rows.get()), self.limits.get())
        check_relations(proof, with_known(self.relations.get(), cells), cells)
        world = self._build_world()
        check_base(world)
        check_worlds(self.moves.get(), world)
        known = f", which keep {len(cells.spec.known)} totals known from elsewhere" if cells.spec.known else ""
        crossing = "" if cells.spec.crossing else f"; {NOT_CHECKED}"
        return f"{cells.spec.witnesses} witnesses with {self.moves.get().move.size} moves{known}{crossing}"

    def _check_reached(self) -> str:
        count = checks.check_reached(self.cells.get(), self.rows.get(), self.witnesses.get())
        check_intervals(self.cells.get(), self.rows.get(), self.internal.get(), self.witnesses.get())
        return f"the protection levels of {count} cells"

    def _check_insiders(self) -> str:
        spec = self.spec.get()
        if spec.inside is None and self.document.get().get("insiders") != []:
            raise Refused("the certificate claims something about insiders that is no claim")
        check_words(self._folder, self.document.get(), self._read_claim())
        if spec.inside is None:
            return "no claim about insiders is made"
        cells, rows, facts = self.cells.get(), self.rows.get(), self.facts.get()
        known = self.contributors.get()
        check_contributors(known, cells, rows, facts, self.job.get())
        proof = self.witnesses.get().since(spec.inside)
        demands = read_demands(known.told, cells, rows, facts, self.limits.get(), self.counted.get())
        pairs = check_inside(known, cells, demands, proof)
        together = ""
        if spec.coalition > 1:
            many = Coalitions(known, demands, proof, spec.coalition).check(cells)
            together = f" and {many} of up to {spec.coalition} respondents together and an unsafe cell"
        return f"{pairs} pairs of a respondent and an unsafe cell{together}, by {proof.starts.size - 1} witnesses"

    def _read_claim(self) -> Claim:
        cells, groups = self.cells.get(), self.pieces.get().groups
        between = {groups[group] for group in set(self.between.get().group.tolist())}
        chosen = was_chosen(self.job.get(), cells, self.rows.get(), self.facts.get())
        latent = is_uncrossed(cells) or bool(between - judged_between(self.job.get(), cells.spec))
        document = self.document.get()
        return read_claim(cells.spec, self.job.get(), document, between, latent=latent, chosen=chosen)

    def _check_digests(self) -> str:
        document = self.document.get()
        count = check_digests(self._folder, document)
        check_names(self.spec.get(), document, self.written.get)
        sent = sent_files(document["files"], self.spec.get())
        if sent and self._rewrite is not None:
            check_sent(self._folder, sent, self.written.get())
        return f"{count} files"

    def _check_summary(self) -> str:
        check_summary(
            self._folder, self.job.get(), self.cells.get(), self.rows.get(), self._read_claim(), self.document.get()
        )
        return "counts, settings and verdict"

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings, as far as the files can be read."""
        unchecked: tuple[str, ...] = ()
        try:
            unchecked = () if self.spec.get().crossing else (NOT_CHECKED,)
            parts = self.cells.get(), self.rows.get(), self.facts.get(), self.witnesses.get()
            return (*unchecked, *attempt("warnings", lambda: checks.warnings(*parts)))
        except Refused:
            return unchecked

    def said(self) -> Mapping[str, int]:
        """Return how many cells something was said of beforehand, as far as the files can be read."""
        try:
            cells, facts = self.cells.get(), self.facts.get()
            return attempt("what was said", lambda: checks.count_said(cells, facts))
        except Refused:
            return {}

    def not_checked(self) -> tuple[str, ...]:
        """Return what the folder says that no check works out again, as far as the files can be read."""
        try:
            return attempt("what is not checked", self._not_checked)
        except Refused:
            return ()

    def _not_checked(self) -> tuple[str, ...]:
        files = self.document.get()["files"]
        again = (
            []
            if self._rewrite is not None
            else [f"{name}, byte for byte" for name in not_rewritten(files, self.spec.get())]
        )
        figures = [f"{SUMMARY}: {key}" for key in not_checked(self._folder)]
        columns = [f"internal/*.csv: {words}" for words in NOT_CHECKED_COLUMNS]
        labels = [LABELS] if any(dimension.labels for dimension in self.cells.get().dimensions) else []
        unread = [name for name in (OFFICERS_PAGE, EXPLANATIONS, SEED) if name in files]
        return (*again, *figures, *columns, *labels, *unread)

    def claims(self) -> tuple[str, ...]:
        """Return headline and caveat of a folder whose words were checked."""
        summary = read_json(read_bytes(self._folder, SUMMARY), SUMMARY)
        return str(summary["headline"]), str(summary["caveat"])

    def trusted(self) -> tuple[str, ...]:
        """Return the rules that the certificate asks to take on trust."""
        try:
            return self.spec.get().trusted
        except Refused:
            return ()
