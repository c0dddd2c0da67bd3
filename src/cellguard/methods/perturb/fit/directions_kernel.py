"""Directions against the running sums of relations.

Turning a cell of amount a and direction s, which is in k relations with sums R, changes their sum of squares by
-4 a (s sum of R - k a). So every turn with s sum of R > k a is a gain, and turning ends.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def _sum_of(here, running):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    total = 0.0
    for r in here:
        total += running[r]
    return total


@kernel
def against_sums(indptr, indices, amount, order, relations, passes):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return +1 or -1 per cell: against the sums of those before it, then single turns while they are a gain."""
    direction = np.ones(len(amount))
    running = np.zeros(relations)
    for cell in order:
        here = indices[indptr[cell] : indptr[cell + 1]]
        direction[cell] = -1.0 if _sum_of(here, running) > 0 else 1.0
        for r in here:
            running[r] += direction[cell] * amount[cell]
    for _ in range(passes):
        turned = False
        for cell in order:
            here = indices[indptr[cell] : indptr[cell + 1]]
            step = direction[cell] * amount[cell]
            gain = direction[cell] * _sum_of(here, running) - len(here) * amount[cell]
            if gain > 1e-9 * amount[cell]:
                for r in here:
                    running[r] -= 2 * step
                direction[cell] = -direction[cell]
                turned = True
        if not turned:
            break
    return direction
