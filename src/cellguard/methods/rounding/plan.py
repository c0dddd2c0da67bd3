"""What a job asks of every distinct cell, in whole grains: its base, its threshold, and whether it stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.errors import JobError
from cellguard.job.jobfile import Job
from cellguard.methods.rounding.spec import RoundOptions, options_of
from cellguard.proofs.problem import Grains, listed_grains
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Plan:
    """How each distinct cell of a set is rounded. Whatever is a number is so many grains of its cell.

    ``shown`` are the cells that some table publishes; the others are not rounded, and nobody sees them. ``base`` is 1
    where nothing is rounded, ``threshold`` 0 where nothing is hidden. ``steps`` is how many multiples of the base
    controlled rounding may go beyond the next ones.
    """

    kind: str
    tables: TableSet
    grains: Grains
    base: LongArray
    threshold: LongArray
    kept: BoolArray
    shown: BoolArray
    steps: int = 0

    @property
    def value(self) -> LongArray:
        """The true values."""
        return self.grains.value

    @property
    def small(self) -> BoolArray:
        """The shown cells that are hidden since their value is below the threshold; 0 is not."""
        size = np.abs(self.value)
        return self.shown & ~self.kept & (size > 0) & (size < self.threshold)

    def coarser(self) -> Plan:
        """Return the plan with twice the base."""
        return replace(self, base=np.where(self.base > 1, 2 * self.base, self.base))


def plan_of(job: Job, tables: TableSet) -> Plan:
    """Return what a job asks of its tables; what does not fit together is refused."""
    grains = listed_grains(tables)
    n = len(tables)
    base, threshold = np.ones(n, np.int64), np.zeros(n, np.int64)
    kept, shown = np.zeros(n, bool), np.zeros(n, bool)
    owner = np.full(n, -1)
    specs = {spec.name: spec for spec in job.tables}
    for number, (table, cells) in enumerate(zip(tables.tables, tables.cells_of, strict=True)):
        if table.release != "here" or table.name not in specs:
            continue
        said = options_of(specs[table.name].protect)
        rows = np.flatnonzero(~table.unpublished)
        here = cells[rows]
        shown[here] = True
        kept[cells[[_find(table, name) for name in said.keep]]] = True
        wide = _base(table, said) * _grains_of_unit(table, grains, here)
        _refuse_mixed(tables, base, wide, owner, here, table)
        owner[here] = number
        base[here] = np.maximum(base[here], wide)
        if said.suppress_below is not None:
            least = Decimal(repr(said.suppress_below))
            limits = [int((least.scaleb(d)).to_integral_value(rounding="ROUND_CEILING")) for d in _decimals(grains)]
            most = np.array(limits, np.int64)[grains.decimals[here]]
            threshold[here] = np.maximum(threshold[here], most)
    said = options_of(job.tables[0].protect)
    return Plan(said.kind, tables, grains, base, threshold, kept, shown, said.steps)


def _decimals(grains: Grains) -> range:
    return range(int(grains.decimals.max(initial=0)) + 1)


def _grains_of_unit(table: Table, grains: Grains, cells: LongArray) -> LongArray:
    return 10 ** (grains.decimals[cells] - table.decimals)


def _base(table: Table, said: RoundOptions) -> int:
    """Return the base in units of the last decimal that a table publishes."""
    units = Decimal(repr(said.base)).scaleb(table.decimals)
    if units != units.to_integral_value() or units < 2:
        unit = Decimal(1).scaleb(-table.decimals)
        raise JobError(
            f"table {table.name!r}: the base {said.base:g} must be a multiple of the last published decimal, "
            f"{unit:f}, and larger than it; change `base` or `decimals`"
        )
    return int(units)


def _find(table: Table, name: str) -> int:
    return int(table.find(name))


def _refuse_mixed(
    tables: TableSet, base: LongArray, wide: LongArray, owner: LongArray, here: LongArray, table: Table
) -> None:
    """Refuse two tables that share a cell if neither base is a multiple of the other."""
    shared = np.flatnonzero(owner[here] >= 0)
    one, two = np.minimum(base[here], wide)[shared], np.maximum(base[here], wide)[shared]
    bad = shared[two % one != 0]
    if len(bad):
        other = tables.tables[int(owner[here[bad[0]]])]
        raise JobError(
            f"tables {other.name!r} and {table.name!r} share cells, which get one value in both, but neither base is a "
            "multiple of the other; give both the same `base`"
        )
