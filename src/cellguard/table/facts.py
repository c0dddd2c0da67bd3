"""What is known of each cell besides its codes: total, count of respondents, largest contributions, marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Records:
    """The number of records."""


@dataclass(frozen=True, slots=True)
class Unwaived:
    """The ``n`` largest contributions of those who did not waive protection."""

    n: int


@dataclass(frozen=True, slots=True)
class Requested:
    """Whether the largest contributor asked for protection."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The sum of the positive contributions and that of the negative ones."""


Fact = Total | Count | Top | Mark | Records | Unwaived | Requested | Signs


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of all cells, one array a fact; None for a fact that nobody asked for.

    ``total`` is what is published. ``complete`` says that ``tops`` are all contributions there are. In a weighted
    survey rules may relate contributions to another total than the published one: ``base``. ``excess`` holds, where
    the weights are published too, what the largest contributors stand for beyond themselves, (w - 1) x. ``unwaived``
    are the largest contributions of those who did not waive protection (NaN where there are no more), ``requested``
    tells where the largest contributor asked for it. ``positive`` and ``negative`` are the sums of the contributions of
    either sign.

    >>> facts = Facts(np.array([92.0]), np.array([5.0]), np.array([[81.0, 5.0]]))
    >>> float(facts.top(2)[0])
    5.0
    """

    total: FloatArray
    count: FloatArray | None = None
    tops: FloatArray | None = None
    marks: Mapping[str, BoolArray] = field(default_factory=dict)
    complete: bool = False
    base: FloatArray | None = None
    excess: FloatArray | None = None
    unwaived: FloatArray | None = None
    requested: BoolArray | None = None
    records: FloatArray | None = None
    positive: FloatArray | None = None
    negative: FloatArray | None = None

    def __repr__(self) -> str:
        known = [f.name for f in fields(self) if f.name not in _WHOLE and getattr(self, f.name) is not None]
        return f"<Facts of {len(self.total)} cells: {', '.join([*known, *self.marks])}>"

    @property
    def basis(self) -> FloatArray:
        """The total that contributions relate to: ``base``, or the published total."""
        return self.total if self.base is None else self.base

    @property
    def scale(self) -> FloatArray:
        """How many published units stand for one of ``basis``, at least 1: protection levels are in published units.

        >>> Facts(np.array([1060.0]), base=np.array([106.0])).scale.tolist()
        [10.0]
        """
        ones = np.ones(len(self.total))
        return np.maximum(np.divide(self.total, self.basis, out=ones, where=self.basis > 0), 1.0)

    def whole(self, ranks: int) -> FloatArray:
        """Return the total that the ``ranks`` largest contributions relate to, less what their weights stand for.

        >>> Facts(np.array([60.0]), tops=np.array([[10.0, 5.0]]), excess=np.array([[20.0, 5.0]])).whole(1).tolist()
        [40.0]
        """
        if self.excess is None:
            return self.basis
        if ranks > self.excess.shape[1] and not self.complete:
            raise IndexError(f"weights of rank {ranks} are not known")
        return np.asarray(self.basis - self.excess[:, :ranks].sum(axis=1), float)

    def take(self, index: npt.NDArray[np.intp]) -> Facts:
        """Return the facts of the chosen cells; index -1 is a cell without contributions.

        >>> Facts(np.array([5.0, 7.0]), np.array([1.0, 2.0])).take(np.array([1, -1])).total.tolist()
        [7.0, 0.0]
        """
        chosen = {f.name: _take(getattr(self, f.name), index) for f in fields(self) if f.name not in _WHOLE}
        marks = {name: _take(mark, index) for name, mark in self.marks.items()}
        return replace(self, marks=marks, **chosen)

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
            if isinstance(fact, Unwaived) and (self.unwaived is None or self.unwaived.shape[1] < fact.n):
                return "the largest contributions of those without a waiver; only tables made from records have them"
            if type(fact) in _FROM_RECORDS and getattr(self, _FROM_RECORDS[type(fact)]) is None:
                return f"{_name(fact)}; only tables made from records have that"
        return None


_WHOLE = {"marks", "complete"}
_FROM_RECORDS: Mapping[type, str] = {
    Records: "records",
    Requested: "requested",
    Signs: "positive",
}


def _name(fact: Fact) -> str:
    """Return what a fact is, as its docstring says it, to stand within a sentence."""
    doc = str(type(fact).__doc__)
    return doc[0].lower() + doc[1:].rstrip(".")


def _take(column: Any, index: npt.NDArray[np.intp]) -> Any:  # noqa: ANN401
    if column is None:
        return None
    if not len(column):
        return np.zeros((len(index), *column.shape[1:]), column.dtype)
    found = column[index]
    found[index < 0] = 0
    return found


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
