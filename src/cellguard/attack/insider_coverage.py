"""The store of moves that prove unsafe cells against insiders, and of what is still open: all in flat arrays.

A move proves an ask against all who do not notice it, if it takes the cell far enough. Most asks are against anybody:
they are proven once nobody noticed all the moves that go that far. So for each of them only those names are kept who
noticed every such move so far, and these become few after the first moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, IntArray, LongArray, Positions
from cellguard.attack import insider_coverage_kernel as kernel
from cellguard.attack.insider_asks import asks_of
from cellguard.attack.insider_knowledge import ANYBODY
from cellguard.attack.insider_pairs import Pair
from cellguard.attack.insider_system import InsiderSystem
from cellguard.attack.kernel_layout import Asks

LARGEST_CIRCUIT = 1_000  # smallest steps of a circuit's cells; beyond, values are residues of a prime
_LENGTHS = 6  # of one circuit that are tried, beyond those that only its singletons notice
_POOL = 1 << 16


class Moves(NamedTuple):
    """Moves of merged cells: ``cells`` of each, from its ``start`` on, move by ``n`` / ``denominator`` grains."""

    start: LongArray
    cells: IntArray
    n: LongArray
    denominator: LongArray

    @classmethod
    def one(cls, cells: Positions | IntArray, n: LongArray, denominator: int = 1) -> Moves:
        """Return a single move."""
        return cls(
            np.array([0, len(cells)]), cells.astype(np.int32), n.astype(np.int64), np.array([denominator], np.int64)
        )

    def take(self, some: Positions | BoolArray) -> Moves:
        """Return some of the moves, in the old order."""
        chosen = np.zeros(len(self.start) - 1, bool)
        chosen[some] = True
        size = np.diff(self.start)
        entries = np.repeat(chosen, size)
        start = np.concatenate([[0], np.cumsum(size[chosen])]).astype(np.int64)
        return Moves(start, self.cells[entries], self.n[entries], self.denominator[chosen])


class Log(NamedTuple):
    """Which move, taken how many times (with its sign), helped which ask."""

    move: LongArray
    times: LongArray
    ask: LongArray


class Growing:
    """An array that is only ever added to."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._array, self._size = np.empty(64, kind), 0

    def __len__(self) -> int:
        return self._size

    def add(self, values: npt.NDArray[Any]) -> None:
        """Add some values."""
        end = self._size + len(values)
        if end > len(self._array):
            larger = np.empty(max(end, 2 * len(self._array)), self._array.dtype)
            larger[: self._size] = self._array[: self._size]
            self._array = larger
        self._array[self._size : end] = values
        self._size = end

    @property
    def values(self) -> npt.NDArray[Any]:
        """What was added so far."""
        return self._array[: self._size]


@dataclass(eq=False)
class Coverage:
    """Which asks of the unsafe cells are proven by which moves. Moves that are ``dead`` prove nothing any more."""

    system: InsiderSystem
    asks: Asks = field(init=False)
    many: LongArray = field(init=False)

    def __post_init__(self) -> None:
        self.asks = asks_of(self.system)
        self.many = np.full(len(self.asks.cell), -1, np.int64)
        self._first = np.zeros(len(self.asks.cell), np.int64)
        self._pool, self._used = np.empty(_POOL, np.int32), 0
        self._start, self._denominator = Growing(np.int64), Growing(np.int64)
        self._cells, self._n = Growing(np.int32), Growing(np.int64)
        self._log = Growing(np.int64), Growing(np.int64), Growing(np.int64)
        self._dead = Growing(np.bool_)
        self._start.add(np.zeros(1, np.int64))

    def enter(self, moves: Moves, *, repeat: bool = False) -> int:
        """Enter moves as far as they are moves and help; return how many asks they helped.

        With ``repeat`` a move is taken as many times as cells need, as circuits are.
        """
        largest = LARGEST_CIRCUIT if repeat else int(kernel.LONGEST)
        system = self.system
        ok = kernel.holds(*moves, system.matrix.shape[0], system.rows, system.known.whole, largest)
        self._pool, self._used, log = kernel.credit(
            *moves, ok, repeat, _LENGTHS, system.known, self.asks, self._first, self.many, self._pool, self._used
        )
        if len(log):
            kept, number = np.unique(log[:, 0], return_inverse=True)
            new = moves.take(kept)
            for column, values in zip(self._log, (number.ravel() + self.count, log[:, 1], log[:, 2]), strict=True):
                column.add(values)
            self._start.add(new.start[1:] + len(self._cells))
            self._cells.add(new.cells)
            self._n.add(new.n)
            self._denominator.add(new.denominator)
            self._dead.add(np.zeros(len(kept), bool))
        return len(log)

    @property
    def count(self) -> int:
        """How many moves there are."""
        return len(self._dead)

    @property
    def dead(self) -> BoolArray:
        """Which moves prove nothing any more; it may be written to."""
        return self._dead.values

    def moves(self) -> Moves:
        """Return all moves; the numbers in the log are theirs."""
        return Moves(self._start.values, self._cells.values, self._n.values, self._denominator.values)

    def log(self) -> Log:
        """Return what helped what, in the order of time."""
        return Log(*(column.values for column in self._log))

    def needed(self) -> tuple[LongArray, LongArray, IntArray]:
        """Return which moves a proof needs, how many times they are taken, and the cells that this helps to prove.

        Of each ask those moves are taken that fewest notice, until nobody is left.
        """
        start, move, times = self.by_ask()
        many, first, pool = self.many.copy(), self._first.copy(), self._pool.copy()
        keep = kernel.needed(
            start, move, times, self.dead, *self.moves(), self.system.known, self.asks, first, many, pool, self._used
        )
        ask = np.repeat(np.arange(len(many)), np.diff(start))[keep]
        return move[keep], times[keep], self.asks.cell[ask]

    def open(self) -> Positions:
        """Return the asks that are not proven."""
        return np.flatnonzero(self.many)

    def open_cells(self) -> Positions:
        """Return the merged cells with an ask that is not proven."""
        return np.unique(self.asks.cell[self.open()]).astype(np.intp)

    def left(self, ask: int) -> IntArray:
        """Return those against whom an ask is open, as far as they have names."""
        if self.asks.who[ask] >= 0:
            return self.asks.who[ask : ask + 1]
        first = self._first[ask]
        return self._pool[first : first + max(self.many[ask], 0)]

    def left_of(self, some: Positions) -> IntArray:
        """Return all against whom some asks are open."""
        return np.unique(np.concatenate([np.zeros(0, np.int32), *(self.left(ask) for ask in some.tolist())]))

    def open_pairs(self) -> list[Pair]:
        """Return the open asks as pairs of insiders and cells of the problem."""
        pairs, at = set[tuple[int, int]](), self.system.at
        behind = np.argsort(at, kind="stable")
        start = np.searchsorted(at[behind], np.arange(self.system.n + 1))
        for ask in self.open().tolist():
            merged = self.asks.cell[ask]
            for cell in behind[start[merged] : start[merged + 1]].tolist():
                pairs |= {(who, cell) for who in self.left(ask).tolist() or [ANYBODY]}
        return [Pair(who, cell, 0, 0) for who, cell in sorted(pairs)]

    def of(self, cell: int) -> range:
        """Return the asks of a cell."""
        return range(int(self.asks.start[cell]), int(self.asks.start[cell + 1]))

    def by_ask(self) -> tuple[LongArray, LongArray, LongArray]:
        """Return the log sorted by ask: where each begins, which moves, and how many times they are taken."""
        log = self.log()
        order = np.argsort(log.ask, kind="stable")
        start = np.searchsorted(log.ask[order], np.arange(len(self.many) + 1)).astype(np.int64)
        return start, log.move[order], log.times[order]

    def again(self, some: LongArray, entries: LongArray, move: LongArray, times: LongArray) -> None:
        """Work out the state of some asks anew from those of the moves that helped each that are not dead."""
        self._pool, self._used = kernel.replay(
            some, entries, move, times, self.dead, *self.moves(), self.system.known, self.asks,
            self._first, self.many, self._pool, self._used,
        )  # fmt: skip
