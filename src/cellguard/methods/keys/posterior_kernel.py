"""Sum-product message passing over relations of cells with noise. Compiled.

A cell c has a true count base[c] + k, k = 0, 1, ..., w - 1. A relation says that its whole is the sum of its parts; in
terms of k the sum of the parts' k is that of the whole plus a shift. The message of a relation to a cell is the total
weight of all others for each k: the parts before it are convolved into `left`, those after it and the whole `right`.

A whole all of whose records are in one part has the same records as that part, so the same key, and the same noise: its
published count says nothing new if it is that of the part, and anything else is impossible. So a sum goes with a state:
no part has records (0), one has, with the published count of the whole (1), several, or a cell that has no noise (2),
or one with another published count (3). In state 1 the whole's own probability is left out: it is certain. A message to
the whole is in two: ``message`` for the states 0 and 2, ``alone`` for 1. Wholes of several relations are alone in any.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def sweep(start, cell, whole, shift, singleton, base, own, edge_start, edges, message, alone):  # type: ignore[no-untyped-def]
    """Renew the messages of all relations once, in place; return the largest change of a message.

    The cells of relation r are cell[start[r] : start[r + 1]]; whole[r] says that the first is the whole, and not 0.
    ``singleton`` is for each part the state of a sum in which it alone has records; -1 for wholes. The places of a cell
    in relations are edges[edge_start[c] : edge_start[c + 1]]; ``own`` are the weights of cells by themselves.
    """
    w = own.shape[1]
    changed = 0.0
    for r in range(len(start) - 1):
        first, n = start[r], start[r + 1] - start[r]
        parts = n - whole[r]
        if parts == 0:
            continue
        coming = np.zeros((n, w))
        certain = np.zeros((1, w))
        for j in range(n):
            _outgoing(cell[first + j], first + j, own, singleton, edge_start, edges, message, alone, coming, certain, j)
        low, high = _windows(coming, whole[r], parts)
        width = 1
        for j in range(parts + 1):
            width = max(width, high[j] - low[j] + 1)
        right = np.zeros((parts + 1, 4, width))
        for k in range(w):
            t = k + shift[r]
            if low[parts] <= t <= high[parts]:
                if whole[r] == 1:
                    right[parts, 0, t - low[parts]] = coming[0, k]
                    right[parts, 1, t - low[parts]] = certain[0, k]
                    right[parts, 2, t - low[parts]] = coming[0, k]
                elif k == 0:
                    right[parts, 0, t - low[parts]] = 1.0
        for j in range(parts - 1, -1, -1):
            e = first + whole[r] + j
            zero = -base[cell[e]]
            for s in range(4):
                then = singleton[e] if s == 0 else 2
                for t in range(low[j], high[j] + 1):
                    total = 0.0
                    for k in range(max(0, low[j + 1] - t), min(w, high[j + 1] + 1 - t)):
                        into = s if k == zero else then
                        total += coming[whole[r] + j, k] * right[j + 1, into, t + k - low[j + 1]]
                    right[j, s, t - low[j]] = total
        going = np.zeros((n, w))
        left = np.zeros((4, width))
        left[0, 0] = 1.0
        for j in range(parts):
            e = first + whole[r] + j
            zero = -base[cell[e]]
            after = np.zeros((4, width))
            for s in range(4):
                then = singleton[e] if s == 0 else 2
                for t in range(low[j], high[j] + 1):
                    before = left[s, t - low[j]]
                    if before > 0.0:
                        for k in range(max(0, low[j + 1] - t), min(w, high[j + 1] + 1 - t)):
                            into = s if k == zero else then
                            going[whole[r] + j, k] += before * right[j + 1, into, t + k - low[j + 1]]
                            after[into, t + k - low[j + 1]] += before * coming[whole[r] + j, k]
            left = after
        for j in range(whole[r], n):
            total = 0.0
            for k in range(w):
                total += going[j, k]
            changed = max(changed, _renew(message, first + j, going, j, total))
        if whole[r] == 1:
            same = np.zeros((1, w))
            total = 0.0
            for k in range(w):
                t = k + shift[r]
                if low[parts] <= t <= high[parts]:
                    going[0, k] = left[0, t - low[parts]] + left[2, t - low[parts]]
                    same[0, k] = left[1, t - low[parts]]
                    total += going[0, k] + same[0, k]
            changed = max(changed, _renew(message, first, going, 0, total))
            changed = max(changed, _renew(alone, first, same, 0, total))
    return changed


@kernel
def _windows(coming, first, parts):  # type: ignore[no-untyped-def]
    """Return from where to where the sums of the first parts reach, without ends of less than 1e-30."""
    w = coming.shape[1]
    low, high = np.zeros(parts + 1, np.int64), np.zeros(parts + 1, np.int64)
    left = np.ones(1)
    for j in range(parts):
        after = np.zeros(len(left) + w - 1)
        for t in range(len(left)):
            for k in range(w):
                after[t + k] += left[t] * coming[first + j, k]
        begin, end = 0, len(after) - 1
        while begin < end and after[begin] < 1e-30:
            begin += 1
        while end > begin and after[end] < 1e-30:
            end -= 1
        low[j + 1], high[j + 1] = low[j] + begin, low[j] + end
        left = after[begin : end + 1]
    return low, high


@kernel
def _renew(message, edge, going, row, total):  # type: ignore[no-untyped-def]
    """Put a new message in the place of an old one, as shares of a total; return the largest change."""
    changed = 0.0
    for k in range(going.shape[1]):
        share = going[row, k] / total if total > 0.0 else 0.0
        changed = max(changed, abs(share - message[edge, k]))
        message[edge, k] = share
    return changed


@kernel
def _outgoing(c, edge, own, singleton, edge_start, edges, message, alone, coming, certain, row):  # type: ignore[no-untyped-def]
    """Put the weights of a cell from all its relations but one into a row, and those of a whole that is certain."""
    w = own.shape[1]
    for k in range(w):
        parts, other, any_other = 1.0, 1.0, 1.0
        for i in range(edge_start[c], edge_start[c + 1]):
            e = edges[i]
            if e == edge:
                continue
            if singleton[e] < 0:
                other *= message[e, k]
                any_other *= message[e, k] + alone[e, k]
            else:
                parts *= message[e, k]
        coming[row, k] = parts * (own[c, k] * other + (any_other - other))
        if edge >= 0 and singleton[edge] < 0:
            certain[0, k] = parts * any_other
    total = 0.0
    for k in range(w):
        total += coming[row, k]
        if edge >= 0 and singleton[edge] < 0:
            total += certain[0, k]
    if total > 0.0:
        for k in range(w):
            coming[row, k] /= total
            if edge >= 0 and singleton[edge] < 0:
                certain[0, k] /= total


@kernel
def beliefs(own, singleton, edge_start, edges, message, alone):  # type: ignore[no-untyped-def]
    """Return the weights of all cells with what their relations say."""
    belief = np.zeros(own.shape)
    certain = np.zeros((1, own.shape[1]))
    for c in range(len(own)):
        _outgoing(c, -1, own, singleton, edge_start, edges, message, alone, belief, certain, c)
    return belief
