"""What a job asks of every distinct cell: how far it must move, how far it may, and what a move costs.

All numbers are whole units of the last decimal that is published, so that adjusted values add up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, JobError
from cellguard.job.jobfile import Job
from cellguard.methods.adjust.spec import options_of
from cellguard.proofs.problem import Grains, listed_grains
from cellguard.protection import Requirements
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet

FAR = 2**52  # units; beyond every value: no bound
_DUST = 2.0**-50  # what floating-point arithmetic may add to a level, relative to it


@dataclass(frozen=True, eq=False)
class Plan:
    """How each distinct cell of a set may move.

    ``grid`` is how many units of the last decimal one unit of a move is: more than one where all true values are round,
    since digits would tell which cells moved. ``start`` is the true value in units, rounded; ``low`` and ``high`` are
    the ends of what may be published, equal for cells that stay. ``primary`` cells are published at most at ``below``
    or at least at ``above``, whichever of ``may_fall`` and ``may_rise`` they can. ``need_below`` and ``need_above`` are
    these distances in grains. ``squares`` says that squares of moves are weighed.
    """

    tables: TableSet
    grains: Grains
    decimals: LongArray
    grid: LongArray
    start: LongArray
    low: LongArray
    high: LongArray
    primary: BoolArray
    below: LongArray
    above: LongArray
    may_fall: BoolArray
    may_rise: BoolArray
    need_below: LongArray
    need_above: LongArray
    weight: FloatArray
    kept: BoolArray
    shown: BoolArray
    squares: bool = False

    @property
    def stuck(self) -> BoolArray:
        """The unsafe cells that can move to neither side, whatever the others do."""
        return self.primary & ~self.may_fall & ~self.may_rise

    def left_over(self, value: LongArray) -> LongArray:
        """Return what is left of each relation; 0 where it holds."""
        return np.asarray(self.tables.relations.astype(np.int64) @ value, np.int64)

    def faults(self, value: LongArray) -> bool:
        """Whether adjusted values break anything that they must keep, exactly."""
        far = (self.may_fall & (value <= self.below)) | (self.may_rise & (value >= self.above))
        wrong = (value < self.low) | (value > self.high) | (self.primary & ~far)
        return bool(wrong.any() or self.left_over(value).any())


def plan_of(job: Job, needs: Requirements) -> Plan:
    """Return what a job asks of its tables; what does not fit together is refused."""
    tables = needs.tables
    n, grains = len(tables), listed_grains(tables)
    decimals = _decimals(tables)
    step = 10 ** (grains.decimals - decimals)
    grid = _grid(tables, grains.value, step)
    step = step * grid
    start = (2 * grains.value + step) // (2 * step)
    kept, shown = _kept(job, tables, needs.primary)
    low, high = _bounds(needs.world.lower[:n], needs.world.upper[:n], decimals, grid)
    start = np.clip(start, low, high)
    fixed = kept | (grains.value == 0)
    low, high = np.where(fixed, start, low), np.where(fixed, start, high)
    scale = 10.0 ** grains.decimals.astype(float)
    down = _levels(np.maximum(needs.lower, needs.sliding), scale, step)
    up = _levels(np.maximum(needs.upper, needs.sliding), scale, step)
    below, above = (grains.value - down) // step, -((-grains.value - up) // step)
    primary = needs.primary
    return Plan(
        tables,
        grains,
        decimals,
        grid,
        start,
        low,
        high,
        primary,
        below,
        above,
        primary & (down > 0) & (below >= low),
        primary & (up > 0) & (above <= high),
        np.where(primary, down, 0),
        np.where(primary, up, 0),
        _weights(options_of(job.tables[0].protect).weights, start),
        kept,
        shown,
        options_of(job.tables[0].protect).distance == "l2",
    )


def _levels(level: FloatArray, scale: FloatArray, step: LongArray) -> LongArray:
    """Return levels in grains, rounded up, and one unit at least; 0 for sides on which nothing is asked."""
    size = level * scale
    whole = np.ceil(size - 1e-9 - _DUST * size).astype(np.int64)
    return np.where(level > 0, np.maximum(whole, step), 0)


def _bounds(lower: FloatArray, upper: FloatArray, decimals: LongArray, grid: LongArray) -> tuple[LongArray, LongArray]:
    """Return the a-priori bounds in units, rounded inwards."""
    scale = 10.0 ** decimals.astype(float) / grid
    low = np.ceil(np.clip(lower * scale, -FAR, FAR) - 1e-9)
    high = np.floor(np.clip(upper * scale, -FAR, FAR) + 1e-9)
    return low.astype(np.int64), np.maximum(low, high).astype(np.int64)


def _decimals(tables: TableSet) -> LongArray:
    """Return the published decimals of each cell; all cells of a relation must have the same."""
    decimals = np.full(len(tables), -1, np.int64)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        before = decimals[cells]
        if ((before >= 0) & (before != table.decimals)).any():
            raise JobError(_mixed(tables))
        decimals[cells] = table.decimals
    relations = tables.relations
    owner = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    least, most = np.full(relations.shape[0], 99), np.full(relations.shape[0], -1)
    np.minimum.at(least, owner, decimals[relations.indices])
    np.maximum.at(most, owner, decimals[relations.indices])
    if (most > least).any():
        raise JobError(_mixed(tables))
    return decimals


def _grid(tables: TableSet, value: LongArray, step: LongArray) -> LongArray:
    """Return the units of which all true values of a response are multiples; 1 where some have more decimals."""
    grid = np.ones(len(tables), np.int64)
    names = {t.response for t in tables.tables}
    for group in [names] if tables.equations else [{name} for name in sorted(names)]:
        of = [c for t, c in zip(tables.tables, tables.cells_of, strict=True) if t.response in group]
        cells = np.unique(np.concatenate(of))
        if not (value[cells] % step[cells]).any():
            grid[cells] = max(int(np.gcd.reduce(np.abs(value[cells] // step[cells]), initial=0)), 1)
    return grid


def _mixed(tables: TableSet) -> str:
    said = ", ".join(f"{table.name}: {table.decimals}" for table in tables.tables[:5])
    return f"tables that share cells or sums are adjusted in one unit; give all of them the same `decimals` ({said})"


def _weights(kind: str, start: LongArray) -> FloatArray:
    """Return what a move of one unit costs, 1 on average."""
    size = np.maximum(np.abs(start), 1).astype(float)
    weight = {"one": np.ones(len(size)), "value": size, "inverse": 1 / size}[kind]
    return np.asarray(weight / weight.mean() if len(weight) else weight)


def _kept(job: Job, tables: TableSet, primary: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return the cells that are kept on wish, and those that are published."""
    kept, shown = np.zeros(len(tables), bool), np.zeros(len(tables), bool)
    specs = {spec.name: spec for spec in job.tables}
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.release != "here" or table.name not in specs:
            continue
        shown[cells[~table.unpublished]] = True
        keep = options_of(specs[table.name].protect).keep
        if keep == "totals":
            kept[cells[_totals(table)]] = True
            continue
        named = cells[[int(table.find(name)) for name in keep]]
        if primary[named].any():
            cell = tables.message_name(int(named[np.argmax(primary[named])]))
            raise InputError(f"`keep` names {cell}, which is unsafe and must move; leave it out")
        kept[named] = True
    return kept & ~primary, shown


def _totals(table: Table) -> BoolArray:
    """Return the rows that are the total of a dimension."""
    return np.asarray(np.any([codes == 0 for codes in table.codes], axis=0), bool)
