"""Cells by their keys, the sums of ``radix[d] * code`` over all dimensions d; cells are in the order of their keys.

Sums go up in place, one rung of one dimension after the other (see `rungs`): a cell whose codes are leaves in all later
dimensions is taken into the cell that has the code right above in this one. Each cell is then taken into few others,
whatever the depth of the trees, and a leaf leads to a cell above it in one way only.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.keyed_kernel import climb_cube, count_steps, decode, fill_steps, number_cube
from cellguard.table.keys import Keys, combine
from cellguard.table.rungs import Rung, rungs
from cellguard.table.stages import Line

_MOST_KEYS = 2**62


class Above(NamedTuple):
    """What lies above the leaf cells, code by code.

    The codes that a code of dimension d is part of are ``line[start[i]:start[i + 1]]`` with i = first[d] + code;
    ``leaves`` are the codes of each leaf cell, a row per cell.
    """

    leaves: IntArray
    first: Keys
    start: Keys
    line: IntArray
    radix: Keys


class Step(NamedTuple):
    """Cells that are taken into others, which are whole before that. Those from ``middle`` on go into other cells."""

    child: IntArray
    parent: IntArray
    middle: int


@dataclass(frozen=True, eq=False)
class Keyed:
    """All cells by their keys. ``leaves`` are those of the combinations of leaf codes; ``steps`` lead to the others.

    ``where`` has the cell of each key where there is room for that, else it is empty.
    """

    keys: Keys
    where: IntArray
    codes: IntArray
    leaves: IntArray
    above: Above
    extents: tuple[int, ...]
    ladders: Sequence[list[Rung]] = field(repr=False)

    def cells(self, keys: Keys) -> IntArray:
        """Return the cells of some keys."""
        return _cells(keys, self.keys, self.where)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Which cells are taken into which, in this order."""
        return tuple(_steps(self))


def _cells(wanted: Keys, keys: Keys, where: IntArray) -> IntArray:
    return where[wanted] if len(where) else np.searchsorted(keys, wanted).astype(np.int32)


def key_cells(dimensions: Sequence[Dimension], leaves: Sequence[IntArray], lines: Sequence[Line]) -> Keyed | None:
    """Return the cells above different combinations of leaf codes in order, None if keys would not fit into 64 bits."""
    extents = tuple(len(d.codes) for d in dimensions)
    room = math.prod(extents)
    if room >= _MOST_KEYS:
        return None
    ladders = [rungs(dimension) for dimension in dimensions]
    own = combine(leaves, extents)
    if room > 16 * len(own) + 1_000_000:
        keys, where = _climb_keys(own, extents, ladders), np.zeros(0, np.int32)
        codes = decode(keys, np.array(extents))
    else:
        cube = np.zeros(room, bool)
        cube[own] = True
        for d, ladder in enumerate(ladders):
            for child, parent in ladder:
                climb_cube(cube.reshape(-1, extents[d], math.prod(extents[d + 1 :])), child, parent)
        keys, where, codes = number_cube(cube, np.array(extents), np.count_nonzero(cube))
    above = _above(leaves, lines, extents)
    return Keyed(keys, where, codes, _cells(own, keys, where), above, extents, ladders)


def _radix(extents: Sequence[int]) -> Keys:
    return np.array([math.prod(extents[d + 1 :]) for d in range(len(extents))], np.int64)


def _climb_keys(own: Keys, extents: Sequence[int], ladders: Sequence[list[Rung]]) -> Keys:
    """Return the keys of all cells, where those that might be are too many to look at."""
    keys, radix = own, _radix(extents)
    for d, ladder in enumerate(ladders):
        for child, parent in ladder:
            shift = np.zeros(extents[d], np.int64)
            shift[child] = (parent.astype(np.int64) - child) * radix[d]
            shifts = shift[keys // radix[d] % extents[d]]
            there = np.flatnonzero(shifts)
            keys = np.sort(np.concatenate([keys, np.unique(keys[there] + shifts[there])]))
    return keys


def _steps(cells: Keyed) -> Iterator[Step]:
    """Yield which cells are taken into which, rung by rung."""
    extents, radix = cells.extents, cells.above.radix
    # An entry per code itself (0: a leaf), and one per code right above it; rungs are numbered from 1.
    first = np.cumsum([0, *extents])[:-1]
    many = sum(extents)
    code, rung, shift = [np.arange(many)], [np.zeros(many, np.int64)], [np.zeros(many, np.int64)]
    every = [(d, each) for d, ladder in enumerate(cells.ladders) for each in ladder]
    for number, (d, (child, parent)) in enumerate(every, 1):
        rung[0][first[d] + parent] = 1
        code.append(first[d] + child)
        rung.append(np.full(len(child), number))
        shift.append((parent.astype(np.int64) - child) * radix[d])
    codes_of = np.concatenate(code)
    order = np.argsort(codes_of, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(codes_of, minlength=many))])
    rungs_of, shifts = np.concatenate(rung)[order], np.concatenate(shift)[order]
    counts = count_steps(cells.codes, first, start, rungs_of, len(every) + 1)
    place = np.cumsum(np.concatenate([[0], counts]))
    children, parents = fill_steps(cells.codes, first, start, rungs_of, shifts, cells.keys, cells.where, place)
    for (d, each), begin, end in zip(every, place[1:-1].tolist(), place[2:].tolist(), strict=True):
        child, parent = children[begin:end], parents[begin:end]
        yield Step(child, parent, _middle(cells.keys, parent, int(radix[d])) if each.neat else 0)


def _middle(keys: Keys, parent: IntArray, radix: int) -> int:
    """Return where to cut a step, so that no cell is taken into from both sides: before another code of this dimension.

    Whole cells follow one another by the codes up to this dimension, but not by those after it.
    """

    def upto(edge: int) -> int:
        return int(keys[parent[edge]]) // radix

    return bisect_left(range(len(parent)), upto(len(parent) // 2), key=upto) if len(parent) else 0


def _above(leaves: Sequence[IntArray], lines: Sequence[Line], extents: Sequence[int]) -> Above:
    ends = np.cumsum([0, *(len(line) for _, line in lines)])
    return Above(
        np.ascontiguousarray(np.stack(leaves, axis=1)),
        np.cumsum([0, *(len(start) for start, _ in lines)])[:-1].astype(np.int64),
        np.concatenate([start + end for (start, _), end in zip(lines, ends[:-1], strict=True)]),
        np.concatenate([line for _, line in lines]),
        _radix(extents),
    )
