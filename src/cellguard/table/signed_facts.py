"""Facts of contributions of either sign: their sums, sizes, extremes and spread.

Reference: Flygare, Jansson & Orusild, *Measuring Risk in Tables Where the Study Variable May be Negative*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellguard.table.fact_kind import Column, Fact, Groups, Ranked, Single

if TYPE_CHECKING:
    from cellguard.microdata.grouped import Grouped
    from cellguard.table.gathering import Gathering
    from cellguard.table.source import Source
    from cellguard.table.tabulate import Wanted


class _Several(Fact):
    """What facts of a few stored columns share, which have names of their own."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]]
    contributed = True

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return the columns side by side."""
        return np.stack([source.numbers(name) for name in names], axis=1)

    @property
    def stored(self) -> tuple[str, ...]:
        """All columns."""
        return self.columns

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return the fact if its columns are there."""
        return (cls(),) if set(cls.columns) <= set(names) else ()

    def to_store(self, column: Column) -> list[Column]:
        """Return the columns one by one."""
        return list(column.T)


@dataclass(frozen=True, slots=True)
class Signs(_Several):
    """The sum of the positive contributions and that of the negative ones."""

    columns = ("positive", "negative")

    def gather(self, work: Gathering) -> Column:
        """Return a column for either sign."""
        return work.signs

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return the sums of the parts."""
        return np.stack([np.bincount(group, sign, cells) for sign in column.T], axis=1)


@dataclass(frozen=True, slots=True)
class Sizes(Single):
    """The sum of contributions as rules see them where some may be negative: their sizes, shifted, or of a proxy."""

    column = "sizes"
    contributed = True

    def lacking(self, records: Grouped, wanted: Wanted) -> str | None:
        """Ask for what makes sizes of contributions."""
        if wanted.negative is None or not wanted.negative.absolute:
            return "a rule looks at the sizes of contributions; say `negative: absolute` of the table"
        return None

    def gather(self, work: Gathering) -> Column:
        """Return what the treatment of negative contributions makes of them."""
        return work.sizes

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return the sum of the parts."""
        return np.bincount(group, column, cells).astype(float)

    def absent(self, known: Iterable[Fact]) -> str:
        """Describe how to give the sizes."""
        return (
            "the sizes of contributions; say `negative: absolute` of a table from records, or name the column of "
            "their sums with `sizes`"
        )


@dataclass(frozen=True, slots=True)
class Extremes(Ranked):
    """The ``n`` contributions that are farthest from 0, with their signs.

    Of those equally far from 0, the ones farther from the median come first, then by the number of the holding.
    """

    prefix = "extreme"
    contributed = True

    @property
    def extreme(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def gather(self, work: Gathering) -> Column:
        """Return one column per rank."""
        return work.spread.extremes


@dataclass(frozen=True, slots=True)
class Squares(Ranked):
    """The sums of squares about their mean of all contributions, and without the 1 to ``n`` farthest from 0.

    Where it is open which of two equally far ones goes first, the smaller sum counts.
    """

    prefix = "squares"
    contributed = True

    @property
    def extreme(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def part(self, column: Column, covered: Fact) -> Column:
        """Return the first sums."""
        return column[:, : covered.n + 1] if isinstance(covered, Ranked) else column

    def gather(self, work: Gathering) -> Column:
        """Return the column of all, and one per number left out."""
        return work.spread.squares

    @property
    def stored(self) -> tuple[str, ...]:
        """One column for all, and one per number left out."""
        return tuple(f"{self.prefix}{rank}" for rank in range(self.n + 1))

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return the fact of as many numbers left out as there are columns."""
        return [cls(fact.n - 1) for fact in super(Squares, cls).stored_in(names) if isinstance(fact, Ranked)]


@dataclass(frozen=True, slots=True)
class Middle(_Several):
    """The median of the contributions, that of their sizes, and the sum of squares about the median."""

    columns = ("median", "median_size", "median_squares")

    def gather(self, work: Gathering) -> Column:
        """Return the three columns."""
        return work.spread.middle


@dataclass(frozen=True, slots=True)
class Entropy(Single):
    """The entropy in bits of the shares that contributions have in the sum of their sizes."""

    column = "entropy"
    contributed = True

    def gather(self, work: Gathering) -> Column:
        """Return the entropy; 0 where all contributions are 0."""
        return work.spread.entropy
