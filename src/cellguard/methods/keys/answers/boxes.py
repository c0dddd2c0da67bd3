"""`Boxes`: cells as everybody can name them, and how they add up.

A cell is a set of leaf codes of each variable, a bit per leaf. Two cells with the same sets are one, whatever was
asked. Along one variable a cell is the sum of the largest known cells inside it, and of what is left. What is left may
be listed nowhere, and is a cell all the same: a reader knows it by differencing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Box = tuple[int, ...]


class Sum(NamedTuple):
    """A cell and the cells that it is the sum of."""

    whole: Box
    parts: tuple[Box, ...]


def contains(outer: Box, inner: Box) -> bool:
    """Return whether every record of one cell is in another, by its codes alone.

    >>> contains((0b111, 0b1), (0b101, 0b1)), contains((0b011, 0b1), (0b101, 0b1))
    (True, False)
    """
    return all(not small & ~large for large, small in zip(outer, inner, strict=True))


def sums_of(boxes: Iterable[Box]) -> list[Sum]:
    """Return the sums that cells are of each other along one variable, with what is left.

    >>> sums_of([(0b111,), (0b001,), (0b010,)])
    [Sum(whole=(7,), parts=((1,), (2,), (4,)))]
    """
    groups: dict[tuple[int, Box], list[int]] = defaultdict(list)
    for box in dict.fromkeys(boxes):
        for at, mask in enumerate(box):
            groups[at, box[:at] + box[at + 1 :]].append(mask)
    found = list[Sum]()
    for (at, rest), masks in groups.items():
        ordered = sorted(masks, key=int.bit_count, reverse=True)
        for place, whole in enumerate(ordered):
            for parts in _covers(whole, ordered[place + 1 :]):
                found.append(Sum(_box(at, rest, whole), tuple(_box(at, rest, mask) for mask in parts)))
    return list(dict.fromkeys(found))


def _box(at: int, rest: Box, mask: int) -> Box:
    return (*rest[:at], mask, *rest[at:])


def _covers(whole: int, smaller: Sequence[int]) -> list[tuple[int, ...]]:
    """Return how a set is the union of disjoint ones and the rest: one way, or one for each where they overlap."""
    largest = list[int]()
    for mask in smaller:
        if not mask & ~whole and mask != whole and not any(not mask & ~other for other in largest):
            largest.append(mask)
    if not largest:
        return []
    union = 0
    apart = True
    for mask in largest:
        apart = apart and not union & mask
        union |= mask
    if apart:
        left = whole & ~union
        return [(*largest, left) if left else tuple(largest)]
    return [(mask, whole & ~mask) for mask in largest]
