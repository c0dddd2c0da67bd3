"""How a few rows of residues depend on each other modulo a prime.

Rows r_1 ... r_k over Z/p depend if c_1 r_1 + ... + c_k r_k = 0 for some c that is not 0. Gaussian elimination finds c
when each row carries a tag: what it is as a combination of the rows that were given. p is prime, so that every pivot
has an inverse. A dependence over the rationals is one modulo every prime that divides no denominator; the converse is
only likely, so that callers who need certainty check c in whole numbers.
"""

from __future__ import annotations

import numpy as np

from cellguard.linalg.residues import Residues


def along(kernel: Residues, onto: list[int], prime: int) -> Residues:
    """Return rows as seen along the lines from some of them: multiples of these are taken off every row.

    >>> along(np.array([[1, 2], [2, 4], [1, 0]]), [0], 7).tolist()
    [[0, 0], [0, 0], [0, 5]]
    """
    left = kernel
    for a in onto:
        row = left[a]
        if row.any():
            lead = int(np.flatnonzero(row)[0])
            shares = left[:, lead] * pow(int(row[lead]), -1, prime) % prime
            left = (left - shares[:, None] * row[None, :]) % prime
    return left


def dependence(rows: Residues, prime: int) -> list[int] | None:
    """Return c with c @ rows = 0 and the last c = 1, modulo the prime, or None: elimination on the other rows.

    >>> dependence(np.array([[1, 2], [0, 1], [3, 4]]), 7)
    [4, 2, 1]
    """
    *others, last = rows.tolist()
    basis: list[tuple[int, list[int], list[int]]] = []
    for number, other in enumerate(others):
        row, tag = _sweep(other, [int(i == number) for i in range(len(others))], basis, prime)
        pivot = next((i for i, x in enumerate(row) if x), None)
        if pivot is None:
            return None
        scale = pow(row[pivot], -1, prime)
        basis.append((pivot, [x * scale % prime for x in row], [x * scale % prime for x in tag]))
    left, tag = _sweep(last, [0] * len(others), basis, prime)
    return None if any(left) else [*tag, 1]


def _sweep(
    row: list[int], tag: list[int], basis: list[tuple[int, list[int], list[int]]], prime: int
) -> tuple[list[int], list[int]]:
    for pivot, clean, its in basis:
        f = row[pivot]
        row = [(x - f * y) % prime for x, y in zip(row, clean, strict=True)]
        tag = [(x - f * y) % prime for x, y in zip(tag, its, strict=True)]
    return row, tag
