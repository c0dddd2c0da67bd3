"""The neighbourhood of a cell, on flat arrays.

Cells and relations are the two sides of a graph; a move near a cell needs, in every relation that it enters, another
cell to leave by. So the search goes breadth first from relation to relation and takes of each all suppressed cells,
which cost nothing, and the cheapest few others.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def neighbourhood(  # type: ignore[no-untyped-def] # noqa: ANN201
    cell,  # noqa: ANN001
    rounds,  # noqa: ANN001
    per_row,  # noqa: ANN001
    most,  # noqa: ANN001
    row_start,  # noqa: ANN001
    row_cells,  # noqa: ANN001
    cell_start,  # noqa: ANN001
    cell_rows,  # noqa: ANN001
    hidden,  # noqa: ANN001
    never,  # noqa: ANN001
):
    """Return the cells near a cell: breadth first, from each relation its suppressed cells and its cheapest others."""
    near = np.zeros(len(hidden), np.bool_)
    seen = np.zeros(len(row_start) - 1, np.bool_)
    cells = np.empty(len(hidden), np.int64)
    cells[0] = cell
    near[cell] = True
    taken_in, start = 1, 0
    for _ in range(rounds):
        end = taken_in
        for i in range(start, end):
            c = cells[i]
            for z in range(cell_start[c], cell_start[c + 1]):
                r = cell_rows[z]
                if seen[r]:
                    continue
                seen[r] = True
                taken = 0
                for y in range(row_start[r], row_start[r + 1]):
                    j = row_cells[y]
                    if near[j] or never[j]:
                        continue
                    if hidden[j] or taken < per_row:
                        if not hidden[j]:
                            taken += 1
                        near[j] = True
                        cells[taken_in] = j
                        taken_in += 1
            if taken_in > most:
                break
        if taken_in > most or taken_in == end:  # too many, or nothing new
            break
        start = end
    # cells all of whose relations are touched cost nothing to take along
    for r in range(len(seen)):
        if seen[r]:
            for y in range(row_start[r], row_start[r + 1]):
                j = row_cells[y]
                if near[j] or never[j]:
                    continue
                inside = True
                for z in range(cell_start[j], cell_start[j + 1]):
                    if not seen[cell_rows[z]]:
                        inside = False
                        break
                if inside:
                    near[j] = True
                    cells[taken_in] = j
                    taken_in += 1
    return np.sort(cells[:taken_in])


@kernel
def movable(row_start, row_cells, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return which of so many cells are alone in no relation, once all that are were taken out."""
    live = np.ones(cells, np.bool_)
    changed = True
    while changed:
        changed = False
        for r in range(len(row_start) - 1):
            count, last = 0, -1
            for y in range(row_start[r], row_start[r + 1]):
                if live[row_cells[y]]:
                    count += 1
                    last = row_cells[y]
            if count == 1:
                live[last] = False
                changed = True
    return live
