"""Trends: what two cells of two years tell of the growth of one respondent that dominates both (Cuppen 2000, 6.3).

With one multiplier m, cells m x_a + R_a and m x_b + R_b of two years have a ratio G near to x_b / x_a where the rests
are small. The multiplier cancels, so that its noise gives no credit. By the rule an attacker must not know the growth
to within p: a pair of cells is sensitive if both rests are at most p times the contribution of the same largest
contributor, and unsafe if besides |G / g - 1| < p, with g the true growth. Every cell is judged, margins included.

Without a rule nothing is judged, and `growth_to_judge` says whether there was something to judge: one respondent that
dominates two cells, of two values or of two codes. Which columns are years is not known then, so that any do.

The cure are factors of each year, see `steps`: with any two of a respondent's years at least (1 + p) / (1 - p) apart,
not even rests of p x bring the ratio within p of the true growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import Needs
from cellguard.methods.perturb.checks.finding import Cell, Finding

_EXACT = 1e-9
USUAL = 0.05  # the p of a rule that does not say it


class Perturbed(Protocol):
    """A table with its perturbed totals and the protection levels of its cells."""

    @property
    def table(self) -> CalibrationTable:
        """The table."""

    @property
    def total(self) -> FloatArray:
        """Its perturbed totals."""

    @property
    def needs(self) -> Needs:
        """The protection levels."""

    def name(self, cell: int) -> Cell:
        """Return the name of a cell."""


@dataclass(frozen=True, slots=True)
class Trends:
    """The growth of no respondent may be known to within ``p`` (a share).

    ``values`` are lists of responses that are one quantity in several years, ``dimension`` one whose codes are years.
    """

    p: float
    values: tuple[tuple[str, ...], ...] = ()
    dimension: str | None = None


def trends(tables: Sequence[Perturbed], rule: Trends) -> list[Finding]:
    """Return the pairs of cells that tell a respondent's growth too closely."""
    findings = list[Finding]()
    for one, other in combinations(tables, 2):
        both = {one.table.response, other.table.response}
        if len(both) == 2 and any(both <= set(years) for years in rule.values):
            findings += _judged(one, other, *_same_cells(one, other), rule.p)
    for here in tables:
        names = [d.name for d in here.table.table.dimensions]
        if rule.dimension in names:
            findings += _judged(here, here, *_years_of(here, names.index(rule.dimension)), rule.p)
    return findings


def growth_to_judge(tables: Sequence[Perturbed], p: float = USUAL) -> bool:
    """Return whether a contributor dominates two cells, so that their ratio tells what it has in one and the other.

    Two cells are of two responses, or hold different contributions of it, or differ in one code of the same level.
    """
    said: dict[int, tuple[str, float]] = {}
    for here in tables:
        table, top = here.table.table, here.table.largest
        alone = np.abs(here.needs.size - np.abs(top.value[:, 0])) <= p * np.abs(top.value[:, 0]) * (1 + _EXACT)
        cells = np.flatnonzero(alone & (top.unit[:, 0] >= 0) & (top.value[:, 0] != 0) & ~table.unpublished)
        units = top.unit[cells, 0].tolist()
        for unit, value in zip(units, top.value[cells, 0].tolist(), strict=True):
            if said.setdefault(unit, (here.table.response, value)) != (here.table.response, value):
                return True
        for place, dimension in enumerate(table.dimensions):
            others = [column[cells].tolist() for i, column in enumerate(table.codes) if i != place]
            level = dimension.level[table.codes[place][cells]].tolist()
            keys = list(zip(units, level, *others, strict=True))
            if len(set(keys)) < len(keys):
                return True
    return False


def _same_cells(one: Perturbed, other: Perturbed) -> tuple[LongArray, LongArray]:
    """Return the cells that two tables have in common, by their codes."""
    mine, theirs = _names(one), _names(other)
    if set(mine) and set(theirs) and {len(k) for k in mine} != {len(k) for k in theirs}:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    shared = [key for key in mine if key in theirs]
    return np.array([mine[k] for k in shared], np.int64), np.array([theirs[k] for k in shared], np.int64)


def _names(here: Perturbed) -> dict[tuple[tuple[str, str], ...], int]:
    table = here.table.table
    columns = [np.array(d.codes, object)[c] for d, c in zip(table.dimensions, table.codes, strict=True)]
    names = [d.name for d in table.dimensions]
    rows = zip(*columns, strict=True)
    shown = (~table.unpublished).tolist()
    return {tuple(sorted(zip(names, row, strict=True))): i for i, row in enumerate(rows) if shown[i]}


def _years_of(here: Perturbed, place: int) -> tuple[LongArray, LongArray]:
    """Return the pairs of cells of a table that differ in their year only; the total of all years is no year."""
    table = here.table.table
    years = table.dimensions[place].level[table.codes[place]] > 0
    groups: dict[tuple[int, ...], list[int]] = {}
    others = [column.tolist() for i, column in enumerate(table.codes) if i != place]
    for cell in np.flatnonzero(years & ~table.unpublished).tolist():
        groups.setdefault(tuple(column[cell] for column in others), []).append(cell)
    pairs = [pair for cells in groups.values() for pair in combinations(cells, 2)]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _judged(one: Perturbed, other: Perturbed, first: LongArray, second: LongArray, p: float) -> list[Finding]:
    """Judge pairs of cells, the one of an earlier and the other of a later year, or the other way round."""
    if not len(first):
        return []
    units = one.table.largest.unit[first, 0], other.table.largest.unit[second, 0]
    tops = one.table.largest.value[first, 0], other.table.largest.value[second, 0]
    sizes = one.needs.size[first], other.needs.size[second]
    alone = [
        np.abs(size - np.abs(top)) <= p * np.abs(top) * (1 + _EXACT) for size, top in zip(sizes, tops, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        growth, told = tops[1] / tops[0], other.total[second] / one.total[first]
        moved = np.abs(told / growth - 1)
    unsafe = (units[0] == units[1]) & (units[0] >= 0) & alone[0] & alone[1] & (tops[0] != 0) & (tops[1] != 0)
    unsafe &= moved < p * (1 - _EXACT)
    keys = one.table.records.keys
    findings = []
    for at in np.flatnonzero(unsafe).tolist():
        how = "exactly" if moved[at] < _EXACT else f"to within {100 * p:.3g} percent"
        text = f"the growth of the contributor that dominates both cells is known {how}"
        cells = (one.name(int(first[at])), other.name(int(second[at])))
        key = str(keys[int(units[0][at])])
        findings.append(Finding("trend", text, cells, True, (key,), (), {"moved": float(moved[at])}))
    return findings
