"""What a fact of a cell is: how it is gathered, read, merged and stored. The facts themselves are in `fact`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from cellguard.microdata.grouped import Grouped
    from cellguard.table.gathering import Gathering
    from cellguard.table.source import Source
    from cellguard.table.tabulate import Wanted

Column = npt.NDArray[Any]  # one row per cell; a fact of several numbers has a column for each
Groups = npt.NDArray[np.intp]


class Fact:
    """One thing known of each cell: what a rule asks for, and the key of its column among `Facts`.

    >>> from cellguard.table.fact import Count, Top
    >>> Top(3).covers(Top(2)), Top(3).covers(Count())
    (True, False)
    """

    __slots__ = ()
    # How many of each cell's largest contributions must be known, of all and of those without a waiver.
    largest: int = 0
    unwaived: int = 0
    # How many of the contributions that are farthest from 0 must be known with their signs.
    extreme: int = 0
    # Whether the fact is about the contributions of holdings, which one pass over the records gathers.
    contributed: ClassVar[bool] = False

    @property
    def stand_in(self) -> Fact | None:
        """The fact that says the same in tables which do not tell them apart."""
        return None

    def covers(self, other: Fact) -> bool:
        """Return whether who knows this fact knows the other one too."""
        return self == other

    def part(self, column: Column, covered: Fact) -> Column:
        """Return the column of a covered fact from that of this one."""
        return column

    def lacking(self, records: Grouped, wanted: Wanted) -> str | None:
        """Describe what the records or the wanted table would need to tell this fact, or None if they can."""
        return None

    def gather(self, work: Gathering) -> Column | None:
        """Return the fact's column from the records; None if records cannot tell it."""
        return None

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return the fact's column from columns of ready-made cells."""
        return source.numbers(names[0])

    def merge(self, column: Column, group: Groups, cells: int) -> Column | None:
        """Return the column of cells merged by a recoding, whose parts have the same ``group``; None if unknown.

        One respondent may sit in several of the parts, and cells do not tell. So the worst case is taken.
        """
        return None

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the file of facts that hold it; none if it is not stored."""
        return ()

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return the facts of this kind that a file with such columns holds."""
        return ()

    def to_store(self, column: Column) -> list[Column]:
        """Return the stored columns; a NaN is stored as missing."""
        return [column]

    def absent(self, known: Iterable[Fact]) -> str:
        """Describe what a table lacks that does not have this fact, and how to give it."""
        doc = str(type(self).__doc__).split("\n")[0]
        return f"{doc[0].lower()}{doc[1:].rstrip('.')}; only tables made from records have that"


class Single(Fact):
    """What facts of one stored column share, which is named after the fact."""

    __slots__ = ()
    column: ClassVar[str]

    @property
    def stored(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return the fact if its column is there."""
        return (cls(),) if cls.column in names else ()


@dataclass(frozen=True, slots=True)
class Ranked(Fact):
    """What facts about the ``n`` largest share: one column per rank, and who knows more ranks knows fewer too."""

    n: int
    prefix: ClassVar[str]

    def covers(self, other: Fact) -> bool:
        """Return whether there are at least as many ranks."""
        return isinstance(other, Ranked) and type(self) is type(other) and self.n >= other.n

    def part(self, column: Column, covered: Fact) -> Column:
        """Return the first ranks."""
        return column[:, : covered.n] if isinstance(covered, Ranked) else column

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return one column per rank."""
        return np.stack([source.numbers(name) for name in names], axis=1)

    @property
    def stored(self) -> tuple[str, ...]:
        """One column per rank."""
        return tuple(f"{self.prefix}{rank}" for rank in range(1, self.n + 1))

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return the fact of as many ranks as there are columns."""
        ranks = sum(name.removeprefix(cls.prefix).isdigit() for name in names if name.startswith(cls.prefix))
        return (cls(ranks),) if ranks else ()

    def to_store(self, column: Column) -> list[Column]:
        """Return the columns of the ranks that are stored."""
        return list(column.T[: len(self.stored)])


def widest(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without those that another one covers, in order.

    >>> from cellguard.table.fact import Count, Top
    >>> widest([Count(), Top(2), Top(3), Count()])
    [Count(), Top(n=3)]
    """
    different = list(dict.fromkeys(facts))
    return [fact for fact in different if not any(o.covers(fact) for o in different if o != fact)]
