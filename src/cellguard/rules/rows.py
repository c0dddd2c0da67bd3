"""Rules of frequency tables: they judge the row of counts over the categories of one spanning variable.

In a row T respondents share all other codes; s of them have a category (or one of several), o = T - s have another. The
counts are not sensitive by themselves; what gives somebody away is that nearly everybody of a row has one category.
References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), chapter 5; for k-disclosure Lupp and
Langsrud, "Suppression of directly-disclosive cells in frequency tables" (2020).

What they have in common is in `row_rule`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.rules.parameters import check_whole, percent
from cellguard.rules.row_rule import RowRule, check_marked
from cellguard.rules.rule import Formula, Percent, name_of, register

_LEVEL = "of the others: {}, less o"


@register("group_disclosure", Formula("T > 0 and o = 0", "the row", _LEVEL.format("1")))
@dataclass(frozen=True, slots=True)
class GroupDisclosure(RowRule):
    """Unsafe if all respondents in a row have a sensitive category; only in rows of fewer than ``below``, if given.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories.
    below
        Only rows of fewer respondents are judged; 0: all rows.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, GroupDisclosure("d", ("yes",))).why("A/yes")
    ['group_disclosure d (yes)']
    """

    by: str
    sensitive: tuple[str, ...]
    below: int = 0

    def __post_init__(self) -> None:
        check_marked(self)
        check_whole("group_disclosure", "below", self.below, 0)

    @property
    def can_fire(self) -> bool:
        """Whether a row with somebody in it can be small enough."""
        return self.below != 1

    def _limit(self) -> str:
        return f", below {self.below}" if self.below else ""

    def words(self) -> str:
        """Say that all of a group score sensitive."""
        size = f" of fewer than {self.below}" if self.below else ""
        return f"all respondents in a group{size} have a sensitive category of {self.by}"

    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return where nobody else is."""
        return np.asarray((s > 0) & (o == 0) & ((s < self.below) if self.below else True), bool)

    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return 1."""
        return np.ones(len(s))


@register("max_fraction", Formula("s >= p/100 T", "the row", _LEVEL.format("more than s (100 - p)/p")))
@dataclass(frozen=True, slots=True)
class MaxFraction(RowRule):
    """Unsafe if the sensitive categories make up ``p`` percent of a row or more.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories.
    p
        The share of the sensitive categories, in percent, from which on a row is unsafe.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, MaxFraction("d", ("yes",))).why("A/yes")
    ['max_fraction d (yes), 40 %']
    """

    by: str
    sensitive: tuple[str, ...]
    p: Percent = 40.0

    def __post_init__(self) -> None:
        check_marked(self)
        if not 0 < self.p <= 100:
            raise InputError(f"{name_of(self)}: p must be above 0 and at most 100 percent, not {percent(self.p)}")

    def _limit(self) -> str:
        return f", {percent(self.p)} %"

    def words(self) -> str:
        """Describe how large a share is too large."""
        return f"{percent(self.p)} % of a group or more have a sensitive category of {self.by}"

    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return where the share is p percent or more."""
        whole = s + o
        return np.asarray((s > 0) & (100 * s >= self.p * whole - 1e-9 * whole), bool)

    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return how many others bring the share of s, or under a public total that of the rest of it, below p."""
        least = np.where(public, (s + o) * (100 - self.p) / 100, s * (100 - self.p) / self.p)
        return np.floor(least + 1e-9) + 1


@register("spread", Formula("s >= p/100 T for one category", "the row", _LEVEL.format("more than s (100 - p)/p")))
@dataclass(frozen=True, slots=True)
class Spread(MaxFraction):
    """Unsafe if one sensitive category makes up ``p`` percent of a row or more, be the others sensitive or not.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories.
    p
        The share of one category, in percent, from which on a row is unsafe.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, Spread("d", ("yes",))).why("A/yes")
    ['spread d (yes), 40 %']
    """

    together = False

    def words(self) -> str:
        """Describe how large a share of one category is too large."""
        return f"{percent(self.p)} % of a group or more have one and the same sensitive category of {self.by}"


@register("min_others", Formula("s > 0 and o < n", "the row", _LEVEL.format("n")))
@dataclass(frozen=True, slots=True)
class MinOthers(RowRule):
    """Unsafe if somebody in a row has a sensitive category, but fewer than ``n`` have another one.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories.
    n
        The smallest safe number of others.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, MinOthers("d", ("yes",))).why("A/yes")
    ['min_others d (yes), 3']
    """

    by: str
    sensitive: tuple[str, ...]
    n: int = 3

    def __post_init__(self) -> None:
        check_marked(self)
        check_whole("min_others", "n", self.n, 1)

    def _limit(self) -> str:
        return f", {self.n}"

    def words(self) -> str:
        """Describe how few others are too few."""
        return f"fewer than {self.n} in a group do not have a sensitive category of {self.by}"

    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return where the others are fewer than n."""
        return np.asarray((s > 0) & (o < self.n), bool)

    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return n."""
        return np.full(len(s), float(self.n))


@register("k_disclosure", Formula("s > 0 and o <= k for any category", "the row", _LEVEL.format("k + 1")))
@dataclass(frozen=True, slots=True)
class KDisclosure(RowRule):
    """Unsafe if all but at most ``k`` in a row have the same category: k of them, who know their own, see the rest.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    k
        How many others, at the most, are too few.
    sensitive
        The sensitive categories; none: all of them.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, KDisclosure("d", 1)).why("B/no")
    ['k_disclosure d, 1']
    """

    by: str
    k: int
    sensitive: tuple[str, ...] = ()
    together = False

    def __post_init__(self) -> None:
        self.check()
        check_whole("k_disclosure", "k", self.k, 0)

    def _limit(self) -> str:
        return f", {self.k}"

    def words(self) -> str:
        """Describe what a coalition finds out."""
        return f"all but {self.k} or fewer in a group have the same category of {self.by}"

    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return where the others are k or fewer."""
        return np.asarray((s > 0) & (o <= self.k), bool)

    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return k + 1."""
        return np.full(len(s), self.k + 1.0)


@dataclass(frozen=True, slots=True)
class _AllBut(RowRule):
    """Unsafe if all of a row but ``remaining`` have the same category."""

    by: str
    sensitive: tuple[str, ...] = ()
    together = False
    remaining = 0

    def __post_init__(self) -> None:
        self.check()

    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return where just so many others are; sums of weights are rounded up."""
        return np.asarray((s > 0) & (np.ceil(o) == self.remaining), bool)

    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return one more than there are."""
        return np.full(len(s), self.remaining + 1.0)


@register("attribute_disclosure", Formula("s = T > 0 for any category", "the row", _LEVEL.format("1")))
@dataclass(frozen=True, slots=True)
class AttributeDisclosure(_AllBut):
    """Unsafe if all respondents in a row have the same category (a cell of 100 percent): who is in the row has it.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories; none: all of them.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, AttributeDisclosure("d")).why("A/yes")
    ['attribute_disclosure d']
    """

    def words(self) -> str:
        """Say that a row is all in one cell."""
        return f"all respondents in a group have the same category of {self.by}"


@register("lone_other", Formula("s > 0 and o = 1 for any category", "the row", _LEVEL.format("2")))
@dataclass(frozen=True, slots=True)
class LoneOther(_AllBut):
    """Unsafe if all but one in a row have the same category: that one takes itself off and knows it of the rest.

    Parameters
    ----------
    by
        The dimension along which a row's categories lie.
    sensitive
        The sensitive categories; none: all of them.

    Examples
    --------
    >>> import cellguard as cg
    >>> rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    >>> table = cg.cells(rows | {"n": [19, 10, 9, 9, 9, 0, 10, 1, 9]}, by=["r", "d"], value="n", count="n",
    ...                  about=cg.About(is_count=True, zeros="possible"))
    >>> cg.assess(table, LoneOther("d")).why("B/no")
    ['lone_other d']
    """

    remaining = 1

    def words(self) -> str:
        """Describe what the one finds out."""
        return f"all but one in a group have the same category of {self.by}, so that this one knows it of the rest"
