"""Sequences whose items are made as they are asked for, from flat arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class MadeItems(Sequence[T_co]):
    """A sequence that knows how to make one item, and how many there are; numbers count from 0.

    >>> class Squares(MadeItems[int]):
    ...     def item(self, number):
    ...         return number**2
    ...     def __len__(self):
    ...         return 4
    >>> Squares()[3], Squares()[1:3], list(Squares())
    (9, [1, 4], [0, 1, 4, 9])
    """

    @abstractmethod
    def item(self, number: int) -> T_co:
        """Return one item, whose number is in range."""

    @overload
    def __getitem__(self, number: int) -> T_co: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[T_co]: ...
    def __getitem__(self, number: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(number, slice):
            return [self.item(i) for i in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.item(number)
