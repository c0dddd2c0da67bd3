"""Facts that do not roll up: median, quartiles, standard deviation and entropy need every contribution of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numba
import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.facts import FloatArray
from cellguard.table.grid import Grid
from cellguard.table.lattice import Lattice, ancestors
from cellguard.table.tabulate_kernel import Rows

MEDIAN, LOWER, UPPER, DEVIATION, ENTROPY = range(5)


def describe(lattice: Lattice, dimensions: Sequence[Dimension], rows: Rows, grid: Grid) -> FloatArray:
    """Return median, quartiles, standard deviation and entropy of every cell's contributions, one column each.

    One pass for each combination of levels: in it a row has one cell at the most, so that a counting sort lays the
    contributions of each cell side by side, holdings in order.
    """
    found = np.full((len(lattice), 5), np.nan)
    for cell_of in _strata(lattice, dimensions):
        start, values = _contributions(cell_of, rows.leaf, rows.holding, rows.value, len(lattice))
        _describe(start, grid.floats(values), found)
    return found


def _strata(lattice: Lattice, dimensions: Sequence[Dimension]) -> Iterator[IntArray]:
    """Go through the combinations of levels; yield for each the cell that each leaf cell belongs to, or -1."""
    steps = [_steps(d) for d in dimensions]
    codes = [leaf_code(lattice, d) for d in range(len(dimensions))]
    for chosen in product(*steps):
        cell = np.arange(lattice.sizes[0])
        for d, step in enumerate(chosen):
            here = step[codes[d]]
            there = (cell >= 0) & (here >= 0)
            begin = lattice.start[lattice.first[d] + np.where(there, cell, 0)]
            cell = np.where(there, lattice.up[np.where(there, begin + here, 0)], -1)
        yield cell.astype(np.int32)


def leaf_code(lattice: Lattice, dimension: int) -> IntArray:
    """Return the code that each leaf cell has in a dimension."""
    cell = np.arange(lattice.sizes[0])
    for d in range(len(lattice.codes)):
        # A code comes first among itself and those above it.
        cell = lattice.up[lattice.start[lattice.first[d] + cell]]
    return lattice.codes[dimension][cell]


def _steps(dimension: Dimension) -> list[npt.NDArray[np.int64]]:
    """Return for each hierarchy and level where each code's ancestor of that level stands in its list, or -1."""
    start, above = ancestors(dimension)
    owner = np.full(len(dimension.codes), -1, np.int64)
    for number in range(len(dimension.parents) - 1, -1, -1):
        owner[dimension.parents[number] > -2] = number
    slot = owner * (int(dimension.level.max()) + 1) + dimension.level
    place = np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
    code = np.repeat(np.arange(len(dimension.codes)), np.diff(start))
    found = []
    for wanted in np.unique(slot):
        here = slot[above] == wanted
        step = np.full(len(dimension.codes), -1, np.int64)
        step[code[here]] = place[here]
        found.append(step)
    return found


@numba.njit(cache=True, nogil=True)
def _contributions(cell_of, leaf, holding, value, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Sum the rows of each holding in each cell; return where each cell's contributions start, and all of them."""
    begin = np.zeros(cells + 1, np.int64)
    for row in range(len(leaf)):
        cell = cell_of[leaf[row]]
        if cell >= 0:
            begin[cell + 1] += 1
    for cell in range(cells):
        begin[cell + 1] += begin[cell]
    values = np.zeros(begin[cells], np.int64)
    used = np.zeros(cells, np.int64)
    last = np.full(cells, -1, np.int64)
    for row in range(len(leaf)):
        cell = cell_of[leaf[row]]
        if cell >= 0:
            if last[cell] != holding[row]:
                last[cell] = holding[row]
                used[cell] += 1
            values[begin[cell] + used[cell] - 1] += value[row]
    start = np.zeros(cells + 1, np.int64)
    for cell in range(cells):
        start[cell + 1] = start[cell] + used[cell]
        for i in range(used[cell]):
            values[start[cell] + i] = values[begin[cell] + i]
    return start, values[: start[cells]]


@numba.njit(cache=True, nogil=True)
def _describe(start, values, found):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for cell in range(len(start) - 1):
        many = start[cell + 1] - start[cell]
        if many == 0:
            continue
        ordered = np.sort(values[start[cell] : start[cell + 1]])
        found[cell, MEDIAN] = _quantile(ordered, 0.5)
        found[cell, LOWER] = _quantile(ordered, 0.25)
        found[cell, UPPER] = _quantile(ordered, 0.75)
        if many > 1:
            found[cell, DEVIATION] = np.sqrt(((ordered - ordered.mean()) ** 2).sum() / (many - 1))
        size = np.abs(ordered).sum()
        if size > 0:
            entropy = 0.0
            for x in ordered:
                if x != 0:
                    entropy -= abs(x) / size * np.log2(abs(x) / size)
            found[cell, ENTROPY] = max(entropy, 0.0)


@numba.njit(cache=True, nogil=True)
def _quantile(ordered, share):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    at = share * (len(ordered) - 1)
    low = int(np.floor(at))
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
