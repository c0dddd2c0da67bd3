"""Subtables without hierarchies: for each dimension a code and the codes directly below it, as classical methods go.

They come top-down, by how deep their codes lie; the cells of one that are totals lie in earlier ones. References: de
Wolf, P. P. (2002). HiTaS: a heuristic approach to cell suppression in hierarchical tables. In: *Inference Control in
Statistical Databases*, LNCS 2316; Giessing, S. and Repsilber, D. (2002). Tools and strategies to protect multiple
tables with the GHQUAR cell suppression engine, same volume.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.suppress.engines.effort import QUICK
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import EngineResult
from cellguard.run_context import Run
from cellguard.table.table import Table

_CHUNK = 200_000  # subtables of so many combinations of codes are left to the repair


@dataclass(frozen=True, eq=False)
class Subtable:
    """The merged cells of a subtable, an axis per dimension; the first of each axis is the total, -1 is no cell."""

    cells: Positions
    depth: int

    @property
    def present(self) -> Positions:
        """The different merged cells."""
        return np.unique(self.cells[self.cells >= 0])


def subtables_of(system: System) -> list[Subtable]:
    """Return the subtables of all tables of a system, top-down."""
    linked = system.needs.tables
    found: list[Subtable] = []
    for table, distinct in zip(linked.tables, linked.cells_of, strict=True):
        if table.release != "here":
            continue
        merged = system.merged.merged[distinct]
        found += _of_table(table, np.asarray(merged, np.intp))
    return sorted(found, key=lambda one: one.depth)


def _of_table(table: Table, merged: Positions) -> list[Subtable]:
    shape = tuple(len(d.codes) for d in table.dimensions)
    if np.prod(shape, dtype=float) > 5e7:
        return []
    place = np.full(shape, -1, np.int64)
    place[table.codes] = merged
    families = [_families(dimension) for dimension in table.dimensions]
    found = []
    for choice in itertools.product(*families):
        cells = place[np.ix_(*(codes for codes, _ in choice))]
        if cells.size <= _CHUNK and (cells >= 0).any():
            found.append(Subtable(cells, sum(depth for _, depth in choice)))
    return found


def _families(dimension: Dimension) -> list[tuple[Positions, int]]:
    """Return each code with those below it, and its level; a single code below it is the same as itself."""
    found = []
    for parents in dimension.parents:
        for code in range(len(dimension.codes)):
            below = np.flatnonzero(parents == code)
            if len(below) > 1:
                found.append((np.concatenate([[code], below]), int(dimension.level[code])))
    return found or [(np.zeros(1, np.intp), 0)]


def counts_of(system: System) -> FloatArray:
    """Return the number of respondents of each merged cell, NaN where no table tells."""
    linked = system.needs.tables
    counts = np.full(system.n, np.nan)
    for table, distinct in zip(linked.tables, linked.cells_of, strict=True):
        if table.facts.count is not None and not table.is_added:
            counts[system.merged.merged[distinct]] = table.facts.count
    return counts


def mended(system: System, pattern: BoolArray, name: str, run: Run, *, finished: bool = True) -> EngineResult:
    """Return a classical pattern with what repairs it, and tell how many cells it left without their levels.

    The bound is 0: the classical methods have none.
    """
    search = Search(system, QUICK, run)
    pattern = system.hidden | (pattern & ~system.never)
    goals = search.propagation.goals.cell
    open_ = search.oracle.unproven(pattern, run, patience=1)
    if len(open_):  # pooled programs do not decide all
        open_ = search.oracle.look(pattern, open_, run, allowed=np.inf).open
    left = len(np.unique(goals[open_]))
    if left:
        search.mend(pattern, system.policy.first_repair)
        more = int((search.pattern() & ~pattern).sum())
    else:
        search.keep(pattern)
        more = 0
    run.tell(
        f"{name} left {left:,} of {len(np.unique(goals)):,} cells under-protected on the whole table; repaired with "
        f"{more:,} cells"
    )
    chosen = search.pattern()
    return EngineResult(chosen, search.cost(chosen), 0.0, finished)
