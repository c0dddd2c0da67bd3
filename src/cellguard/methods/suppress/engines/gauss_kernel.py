"""Publishing cells again that no target needs, on flat arrays and modulo the prime of the circuits. Compiled.

Row c has the coefficients of d_c in a basis of circuits: d_c = sum of row[c, k] z_k with free z. Publishing c demands
row[c] z = 0: one z_k is eliminated from all rows. d_t of a target becomes 0 exactly if row[t] is a multiple of row[c],
which has the same length and one common ratio. Rows are sparse lists that only grow, so that elimination costs what it
changes.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import PRIME, inverse, packed, subtract, value_at


@kernel
def publish(indptr, indices, data, width, is_target, order, work):  # noqa: ANN001, ANN201
    """Publish cells in this order where every target can still move; return which, and how many were looked at.

    Row c says how cell c moves when circuits 0 .. width - 1 do. To publish a cell is to demand that its row is 0, which
    takes one circuit away: the one that the fewest cells have. A target loses all of its moves exactly if its row is a
    multiple of the cell's, and then the cell stays suppressed. Rows grow with each circuit that is taken away; once
    more terms than ``work`` were written, the rest is left to a fresh basis.
    """
    rows = len(indptr) - 1
    used = np.int64(len(indices))
    columns, values = np.empty(4 * used + 1024, np.int32), np.empty(4 * used + 1024, np.int64)
    columns[:used], values[:used] = indices, data
    begin, length = indptr[:-1].copy(), indptr[1:] - indptr[:-1]
    # For each circuit a linked list of the rows that have, or once had, it.
    head, holders = np.full(width, -1, np.int64), np.zeros(width, np.int64)
    row_of, next_of = np.empty(4 * used + 1024, np.int32), np.empty(4 * used + 1024, np.int64)
    linked = np.int64(0)
    for r in range(rows):
        for k in range(begin[r], begin[r] + length[r]):
            c = columns[k]
            row_of[linked], next_of[linked] = r, head[c]
            head[c] = linked
            linked += 1
            holders[c] += 1
    published, done = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    seen = np.full(rows, -1, np.int64)
    written = np.int64(0)
    for t in range(len(order)):
        if written > work:
            return published, t
        cell = order[t]
        first, many = begin[cell], length[cell]
        if many == 0:
            published[cell] = done[cell] = True
            continue
        # Eliminating the circuit with the fewest holders changes the fewest rows, and so fills in least (Markowitz).
        best = first
        for k in range(first, first + many):
            if holders[columns[k]] < holders[columns[best]]:
                best = k
        circuit, scale = columns[best], inverse(values[best], PRIME)
        # Only rows that hold this circuit can be multiples of the cell's; their length must be the same as well.
        needed = False
        link = head[circuit]
        while link >= 0 and not needed:
            r = row_of[link]
            if is_target[r] and length[r] == many:
                factor = value_at(columns, values, begin[r], many, circuit) * scale % PRIME
                needed = factor != 0
                for k in range(many):
                    if not needed:
                        break
                    other = begin[r] + k
                    needed = (
                        columns[first + k] == columns[other] and values[first + k] * factor % PRIME == values[other]
                    )
            link = next_of[link]
        if needed:
            done[cell] = True
            continue
        published[cell] = done[cell] = True
        link = head[circuit]
        while link >= 0:
            r = row_of[link]
            link = next_of[link]
            if done[r] or seen[r] == t:
                continue
            seen[r] = t
            factor = value_at(columns, values, begin[r], length[r], circuit)
            if factor == 0:
                continue
            need = length[r] + many
            written += need
            if used + need > len(columns):
                for other in range(rows):
                    if done[other] and other != cell:
                        length[other] = 0
                columns, values, used = packed(columns, values, begin, length, need)
            old, old_end = begin[r], begin[r] + length[r]
            used = subtract(columns, values, used, begin, length, r, cell, factor * scale % PRIME)
            for k in range(begin[cell], begin[cell] + length[cell]):
                c = columns[k]
                while old < old_end and columns[old] < c:
                    old += 1
                if old < old_end and columns[old] == c:
                    continue
                if linked == len(row_of):
                    more_rows, more_next = np.empty(2 * linked, np.int32), np.empty(2 * linked, np.int64)
                    more_rows[:linked], more_next[:linked] = row_of, next_of
                    row_of, next_of = more_rows, more_next
                row_of[linked], next_of[linked] = r, head[c]
                head[c] = linked
                linked += 1
                holders[c] += 1
        length[cell] = 0
    return published, len(order)
