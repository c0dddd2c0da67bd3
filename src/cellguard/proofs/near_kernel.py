"""The relations around one class, on flat arrays. Compiled.

A relation of k terms gives a move k - 1 ways on, and costs k entries of a program. So a heap takes relations by their
distance from the class, and the shorter ones of the same distance first, until the program is as large as allowed.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def relations_near(column, most, terms, row_start, row_columns, column_start, column_rows):  # noqa: ANN001, ANN201
    """Return relations near a column, breadth first and the shorter first, and the columns that they have.

    At most so many relations, and so many terms in all; a relation that is too long is left out.
    """
    # Empty lists of a known type: the compiler cannot tell it from [].
    rows = [np.int64(0) for _ in range(0)]
    columns = [np.int64(column)]
    taken, seen = {np.int64(column)}, {np.int64(-1)}
    heap = [(np.int64(0), np.int64(0), np.int64(-1)) for _ in range(0)]
    for z in range(column_start[column], column_start[column + 1]):
        r = column_rows[z]
        seen.add(r)
        heap.append((np.int64(1), row_start[r + 1] - row_start[r], r))
    heapq.heapify(heap)
    left = terms
    while len(heap) and len(rows) < most:
        step, length, r = heapq.heappop(heap)
        # One long relation would use up the terms of many short ones, which are more likely to carry a move.
        if length > left:
            continue
        left -= length
        rows.append(r)
        for y in range(row_start[r], row_start[r + 1]):
            c = row_columns[y]
            if c in taken:
                continue
            taken.add(c)
            columns.append(c)
            for z in range(column_start[c], column_start[c + 1]):
                s = column_rows[z]
                if s not in seen:
                    seen.add(s)
                    heapq.heappush(heap, (step + 1, row_start[s + 1] - row_start[s], s))
    return np.array(rows, np.int64), np.array(columns, np.int64)
