"""Which unknowns a sparse system of sums determines, and by which combination of its rows, in exact arithmetic.

Unknown j is determined by A u = t if and only if every solution of A v = 0 has v_j = 0. A random such v, modulo a
prime p, has v_j = 0 by chance with probability 1/p only; several of them modulo two primes leave no room for chance.
And whatever is reported as determined is proven by its combination of rows, checked in fractions.

Rows with one unknown left and unknowns with one row left are taken away first. Of what remains, A D A' with a random
diagonal D is factored once; the projection w - D A' (A D A')^-1 A w of any w solves A v = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.fractions_of_residues import fractions_of
from cellguard.linalg.peeling_kernel import complete, peel_off, use
from cellguard.linalg.residues import PRIMES, Factors, Residues, factor_gram

Target = Mapping[int, int | Fraction]
SAMPLES = 8


@dataclass(frozen=True, eq=False)
class Combination:
    """An exact combination of rows: the sum of coefficient times row is the request, and 0 elsewhere.

    Where the coefficients are too long to be found, the rows that have one are named without them.
    """

    rows: tuple[int, ...]
    coefficients: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The sums that a whole-numbered sparse matrix (rows by unknowns) says of its unknowns.

    >>> pairs = sp.csr_array(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]]))
    >>> RowSpace(pairs).determined().tolist(), RowSpace(pairs[:2]).determined().tolist()
    ([True, True, True], [False, False, False])
    >>> [str(c) for c in RowSpace(pairs).combinations([2])[0].coefficients]
    ['-1/2', '1/2', '1/2']
    """

    matrix: sp.csr_array
    _solvers: dict[int, _Solver] = field(default_factory=dict, repr=False)

    @cached_property
    def _peeled(self) -> _Peeled:
        return _peel(self.matrix)

    @property
    def core(self) -> tuple[int, int]:
        """The rows and unknowns that are left to dense elimination."""
        return len(self._peeled.rows), len(self._peeled.columns)

    def basis(self) -> LongArray:
        """Return rows that are independent and span all others; of rows that depend on each other the first ones."""
        peeled = self._peeled
        if not len(peeled.rows):
            return np.sort(peeled.row)
        return np.sort(np.concatenate([peeled.row, peeled.rows[self._solver(PRIMES[0]).independent]]))

    def holds(self, target: Target) -> bool:
        """Return whether the rows have a combination that gives the target, modulo two primes."""
        at = list(target)
        return not any((_residues(target, prime) @ self.kernel(prime)[at] % prime).any() for prime in PRIMES[:2])

    def kernel(self, prime: int = PRIMES[0]) -> Residues:
        """Return random solutions of A v = 0 modulo the prime: unknowns by `SAMPLES`."""
        return self._solver(prime).kernel

    def determined(self) -> BoolArray:
        """Return which unknowns the sums determine."""
        return np.asarray(~(self.kernel(PRIMES[0]).any(axis=1) | self.kernel(PRIMES[1]).any(axis=1)), bool)

    def combinations(self, targets: Sequence[int | Target]) -> list[Combination | None]:
        """Return the combination of rows that gives each target; None where there is none.

        A target is an unknown, or several with their coefficients.

        >>> pair = RowSpace(sp.csr_array(np.array([[1, 1]])))
        >>> pair.combinations([0]), pair.combinations([{0: Fraction(2), 1: Fraction(2)}])[0].coefficients
        ([None], (Fraction(2, 1),))
        """
        wanted = [{t: Fraction(1)} if isinstance(t, int) else t for t in targets]
        combinations: list[Combination | None] = []
        for begin in range(0, len(wanted), 64):
            combinations += self._combine(wanted[begin : begin + 64])
        return combinations

    def _combine(self, targets: Sequence[Target]) -> list[Combination | None]:
        done: dict[int, Combination] = {}
        residues: list[Residues] = []
        left = np.arange(len(targets))
        for prime in PRIMES:
            y, whole = self._solver(prime).combine([targets[at] for at in left.tolist()])
            left, residues = left[whole], [r[:, whole] for r in (*residues, y)]
            for at, place in enumerate(left.tolist()):
                combination = _lift([r[:, at] for r in residues])
                if combination and self._proves(combination, targets[place]):
                    done[place] = combination
            still = np.array([place not in done for place in left.tolist()], bool)
            left, residues = left[still], [r[:, still] for r in residues]
            if not len(left):
                break
        for at, place in enumerate(left.tolist()):
            done[place] = Combination(tuple(np.flatnonzero(residues[0][:, at]).tolist()), ())
        return [done.get(place) for place in range(len(targets))]

    def _proves(self, combination: Combination, target: Target) -> bool:
        """Check a combination in fractions."""
        part = self.matrix[list(combination.rows)]
        total: dict[int, Fraction] = {}
        for factor_, begin, end in zip(combination.coefficients, part.indptr[:-1], part.indptr[1:], strict=True):
            for column, entry in zip(part.indices[begin:end].tolist(), part.data[begin:end].tolist(), strict=True):
                total[column] = total.get(column, Fraction(0)) + factor_ * int(entry)
        return {column: value for column, value in total.items() if value} == dict(target)

    def _solver(self, prime: int) -> _Solver:
        if prime not in self._solvers:
            self._solvers[prime] = _Solver(sp.csr_array(self.matrix.astype(np.int64)), self._peeled, prime)
        return self._solvers[prime]


@dataclass(frozen=True, eq=False)
class _Peeled:
    """What is solved by looking: (row, unknown) in order, ``alone`` where the row had no other unknown left."""

    row: LongArray
    column: LongArray
    alone: BoolArray
    rows: LongArray
    columns: LongArray


def _peel(matrix: sp.csr_array) -> _Peeled:
    by_column = sp.csc_array(matrix)
    row, column, alone, rows, columns = peel_off(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int64),
    )
    keep = np.flatnonzero(rows)
    mixed = np.random.default_rng(0).integers(1, 2**40, matrix.shape[1]) * columns
    _, first = np.unique(matrix.astype(np.int64)[keep] @ mixed, return_index=True)
    return _Peeled(row, column, alone, keep[np.sort(first)], np.flatnonzero(columns))


class _Solver:
    """The system modulo one prime, factored when first needed."""

    def __init__(self, matrix: sp.csr_array, peeled: _Peeled, prime: int) -> None:
        self.matrix, self.peeled, self.prime = matrix, peeled, prime
        self.core = sp.csr_array(matrix[peeled.rows][:, peeled.columns])
        self.random = np.random.default_rng([prime, *matrix.shape])

    @cached_property
    def _factored(self) -> tuple[Residues, Factors]:
        return factor_gram(self.core, self.prime, self.random)

    @property
    def independent(self) -> BoolArray:
        """Which rows of the core do not depend on earlier ones."""
        return self._factored[1].independent

    @cached_property
    def kernel(self) -> Residues:
        p, peeled = self.prime, self.peeled
        v = self.random.integers(0, p, (self.matrix.shape[1], SAMPLES))
        if len(peeled.rows):
            scale, factors = self._factored
            w = v[peeled.columns]
            z = factors.solve(self.core @ w % p)
            v[peeled.columns] = (w - scale[:, None] * (self.core.T @ z % p)) % p
        m = self.matrix
        complete(m.indptr, m.indices, m.data, peeled.row, peeled.column, peeled.alone, v, p)
        return v

    def combine(self, targets: Sequence[Target]) -> tuple[Residues, BoolArray]:
        """Return combinations of rows (rows by targets), and for which targets they come out."""
        p, m, peeled = self.prime, self.matrix, self.peeled
        target = np.zeros((m.shape[1], len(targets)), np.int64)
        for at, wanted in enumerate(targets):
            target[list(wanted), at] = _residues(wanted, p)
        y = np.zeros((m.shape[0], len(targets)), np.int64)
        use(m.indptr, m.indices, m.data, peeled.row, peeled.column, ~peeled.alone, False, target, y, p)
        if len(peeled.rows):
            scale, factors = self._factored
            z = factors.solve(self.core @ (scale[:, None] * target[peeled.columns] % p) % p)
            y[peeled.rows] = z
            target = (target - m[peeled.rows].T @ z) % p
        use(m.indptr, m.indices, m.data, peeled.row, peeled.column, peeled.alone, True, target, y, p)
        return y, np.asarray(~target.any(axis=0), bool)


def _residues(target: Target, prime: int) -> Residues:
    shares = [Fraction(share) for share in target.values()]
    return np.array([s.numerator * pow(s.denominator, -1, prime) % prime for s in shares], np.int64)


def _lift(residues: Sequence[Residues]) -> Combination | None:
    """Return the fractions that the residues modulo the first primes stand for, or None if they are too long."""
    rows = np.flatnonzero(np.logical_or.reduce([r != 0 for r in residues]))
    fractions = fractions_of([residue[rows].tolist() for residue in residues], PRIMES)
    return None if fractions is None else Combination(tuple(rows.tolist()), tuple(fractions))
