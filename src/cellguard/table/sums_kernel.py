"""Adding up a column of the rows in every cell, see `row_sums`. Typed by their use."""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel(nogil=True)
def sum_rows(leaf, values, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the sum of the values in every leaf cell."""
    sums = np.zeros(cells, np.int64)
    for row in range(len(leaf)):
        sums[leaf[row]] += values[row]
    return sums


@kernel(nogil=True)
def sum_up(start, up, first, sums, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the sums of the cells of a stage that the next one has."""
    above = np.zeros(cells, np.int64)
    for here in range(len(sums)):
        for edge in range(start[first + here], start[first + here + 1]):
            above[up[edge]] += sums[here]
    return above


@kernel(nogil=True)
def sum_step(child, parent, sums):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Add the sum of each child to that of its parent."""
    for edge in range(len(child)):
        sums[parent[edge]] += sums[child[edge]]
