"""The stored intervals of suppressed cells: no witness may lead out of them.

Whether an attacker's interval is as wide as a file says takes a solver, and is not checked; but every witness is a
world that fits the release, so that the interval holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.cells import Cells
from cellguard.verifier.numbers import Floats, bools
from cellguard.verifier.rows import Rows
from cellguard.verifier.spec import TableSpec
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.witnesses import Witnesses, reach

DUST = 1e-9


def check_intervals(cells: Cells, rows: Rows, internal: Sequence[dict[str, pa.Array]], witnesses: Witnesses) -> None:
    """Refuse an interval that is narrower than what the witnesses reach, or does not hold the value itself."""
    reached = reach(witnesses, cells)
    for i, (table, columns) in enumerate(zip(cells.spec.tables, internal, strict=True)):
        cell = cells.cell[cells.rows(i)]
        grain = 10.0 ** -cells.spec.grains[table.group]
        value = rows.value[i].astype(np.float64)
        slack = 0.5 + DUST * np.abs(value)  # ends are stored as floats of whole grains
        low, high = (_ends(columns[name], table) / grain for name in ("interval_lower", "interval_upper"))
        wrong = (low > value - reached.down[cell] + slack) | (high < value + reached.up[cell] - slack)
        if wrong.any():
            row = int(cells.offsets[i]) + int(np.argmax(wrong))
            raise Refused(f"{cells.row_name(row)} has an interval that a witness leads out of")


def _ends(column: pa.Array, table: TableSpec) -> Floats:
    """Return the ends of intervals, NaN where none was worked out."""
    blank = pc.equal(column, "")
    ends = attempt(table.internal, lambda: pc.cast(pc.if_else(blank, "0", column), pa.float64()))
    return np.where(bools(blank), np.nan, np.asarray(ends.to_numpy(zero_copy_only=False), dtype=np.float64))
