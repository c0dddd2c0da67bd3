"""Points on lines through random solutions modulo a prime: which triples lie in a plane, see `coalitions`."""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import inverse


@kernel
def divide_by_first(rows, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Divide each row by its first entry that is not 0, in place."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            if rows[i, k]:
                scale = inverse(rows[i, k], prime)
                for j in range(rows.shape[1]):
                    rows[i, j] = rows[i, j] * scale % prime
                break
    return rows


@kernel
def planar_triples(kernel, candidates, indptr, indices, starts, rows_of, prime, most):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """For each unknown a: look along the line from a, where b and c fall on one point if a, b, c are in a plane."""
    n, samples = kernel.shape
    seen = np.full(n, -1, np.int64)
    near = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    triples = []
    for a in range(n):
        if not candidates[a]:
            continue
        lead = 0
        while lead < samples and kernel[a, lead] == 0:
            lead += 1
        if lead == samples:
            continue
        scale = inverse(kernel[a, lead], prime)
        neighbours = 0
        seen[a] = a
        for at in range(starts[a], starts[a + 1]):
            r = rows_of[at]
            for place in range(indptr[r], indptr[r + 1]):
                b = indices[place]
                if candidates[b] and seen[b] != a:
                    seen[b] = a
                    f = kernel[b, lead] * scale % prime
                    first = 0
                    point = 0
                    used = 0
                    for k in range(samples):
                        if k == lead:
                            continue
                        x = (kernel[b, k] - f * kernel[a, k]) % prime
                        if first == 0:
                            if x:
                                first = inverse(x, prime)
                                point = k
                        elif used < 2:
                            point = point * prime + x * first % prime
                            used += 1
                    if first:
                        near[neighbours] = b
                        key[neighbours] = point
                        neighbours += 1
        order = np.argsort(key[:neighbours], kind="mergesort")
        for at in range(neighbours - 1):
            b, c = near[order[at]], near[order[at + 1]]
            if key[order[at]] == key[order[at + 1]]:
                triples.append((a, b, c))
                if len(triples) >= most:
                    return triples
    return triples
