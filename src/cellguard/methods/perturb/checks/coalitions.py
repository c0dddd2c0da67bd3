"""Who learns whose perturbed contribution: small sets of unknowns that published cells tie to each other.

A combination of cells whose only contributors are a few units tells each coalition of all but one of them the perturbed
contribution of that one. On such a set the solutions v of A v = 0 are dependent: of two unknowns the v are
proportional, of three they lie in a plane. Random solutions modulo a prime (see `rowspace`) show both.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.dependence import along, dependence
from cellguard.linalg.fractions_of_residues import fractions_of
from cellguard.linalg.residues import PRIMES, Residues
from cellguard.linalg.rowspace import RowSpace, Target
from cellguard.methods.perturb.checks.coalitions_kernel import divide_by_first, planar_triples

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
    triples = planar_triples(
        kernel,
        candidates,
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int64),
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int64),
        prime,
        most,
    )
    return sorted({tuple(sorted(map(int, triple))) for triple in triples})  # type: ignore[misc]


def tied_sets(
    kernel: Residues, candidates: BoolArray, sparse: sp.csr_array, size: int, most: int, prime: int = PRIMES[0]
) -> list[tuple[int, ...]]:
    """Return sets of so many unknowns (3 or more) of which all but one tell that one; one of them is near all others.

    Of four unknowns: look along the line from each of them, where the other three are such a set; and so on.
    """
    if size == 3:
        return list(tied_triples(kernel, candidates, sparse, most, prime))
    sets: set[tuple[int, ...]] = set()
    around = _Around(sparse)
    for a in np.flatnonzero(candidates & kernel.any(axis=1)).tolist():
        near = np.zeros(len(candidates), bool)
        near[around.of(np.array([a]))] = True
        near &= candidates
        for rest in tied_sets(along(kernel, [a], prime), near, sparse, size - 1, most - len(sets), prime):
            sets.add(tuple(sorted((a, *rest))))
        if len(sets) >= most:
            break
    return sorted(sets)


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
    told: list[tuple[int, ...]] = []
    for unit in chosen.tolist():
        own = place[alone.indices[alone.indptr[unit] : alone.indptr[unit + 1]]]
        if len(own) >= kernel.shape[1]:
            continue
        near = around.of(own)
        near = near[moves[near]]
        left = along(kernel[np.concatenate([own, near])], list(range(len(own))), prime)[len(own) :]
        told += [(*own.tolist(), int(u)) for u in near[~left.any(axis=1)]]
    return told


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


def work_of(sparse: sp.csr_array, size: int = 3) -> int:
    """Return how many neighbours `tied_sets` would look at."""
    width = np.diff(sparse.indptr).astype(np.int64)
    return int((width ** (size - 1)).sum()) * (
        1 if size == 3 else int((np.diff(sp.csc_array(sparse).indptr) > 0).sum())
    )


def tie(space: RowSpace, unknowns: tuple[int, ...]) -> Target | None:
    """Return the coefficients with which cells give a combination of just these unknowns, the last of them being 1."""
    found = [dependence(space.kernel(prime)[list(unknowns)], prime) for prime in PRIMES[:2]]
    residues = [residue for residue in found if residue is not None]
    shares = fractions_of(residues, PRIMES) if len(residues) == len(found) else None
    return (
        None if shares is None else {unknown: share for unknown, share in zip(unknowns, shares, strict=True) if share}
    )


def _scaled(rows: Residues, prime: int) -> Residues:
    """Return the rows divided by their first entry that is not 0."""
    return divide_by_first(rows.copy(), prime)
