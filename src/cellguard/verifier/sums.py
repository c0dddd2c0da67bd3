"""Do the stored values add up?

A stored value may lie off the true one by as much as it was rounded: not at all if the values of its table are whole,
else by half a unit of their last decimal, plus the table's tolerance if it states one. A relation must hold to within
the sum of that over its terms. Sums are worked out in whole numbers of grains, exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.numbers import Bools, Floats, Int64, Ints
from cellguard.verifier.relations import Matrix
from cellguard.verifier.rows import Rows
from cellguard.verifier.stages import Refused

MOST_DECIMALS = 6
# What sums of float64 may be off, relative to the values: of values that were rounded, and of those that were not.
ROUNDED, UNROUNDED = 1e-13, 1e-9


def check_sums(cells: Cells, rows: Rows, relations: Matrix) -> None:
    """Refuse stored values that break a relation by more than rounding explains; relations with unknown terms pass."""
    first = np.full(cells.count, -1, dtype=np.int64)
    first[cells.cell[::-1]] = np.arange(cells.cell.size)[::-1]
    value = np.concatenate(rows.value)[np.maximum(first, 0)]
    allowed: Floats = np.asarray(abs(relations).astype(np.float64) @ allowances(cells, rows))
    # What is allowed is a sum of float64, and may be rounded down.
    wrong = np.asarray(_gaps(relations, value) > allowed * (1 + 1e-9) + 1e-6, dtype=bool)
    wrong &= ~_any(relations, first < 0)
    if wrong.any():
        relation = int(np.argmax(wrong))
        terms = relations.indices[relations.indptr[relation] : relations.indptr[relation + 1]]
        name = cells.cell_name(int(terms[0]))
        raise Refused(f"the stored values do not add up: {int(wrong.sum())} relations, the first one of {name}")


def allowances(cells: Cells, rows: Rows) -> Floats:
    """Return how far each distinct cell's stored value may lie from the true one, in grains.

    A cell that several tables show has the value of the first, so it may be off by what all of them allow.
    """
    roundings = np.zeros(cells.count)
    for number, table in enumerate(cells.spec.tables):
        decimals = cells.spec.grains[table.group]
        value = rows.value[number]
        own = _rounding(value, decimals) + float(table.tolerance * Fraction(10) ** decimals)
        np.add.at(roundings, cells.cell[cells.rows(number)], own)
    return roundings


def _rounding(value: Ints, decimals: int) -> Floats:
    """Return how far rounding and float64 may have moved each value, in grains.

    Values that use every decimal of the grain may have been cut there, so that nothing says how they were rounded.
    """
    used = next((d for d in range(min(decimals, MOST_DECIMALS) + 1) if not (value % 10 ** (decimals - d)).any()), None)
    size = np.abs(value).astype(np.float64)
    if used is None or (used == decimals and decimals > 0):
        return 0.5 + UNROUNDED * size
    return (0.5 * 10.0 ** (decimals - used) if used else 0.0) + ROUNDED * size


def _gaps(relations: Matrix, value: Ints) -> Ints:
    """Return how far each relation is from holding: in int64 if that cannot overflow, else in Python integers."""
    longest = int(np.abs(relations.data).max(initial=0)) * int(np.diff(relations.indptr).max(initial=0))
    if value.dtype != object and int(np.abs(value).max(initial=0)) * longest < 2**63:
        misses: Int64 = np.abs(relations @ value)
        return misses
    terms = relations.data.astype(object) * value.astype(object)[relations.indices]
    bounds = zip(relations.indptr[:-1].tolist(), relations.indptr[1:].tolist(), strict=True)
    return np.array([abs(sum(terms[begin:end])) for begin, end in bounds], dtype=object)


def _any(relations: Matrix, marked: Bools) -> Bools:
    """Return the relations with a term that is marked."""
    return np.asarray(abs(relations) @ marked.astype(np.int64) > 0, dtype=bool)
