"""S_N of what combinations of published cells leave: a sum of unknowns is a cell, whether or not it was published.

A combination sum c_b u_b of unknowns with shares c_b has the contributors of its unknowns, each with Z = sum c_b x_b. A
coalition of n - 1 that knows its own contributions, and the others to within q, estimates the largest to within p if

    S_N = p Z_1 - q R - |noise| > 0,     R = sum |c_b| W_b - Z_1 - ... - Z_n,

with W_b the weighted size of an unknown. With shares of 1 this is S_N of a cell (Cuppen 2000, section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.cells.sensitivity import in_spite_of, needy, rest_of
from cellguard.methods.perturb.checks.unknowns import Unknowns
from cellguard.rules.limits import NoiseRule

Shares = Mapping[int, int | Fraction]


@dataclass(frozen=True, slots=True)
class Judged:
    """How much noise a combination needs and has, whether it is unsafe, which unit contributes most, and how much."""

    need: float
    noise: float
    unsafe: bool
    unit: int
    largest: float


@dataclass(frozen=True, eq=False)
class Judge:
    """What one rule says of sums of unknowns. Contributions count by their size."""

    system: Unknowns
    rule: NoiseRule

    def __call__(self, shares: Shares) -> Judged:
        """Judge one combination of unknowns, given with their shares.

        A share of -1 is subtracted; only how the shares compare matters, since all figures grow with them.
        """
        at, share = np.array(list(shares), np.int64), np.array([float(s) for s in shares.values()])
        parts = self.system.amounts[at]
        own = np.abs(np.bincount(parts.indices, parts.data * np.repeat(share, np.diff(parts.indptr))))
        top = np.sort(own)[::-1][: self.rule.n]
        size = np.array([np.abs(share) @ self.system.size[at]])
        need = self.rule.accuracy * top[:1] - self.rule.prior * rest_of(size, top.sum(keepdims=True))
        noise = np.array([share @ self.system.noise[at]])
        unsafe = bool(in_spite_of(noise, need, size)[0])
        return Judged(float(need[0]), float(noise[0]), unsafe, int(own.argmax()), float(top[0]))

    @cached_property
    def unknown(self) -> LongArray:
        """The unknown of each entry of ``amounts``."""
        amounts = self.system.amounts
        return np.repeat(np.arange(amounts.shape[0]), np.diff(amounts.indptr)).astype(np.int64)

    @cached_property
    def ranks(self) -> LongArray:
        """The place of each entry of ``amounts`` among those of its unknown, the largest being 0."""
        amounts = self.system.amounts
        order = np.lexsort((amounts.indices, -np.abs(amounts.data), self.unknown))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - amounts.indptr[self.unknown]
        return rank

    def top(self, many: int) -> FloatArray:
        """Return the sum of so many largest contributions of each unknown."""
        return self.by_unknown(np.where(self.ranks < many, np.abs(self.system.amounts.data), 0.0))

    def by_unknown(self, entries: FloatArray) -> FloatArray:
        """Add up what is given for each entry of ``amounts``."""
        return np.asarray(np.bincount(self.unknown, entries, len(self.system.size)), float)

    @cached_property
    def need(self) -> FloatArray:
        """The protection level of every unknown by itself."""
        rest = rest_of(self.system.size, self.top(self.rule.n))
        return np.asarray(self.rule.accuracy * self.top(1) - self.rule.prior * rest, float)

    @cached_property
    def unsafe(self) -> BoolArray:
        """Which unknowns are unsafe by themselves, should they be determined."""
        return in_spite_of(self.system.noise, self.need, self.system.size)

    @cached_property
    def gains(self) -> FloatArray:
        """For each entry of ``amounts``: what its unit, as the one to be estimated, gets out of its unknown.

        It is p x - q (W - x - the n - 1 largest others): a sum of unknowns has no more need than its gains add up to.
        """
        x, n = np.abs(self.system.amounts.data), self.rule.n
        others = np.where(self.ranks < n, self.top(n)[self.unknown] - x, self.top(n - 1)[self.unknown])
        rest = rest_of(self.system.size[self.unknown], x + others)
        return np.asarray(self.rule.accuracy * x - self.rule.prior * rest, float)

    @cached_property
    def several(self) -> BoolArray:
        """Which units are in several unknowns."""
        return np.asarray(np.bincount(self.system.amounts.indices, minlength=len(self.system.keys)) > 1, bool)

    @cached_property
    def targets(self) -> LongArray:
        """Entries of ``amounts`` such that nobody but their units can be estimated too closely, in whatever sum.

        In a sum that is unsafe, the one who is estimated has a gain from one of its unknowns. Unless it is in several
        of them, it is also the largest there: whoever is larger would be estimated even more closely.
        """
        shared = self.several[self.system.amounts.indices]
        gain = needy(self.gains, self.system.size[self.unknown])
        return np.flatnonzero(gain & ((self.ranks == 0) | shared)).astype(np.int64)
