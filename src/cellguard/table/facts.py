"""What is known of each cell besides its codes: total, count of respondents, largest contributions, marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, did_you_mean

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of all contributions."""


@dataclass(frozen=True, slots=True)
class Count:
    """The number of respondents (holdings, where given)."""


@dataclass(frozen=True, slots=True)
class Top:
    """The ``n`` largest contributions."""

    n: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A yes-or-no column that came with the cells."""

    column: str


Fact = Total | Count | Top | Mark


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of all cells, one array a fact. ``complete`` says that ``tops`` are all contributions there are.

    >>> facts = Facts(np.array([92.0]), np.array([5.0]), np.array([[81.0, 5.0]]))
    >>> float(facts.top(2)[0])
    5.0
    """

    total: FloatArray
    count: FloatArray | None = None
    tops: FloatArray | None = None
    marks: Mapping[str, BoolArray] = field(default_factory=dict)
    complete: bool = False

    def top(self, rank: int) -> FloatArray:
        """Return the contribution of the given rank (1 = the largest); 0 where there is none."""
        if self.complete and rank > self.known_tops:
            return np.zeros(len(self.total))
        if self.tops is None or not 1 <= rank <= self.known_tops:
            raise IndexError(f"contributions of rank {rank} are not known")
        return self.tops[:, rank - 1]

    @property
    def known_tops(self) -> int:
        """How many of the largest contributions are known."""
        return 0 if self.tops is None else self.tops.shape[1]

    def missing(self, wanted: Iterable[Fact]) -> str | None:
        """Say which of the wanted facts is not there and how to give it, or None."""
        for fact in wanted:
            if isinstance(fact, Count) and self.count is None:
                return "the number of respondents of each cell; name its column with `count`"
            if isinstance(fact, Top) and self.known_tops < fact.n and not self.complete:
                return (
                    f"the {fact.n} largest contributions of each cell, but {self.known_tops} are given; "
                    f"name {fact.n} columns, largest first, with `top`"
                )
            if isinstance(fact, Mark) and fact.column not in self.marks:
                return f"the column {fact.column!r}{did_you_mean(fact.column, self.marks)}"
        return None


def contributions(*cells: Iterable[float]) -> Facts:
    """Return the facts of cells from all their contributions, in any order.

    >>> contributions([5, 81, 2, 2, 2]).tops.tolist()
    [[81.0, 5.0, 2.0, 2.0, 2.0]]
    """
    rows = [np.sort(np.asarray(list(cell), float))[::-1] for cell in cells]
    tops = np.zeros((len(rows), max((len(row) for row in rows), default=0)))
    for i, row in enumerate(rows):
        if not np.isfinite(row).all():
            raise InputError("a contribution is missing or infinite; leave it out or give its value")
        tops[i, : len(row)] = row
    total, count = (np.array([measure(row) for row in rows], float) for measure in (np.sum, len))
    return Facts(total, count, tops, complete=True)
