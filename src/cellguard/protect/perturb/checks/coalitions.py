"""Who learns whose perturbed contribution: small sets of unknowns that published cells tie to each other.

A combination of cells whose only contributors are a few units tells each coalition of all but one of them the perturbed
contribution of that one. On such a set the solutions v of A v = 0 are dependent: of two unknowns the v are
proportional, of three they lie in a plane. Random solutions modulo a prime (see `rowspace`) show both.
"""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import scipy.sparse as sp

from cellguard.protect.perturb.checks.residues import PRIMES, Residues, inverse
from cellguard.protect.perturb.checks.rowspace import RowSpace, Target, _fraction
from cellguard.types import BoolArray, LongArray

MOST_UNITS = 20_000


def tied_pairs(kernel: Residues, candidates: LongArray, prime: int = PRIMES[0]) -> list[tuple[int, int]]:
    """Return pairs of unknowns of which one tells the other: each with the first candidate that is tied to it."""
    scaled = _scaled(kernel[candidates], prime)
    rows = np.ascontiguousarray(scaled).view([("", np.int64)] * scaled.shape[1]).ravel()
    _, first, inverse_ = np.unique(rows, return_index=True, return_inverse=True)
    heads = first[inverse_]
    second = np.flatnonzero(heads != np.arange(len(candidates)))
    return [(int(candidates[heads[at]]), int(candidates[at])) for at in second.tolist()]


def tied_triples(
    kernel: Residues, candidates: BoolArray, sparse: sp.csr_array, most: int, prime: int = PRIMES[0]
) -> list[tuple[int, int, int]]:
    """Return triples of unknowns that share sparse cells and of which any two tell the third.

    ``sparse`` are the cells to look at, ``candidates`` the unknowns.
    """
    by_column = sp.csc_array(sparse)
    found = _triples(
        kernel,
        candidates,
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int64),
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int64),
        prime,
        most,
    )
    return sorted({tuple(sorted(map(int, triple))) for triple in found})  # type: ignore[misc]


def tied_sets(
    kernel: Residues, candidates: BoolArray, sparse: sp.csr_array, size: int, most: int, prime: int = PRIMES[0]
) -> list[tuple[int, ...]]:
    """Return sets of so many unknowns (3 or more) of which all but one tell that one; one of them is near all others.

    Of four unknowns: look along the line from each of them, where the other three are such a set; and so on.
    """
    if size == 3:
        return list(tied_triples(kernel, candidates, sparse, most, prime))
    found: set[tuple[int, ...]] = set()
    around = _Around(sparse)
    for a in np.flatnonzero(candidates & kernel.any(axis=1)).tolist():
        near = np.zeros(len(candidates), bool)
        near[around.of(np.array([a]))] = True
        near &= candidates
        for rest in tied_sets(_project(kernel, [a], prime), near, sparse, size - 1, most - len(found), prime):
            found.add(tuple(sorted((a, *rest))))
        if len(found) >= most:
            break
    return sorted(found)


def told_by_units(
    kernel: Residues,
    units: sp.csr_array,
    candidates: BoolArray,
    sparse: sp.csr_array,
    prime: int = PRIMES[0],
    *,
    most: int = MOST_UNITS,
) -> list[tuple[int, ...]]:
    """Return the unknowns of a unit that is alone in several, together with one that it learns from knowing them.

    At most so many units are looked at.
    """
    alone = sp.csc_array(sp.csr_array(units[np.flatnonzero(candidates)]))
    chosen = np.flatnonzero(np.diff(alone.indptr) > 1)[:most]
    place, moves, around = np.flatnonzero(candidates), np.asarray(kernel.any(axis=1), bool), _Around(sparse)
    found: list[tuple[int, ...]] = []
    for unit in chosen.tolist():
        own = place[alone.indices[alone.indptr[unit] : alone.indptr[unit + 1]]]
        if len(own) >= kernel.shape[1]:
            continue
        near = around.of(own)
        near = near[moves[near]]
        left = _project(kernel[np.concatenate([own, near])], list(range(len(own))), prime)[len(own) :]
        found += [(*own.tolist(), int(u)) for u in near[~left.any(axis=1)]]
    return found


class _Around:
    """Finds the unknowns that share a cell with given ones."""

    def __init__(self, sparse: sp.csr_array) -> None:
        self.by_row, self.by_column = sparse, sp.csc_array(sparse)

    def of(self, unknowns: LongArray) -> LongArray:
        """Return the unknowns that share a cell with one of the given ones, without these."""
        start, end = self.by_column.indptr[unknowns], self.by_column.indptr[unknowns + 1]
        cells = np.unique(np.concatenate([self.by_column.indices[a:b] for a, b in zip(start, end, strict=True)]))
        parts = [self.by_row.indices[self.by_row.indptr[c] : self.by_row.indptr[c + 1]] for c in cells.tolist()]
        near = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
        return near[~np.isin(near, unknowns)].astype(np.int64)


def _project(kernel: Residues, onto: list[int], prime: int) -> Residues:
    """Return the rows of a kernel along the lines from some of them: multiples of these are taken off every row."""
    left = kernel
    for a in onto:
        row = left[a]
        if row.any():
            lead = int(np.flatnonzero(row)[0])
            shares = left[:, lead] * pow(int(row[lead]), -1, prime) % prime
            left = (left - shares[:, None] * row[None, :]) % prime
    return left


def work_of(sparse: sp.csr_array, size: int = 3) -> int:
    """Return how many neighbours `tied_sets` would look at."""
    width = np.diff(sparse.indptr).astype(np.int64)
    return int((width ** (size - 1)).sum()) * (
        1 if size == 3 else int((np.diff(sp.csc_array(sparse).indptr) > 0).sum())
    )


def tie(space: RowSpace, unknowns: tuple[int, ...]) -> Target | None:
    """Return the coefficients with which cells give a combination of just these unknowns, the last of them being 1."""
    residues = [_dependence(space.kernel(prime)[list(unknowns)], prime) for prime in PRIMES[:2]]
    if any(r is None for r in residues):
        return None
    found: dict[int, Fraction] = {}
    for at, unknown in enumerate(unknowns):
        one, two = (int(r[at]) for r in residues if r is not None)
        step = pow(PRIMES[0], -1, PRIMES[1])
        share = _fraction(one + PRIMES[0] * ((two - one) * step % PRIMES[1]), PRIMES[0] * PRIMES[1])
        if share is None:
            return None
        if share:
            found[unknown] = share
    return found


def _dependence(rows: Residues, prime: int) -> list[int] | None:
    """Return c with c @ rows = 0 and the last c = 1, modulo the prime, or None: elimination on the other rows."""
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


def _scaled(rows: Residues, prime: int) -> Residues:
    """Return the rows divided by their first entry that is not 0."""
    return _divide(rows.copy(), prime)


@numba.njit(cache=True)
def _divide(rows, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            if rows[i, k]:
                scale = inverse(rows[i, k], prime)
                for j in range(rows.shape[1]):
                    rows[i, j] = rows[i, j] * scale % prime
                break
    return rows


@numba.njit(cache=True)
def _triples(kernel, candidates, indptr, indices, starts, rows_of, prime, most):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """For each unknown a: look along the line from a, where b and c fall on one point if a, b, c are in a plane."""
    n, samples = kernel.shape
    seen = np.full(n, -1, np.int64)
    near = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    found = []
    for a in range(n):
        if not candidates[a]:
            continue
        lead = 0
        while lead < samples and kernel[a, lead] == 0:
            lead += 1
        if lead == samples:
            continue
        scale = inverse(kernel[a, lead], prime)
        many = 0
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
                        near[many] = b
                        key[many] = point
                        many += 1
        order = np.argsort(key[:many])
        for at in range(many - 1):
            b, c = near[order[at]], near[order[at + 1]]
            if key[order[at]] == key[order[at + 1]]:
                found.append((a, b, c))
                if len(found) >= most:
                    return found
    return found
