"""What can be known of a cell: each fact is declared once, with how it is gathered, read, merged and stored.

To add a fact, derive from `Fact`: tabulation, reading and writing go over whatever facts there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellguard.table.fact_kind import Column as Column
from cellguard.table.fact_kind import Fact as Fact
from cellguard.table.fact_kind import Groups as Groups
from cellguard.table.fact_kind import Ranked, Single
from cellguard.table.fact_kind import widest as widest
from cellguard.table.signed_facts import Entropy, Extremes, Middle, Sizes, Squares
from cellguard.table.signed_facts import Signs as Signs

if TYPE_CHECKING:
    from cellguard.microdata.grouped import Grouped
    from cellguard.table.gathering import Gathering
    from cellguard.table.source import Source
    from cellguard.table.tabulate import Wanted


@dataclass(frozen=True, slots=True)
class Total(Single):
    """The sum of all contributions: what is published."""

    column = "total"

    def gather(self, work: Gathering) -> Column:
        """Return the published sums."""
        return work.published

    def merge(self, column: Column, group: Groups, cells: int) -> Column:
        """Return the sum of the parts."""
        return np.bincount(group, column, cells).astype(float)


@dataclass(frozen=True, slots=True)
class Count(Single):
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
        """Describe how to give the counts of ready-made cells."""
        return "the number of respondents of each cell; name its column with `count`"


@dataclass(frozen=True, slots=True)
class Contributors(Single):
    """The number of contributions that the rules' total is made of: respondents, and what their weights stand for."""

    column = "contributors"
    contributed = True

    @property
    def stand_in(self) -> Fact:
        """Without weights the count of respondents."""
        return Count()

    def gather(self, work: Gathering) -> Column | None:
        """Return it for weighted surveys."""
        return work.contributors

    def absent(self, known: Iterable[Fact]) -> str:
        """Describe how to give the counts of ready-made cells."""
        return Count().absent(known)


@dataclass(frozen=True, slots=True)
class NonZero(Single):
    """The number of respondents (holdings, where given) who have not 0 in all of a cell's most detailed parts."""

    column = "nonzero"

    def gather(self, work: Gathering) -> Column:
        """Return how many holdings are left without their sums by leaf codes that are 0."""
        return work.nonzero


@dataclass(frozen=True, slots=True)
class Top(Ranked):
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
        """Describe how many there are, and how to give more."""
        given = max((fact.n for fact in known if isinstance(fact, Top)), default=0)
        return (
            f"the {self.n} largest contributions of each cell, but {given} are given; "
            f"name {self.n} columns, largest first, with `top`"
        )


@dataclass(frozen=True, slots=True)
class Base(Single):
    """The total that rules relate contributions to in a weighted survey, if not the published one."""

    column = "base"

    def gather(self, work: Gathering) -> Column:
        """Return the sums of what the survey mode says."""
        return work.base


@dataclass(frozen=True, slots=True)
class Excess(Ranked):
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
class Unwaived(Ranked):
    """The ``n`` largest contributions of those who did not waive protection; NaN where there are no more."""

    prefix = "unwaived"
    contributed = True

    @property
    def unwaived(self) -> int:  # type: ignore[override]
        """All n of them."""
        return self.n

    def lacking(self, records: Grouped, wanted: Wanted) -> str | None:
        """Say that published weights do not go with waivers."""
        published = wanted.survey == "published_weights"
        return "rules with waivers do not go with survey: published_weights" if published else None

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
class Requested(Single):
    """Whether the largest contributor asked for protection."""

    column = "requested"
    largest = 1
    contributed = True

    def lacking(self, records: Grouped, wanted: Wanted) -> str | None:
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
class KeySum(Fact):
    """The sum of the record keys modulo their range: the same in every table that shows the cell."""

    modulus: int

    def lacking(self, records: Grouped, wanted: Wanted) -> str | None:
        """Ask for record keys."""
        return None if records.key is not None else "its records have no keys; name their column with `record_key`"

    def gather(self, work: Gathering) -> Column:
        """Return whole numbers from 0 to below the modulus."""
        return work.keys


@dataclass(frozen=True, slots=True)
class Holdings(Fact):
    """Who contributes what to the published total: the largest contributors of each cell.

    A row per cell and in it one per contributor, the largest first: the holding's number plus 1 (0 where there is none)
    and what it contributes, weights included. The last row has 0 and the most that anybody contributes who is not
    listed: 0 if all are.
    """

    contributed = True

    def gather(self, work: Gathering) -> Column:
        """Return as many as there is room for."""
        return work.listed_holdings


# The kinds of fact that are stored, in the order of their columns in the file of facts (docs/reference/certificate.md).
STORED: tuple[type[Fact], ...] = (
    *(Total, Count, Top, Base, Excess, Unwaived, Requested, Mark),
    *(Contributors, NonZero, Sizes, Signs, Extremes, Squares, Middle, Entropy),
)
