"""What can be known of a cell: each fact is declared once, with how it is gathered, read, merged and stored.

To add a fact, derive from `Fact`: tabulation, reading and writing go over whatever facts there are.
"""

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
    from cellguard.table.survey import Survey

Column = npt.NDArray[Any]  # one row per cell; a fact of several numbers has a column for each
Groups = npt.NDArray[np.intp]


class Fact:
    """One thing known of each cell: what a rule asks for, and the key of its column among `Facts`.

    >>> Top(3).covers(Top(2)), Top(3).covers(Count())
    (True, False)
    """

    __slots__ = ()
    # How many of each cell's largest contributions must be known, of all and of those without a waiver.
    largest: int = 0
    unwaived: int = 0
    # Whether the fact is about the contributions of holdings, which one pass over the records gathers.
    contributed: ClassVar[bool] = False

    def covers(self, other: Fact) -> bool:
        """Tell whether who knows this fact knows the other one too."""
        return self == other

    def part(self, column: Column, covered: Fact) -> Column:
        """Return the column of a covered fact from that of this one."""
        return column

    def lacking(self, records: Grouped, survey: Survey | None) -> str | None:
        """Say what the records would need to tell this fact, or None if they can."""
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
        """Say what a table lacks that does not have this fact, and how to give it."""
        doc = str(type(self).__doc__).split("\n")[0]
        return f"{doc[0].lower()}{doc[1:].rstrip('.')}; only tables made from records have that"


class _Single(Fact):
    """What facts of one stored column share, which is named after the fact."""

    __slots__ = ()
    column: ClassVar[str]

    @property
    def stored(self) -> tuple[str, ...]:
        return (self.column,)

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        return (cls(),) if cls.column in names else ()


@dataclass(frozen=True, slots=True)
class _Ranked(Fact):
    """What facts about the ``n`` largest share: one column per rank, and who knows more ranks knows fewer too."""

    n: int
    prefix: ClassVar[str]

    def covers(self, other: Fact) -> bool:
        return isinstance(other, _Ranked) and type(self) is type(other) and self.n >= other.n

    def part(self, column: Column, covered: Fact) -> Column:
        return column[:, : covered.n] if isinstance(covered, _Ranked) else column

    def read(self, source: Source, names: Sequence[str]) -> Column:
        return np.stack([source.numbers(name) for name in names], axis=1)

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}{rank}" for rank in range(1, self.n + 1))

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        ranks = sum(name.removeprefix(cls.prefix).isdigit() for name in names if name.startswith(cls.prefix))
        return (cls(ranks),) if ranks else ()

    def to_store(self, column: Column) -> list[Column]:
        return list(column.T[: len(self.stored)])


@dataclass(frozen=True, slots=True)
class Total(_Single):
    """The sum of all contributions: what is published."""

    column = "total"

    def gather(self, work: Gathering) -> Column:
        """Return the published sums."""
        return work.published

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return the sum of the parts."""
        return np.bincount(group, column, cells).astype(float)


@dataclass(frozen=True, slots=True)
class Count(_Single):
    """The number of respondents (holdings, where given)."""

    column = "count"
    contributed = True

    def gather(self, work: Gathering) -> Column:
        """Return how many holdings contribute."""
        return work.contributions.count.astype(float)

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return that of the largest part: the others may be the same respondents."""
        count = np.zeros(cells)
        np.maximum.at(count, group, column)
        return count

    def to_store(self, column: Column) -> list[Column]:
        """Return whole numbers."""
        return [column.astype(np.int64)]

    def absent(self, known: Iterable[Fact]) -> str:
        """Say how to give the counts of ready-made cells."""
        return "the number of respondents of each cell; name its column with `count`"


@dataclass(frozen=True, slots=True)
class Top(_Ranked):
    """The ``n`` largest contributions."""

    prefix = "top"
    contributed = True

    @property
    def largest(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def gather(self, work: Gathering) -> Column:
        """Return them as the rules see them."""
        return work.largest

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return contributions of equal rank added up, as if they came from one respondent."""
        return np.stack([np.bincount(group, rank, cells) for rank in column.T], axis=1)

    def absent(self, known: Iterable[Fact]) -> str:
        """Say how many there are, and how to give more."""
        given = max((fact.n for fact in known if isinstance(fact, Top)), default=0)
        return (
            f"the {self.n} largest contributions of each cell, but {given} are given; "
            f"name {self.n} columns, largest first, with `top`"
        )


@dataclass(frozen=True, slots=True)
class Base(_Single):
    """The total that rules relate contributions to in a weighted survey, if not the published one."""

    column = "base"

    def gather(self, work: Gathering) -> Column:
        """Return the sums of what the survey mode says."""
        return work.base


@dataclass(frozen=True, slots=True)
class Excess(_Ranked):
    """What the ``n`` largest contributors stand for beyond themselves, (w - 1) x, where weights are published."""

    prefix = "excess"
    contributed = True

    @property
    def largest(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def gather(self, work: Gathering) -> Column:
        """Return it for each rank of the largest."""
        return work.excess


@dataclass(frozen=True, slots=True)
class Unwaived(_Ranked):
    """The ``n`` largest contributions of those who did not waive protection; NaN where there are no more."""

    prefix = "unwaived"
    contributed = True

    @property
    def unwaived(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def lacking(self, records: Grouped, survey: Survey | None) -> str | None:
        """Say that published weights do not go with waivers."""
        return "rules with waivers do not go with survey: published_weights" if survey == "published_weights" else None

    def gather(self, work: Gathering) -> Column:
        """Return those without a waiver."""
        return work.unwaived

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return them; a blank means that all others have waived."""
        return np.stack([source.numbers(name, blank_is_nan=True) for name in names], axis=1)

    @property
    def stored(self) -> tuple[str, ...]:
        """The first only: no rule looks at more."""
        return ("unwaived1",)

    def absent(self, known: Iterable[Fact]) -> str:
        """Say that only records tell."""
        return "the largest contributions of those without a waiver; only tables made from records have them"


@dataclass(frozen=True, slots=True)
class Requested(_Single):
    """Whether the largest contributor asked for protection."""

    column = "requested"
    largest = 1
    contributed = True

    def lacking(self, records: Grouped, survey: Survey | None) -> str | None:
        """Ask for the column of requests."""
        if records.has_requests:
            return None
        return "a rule asks who wants protection; name the column of requests with `request`"

    def gather(self, work: Gathering) -> Column:
        """Return it of the holding that contributes most."""
        return work.asked

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return a yes-or-no column."""
        return source.marks(names[0])


@dataclass(frozen=True, slots=True)
class Mark(Fact):
    """A yes-or-no column that came with the cells."""

    column: str

    def read(self, source: Source, names: Sequence[str]) -> Column:
        """Return a yes-or-no column."""
        return source.marks(names[0])

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return yes where any part says so."""
        return np.bincount(group, column, cells) > 0

    @property
    def stored(self) -> tuple[str, ...]:
        """A column of its own, whose name cannot be that of another fact."""
        return (f"mark:{self.column}",)

    @classmethod
    def stored_in(cls, names: Collection[str]) -> Iterable[Fact]:
        """Return one fact per column of marks."""
        return [cls(name.removeprefix("mark:")) for name in names if name.startswith("mark:")]


@dataclass(frozen=True, slots=True)
class Records(Fact):
    """The number of records."""

    def gather(self, work: Gathering) -> Column:
        """Return how many records there are."""
        return work.records


@dataclass(frozen=True, slots=True)
class Signs(Fact):
    """The sum of the positive contributions and that of the negative ones."""

    contributed = True

    def gather(self, work: Gathering) -> Column:
        """Return a column for either sign."""
        return work.signs


@dataclass(frozen=True, slots=True)
class Contributors(Fact):
    """Who contributes what to the published total: the largest contributors of each cell.

    A row per cell and in it one per contributor, the largest first: the holding's number plus 1 (0 where there is none)
    and what it contributes, weights included. The last row has 0 and the most that anybody contributes who is not
    listed: 0 if all are.
    """

    contributed = True

    def gather(self, work: Gathering) -> Column:
        """Return as many as there is room for."""
        return work.contributors


# The kinds of fact that are stored, in the order of their columns in the file of facts (docs/certificate.md).
STORED: tuple[type[Fact], ...] = (Total, Count, Top, Base, Excess, Unwaived, Requested, Mark)


def widest(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without those that another one covers, in order.

    >>> widest([Count(), Top(2), Top(3), Count()])
    [Count(), Top(n=3)]
    """
    different = list(dict.fromkeys(facts))
    return [fact for fact in different if not any(o.covers(fact) for o in different if o != fact)]
