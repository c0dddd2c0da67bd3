"""The search for moves that prove what circuits leave open, cell by cell, in neighbourhoods that grow.

First one move is looked for that none of all insiders left notices; then one per ask; and at last, where that is not to
be had, against halves of them, down to single insiders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, IntArray, Positions
from cellguard.attack.insider_coverage import Coverage
from cellguard.attack.insider_programs import Programs, Room, Step
from cellguard.proofs.scale import UNLIMITED
from cellguard.run_context import Run

STEPS: tuple[Step, ...] = ((400, 4), (1_200, 4), (3_000, 6))
_OFTEN = 200  # cells between two words of progress


class Failing(NamedTuple):
    """An ask, and an insider against whom no move was found (-1 if there is no move against nobody in particular)."""

    ask: int
    insider: int


@dataclass(eq=False)
class Search:
    """Coverage, the cells that moves may use, and the programs that look for more of them."""

    coverage: Coverage
    hidden: BoolArray
    programs: Programs
    run: Run

    @classmethod
    def of(cls, coverage: Coverage, hidden: BoolArray, run: Run) -> Search:
        """Return a search with all programs to come."""
        return cls(coverage, hidden, Programs(coverage.system, run), run)

    def room(self, cells: Positions, cell: int, avoid: IntArray) -> Room:
        """Return how far cells may go in the eyes of all of some insiders."""
        system, known = self.coverage.system, self.coverage.system.known
        down, up, calm = known.floor[cells].copy(), known.up[cells].copy(), known.calm[cells]
        begin, end = system.by_start[avoid], system.by_start[avoid + 1]
        size = end - begin
        entry = np.repeat(end - np.cumsum(size), size) + np.arange(size.sum())
        theirs = system.by_cell[entry]
        place = np.minimum(np.searchsorted(cells, theirs), len(cells) - 1)
        here = (cells[place] == theirs) & ~system.signed[theirs]
        place, theirs = place[here], theirs[here]
        np.minimum.at(down, place, np.maximum(known.value[theirs] - system.by_amount[entry[here]], 0))
        knowing = known.knowing[cells]
        fixed = np.isin(knowing, avoid) & (knowing >= 0)
        down[fixed] = up[fixed] = 0
        own = known.owner[cell]
        return Room(cells, down, up, np.minimum(calm, down), (knowing >= 0) & ((knowing != own) | (own < 0)))

    def take(self, room: Room, moves: np.ndarray, cell: int) -> bool:
        """Enter a program's move exactly; return whether it helped a cell."""
        coverage, own = self.coverage, self.coverage.of(cell)
        part = slice(own.start, own.stop)
        before = coverage.many[part].copy()
        for rounded in (False, True):
            found = self.programs.exact(room, cell, moves, rounded=rounded)
            if found is not None and coverage.enter(found) and (coverage.many[part] != before).any():
                return True
        return False

    def moved(self, cell: int, amount: int, avoid: IntArray, steps: Sequence[Step]) -> bool:
        """Find a move of suppressed cells that takes a cell so far and that none of some insiders notices."""
        size = 0
        for step in steps:
            cells = self.programs.near(cell, step, amount, self.hidden)
            if len(cells) <= size:
                break
            size = len(cells)
            room = self.programs.live(self.room(cells, cell, avoid), cell, amount)
            if room is None:
                continue
            if self._circuit(room, cell, amount):
                return True
            moves = self.programs.cheapest(room, cell, amount)
            if moves is not None and self.take(room, moves, cell):
                return True
        return False

    def _circuit(self, room: Room, cell: int, amount: int) -> bool:
        """Enter the widest circuit of a cell and others near, if it goes far enough."""
        width = np.minimum(room.up, np.minimum(room.down, np.maximum(room.calm, 1)))
        wide = np.flatnonzero((width >= abs(amount)) & (room.cells != cell))
        order = wide[np.lexsort((-width[wide], room.noticed[wide]))]
        columns = np.append(room.cells[order], cell)
        found = self.programs.circuit(columns)
        if found is None:
            return False
        own = self.coverage.of(cell)
        part = slice(own.start, own.stop)
        before = self.coverage.many[part].copy()
        self.coverage.enter(found, repeat=True)
        return bool((self.coverage.many[part] != before).any())

    def settle(self, cell: int, steps: Sequence[Step], *, deep: bool = False) -> list[Failing]:
        """Prove one cell as far as moves of suppressed cells are found; return what fails.

        If ``deep``, where nothing is found against all that are left of an ask, halves of them are tried.
        """
        coverage, asks = self.coverage, self.coverage.asks
        failing, given_up = list[Failing](), set[int]()
        while open_ := [a for a in coverage.of(cell) if coverage.many[a] != 0 and a not in given_up]:
            way = next((int(asks.way[a]) for a in open_ if asks.way[a]), 0)
            alike = np.array([a for a in open_ if asks.way[a] in (way, 0)])
            ways = ways_of(way)
            if len(alike) > 1:
                most, avoid = int(asks.need[alike].max()), coverage.left_of(alike)
                if any(self.moved(cell, sign * most, avoid, steps) for sign in ways):
                    continue
            for ask in alike.tolist():
                lost = self._settle_ask(ask, steps, deep)
                if coverage.many[ask] != 0 and lost:  # without anybody lost there was progress, and more may come
                    given_up.add(ask)
                    failing += [Failing(ask, insider) for insider in lost]
        return failing

    def _settle_ask(self, ask: int, steps: Sequence[Step], deep: bool) -> list[int]:
        """Prove one ask; return insiders against whom no move is found, one of them if ``deep``."""
        coverage, asks = self.coverage, self.coverage.asks
        cell, need, ways = int(asks.cell[ask]), int(asks.need[ask]), ways_of(int(asks.way[ask]))
        parts = [coverage.left(ask).copy()]
        while parts and coverage.many[ask] != 0:
            part = parts.pop()
            if coverage.many[ask] > 0:
                part = np.intersect1d(part, coverage.left(ask))
                if not len(part):
                    continue
            if any(self.moved(cell, sign * need, part, steps) for sign in ways):
                continue
            if not deep or len(part) <= 1:
                return part.tolist() or [-1]
            half = len(part) // 2
            parts += [part[half:], part[:half]]
        return []

    def settle_all(
        self, cells: Iterable[int], steps: Sequence[Step], *, deep: bool = False, most: int = UNLIMITED
    ) -> list[Failing]:
        """Settle cells one after the other; return what fails.

        It ends once programs had so many cells in all; what is open then fails.
        """
        failing = list[Failing]()
        todo = list(cells)
        for number, cell in enumerate(todo):
            if number % _OFTEN == 0:
                self.run.tell(f"{len(todo) - number:,} cells to prove against respondents", number, len(todo))
            self.run.check()
            if self.programs.looked > most:
                open_ = [a for a in self.coverage.of(cell) if self.coverage.many[a] != 0]
                failing += [Failing(a, who) for a in open_ for who in self.coverage.left(a).tolist()[:1] or [-1]]
            else:
                failing += self.settle(cell, steps, deep=deep)
        return failing

    def left(self) -> tuple[int, int]:
        """Return how many asks have no move at all, and against how many insiders the others are open."""
        many = self.coverage.many
        return int((many < 0).sum()), int(many[many > 0].sum())

    def ranked(self) -> list[int]:
        """Return the open cells, the largest first."""
        cells = self.coverage.open_cells()
        return cells[np.argsort(-self.coverage.system.known.value[cells], kind="stable")].tolist()


def ways_of(way: int) -> tuple[int, ...]:
    """Return the ways in which a cell may move for an ask."""
    return (1, -1) if way == 0 else (way,)
