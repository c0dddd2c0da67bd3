"""Neighbourhoods of suppressed cells, relation by relation, on flat arrays. Compiled."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def widest_near(cell, most, per, least, row_start, row_cells, rows, hidden, width):  # noqa: ANN001, ANN201
    """Return suppressed cells around one, breadth first: of each relation the widest, and at most so many in all.

    Cells narrower than ``least`` are left out. ``row_cells`` are sorted by width.
    """
    marked = np.zeros(len(hidden), np.bool_)
    found = np.empty(most, np.int32)
    found[0] = cell
    marked[cell] = True
    many, next_one = 1, 0
    while next_one < many < most:
        c = found[next_one]
        next_one += 1
        for q in range(rows.start[c], rows.start[c + 1]):
            r, taken = rows.row[q], 0
            for e in range(row_start[r], row_start[r + 1]):
                x = row_cells[e]
                if not hidden[x]:
                    continue
                if width[x] < least or taken == per or many == most:
                    break
                taken += 1
                if not marked[x]:
                    marked[x] = True
                    found[many] = x
                    many += 1
    return found[:many].copy()


@kernel
def published_near(cells, per, most, row_start, cheapest, rows, barred):  # noqa: ANN001, ANN201
    """Return the cheapest cells of each relation of some cells that are not barred, at most so many in all.

    ``cheapest`` are the cells of relations sorted by cost.
    """
    marked = np.zeros(len(barred), np.bool_)
    found, many = np.empty(most, np.int32), 0
    for i in range(len(cells)):
        for q in range(rows.start[cells[i]], rows.start[cells[i] + 1]):
            r, taken = rows.row[q], 0
            for e in range(row_start[r], row_start[r + 1]):
                x = cheapest[e]
                if barred[x]:
                    continue
                if taken == per or many == most:
                    break
                taken += 1
                if not marked[x]:
                    marked[x] = True
                    found[many] = x
                    many += 1
    return found[:many].copy()
