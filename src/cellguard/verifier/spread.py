"""The rules for contributions of either sign and that of the runner-up's interval, from their definitions.

T_R = min(T+, |T-|) / max(T+, |T-|); S_R = variance without the h extremes over that of all; Q_R = 1 - squares about the
median of the h extremes over those of all. What needs sizes judges the sums of sizes in place of the total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cellguard.verifier.facts import Facts
from cellguard.verifier.numbers import Bools, Floats
from cellguard.verifier.stages import Refused
from cellguard.verifier.verdict import NOISE, Verdict, flat, largest

TIE = 1e-12


class Judge(Protocol):
    """Another rule."""

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        ...


@dataclass(frozen=True)
class EitherSign:
    """First the count, then signs: the usual rule where one prevails, or nobody stands out, else the spread.

    Where the spread calls a cell safe, but some variance ratio is above 1, the usual rule decides, too.
    """

    usual: Judge
    ratio: float
    limit: float
    extremes: int
    least: int
    by: str
    near: float
    percent: float

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if facts.sizes is None or not facts.signs:
            raise Refused("the facts lack sizes or signs, which the rule signed needs")
        if not (facts.middle or facts.extremes or facts.squares):
            return self._unknown(facts)
        if not facts.middle or len(facts.extremes) < self.extremes or len(facts.squares) <= self.extremes:
            raise Refused("the facts lack extremes or squares, which the rule signed needs")
        small, large = np.minimum(*np.abs(facts.signs)), np.maximum(*np.abs(facts.signs))
        prevails, few = small <= (self.ratio + TIE) * large, facts.count < self.least
        median, size, _ = facts.middle
        far = [np.where(facts.count > j, np.abs(e - median), 0) for j, e in enumerate(facts.extremes[: self.extremes])]
        alike = np.max(far, axis=0) <= self.near * np.maximum(np.abs(median), size)
        usual = self.usual.judge(facts)
        extreme = self._extreme(facts)
        spread = flat(~few & ~prevails & ~alike & extreme, self.percent, facts, np.isnan(facts.count))
        by_usual = ~few & (prevails | alike | (self._rising(facts) & ~extreme))
        unsafe = (few & (facts.count > 0)) | (by_usual & usual.unsafe) | spread.unsafe
        return Verdict(
            unsafe,
            np.where(by_usual, usual.upper, spread.upper),
            np.where(by_usual, usual.noise, spread.noise),
            spread.missing | usual.missing,
        )

    def _unknown(self, facts: Facts) -> Verdict:
        """Return the verdict on ready-made cells without a spread: unsafe where both signs count."""
        small, large = np.minimum(*np.abs(facts.signs)), np.maximum(*np.abs(facts.signs))
        prevails, few = small <= (self.ratio + TIE) * large, facts.count < self.least
        usual, neither = self.usual.judge(facts), ~few & ~prevails
        both = flat(neither, self.percent, facts, np.isnan(facts.count))
        by_usual = ~few & prevails
        unsafe = (few & (facts.count > 0)) | (by_usual & usual.unsafe) | both.unsafe
        return Verdict(
            unsafe,
            np.where(by_usual, usual.upper, both.upper),
            np.where(by_usual, usual.noise, both.noise),
            both.missing | usual.missing,
        )

    def _rising(self, facts: Facts) -> Bools:
        """Return where leaving out extremes makes the variance larger: squares_h (n - 1) > squares_0 (n - h - 1)."""
        rising = np.zeros(facts.count.size, dtype=bool)
        for h in range(1, self.extremes + 1):
            left = facts.count - h
            whole = (1 + TIE) * facts.squares[0] * (left - 1)
            rising |= (left >= 2) & (facts.squares[0] > 0) & (facts.squares[h] * (facts.count - 1) > whole)
        return rising

    def _extreme(self, facts: Facts) -> Bools:
        """Return where a ratio is within the limit, or where none can be told."""
        n, (median, _, about) = facts.count, facts.middle
        within, told = np.zeros(n.size, dtype=bool), np.zeros(n.size, dtype=bool)
        gone = np.zeros(n.size)
        for h in range(1, self.extremes + 1):
            left = n - h
            if self.by != "quantile":
                # S_R <= c without a division: squares_h (n - 1) <= c squares_0 (n - h - 1).
                told |= left >= 2
                above = facts.squares[h] * (n - 1) > (self.limit + TIE) * facts.squares[0] * (left - 1)
                within |= (left >= 2) & (facts.squares[0] > 0) & ~above
            if self.by != "variance":
                gone = gone + (facts.extremes[h - 1] - median) ** 2
                told[:] = True
                within |= (left <= 0) | ((about > 0) & (about - gone <= (self.limit + TIE) * about))
        return within | ~told


@dataclass(frozen=True)
class Effective:
    """Unsafe if 2 to the entropy of the shares is below n (or at it, if inclusive)."""

    n: float
    inclusive: bool
    percent: float

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if facts.entropy is None:
            raise Refused("the facts have no column entropy, which a rule needs")
        limit = self.n * (1 + TIE) if self.inclusive else self.n * (1 - TIE)
        effective = 2.0**facts.entropy
        few = effective <= limit if self.inclusive else effective < limit
        return flat(few & (facts.gross > 0), self.percent, facts, np.isnan(facts.entropy))


@dataclass(frozen=True)
class KnownInterval:
    """Unsafe if the runner-up knows the largest to less than s % of X, or with ``both`` the largest the second to less
    than s % of what these two have.
    """

    s: float
    both: bool
    inclusive: bool
    zero_unsafe: bool

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict: how far up, down and wide an attacker's interval of X must be, and no level."""
        (first, second), missing = largest(facts, 2)
        X = facts.basis - sum(facts.excess[:2])
        if facts.excess and len(facts.excess) < 2:
            raise Refused("the facts have fewer weights of the largest contributors than a rule needs")
        N, wanted = facts.contributors, self.s / 100 * X
        room = np.maximum(X - N * second, 0)
        short = wanted - np.maximum(np.minimum(X - 2 * second, (N - 2) * second), 0)
        up = np.maximum(np.maximum(short, 0) - room, 0)
        wide, down, worst = np.maximum(short, 0), np.zeros(X.size), short
        if self.both:
            rest, many = X - first, np.maximum(N - 1, 1)
            pair = self.s / 100 * (first + second)
            second_short = np.where(N < 2, -np.inf, pair - np.maximum(np.minimum(first, rest) - rest / many, 0))
            worst = np.maximum(short, second_short)
            lift = np.minimum(np.maximum(second_short, 0), np.maximum(first - rest, 0))
            up, down = np.maximum(up, lift), (many * (np.maximum(second_short, 0) - lift))
        dust = 1e-12 * np.maximum(np.abs(facts.basis), 1)
        unsafe = worst >= -dust if self.inclusive else worst > dust
        unsafe = np.where(facts.basis == 0, self.zero_unsafe, unsafe) & (facts.count != 0)
        noise: Floats = NOISE * 4 * np.maximum(np.abs(X), 1) * np.maximum(N, 1) * facts.scale
        nothing = np.zeros(X.size)
        scaled = (need * facts.scale for need in (up, down, wide))
        return Verdict(unsafe, nothing, noise, missing | np.isnan(N), *scaled)
