"""Publishing cells one by one in a basis of moves whose numbers stay small. Compiled.

The rows of B span all moves of the suppressed cells (M d = 0). Publishing cell c adds the equation d_c = 0. If b is a
row with b_c not 0, the rows r - (r_c / b_c) b span what is left, one dimension less; multiplied by b_c / gcd(b_c, r_c)
they stay whole. A target is still protected while some row moves it.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def _divisor(a, b):  # noqa: ANN001, ANN202
    """Return the greatest common divisor of two numbers, at least 0."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@kernel
def publish(basis, is_target, order, forced, largest):  # noqa: ANN001, ANN201
    """Publish cells in this order where every target can still move; return which, and how many moves are left.

    Row k of the basis is a move: by how much each cell moves. To publish a cell is to demand that it does not move: of
    the moves that move it, the one that moves it least, and then the fewest cells, is added to the others as often as
    that takes, and is then gone. A cell stays suppressed if a target would have no move left, or if a number would grow
    beyond the largest: a move that takes some cell a million times as far as the one that it protects protects little.

    The moves may depend on each other; those left are the first rows. The first so many cells of the order are
    ``forced``: if one of them cannot be published, that is the end.
    """
    width, n = basis.shape
    published = np.zeros(n, np.bool_)
    cells = np.zeros(width, np.int64)
    moving = np.zeros(n, np.int64)
    for k in range(width):
        for c in range(n):
            if basis[k, c] != 0:
                cells[k] += 1
                moving[c] += 1
    others, where, shown = np.empty(width, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for number in range(len(order)):
        if 0 < number <= forced and not published[order[number - 1]]:
            break
        c = order[number]
        best, many = -1, 0
        for k in range(width):
            size = abs(basis[k, c])
            if size == 0:
                continue
            others[many] = k
            many += 1
            if best < 0 or size < abs(basis[best, c]) or (size == abs(basis[best, c]) and cells[k] < cells[best]):
                best = k
        if best < 0:
            published[c] = True
            continue
        value = np.int64(basis[best, c])
        # Moves that are not multiplied themselves change only where the best one moves something.
        wide = 0
        for j in range(n):
            if abs(value) != 1 or basis[best, j] != 0:
                where[wide] = j
                wide += 1
                shown[j] = moving[j]
        fresh = np.empty((many, wide), np.int32)
        fine = True
        for q in range(many):
            k = others[q]
            if k == best:
                for i in range(wide):
                    fresh[q, i] = 0
                    shown[where[i]] -= int(basis[k, where[i]] != 0)
                continue
            common = _divisor(value, np.int64(basis[k, c]))
            sign = 1 if value > 0 else -1
            own, taken = abs(value) // common, sign * basis[k, c] // common
            largest_here, divisor = np.int64(0), np.int64(0)
            for i in range(wide):
                j = where[i]
                term = own * basis[k, j] - taken * basis[best, j]
                fresh[q, i] = term
                largest_here = max(largest_here, abs(term))
                shown[j] += int(term != 0) - int(basis[k, j] != 0)
                if own != 1 and divisor != 1:
                    divisor = _divisor(divisor, term)
            if divisor > 1:
                largest_here //= divisor
                for i in range(wide):
                    fresh[q, i] //= divisor
            if largest_here > largest:
                fine = False
                break
        for i in range(wide):
            if not fine:
                break
            fine = not is_target[where[i]] or shown[where[i]] > 0
        if not fine:
            continue
        published[c] = True
        for q in range(many):
            k = others[q]
            for i in range(wide):
                j = where[i]
                cells[k] += int(fresh[q, i] != 0) - int(basis[k, j] != 0)
                basis[k, j] = fresh[q, i]
        for i in range(wide):
            moving[where[i]] = shown[where[i]]
        width -= 1
        basis[best] = basis[width]
        cells[best] = cells[width]
    return published, width
