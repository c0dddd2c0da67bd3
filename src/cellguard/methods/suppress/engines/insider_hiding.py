"""What to suppress so that no respondent can estimate another too closely: the cheapest moves through published cells.

A local program as for a proof, in which a published cell has a price: as much as being noticed costs, many times over,
for a cell of middling cost. Slopes are scaled again until each cell that is used pays about its whole cost, so that
few cells are used. Suppressing more only adds moves, so that whatever was proven stays proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, IntArray, Positions
from cellguard.attack import insider_near_kernel as near
from cellguard.attack.insider_programs import Room, Step, ranked_cells
from cellguard.attack.insider_search import Failing, Search, ways_of
from cellguard.linalg.series import series_classes

HIDING: tuple[Step, ...] = ((300, 4), (1_200, 4), (4_000, 8))
LAST: tuple[Step, ...] = ((12_000, 12), (40_000, 1_000))  # the widest, for the last cells and the dearest
_DEAR = 3e-3  # of the cost of all suppressed cells: what one ask costs, from which on no neighbourhood is too wide
_PRICE = 30.0  # of suppressing a cell of middling cost, where being noticed by somebody costs 1
_DEAREST = 1e4  # times the middling cost
_SCALINGS = 2
_NARROW = {300: 0.1, 1_200: 0.02, 4_000: 0.001}  # suppressed cells that cannot move by such a share are left out
_LOOKED = 3  # neighbourhoods in which a move of suppressed cells is looked for before others are suppressed
_LITTLE = 1e-4  # share of the amount: a cell that moves by less pays as if it moved by so much
_BETTER = 0.98  # of the cost: a wider neighbourhood that saves less is the last
_LAYERS = ((3, 2), (3, 2), (3, 2))  # cheapest published cells of each relation, and how many times the step in all
_WIDE_LAYERS = ((8, 4), (3, 2), (3, 2))
_WIDE = 1_000
_AFAR = 4_000  # cells of a neighbourhood before which what is dear looks for a move of suppressed cells further away


@dataclass(eq=False)
class Hiding(Search):
    """A search that may suppress more: at what ``cost``, and which merged cells it ``may``."""

    cost: FloatArray = field(default_factory=lambda: np.zeros(0))
    may: BoolArray = field(default_factory=lambda: np.zeros(0, bool))

    def __post_init__(self) -> None:
        self._cheapest = ranked_cells(self.coverage.system.matrix, self.cost)
        self._dear = _DEAR * float(self.cost[self.hidden].sum())

    def near(self, cell: int, step: Step, amount: int) -> Positions:
        """Return suppressed cells near one, the cheapest others of their relations, and others of those again."""
        cells = self.programs.near(cell, step, amount, self.hidden, _NARROW.get(step[0], 0))
        barred, new, system = self.hidden | ~self.may, cells.astype(np.int32), self.coverage.system
        parts, known = [new], self.hidden.copy()
        for per, times in _WIDE_LAYERS if step[0] >= _WIDE else _LAYERS:
            more = near.published_near(
                new, per, times * step[0], self.programs.row_start, self._cheapest, system.rows, barred
            )
            new = more[~known[more]]
            known[new] = True
            parts.append(new)
        return np.sort(np.concatenate(parts)).astype(np.intp)

    def hide(self, cell: int, amount: int, avoid: IntArray, steps: Sequence[Step]) -> bool:
        """Suppress what the cheapest move that none of some insiders notices goes through; return whether there is
        one.
        """
        best, paid, size, afar = None, np.inf, 0, False
        for step in (*steps, *LAST[:1]):
            if step not in steps and paid < self._dear:
                break
            if step[0] >= _AFAR and self._dear <= paid < np.inf and not afar:
                afar = True
                if self.moved(cell, amount, avoid, LAST):
                    return True
            cells = self.near(cell, step, amount)
            if len(cells) <= size:
                break
            size = len(cells)
            room = self.programs.live(self.room(cells, cell, avoid), cell, amount)
            if room is None:
                continue
            moves, cost = self._cheapest_move(room, cell, amount)
            if moves is None:
                continue
            narrow = cost >= _BETTER * paid
            if cost < paid:
                best, paid = (room, moves), cost
            if cost == 0 or (narrow and paid < self._dear):
                break
        if paid >= self._dear and not afar and self.moved(cell, amount, avoid, LAST):
            return True
        if best is None:
            return False
        room, moves = best
        new = room.cells[(moves != 0) & ~self.hidden[room.cells]]
        self.hidden[new] = True
        if not self.take(room, moves, cell):
            self.hidden[new] = False
            return False
        return True

    def _cheapest_move(self, room: Room, cell: int, amount: int) -> tuple[FloatArray | None, float]:
        """Return the cheapest move and what it costs, with slopes scaled as long as that makes it cheaper."""
        cost = np.where(self.hidden[room.cells], 0.0, self.cost[room.cells])
        middling = float(np.median(cost[cost > 0])) if (cost > 0).any() else 1.0
        slope = _PRICE * np.minimum(cost / middling, _DEAREST)
        # A cell that cannot move by the whole amount costs as much as one that can.
        width = np.clip(np.maximum(room.up, room.down) / abs(amount), _LITTLE, 1.0)
        best = self.programs.cheapest(room, cell, amount, slope / width)
        if best is None:
            return None, np.inf
        paid, moves = float(cost[best != 0].sum()), best
        for _ in range(_SCALINGS if paid > 0 else 0):
            size = np.where(moves != 0, np.clip(np.abs(moves) / abs(amount), _LITTLE, None), 1.0)
            again = self.programs.cheapest(room, cell, amount, slope / size)
            if again is None or cost[again != 0].sum() >= paid * (1 - 1e-9):
                break
            best, moves, paid = again, again, float(cost[again != 0].sum())
        return best, paid

    def serve(self, failing: Sequence[Failing], steps: Sequence[Step]) -> None:
        """Suppress what asks need against single insiders, unless by now a move does without."""
        asks = self.coverage.asks
        for ask, insider in failing:
            if not self.is_open(ask, insider):
                continue
            cell, need, ways = int(asks.cell[ask]), int(asks.need[ask]), ways_of(int(asks.way[ask]))
            left = self.coverage.left(ask).copy()
            avoid = np.array([insider] if insider >= 0 else [], np.int32)
            known = [left, avoid] if len(left) > 1 else [avoid]
            if any(self.moved(cell, s * need, who, steps[:_LOOKED]) for who in known for s in ways):
                continue
            any(self.hide(cell, sign * need, avoid, steps) for sign in ways)
            self.run.check()

    def is_open(self, ask: int, insider: int) -> bool:
        """Return whether an ask is open against an insider (-1: against anybody)."""
        many = self.coverage.many[ask]
        return bool(many != 0 and (insider < 0 or many < 0 or insider in self.coverage.left(ask)))

    def hopeless(self) -> list[Failing]:
        """Return open asks with insiders one of whose singletons moves whenever the cell does."""
        system, coverage = self.coverage.system, self.coverage
        cells = np.flatnonzero(self.hidden)
        label = np.full(system.n, -1, np.int64)
        label[cells] = series_classes(system.within(self.hidden))
        alone = cells[(system.known.knowing[cells] >= 0) & (label[cells] >= 0)]
        pairs = set(zip(system.known.knowing[alone].tolist(), label[alone].tolist(), strict=True))
        found = list[Failing]()
        for ask in coverage.open().tolist():
            here = int(label[coverage.asks.cell[ask]])
            found += [Failing(ask, who) for who in coverage.left(ask).tolist() if (who, here) in pairs]
        return found
