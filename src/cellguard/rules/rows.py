"""Rules of frequency tables: they judge the row of counts over the categories of one spanning variable.

In a row T respondents share all other codes; s of them have a category (or one of several), o = T - s have another. The
counts are not sensitive by themselves; what gives somebody away is that nearly everybody of a row has one category.
References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), chapter 5; for k-disclosure Lupp and
Langsrud, "Suppression of directly-disclosive cells in frequency tables" (2020).

What must stay possible is a number of others, ``enough``, at which the statement about the row is no longer true: an
attacker's interval of o must reach it. See `others` for the cell that stands for o.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.rules.parameters import check_whole, percent
from cellguard.rules.rule import Formula, Group, Judgement, Percent, Rule, name_of, register
from cellguard.rules.table_rows import Rows, rows_of
from cellguard.table.apriori import State
from cellguard.table.fact import Fact, Total
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table

_LEVEL = "of the others: {}, less o"


class RowRule(Rule):
    """A rule about rows along the dimension ``by``: what is too many of one category, and how many others are enough.

    Each of the ``sensitive`` codes is tested, and all of them together if there are other categories; without any,
    every category is. In an unsafe row the cells of these categories that are not 0 are unsafe, and the others.
    """

    __slots__ = ()
    by: str
    sensitive: tuple[str, ...]
    together: ClassVar[bool] = True
    promise = "an attacker cannot conclude that the others in an unsafe row are as few as they are"
    cure = (
        "suppressing cells does not help where the others of a row are known to be too few: make the codes coarser "
        "with `recode`, or say `zeros: possible` if empty cells need not be public"
    )

    def __str__(self) -> str:
        codes = f" ({', '.join(self.sensitive)})" if self.sensitive else ""
        return f"{name_of(self)} {self.by}{codes}{self._limit()}"

    def _limit(self) -> str:
        return ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The counts."""
        return (Total(),)

    @abstractmethod
    def unsafe_rows(self, s: FloatArray, o: FloatArray) -> BoolArray:
        """Return which rows are unsafe, given those of a category and the others."""

    @abstractmethod
    def enough(self, s: FloatArray, o: FloatArray, public: BoolArray) -> FloatArray:
        """Return how many others an unsafe row would need to be safe; ``public`` where s + o is known for sure."""

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Refuse to judge cells by themselves."""
        raise InputError(f"{name_of(self)} judges the rows of a table; apply it with `assess`")

    def groups(self, table: Table) -> Sequence[Group]:
        """Return the categories that make a row unsafe, alone or together."""
        if not table.is_count:
            raise InputError(
                f"table {table.name!r}: {name_of(self)} is for tables of counts, which this one is not; leave it out"
            )
        rows = rows_of(table, self.by)
        return [Group(self.by, codes) for codes in self._tested(rows) if self._wrong(rows, codes).any()]

    def _tested(self, rows: Rows) -> list[tuple[str, ...]]:
        """Return each category, and all together, as far as there are others."""
        self._check_codes(rows)
        singles = [(code,) for code in self.sensitive or rows.occurring()]
        several = [self.sensitive] if self.together and len(self.sensitive) > 1 else []
        return [codes for codes in [*singles, *several] if rows.leaves.others(codes)]

    def _wrong(self, rows: Rows, codes: Sequence[str]) -> BoolArray:
        return self.unsafe_rows(rows.sums(codes), rows.others(codes))

    def _check_codes(self, rows: Rows) -> None:
        dimension, held, here = rows.dimension, rows.leaves.held, rows.occurring()
        for code in self.sensitive:
            if code not in held or code == dimension.total:
                near = did_you_mean(code, dimension.told[1:])
                raise InputError(f"{name_of(self)}: {self.by!r} has no category {code!r}{near}")
            if code not in here and any(held[other] < held[code] for other in here):
                raise InputError(
                    f"{name_of(self)}: table {rows.table.name!r} has cells of codes within {code!r}, but none of "
                    f"{code!r} itself; name these codes as sensitive, or add the cells"
                )
        for one, other in combinations(self.sensitive, 2):
            if held[one] & held[other]:
                raise InputError(f"{name_of(self)}: one of {one!r} and {other!r} holds the other; name one of them")

    def look(self, table: Table) -> Judgement:
        """Judge the rows: unsafe are the cells of the categories of unsafe rows, and their others."""
        rows, nothing = rows_of(table, self.by), np.zeros(len(table))
        unsafe, hopeless, reach = nothing > 0, nothing > 0, nothing.copy()
        public = table.apriori.has(State.must_publish)[rows.totals]
        for codes in self._tested(rows):
            s, o = rows.sums(codes), rows.others(codes)
            wrong, enough = self.unsafe_rows(s, o), self.enough(s, o, public)
            if not wrong.any():
                continue
            code = rows.others_code(codes)
            rest = rows.having([] if code is None else [code]) & wrong[rows.row]
            unsafe[rest] = True
            reach[rest] = np.maximum(reach[rest], (enough - o)[rows.row[rest]])
            # Without a cell of the others everybody knows that they are none; under a public total they are limited.
            none = wrong.copy()
            none[rows.row[rest]] = False
            lost = none | (wrong & public & (enough > s + o))
            cells = rows.having(codes) & wrong[rows.row] & (table.value != 0)
            cells[rows.totals[none & ~public]] = True
            unsafe |= cells
            hopeless |= cells & lost[rows.row]
        return Judgement(np.where(unsafe, 1.0, -1.0), unsafe, nothing * np.nan, reach, hopeless)

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return of each cell's row how many respondents have the tested category, or all of them, and the others.

        Of several categories that one is told of which there are the fewest others.
        """
        rows = rows_of(table, self.by)
        tested = [(", ".join(codes), rows.sums(codes), rows.others(codes)) for codes in self._tested(rows)]
        return [self._row_figure(tested, int(rows.row[cell])) for cell in np.asarray(cells).tolist()]

    def _row_figure(self, tested: Sequence[tuple[str, FloatArray, FloatArray]], row: int) -> str:
        having = [(float(o[row]), float(s[row]), codes) for codes, s, o in tested if s[row] > 0] if row >= 0 else []
        if not having:
            return "nobody in the row has a tested category" if row >= 0 else "not in a row with a total"
        o, s, codes = min(having)
        return f"{s:,.0f} of {s + o:,.0f} in the row ({100 * s / (s + o):,.1f} %) have {codes}, {o:,.0f} have not"

    def _check(self) -> None:
        name = name_of(self)
        if not self.by:
            raise InputError(f"{name}: name the dimension of the categories with `by`")
        if len(set(self.sensitive)) < len(self.sensitive):
            raise InputError(f"{name}: a sensitive category is named twice")


def _marked(rule: RowRule) -> None:
    """Refuse a rule about sensitive categories that names none."""
    rule._check()
    if not rule.sensitive:
        raise InputError(f"{name_of(rule)}: name the sensitive categories of {rule.by!r} with `sensitive`")


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
        _marked(self)
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
        _marked(self)
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
        _marked(self)
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
        self._check()
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
        self._check()

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
