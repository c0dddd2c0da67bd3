"""`Facts`: what is known of each cell besides its codes, one column per fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray as BoolArray
from cellguard.arrays import FloatArray as FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.table.fact import Base, Column, Count, Excess, Fact, Groups, Mark, Signs, Top, Total
from cellguard.table.signed_facts import Sizes


@dataclass(frozen=True, eq=False, repr=False)
class Facts(Mapping[Fact, Column]):
    """The facts of all cells: a mapping from each known fact to its column. Confidential.

    A fact is known if another one covers it: who knows `Top(3)` knows `Top(2)`. ``complete`` says that the largest
    contributions known are all there are.

    >>> facts = Facts({Total(): np.array([92.0]), Count(): np.array([5.0]), Top(2): np.array([[81.0, 5.0]])})
    >>> facts[Top(1)].tolist(), float(facts.top(2)[0]), Top(3) in facts
    ([[81.0]], 5.0, False)
    """

    columns: Mapping[Fact, Column]
    complete: bool = False

    def __getitem__(self, fact: Fact) -> Column:
        if fact in self.columns:
            return self.columns[fact]
        for known, column in self.columns.items():
            if known.covers(fact):
                return known.part(column, fact)
        if fact.stand_in is not None:
            return self[fact.stand_in]
        raise KeyError(fact)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Facts of {len(self.total)} cells: {', '.join(map(str, self))}>"

    @property
    def total(self) -> FloatArray:
        """The total of each cell: what is published."""
        return self.columns[Total()]

    @property
    def count(self) -> FloatArray | None:
        """The number of respondents of each cell, if known."""
        return self.columns.get(Count())

    @property
    def tops(self) -> FloatArray | None:
        """The largest contributions of each cell, as many as are known."""
        return self._widest(Top)

    @property
    def base(self) -> FloatArray | None:
        """The total that contributions relate to, if it is not the published one."""
        return self.columns.get(Base())

    @property
    def basis(self) -> FloatArray:
        """The total that contributions relate to: the sum of their sizes, ``base``, or the published total."""
        if Sizes() in self.columns:
            return self.columns[Sizes()]
        return self.total if self.base is None else self.base

    @property
    def gross(self) -> FloatArray:
        """The sum of the sizes of all contributions as far as it is known, at least the size of the total.

        >>> Facts({Total(): np.array([0.0]), Signs(): np.array([[7.0, -7.0]])}).gross.tolist()
        [14.0]
        """
        if Signs() in self.columns:
            signs = self.columns[Signs()]
            return np.maximum(np.abs(self.total), signs[:, 0] - signs[:, 1])
        return np.maximum(np.abs(self.total), self.columns.get(Sizes(), 0.0))

    @property
    def marks(self) -> Mapping[str, BoolArray]:
        """The yes-or-no columns by their names."""
        return {fact.column: column for fact, column in self.columns.items() if isinstance(fact, Mark)}

    @property
    def scale(self) -> FloatArray:
        """How many published units stand for one of ``basis``, at least 1: protection levels are in published units.

        >>> Facts({Total(): np.array([1060.0]), Base(): np.array([106.0])}).scale.tolist()
        [10.0]
        """
        ones = np.ones(len(self.total))
        return np.maximum(np.divide(self.total, self.basis, out=ones, where=self.basis > 0), 1.0)

    def whole(self, ranks: int) -> FloatArray:
        """Return the total that the ``ranks`` largest contributions relate to, less what their weights stand for.

        >>> Facts({Total(): np.array([60.0]), Excess(2): np.array([[20.0, 5.0]])}).whole(1).tolist()
        [40.0]
        """
        excess = self._widest(Excess)
        if excess is None:
            return self.basis
        if ranks > excess.shape[1] and not self.complete:
            raise IndexError(f"weights of rank {ranks} are not known")
        return np.asarray(self.basis - excess[:, :ranks].sum(axis=1), float)

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
        return 0 if self.tops is None else int(self.tops.shape[1])

    def plus(self, columns: Mapping[Fact, Column]) -> Facts:
        """Return these facts and others; a fact that is known already gets a new column."""
        return Facts({**self.columns, **columns}, complete=self.complete)

    def take(self, index: npt.NDArray[np.intp]) -> Facts:
        """Return the facts of the chosen cells; index -1 is a cell without contributions.

        >>> Facts({Total(): np.array([5.0, 7.0])}).take(np.array([1, -1])).total.tolist()
        [7.0, 0.0]
        """
        return Facts({fact: _take(column, index) for fact, column in self.columns.items()}, complete=self.complete)

    def merge(self, group: Groups, cells: int) -> Facts:
        """Return the facts of merged cells, each made of those of one group; what nobody can tell is left out.

        >>> Facts({Total(): np.array([5.0, 7.0]), Count(): np.array([1.0, 2.0])}).merge(np.array([0, 0]), 1).count
        array([2.])
        """
        merged = {fact: fact.merge(column, group, cells) for fact, column in self.columns.items()}
        return Facts({fact: column for fact, column in merged.items() if column is not None})

    def missing(self, wanted: Iterable[Fact]) -> str | None:
        """Describe which of the wanted facts is not there and how to give it, or None."""
        for fact in wanted:
            if fact in self or (self.complete and isinstance(fact, Top)):
                continue
            if isinstance(fact, Mark):
                return f"the column {fact.column!r}{did_you_mean(fact.column, self.marks)}"
            return fact.absent(self)
        return None

    def _widest(self, kind: type[Fact]) -> Any:  # noqa: ANN401
        return next((column for fact, column in self.columns.items() if type(fact) is kind), None)


def _take(column: Column, index: npt.NDArray[np.intp]) -> Column:
    if not len(column):
        return np.zeros((len(index), *column.shape[1:]), column.dtype)
    chosen = column[index]
    chosen[index < 0] = 0
    return chosen


def contributions(*cells: Iterable[float]) -> Facts:
    """Return the facts of cells from all their contributions: total, count and every contribution, largest first.

    Parameters: for each cell its contributions, in any order.
    Raises `InputError` if a contribution is missing or infinite.

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
    return Facts({Total(): total, Count(): count, Top(tops.shape[1]): tops}, complete=True)
