"""The cells that are published, as rows of a growing system: what they span, and worlds that they cannot tell apart.

A is the 0/1 matrix of published rows (cells by unknowns) and D a positive diagonal, the metric. L L' = A D^2 A' is
extended row by row, and rows that follow from earlier ones are left out. P projects on the kernel of A D; v with
A v = 0 is D P z for any z. A few Gaussian z are kept projected, so that the mean of (P z)_t^2 estimates the leverage

    P_tt = 1 - |L^-1 A D e_t|^2,

which is 0 if and only if u_t follows from the rows. The sum of 1 - P_tt over all t is the number of rows.
New rows are sums of the parts of a partition: everything is worked out for the parts, once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from cellguard.arrays import FloatArray, LongArray
from cellguard.linalg.layers import Ints, Rows
from cellguard.linalg.triangle import Triangle

SAMPLES = 8
FEW_PARTS = 256  # up to so many, what they have in common with the rows before is solved for once and for all
TOLERANCE = 1e-11  # of the squared distance of a row from those before, as a share of its squared length


class Growing:
    """The factor of all rows in one metric, and worlds that no row sees; unknowns by `SAMPLES`."""

    def __init__(self, scale: FloatArray, worlds: FloatArray) -> None:
        self.scale, self.worlds = scale, worlds
        self.squares = scale * scale
        self.lower = Triangle()

    @property
    def rank(self) -> int:
        """How many rows there are."""
        return self.lower.rank

    def solve(self, right: FloatArray, *, transposed: bool = False) -> FloatArray:
        """Return L^-1 times a matrix, or L'^-1."""
        return self.lower.solve(right, transposed=transposed)

    def add(self, old: FloatArray, own: FloatArray, worlds: FloatArray) -> None:
        """Take in rows: their part of the factor against the rows before and their own, and the worlds after them."""
        self.lower.add(old, own)
        self.worlds = worlds


@dataclass(eq=False)
class Parts:
    """The parts of a partition, seen in one metric: what they have in common with the rows so far (``against``).

    ``back`` is L'^-1 times that, once `prepare` worked it out: then trials of these parts solve nothing more.
    ``left`` is the Gram matrix of the parts after the rows before are projected out, ``own`` their squared lengths, and
    ``seen`` what they see of the worlds.
    """

    base: Growing
    against: FloatArray
    left: FloatArray
    own: FloatArray
    seen: FloatArray
    back: FloatArray | None = None

    def prepare(self) -> None:
        """Get ready for many trials of the same parts, if they are few."""
        if self.back is None and self.base.rank and self.against.shape[1] <= FEW_PARTS:
            self.back = self.base.solve(self.against, transposed=True)

    @classmethod
    def of(cls, base: Growing, rows: Rows, leaf: Ints, many: int) -> Parts:
        """Return the parts, ``leaf`` being that of each unknown (-1: in none)."""
        part = np.where(leaf < 0, many, leaf).astype(np.int64)
        against = base.solve(rows.common(base.squares, leaf, many))
        own = np.asarray(np.bincount(part, base.squares, many + 1)[:many], float)
        left = np.diag(own) - against.T @ against
        columns = [np.bincount(part, base.scale * world, many + 1)[:many] for world in base.worlds.T]
        return cls(base, against, left, own, np.stack(columns, axis=1))


@dataclass(frozen=True, eq=False)
class Extension:
    """Some sums of parts (``chosen``), all of which say something of their own, as further rows in one metric."""

    parts: Parts
    chosen: sp.csr_array
    against: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, parts: Parts, chosen: sp.csr_array) -> tuple[Extension, LongArray]:
        """Return the extension by the rows that do not follow from others, and which these are, in its order."""
        left = np.asarray(chosen @ (chosen @ parts.left).T)
        rows, own = independent(left, np.asarray(chosen @ parts.own))
        kept = sp.csr_array(chosen[rows])
        return cls(parts, kept, np.asarray((kept @ parts.against.T).T), own), rows

    @classmethod
    def all_of(cls, parts: Parts, chosen: sp.csr_array) -> tuple[Extension | None, LongArray]:
        """Return the extension by all of these rows, in this order; or None, and the rows that seem to follow."""
        left = np.asarray(chosen @ (chosen @ parts.left).T)
        own = np.asarray(chosen @ parts.own)
        inverse = 1 / np.sqrt(np.maximum(own, 1e-300))
        nothing = np.zeros(0, np.int64)
        if not len(own):
            return cls(parts, chosen, np.asarray((chosen @ parts.against.T).T), np.zeros((0, 0))), nothing
        try:
            factor = np.linalg.cholesky(left * inverse[:, None] * inverse[None, :])
            if (np.diag(factor) ** 2 > TOLERANCE).all():
                return cls(parts, chosen, np.asarray((chosen @ parts.against.T).T), factor / inverse[:, None]), nothing
        except np.linalg.LinAlgError:
            pass
        rows, _ = independent(left, own)
        return None, np.setdiff1d(np.arange(len(own)), rows)

    def inner(self, right: FloatArray) -> FloatArray:
        """Return S^-1 times a matrix, S being the rows' Gram matrix after the rows before."""
        if not len(self.own):
            return right
        first = solve_triangular(self.own, right, lower=True, check_finite=False)
        return np.asarray(solve_triangular(self.own, first, lower=True, trans=1, check_finite=False))

    def project(self, rows: Rows, leaf: Ints, seen: FloatArray, worlds: FloatArray) -> FloatArray:
        """Return worlds, which the rows before do not see, as the new rows do not see them either.

        ``seen`` is what the parts see of them.
        """
        base = self.parts.base
        share = self.inner(np.asarray(self.chosen @ seen))
        by_part = np.asarray(self.chosen.T @ share)
        own = np.vstack([by_part, np.zeros((1, worlds.shape[1]))])
        change = own[leaf]  # the last row is for unknowns in no part
        if base.rank and len(self.own):
            ready = self.parts.back
            back = base.solve(self.against @ share, transposed=True) if ready is None else ready @ by_part
            change = change - rows.spread(back)
        return np.asarray(worlds - base.scale[:, None] * change)

    def coordinates(self, rows: Rows, leaf: Ints, sums: sp.csc_array) -> tuple[FloatArray, FloatArray]:
        """Return L^-1 A D c for some sums c of unknowns, one per column: against the rows before, and the new ones."""
        base = self.parts.base
        scaled = sp.csc_array(sp.diags_array(base.scale) @ sums)
        old = base.solve(rows.seen(scaled))
        rest = np.asarray(self.chosen @ self._inside(leaf, scaled)) - self.against.T @ old
        if not len(self.own):
            return old, rest
        return old, np.asarray(solve_triangular(self.own, rest, lower=True, check_finite=False))

    def _new_coordinates(self, rows: Rows, leaf: Ints, sums: sp.csc_array) -> FloatArray:
        """Return the second part of `coordinates`, without solving with the rows before if the parts are ready."""
        back = self.parts.back
        if back is None or not len(self.own):
            return self.coordinates(rows, leaf, sums)[1]
        scaled = sp.csc_array(sp.diags_array(self.parts.base.scale) @ sums)
        rest = np.asarray(self.chosen @ (self._inside(leaf, scaled) - back.T @ rows.seen(scaled)))
        return np.asarray(solve_triangular(self.own, rest, lower=True, check_finite=False))

    def _inside(self, leaf: Ints, scaled: sp.csc_array) -> FloatArray:
        """Return what each part holds of some sums."""
        inside = np.zeros((self.parts.left.shape[0] + 1, scaled.shape[1]))
        column = np.repeat(np.arange(scaled.shape[1]), np.diff(scaled.indptr))
        np.add.at(inside, (leaf[scaled.indices], column), scaled.data)
        return inside[:-1]

    def leverage(self, rows: Rows, leaf: Ints, unknowns: LongArray) -> FloatArray:
        """Return P_tt of some unknowns, with the new rows."""
        old, new = self.coordinates(rows, leaf, _one_by_one(unknowns, rows.unknowns))
        return np.asarray(1 - (old * old).sum(axis=0) - (new * new).sum(axis=0))

    def projected(self, rows: Rows, leaf: Ints, unknowns: LongArray) -> FloatArray:
        """Return P e_t of some unknowns, one column each: the world that moves t most for its length."""
        base, many = self.parts.base, self.parts.left.shape[0]
        old, new = self.coordinates(rows, leaf, _one_by_one(unknowns, rows.unknowns))
        own = np.zeros((many + 1, len(unknowns)))
        if len(self.own):
            share = np.asarray(solve_triangular(self.own, new, lower=True, trans=1, check_finite=False))
            old = old - self.against @ share
            own[:many] = self.chosen.T @ share
        change = own[leaf]
        if base.rank:
            change = change + rows.spread(base.solve(old, transposed=True))
        world = -base.scale[:, None] * change
        world[unknowns, np.arange(len(unknowns))] += 1
        return np.asarray(world)

    def taking_part(self, rows: Rows, leaf: Ints, sums: sp.csc_array) -> FloatArray:
        """Return how much each new row has to do with what all rows tell of some sums: rows by sums."""
        new = self._new_coordinates(rows, leaf, sums)
        if not len(self.own):
            return new
        share = np.asarray(solve_triangular(self.own, new, lower=True, trans=1, check_finite=False))
        return np.abs(share)


def _one_by_one(unknowns: LongArray, many: int) -> sp.csc_array:
    here = np.arange(len(unknowns))
    return sp.csc_array((np.ones(len(unknowns)), (unknowns, here)), shape=(many, len(unknowns)))


def independent(gram: FloatArray, own: FloatArray) -> tuple[LongArray, FloatArray]:
    """Return which rows do not follow from others, by their Gram matrix, and the factor of that of these.

    ``own`` are squared lengths before anything was projected out. The order is that of the factor's rows. LAPACK does
    not test its first pivot, so that rows that are nothing are left out beforehand.

    >>> rows, factor = independent(np.array([[2.0, 2, 0], [2, 2, 0], [0, 0, 1]]), np.array([2.0, 2, 1]))
    >>> len(rows), sorted(np.diag(factor @ factor.T).round(9).tolist())
    (2, [1.0, 2.0])
    """
    inverse = 1 / np.sqrt(np.maximum(own, 1e-300))
    live = np.flatnonzero(np.diag(gram) * inverse * inverse > TOLERANCE)
    if not len(live):
        return np.zeros(0, np.int64), np.zeros((0, 0))
    h = inverse[live]
    factor, pivots, rank, _ = dpstrf(gram[np.ix_(live, live)] * h[:, None] * h[None, :], lower=1, tol=TOLERANCE)
    order = live[pivots[:rank] - 1]
    return order.astype(np.int64), np.tril(factor[:rank, :rank]) / inverse[order][:, None]
