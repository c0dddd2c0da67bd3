"""The workflow of source data perturbation: perturb, check, and say what to do (Cuppen 2000, appendix A.2).

`make_multipliers` draws for a calibration set; `check_tables` says whether the perturbed tables may be released, and
if not, which cells of which tables are the problem and what can be done: recode, another method, another set of tables.
Later tables come from the same multipliers, and are consistent with all earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, listing
from cellguard.methods.perturb.cells.alike import families
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import Needs, needs_of, s_n, still_unsafe, supersensitive
from cellguard.methods.perturb.checks.conflicts import TableMethod, conflicts
from cellguard.methods.perturb.checks.disclosed import disclosed
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.checks.known_sets import KnownTotal
from cellguard.methods.perturb.checks.known_totals import known_totals
from cellguard.methods.perturb.checks.ratios import ratios
from cellguard.methods.perturb.checks.remedies import MOST, method_advice, recoding_advice, set_advice
from cellguard.methods.perturb.checks.too_narrow import too_narrow
from cellguard.methods.perturb.checks.trends import Trends, growth_to_judge, trends
from cellguard.methods.perturb.checks.unknowns import unknowns_of
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.methods.perturb.draw.multipliers import Multipliers
from cellguard.methods.perturb.draw.noise import NoiseStatistics, table_statistics
from cellguard.methods.perturb.draw.variance import sampling_variance
from cellguard.run_context import Run


@dataclass(frozen=True, eq=False)
class Perturbed:
    """A table with its perturbed totals, the protection levels of its cells, and what is left of it as S_N."""

    table: CalibrationTable
    total: FloatArray
    needs: Needs

    @property
    def noise(self) -> FloatArray:
        """Perturbed minus true total."""
        return np.asarray(self.total - self.table.total, float)

    @property
    def s_n(self) -> FloatArray:
        """The sensitivity of the perturbed cells."""
        return s_n(self.needs, self.noise)

    @cached_property
    def sampling_variance(self) -> FloatArray | None:
        """The estimated variance of the cells' weighted totals (Horvitz-Thompson); None without weights."""
        records = self.table.records
        return None if records.weight is None else sampling_variance(self.table, records)

    @property
    def unsafe(self) -> BoolArray:
        """The cells that are still unsafe."""
        return still_unsafe(self.needs, self.noise)

    def name(self, cell: int) -> Cell:
        """Return the name of a cell."""
        return Cell(self.table.name, self.table.table.cell_name(cell))


@dataclass(frozen=True, eq=False)
class Check:
    """What the checks before release found. ``checked`` is False where they were left out, as requested.

    ``limits`` say what was not looked at, ``unseen`` which tables that the multipliers were drawn for took no part: in
    either case nothing is proven, and nothing is released unless ``unproven`` says that it may be. Findings that forbid
    a release are ``open`` unless all their cells are ``accepted``, or all of them are of tables that are ``published``
    already and took part in the checks. ``growth``: that of some contributor can be told, and no rule judged it.
    ``known`` are the totals that attackers have from elsewhere.
    """

    tables: tuple[Perturbed, ...]
    multipliers: Multipliers
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]
    accepted: frozenset[Cell] = frozenset()
    checked: bool = True
    unseen: tuple[str, ...] = ()
    unproven: bool = False
    published: tuple[Perturbed, ...] = ()
    growth: bool = False
    known: tuple[str, ...] = ()

    @cached_property
    def open(self) -> tuple[Finding, ...]:
        """The findings that forbid a release."""
        return tuple(f for f in self.findings if f.blocks and not self.is_accepted(f))

    def is_accepted(self, finding: Finding) -> bool:
        """Return whether all cells of a finding were accepted, or published before; a conflict cannot be."""
        return _all_in(self.accepted, finding) or self.is_old(finding)

    def is_old(self, finding: Finding) -> bool:
        """Return whether a finding is about tables that are published already, and none of the new ones."""
        return _all_of({here.table.name for here in self.published}, finding)

    @property
    def verdict(self) -> str:
        """``safe``, ``unsafe``, ``not checked``, ``not proven`` or ``safe by itself``.

        Not proven: something was not looked at. Safe by itself: only combinations with other tables were not.
        """
        if self.open:
            return "unsafe"
        if not self.checked:
            return "not checked"
        if self.limits:
            return "not proven"
        return "safe by itself" if self.unseen else "safe"

    @property
    def released(self) -> bool:
        """Whether there may be a release: it is proven safe, or the user answers for what was not checked."""
        return self.verdict in {"safe", "not checked"} or (self.unproven and self.verdict != "unsafe")

    @cached_property
    def statistics(self) -> NoiseStatistics:
        """The noise of all cells of all tables."""
        return table_statistics([t.table for t in self.tables], [t.total for t in self.tables])

    def places(self) -> list[str]:
        """Say in which tables how many findings of which kind forbid the release."""
        counts = Counter((table, f.kind) for f in self.open for table in dict.fromkeys(c.table for c in f.cells))
        return [f"table {table!r}: {count} {kind}" for (table, kind), count in sorted(counts.items())]

    @cached_property
    def advice(self) -> list[str]:
        """What can be done: recode, another method or seed, another set of tables; of a conflict, publish one only."""
        others, tables = [f for f in self.open if f.kind != "conflict"], [t.table for t in self.tables]
        if not others:
            return [*self._conflicts(), *self._proof()]
        recode, method = recoding_advice(tables, others), method_advice(tables, self.multipliers, others)
        sets = set_advice(others, {t.name for t in tables})
        return [*self._conflicts(), *recode, *method, *sets, *self._proof()]

    def _proof(self) -> list[str]:
        """Describe what can be done where nothing forbids the release but the proof is missing."""
        if self.released or self.open:
            return []
        advice = []
        if self.limits:
            advice.append("prove it: use fewer tables, codes or levels, so that everything can be looked at")
        if self.unseen:
            advice.append(
                f"prove it: add {listing(self.unseen)} to the job, so that combinations with them are checked"
            )
        return [*advice, "or answer for it yourself: `unproven: accept` releases it, and every file says so"]

    def _conflicts(self) -> list[str]:
        mixed = [f.cells for f in self.open if f.kind == "conflict"]
        advice = [
            f"conflict: never publish both {perturbed.table!r} perturbed and {other.table!r}; if {other.table!r} is "
            f"published already, take {perturbed.table!r} out, or else protect both in the same way"
            for perturbed, other in mixed[:MOST]
        ]
        if len(mixed) > MOST:
            advice.append(f"conflict: the same goes for {len(mixed) - MOST:,} more pairs of tables")
        return advice


def check_tables(
    tables: Sequence[CalibrationTable],
    multipliers: Multipliers,
    *,
    watch: Watch | None = None,
    accept: Iterable[Cell] = (),
    others: Sequence[TableMethod] = (),
    unseen: Sequence[str] = (),
    published: Sequence[CalibrationTable] = (),
    unproven: bool = False,
    checked: bool = True,
    trend: Trends | None = None,
    known: Sequence[KnownTotal] = (),
    run: Run | None = None,
) -> Check:
    """Perturb the tables and check them: S_N of every cell, the linear system, ratios, conflicts with other tables.

    ``accept`` are cells that may be released although they are unsafe; ``others`` are tables published elsewhere, and
    ``unseen`` names of tables from the same multipliers that are not among ``tables``; ``published`` are tables from
    them that readers have already, so that they are combined with the new ones; ``known`` are true totals that
    everybody has from elsewhere. With ``unproven`` a release does not need a proof that is complete. With ``checked``
    False only conflicts are looked for, and the verdict says so.
    """
    if not tables:
        raise InputError("there is no table to perturb; name at least one")
    run = run or Run()
    made, old = (tuple(Perturbed(t, multipliers.totals(t), needs_of(t)) for t in ts) for ts in (tables, published))
    every = [*tables, *published]
    perturbed = [TableMethod(t.name, t.response, "perturb", t.table.population) for t in tables]
    findings = list(conflicts([*perturbed, *others], multipliers.definitions))
    accepted, limits = _known(accept, every), list[str]()
    names = {t.name for t in published}

    def accepts(finding: Finding) -> bool:
        return _all_in(accepted, finding) or _all_of(names, finding)

    for told in _told_noise(multipliers, every) if checked else ():
        run.tell("checking every cell")
        here = [p if told is multipliers else replace(p, total=told.totals(p.table)) for p in (*made, *old)]
        findings += [finding for one in here for finding in _sensitive(one)]
        definitions = told.definitions.leaves
        leaves = told.by_leaf([t.response for t in every])
        added = {leaf: told.contributions(leaf) for leaf in leaves}
        systems = [unknowns_of(family, added, definitions) for family in families(every, definitions)]
        forbidden = any(not accepts(f) for f in findings)
        results = [disclosed(system, watch, accepts=accepts, unsafe=forbidden, run=run) for system in systems]
        findings += [finding for result in results for finding in result.findings]
        findings += ratios(results, leaves)
        with_known, more = _with_known(here, known, told)
        findings += with_known
        limits += [*(limit for result in results for limit in result.limits), *more]
    if checked:
        findings += too_narrow([here.needs for here in (*made, *old)], multipliers.settings)
        findings += [] if trend is None else trends((*made, *old), trend)
        findings = _distinct(findings)
    limited = tuple(dict.fromkeys(limits))
    growth = trend is None and growth_to_judge((*made, *old))
    names_known = tuple(map(str, known))
    return Check(
        made,
        multipliers,
        tuple(findings),
        limited,
        accepted,
        checked,
        tuple(unseen),
        unproven,
        old,
        growth,
        names_known,
    )


def _with_known(
    tables: Sequence[Perturbed], known: Sequence[KnownTotal], made: Multipliers
) -> tuple[list[Finding], list[str]]:
    """Return what cells tell together with totals that everybody has, and what was not looked at."""
    added = {response: made.contributions(response) for response in dict.fromkeys(t.table.response for t in tables)}
    fitted = made.settings.fitted is not None
    return known_totals(tables, known, added, moved=None if fitted else made.base != 1, one=not fitted)


def _told_noise(multipliers: Multipliers, tables: Sequence[CalibrationTable]) -> list[Multipliers]:
    """Return the multipliers and, if some noise follows from the method, those without it: both must protect."""
    known = multipliers.known([table.response for table in tables])
    return [multipliers] if known is multipliers else [multipliers, known]


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Return each finding once: of one cell that is unsafe with and without some noise, the first."""
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.kind, finding.text, finding.cells, finding.units), finding)
    return list(seen.values())


def _sensitive(here: Perturbed) -> list[Finding]:
    """Return the cells that are unsafe in spite of their noise (section 6.3 of the checks)."""
    extreme = supersensitive(here.needs)
    findings = []
    for cell in np.flatnonzero(here.unsafe).tolist():
        why = (
            "one contributor dominates it, so no reasonable noise helps" if extreme[cell] else "it got too little noise"
        )
        figures = {
            "need": float(here.needs.need[cell]),
            "noise": float(here.noise[cell]),
            "S_N": float(here.s_n[cell]),
        }
        text = f"a coalition can estimate its largest contributor too closely: {why}"
        findings.append(Finding("sensitive", text, (here.name(cell),), figures=figures))
    return findings


def _all_in(accepted: frozenset[Cell], finding: Finding) -> bool:
    return finding.kind != "conflict" and bool(finding.cells) and accepted.issuperset(finding.cells)


def _all_of(tables: Collection[str], finding: Finding) -> bool:
    """Return whether a finding is about some tables only."""
    return finding.kind != "conflict" and bool(finding.cells) and all(c.table in tables for c in finding.cells)


def _known(accept: Iterable[Cell], tables: Sequence[CalibrationTable]) -> frozenset[Cell]:
    by_name = {t.name: t.table for t in tables}
    wanted = frozenset(accept)
    for cell in sorted(wanted):
        if cell.table not in by_name:
            raise InputError(f"`accept` names the table {cell.table!r}, but there are {listing(list(by_name))}")
        by_name[cell.table].find(cell.cell)
    return wanted
