"""`Space`: cells, who is whose neighbour, and how far apart they are: hexagons, squares, or any areas.

Distance is the number of steps on a shortest path. Paths may cross places without data, so a space has nodes of which
only some are cells. On a lattice the box around some hexagons holds a shortest path between any two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, IntArray, LongArray
from cellguard.errors import InputError
from cellguard.geometry.rings_kernel import steps_from

_MOST = 5_000_000
HEXAGONAL = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))
BY_EDGES = ((1, 0), (-1, 0), (0, 1), (0, -1))
BY_CORNERS = (*BY_EDGES, (1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True, eq=False)
class Space:
    """A graph whose nodes ``cells`` are the cells, in their order of coordinates; the others are only crossed.

    The neighbours of node i are ``neighbours[start[i] : start[i + 1]]``.

    >>> square = Space.of_pairs(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> square.steps(np.array([True, False, False, False])).tolist()
    [0, 1, 2, 1]
    """

    start: IntArray
    neighbours: IntArray
    cells: IntArray

    @classmethod
    def of_hexagons(cls, q: LongArray, r: LongArray) -> Space:
        """Return the space of distinct hexagons on the full grid around them."""
        return cls.of_lattice(q, r, HEXAGONAL, "hexagon")

    @classmethod
    def of_lattice(cls, q: LongArray, r: LongArray, moves: Sequence[tuple[int, int]], word: str = "cell") -> Space:
        """Return the space of distinct cells on the full grid around them; ``moves`` lead to the neighbours of a cell.

        >>> row = np.arange(3), np.zeros(3, np.int64)
        >>> Space.of_lattice(*row, BY_EDGES).steps(np.array([True, False, False])).tolist()
        [0, 1, 2]
        """
        if not len(q):
            return cls(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32))
        low_q, low_r = int(q.min()), int(r.min())
        wide, high = int(q.max()) - low_q + 1, int(r.max()) - low_r + 1
        if wide * high > _MOST:
            raise InputError(
                f"the map has room for {wide * high:,} {word}s, of which {len(q):,} have records; choose larger "
                f"{word}s, or leave points out that are far from all others"
            )
        places = np.arange(wide * high).reshape(wide, high)
        around = np.full((wide, high, len(moves)), -1, np.int32)
        for number, (dq, dr) in enumerate(moves):
            here = places[max(-dq, 0) : wide - max(dq, 0), max(-dr, 0) : high - max(dr, 0)]
            there = places[max(dq, 0) : wide + min(dq, 0), max(dr, 0) : high + min(dr, 0)]
            around.reshape(-1, len(moves))[here.ravel(), number] = there.ravel()
        flat = around.reshape(-1, len(moves))
        start = np.concatenate([[0], np.cumsum((flat >= 0).sum(axis=1))]).astype(np.int32)
        return cls(start, flat[flat >= 0], ((q - low_q) * high + (r - low_r)).astype(np.int32))

    @classmethod
    def of_pairs(cls, areas: int, pairs: Sequence[tuple[int, int]], cells: LongArray | None = None) -> Space:
        """Return the space of areas numbered from 0, given which are neighbours; ``cells`` are all, or those named."""
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        if len(ends) and (ends.min() < 0 or ends.max() >= areas):
            raise InputError(f"neighbours are numbered from 0 to {areas - 1}")
        both = np.concatenate([ends, ends[:, ::-1]])
        matrix = sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), (areas, areas))
        matrix.sum_duplicates()
        some = np.arange(areas) if cells is None else cells
        return cls(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), some.astype(np.int32))

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def nodes(self) -> int:
        """How many places there are, those without data included."""
        return len(self.start) - 1

    @cached_property
    def cell_of(self) -> IntArray:
        """The cell of each node, -1 where there is none."""
        cell = np.full(self.nodes, -1, np.int32)
        cell[self.cells] = np.arange(len(self.cells), dtype=np.int32)
        return cell

    def steps(self, sources: BoolArray) -> IntArray:
        """Return how many steps each cell is from the nearest of the given cells; -1 if none can be reached."""
        return steps_from(self.start, self.neighbours, self.cells[sources])[self.cells]

    def clusters(self, occupied: BoolArray) -> IntArray:
        """Return the cluster of each occupied cell, -1 for others: cells connected by steps from one to the next.

        >>> Space.of_pairs(4, [(0, 1), (1, 2), (2, 3)]).clusters(np.array([True, True, False, True])).tolist()
        [0, 0, -1, 1]
        """
        here = np.repeat(self.cell_of, np.diff(self.start))
        there = self.cell_of[self.neighbours]
        linked = (here >= 0) & (there >= 0)
        linked[linked] = occupied[here[linked]] & occupied[there[linked]]
        size = (len(self), len(self))
        graph = sp.csr_array((np.ones(int(linked.sum())), (here[linked], there[linked])), size)
        label = np.full(len(self), -1, np.int32)
        numbers = connected_components(graph, directed=False)[1][occupied]
        label[occupied] = np.unique(numbers, return_inverse=True)[1].ravel()
        return label
