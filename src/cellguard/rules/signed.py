"""Rules for contributions of either sign: the decision by sign ratio and spread, and the entropy of shares.

References: Flygare, Jansson & Orusild, *Measuring Risk in Tables Where the Study Variable May be Negative*, formulas
(1) and (2) and figure 3; Domingo-Ferrer & Torra 2002 for the entropy. In formula (2) the signed contribution takes the
place of its size, without which Q leaves [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.rules.parameters import check_percent, check_whole, options, percent
from cellguard.rules.rule import PROTECTION_PERCENT, Formula, Percent, Rule, count_of, occupied, register
from cellguard.table.fact import Count, Fact, Signs, Total
from cellguard.table.facts import Facts
from cellguard.table.signed_facts import Entropy, Extremes, Middle, Sizes, Squares

if TYPE_CHECKING:
    from cellguard.table.table import Table

By = Literal["both", "variance", "quantile"]
MOST = 5
_TIE = 1e-12


def sign_ratio(cells: Facts) -> FloatArray:
    """Return T_R = min(T+, |T-|) / max(T+, |T-|), 0 where all contributions are 0: do both signs matter?"""
    signs = np.abs(cells[Signs()])
    largest = signs.max(axis=1)
    return np.divide(signs.min(axis=1), largest, out=np.zeros(len(signs)), where=largest > 0)


def variance_ratio(cells: Facts, h: int) -> FloatArray:
    """Return S_R,h, the sample variance without the h contributions farthest from 0 over that of all.

    1 where all are equal, NaN where fewer than two are left. Above 1 it tells nothing.
    """
    squares, n = _column(cells, Squares(h), h + 1), count_of(cells)
    rest = np.divide(squares[:, h], n - h - 1, out=np.full(len(n), np.nan), where=n - h >= 2)
    whole = np.divide(squares[:, 0], n - 1, out=np.zeros(len(n)), where=n >= 2)
    ones = np.where(np.isnan(rest), np.nan, 1.0)
    return np.divide(rest, whole, out=ones, where=(whole > 0) & ~np.isnan(rest))


def _column(cells: Facts, fact: Fact, width: int) -> FloatArray:
    """Return the column of a fact, NaN where ready-made cells do not have it."""
    known = cells.get(fact)
    return np.full((len(cells.total), width), np.nan) if known is None else np.asarray(known, float)


def quantile_ratio(cells: Facts, h: int) -> FloatArray:
    """Return Q_R,h, the share of the squares about the median that is left without the h farthest from 0.

    1 where all are equal, and 0 where none is left.
    """
    middle = _column(cells, Middle(), 3)
    squares, n = middle[:, 2], count_of(cells)
    gone = np.sum((_column(cells, Extremes(h), h) - middle[:, :1]) ** 2 if h else np.zeros((len(n), 1)), axis=1)
    gone = np.where(np.isnan(squares), np.nan, gone)
    ratio = 1 - np.divide(gone, squares, out=np.where(np.isnan(gone), gone, 0.0), where=squares > 0)
    return np.where((n <= h) & (h > 0), 0.0, np.clip(ratio, 0.0, 1.0))


@register(
    "signed",
    Formula(
        "N < n; T_R <= `sign_ratio`, or none stands out, and `usual` says so of sizes; "
        "else some S_R or Q_R, for 1 to h, <= `limit`, or some S_R > 1 and `usual` says so of sizes",
        "sizes, signs, the h farthest from 0, spread",
        "that of `usual`, or `protection_percent` of T+ + abs(T-)",
    ),
)
@dataclass(frozen=True, slots=True)
class Signed(Rule):
    """Unsafe by the usual rule on sizes where one sign prevails, else if a few extremes make up the spread.

    In this order: fewer than ``n`` respondents are unsafe; where the sign ratio is at most ``sign_ratio``, ``usual``
    judges the sizes of the contributions; and so it does where the ``h`` farthest from 0 do not stand out (no farther
    from the median than ``near`` of the median, or of the median size): what is safe then is to be checked by hand;
    else a cell is unsafe if a variance or quantile ratio of 1 to ``h`` is at most ``limit`` (``by`` chooses one of the
    two). Where a variance ratio is above 1 instead, which tells nothing, ``usual`` judges the sizes.

    With weights signs and sizes are weighted, and the spread is that of the contributions in the sample. Ready-made
    cells with the sums T+ and T- have no spread: where both signs count they are unsafe.

    Parameters
    ----------
    usual
        The rule about sizes, such as `PPercent(10)`.
    sign_ratio
        The share of the rarer sign, up to which one sign prevails.
    limit
        The variance or quantile ratio, up to which extremes make up the spread.
    h
        How many of the contributions farthest from 0 are looked at.
    n
        The smallest safe number of respondents.
    by
        Which ratio decides: ``variance``, ``quantile`` or ``both``.
    near
        How far from the median, as a share of it, a contribution stands out.
    protection_percent
        The protection level of an unsafe cell, in percent, where no formula gives one.

    Examples
    --------
    >>> from cellguard.rules.linear import PPercent
    >>> from cellguard.table.signed_cells import signed_contributions
    >>> cell = signed_contributions([-19302, -18599, -1409, -582, 1356, 715, 391, 236, 32, 11, 0, -463])
    >>> Signed(PPercent(10)).unsafe(cell).tolist()
    [True]
    """

    usual: Rule
    sign_ratio: float = 0.05
    limit: float = 0.05
    h: int = 2
    n: int = 3
    by: By = "both"
    near: float = 0.05
    protection_percent: Percent = PROTECTION_PERCENT

    def __post_init__(self) -> None:
        if not isinstance(self.usual, Rule) or isinstance(self.usual, Signed) or type(self.usual).look is not Rule.look:
            raise InputError("signed: usual must be a rule about the contributions of one cell, such as p_percent")
        for name in ("sign_ratio", "limit", "near"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"signed: {name} must be 0 or more and below 1")
        check_whole("signed", "h", self.h, 1)
        check_whole("signed", "n", self.n, 1)
        check_percent("signed", self.protection_percent)
        if self.h > MOST:
            raise InputError(f"signed: h must be {MOST} or less")
        if self.by not in get_args(By):
            raise InputError(f"signed: by must be {' or '.join(get_args(By))}")

    def __str__(self) -> str:
        usual = {"sign_ratio": 0.05, "limit": 0.05, "h": 2, "n": 3, "by": "both", "near": 0.05}
        other = [f"{name} {getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return f"signed ({', '.join([str(self.usual), *other])})"

    def words(self) -> str:
        """Describe what is looked at, in turn."""
        return (
            f"fewer than {self.n} respondents; or, where one sign prevails, none stands out or the spread tells "
            f"nothing, {self.usual.words()}; or, elsewhere, the {self.h} contributions farthest from 0 "
            "make up the spread"
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Sizes and signs, what is farthest from 0, the spread, and what the usual rule looks at."""
        own = (Total(), Count(), Sizes(), Signs(), Extremes(self.h), Squares(self.h), Middle())
        return (*own, *self.usual.facts)

    @property
    def optional(self) -> tuple[Fact, ...]:
        """What is farthest from 0 and the spread, which ready-made cells do not have."""
        return (Extremes(self.h), Squares(self.h), Middle(), *self.usual.optional)

    @property
    def subadditive(self) -> bool:
        """No: signs that prevail in the parts may cancel in the union."""
        return False

    def least(self, cells: Facts) -> FloatArray:
        """Return the smallest of the ratios that are looked at; NaN where none can be told."""
        return np.asarray(np.fmin.reduce([ratio for _, ratio in self._ratios(cells)]), float)

    def _ratios(self, cells: Facts) -> list[tuple[str, FloatArray]]:
        """Return the ratios that are looked at, by their names in the literature."""
        ratios = [(f"S_R,{h}", variance_ratio(cells, h)) for h in range(1, self.h + 1) if self.by != "quantile"]
        return ratios + [(f"Q_R,{h}", quantile_ratio(cells, h)) for h in range(1, self.h + 1) if self.by != "variance"]

    def measure(self, cells: Facts) -> FloatArray:
        """Return the smallest ratio, in percent, where the spread decides."""
        return np.where(self._branch(cells) == _SPREAD, 100 * self.least(cells), np.nan)

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return T_R and what decides: the respondents, the figure of the usual rule, or each S_R,h and Q_R,h."""
        facts = table.facts.take(np.asarray(cells, np.intp))
        branch, usual = self._branch(facts).tolist(), self.usual.figures(table, cells)
        signs, spread = sign_ratio(facts).tolist(), self._ratios(facts)
        told = []
        for i, way in enumerate(branch):
            if way == _FEW:
                told.append(f"{count_of(facts)[i]:,.0f} respondents")
                continue
            ratios = ", ".join(f"{name} = {values[i]:.3f}" for name, values in spread if not np.isnan(values[i]))
            decides = [ratios or "no ratio can be told"] if way in {_SPREAD, _RISING} else []
            decides += [] if way == _SPREAD else [f"{self.usual}: {usual[i]} on sizes"]
            told.append("; ".join([f"T_R = {signs[i]:.3f}", *decides]))
        return told

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return how far a cell is beyond the limit that decides: respondents, the usual rule's, a share of sizes."""
        branch = self._branch(cells)
        beyond = (self.limit - np.nan_to_num(self.least(cells), nan=-1.0)) * np.maximum(cells.basis, 1)
        few = self.n - count_of(cells)
        return np.select(
            [branch == _FEW, _by_usual(branch), branch == _SPREAD],
            [few, self.usual.sensitivity(cells), beyond],
            -np.inf,
        )

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return which cells are unsafe, whatever decides."""
        return np.logical_or.reduce([mask for _, mask in self.branches(cells)])

    def branches(self, cells: Facts) -> list[tuple[str, BoolArray]]:
        """Return for each way to decide which cells it makes unsafe."""
        branch, least = self._branch(cells), self.least(cells)
        within, decides = least <= self.limit + _TIE, branch == _SPREAD
        usual = f"signed: {self.usual} on sizes"
        return [
            (f"signed: fewer than {self.n} respondents", branch == _FEW),
            (usual, _by_usual(branch) & self.usual.unsafe(cells)),
            (f"signed: spread of {self.h} extremes", decides & within),
            ("signed: both signs count, and no spread is known", decides & np.isnan(least)),
        ]

    def remarks(self, cells: Facts) -> list[tuple[str, BoolArray]]:
        """Return the safe cells that somebody should look at."""
        branch, safe = self._branch(cells), ~self.unsafe(cells)
        return [
            ("safe only since no contribution stands out; check by hand", (branch == _ALIKE) & safe & occupied(cells)),
            ("safe with a variance ratio above 1, which tells nothing", (branch == _RISING) & safe),
        ]

    def upper(self, cells: Facts) -> FloatArray:
        """Return the level of the usual rule where it decides."""
        level = self.usual.upper(cells)
        level = np.where(np.isnan(level), self.usual.protection_percent / 100 * cells.gross, level)
        return np.where(_by_usual(self._branch(cells)), level, np.nan)

    def doubts(self) -> list[str]:
        """Ask what the usual rule asks."""
        return [*Rule.doubts(self), *self.usual.doubts()]

    def _branch(self, cells: Facts) -> FloatArray:
        """Return what decides on each cell."""
        n, middle = count_of(cells), _column(cells, Middle(), 3)
        far = np.abs(_column(cells, Extremes(self.h), self.h) - middle[:, :1])
        far[np.arange(self.h) >= n[:, None]] = 0.0
        alike = far.max(axis=1) <= self.near * np.maximum(np.abs(middle[:, 0]), middle[:, 1])
        few = (n > 0) & (n < self.n)
        prevails = sign_ratio(cells) <= self.sign_ratio + _TIE
        rising = np.any([variance_ratio(cells, h) > 1 + _TIE for h in range(1, self.h + 1)], axis=0)
        rising &= self.least(cells) > self.limit + _TIE
        return np.select([few, prevails, alike, rising], [_FEW, _USUAL, _ALIKE, _RISING], _SPREAD)


_FEW, _USUAL, _ALIKE, _RISING, _SPREAD = range(5)


def _by_usual(branch: FloatArray) -> BoolArray:
    """Return where the usual rule decides: one sign prevails, no contribution stands out, or a variance ratio rises."""
    return (branch == _USUAL) | (branch == _ALIKE) | (branch == _RISING)


@register("entropy", Formula("2^H < n, with H = -sum w log2 w of the shares w of all sizes", "the entropy of shares"))
@dataclass(frozen=True, slots=True)
class EffectiveContributors(Rule):
    """Unsafe if a cell has effectively fewer than ``n`` contributors: 2 to the entropy of their shares.

    Parameters
    ----------
    n
        The smallest safe number of effective contributors.
    inclusive
        Whether a cell with exactly ``n`` is unsafe, too.
    protection_percent
        The protection level of an unsafe cell, in percent of its value.

    Examples
    --------
    >>> from cellguard.table.signed_cells import signed_contributions
    >>> rule = EffectiveContributors(3)
    >>> cells = signed_contributions([5, -5, 5], [90, -5, 5])
    >>> rule.unsafe(cells).tolist(), rule.measure(cells).round(2).tolist()
    ([False, True], [3.0, 1.48])
    """

    n: float
    inclusive: bool = False
    protection_percent: Percent = PROTECTION_PERCENT
    counted = True

    def __post_init__(self) -> None:
        if not 1 < self.n < np.inf:
            raise InputError(f"entropy: n must be above 1 and finite, not {percent(self.n)}")
        check_percent("entropy", self.protection_percent)

    def __str__(self) -> str:
        return f"entropy {percent(self.n)}" + options(self.inclusive)

    def words(self) -> str:
        """Describe how few contributors are too few."""
        return f"as few effective contributors as {percent(self.n)}"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total and the entropy."""
        return (Total(), Entropy())

    @property
    def subadditive(self) -> bool:
        """No: a large contributor of many small parts may outweigh all others of the union."""
        return False

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return how many effective contributors are missing to ``n``."""
        return np.where(cells.gross > 0, self.n - self.measure(cells), -np.inf)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the number of effective contributors."""
        return np.asarray(2.0 ** cells[Entropy()], float)

    def scale(self, cells: Facts) -> FloatArray:
        """Return 1: a number is a share of nothing."""
        return np.ones(len(cells.total))

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return which cells have too few; one whose contributions are all 0 is not judged."""
        missing, slack = self.sensitivity(cells), _TIE * self.n
        return np.asarray(missing >= -slack if self.inclusive else missing > slack, bool)
