"""What rules about rows have in common: the rows that they look at, the cells that are unsafe, what must stay possible.

In a row T respondents share all other codes; s of them have a category (or one of several), o = T - s have another.
What must stay possible is a number of others, ``enough``, at which the statement about the row is no longer true: an
attacker's interval of o must reach it. See `others` for the cell that stands for o.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.rules.rule import Group, Judgement, Rule, name_of
from cellguard.rules.table_rows import Rows, rows_of
from cellguard.table.apriori import State
from cellguard.table.fact import Fact, Total
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table


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

    def check(self) -> None:
        """Refuse a rule without a dimension, or with a category twice."""
        name = name_of(self)
        if not self.by:
            raise InputError(f"{name}: name the dimension of the categories with `by`")
        if len(set(self.sensitive)) < len(self.sensitive):
            raise InputError(f"{name}: a sensitive category is named twice")


def check_marked(rule: RowRule) -> None:
    """Refuse a rule about sensitive categories that names none."""
    rule.check()
    if not rule.sensitive:
        raise InputError(f"{name_of(rule)}: name the sensitive categories of {rule.by!r} with `sensitive`")
