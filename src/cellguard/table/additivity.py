"""Do the cells add up? A tolerance that follows from the rounding of the values, and errors that name the relations."""

from __future__ import annotations

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import NotAdditive
from cellguard.table.table import Table

_SHOWN = 5


def allowance(table: Table) -> FloatArray:
    """Return for each cell how far its stored value may lie from the true one.

    Whole values must be exact. Values with decimals may be off by half a unit of their last decimal, unrounded ones by
    a relative 1e-9; on top comes the dust of floating-point sums. A given ``tolerance`` adds to whole relations.
    """
    dust = 1e-9 if np.isnan(table.rounding) else 1e-13
    return np.nan_to_num(table.rounding) + dust * np.abs(table.value)


def check_additive(table: Table) -> None:
    """Raise `NotAdditive`, naming the relations that fail, unless every cell is the sum of its parts."""
    relations = table.relations
    gap = np.abs(relations @ table.value) - abs(relations) @ allowance(table)
    failing = np.flatnonzero(gap > (table.tolerance or 0.0))
    if not len(failing):
        return
    shown = [table.relation_name(int(r)) for r in failing[:_SHOWN]]
    more = [f"and {len(failing) - _SHOWN} more"] if len(failing) > _SHOWN else []
    raise NotAdditive(
        f"{table.place.name}: table {table.name!r} is not additive; {len(failing)} of {relations.shape[0]} relations "
        "do not hold:\n  "
        + "\n  ".join(shown + more)
        + "\nCheck these rows and the hierarchies. A combination without a row counts as 0; if the values were rounded "
        "one by one, say how far a sum may be off with `tolerance`."
    )
