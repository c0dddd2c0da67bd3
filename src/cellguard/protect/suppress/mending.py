"""Patterns that are safe against respondents too: what a safe pattern lacks is hidden, and what is idle then published.

Hiding more only adds moves, so that whatever was proven stays proven. First every unsafe cell is proven against every
insider through hidden cells alone; for the pairs that remain, the cheapest move through other cells is found, within
the bounds of those insiders, and its cells are hidden. Then cells are published again, the dearest first, where all
that went through them finds another way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.attack.book import LADDER, Book, Pair
from cellguard.attack.standing import stand
from cellguard.attack.unions import Watch
from cellguard.moves.exact import Move
from cellguard.moves.local import Goal, Neighbours, Rooms
from cellguard.moves.problem import grains_of, pose
from cellguard.protect.suppress.system import System
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern
from cellguard.types import BoolArray, FloatArray, LongArray, Run

_HIDING = ((2, 4, 150), (2, 8, 500), (3, 10, 1_500), (5, 20, 6_000))
_PRICE = 30.0  # of hiding a cell of middling cost, where being noticed by somebody costs 1
_SCALINGS = 3
_WORK = 1  # moves that cleaning up may look for, per unsafe cell


@dataclass(frozen=True, eq=False)
class Mended:
    """A pattern, and the moves of cells of the world that proved it to the engine: hints for an audit."""

    pattern: Pattern
    moves: list[Move]


@dataclass(eq=False)
class Mender:
    """A pattern while it is mended: which cells that may be hidden are, and what is proven through them."""

    book: Book
    hidden: BoolArray
    cost: FloatArray
    free: BoolArray
    run: Run
    looked: int = 0
    through: dict[int, set[int]] = field(default_factory=dict)
    kept: list[Move] = field(default_factory=list)

    def find(self, book: Book, goal: Goal, insiders: LongArray) -> Move | None:
        """Return a short move through hidden cells."""
        self.looked += 1
        rooms, last = book.rooms(goal.cells[0], insiders), 0
        for step in LADDER:
            cells = book.neighbours.near(goal.cells, step, self.hidden, ~self.hidden)
            if len(cells) == last:
                break
            last = len(cells)
            move = book.neighbours.cheapest(cells, goal, rooms, run=self.run)
            if move is not None:
                return move
        return None

    def hide(self, book: Book, goal: Goal, insiders: LongArray) -> Move | None:
        """Return the cheapest move through hidden and other cells, and hide these."""
        rooms, nothing = book.rooms(goal.cells[0], insiders), np.zeros(len(self.hidden), bool)
        best, price = None, np.inf
        for step in _HIDING:
            cells = book.neighbours.near(goal.cells, step, self.hidden, nothing)
            move = self._scaled(book, cells, goal, rooms)
            paid = np.inf if move is None else self._price(move)
            if paid >= 0.98 * price and best is not None:
                break
            if move is not None:
                best, price = move, paid
        if best is not None:
            self.hidden[best.variables] = True
        return best

    def _price(self, move: Move) -> float:
        return float(self.cost[move.variables[~self.hidden[move.variables]]].sum())

    def _scaled(self, book: Book, cells: LongArray, goal: Goal, rooms: Rooms) -> Move | None:
        """Return the cheapest move after scaling the slopes, until each used cell pays its whole cost."""
        paid = self.cost[cells][~self.hidden[cells]]
        middling = float(np.median(paid[paid > 0])) if (paid > 0).any() else 1.0
        size = np.ones(len(self.hidden))
        best, price = None, np.inf
        for _ in range(_SCALINGS):
            slope = np.where(self.hidden, 0.0, _PRICE * np.minimum(self.cost / middling, 1e4) / size)
            raised = Rooms(
                rooms.down, rooms.up, rooms.calm, rooms.price + slope, rooms.dear + slope, rooms.price_up + slope
            )
            move = book.neighbours.cheapest(cells, goal, raised, run=self.run)
            paid_now = np.inf if move is None else self._price(move)
            if move is None or paid_now >= price * (1 - 1e-9):
                break
            best, price = move, paid_now
            amount = np.abs(move.n) / (move.denominator * abs(goal.amount))
            size[move.variables] = np.clip(amount, 1e-4, None)
        return best

    def prove(self) -> list[Pair]:
        """Prove all unsafe cells against all insiders, hiding what that takes; return what cannot be."""
        stuck = self.book.settle(self.find)
        left: list[Pair] = []
        for cell in dict.fromkeys(pair.cell for pair in stuck):
            left += self.book.settle_cell(cell, self.hide)
            self.run.check()
        return left

    def part(self, watch: Watch, as_pattern: Callable[[], Pattern], place: dict[int, int], scale: FloatArray) -> None:
        """Hide more until no reader knows a sum of cells that the rules call unsafe, as far as that can be had."""
        tried: set[tuple[int, ...]] = set()
        while fresh := [union for union in watch(as_pattern()) if union.cells not in tried]:
            for union in fresh:
                tried.add(union.cells)
                cells = tuple(place[c] for c in union.cells)
                amount = max(int(np.ceil(union.level * scale[cells[0]])), int(self.book.standing.unit[cells[0]]))
                move = self.hide(self.book, Goal(cells, amount), np.zeros(0, np.int64))
                if move is not None:
                    self.kept.append(move)
                self.run.check()

    def clean(self, before: BoolArray) -> None:
        """Publish cells that were not hidden ``before``, dearest first, if all that moved through them finds a way."""
        book = self.book
        for number, move in enumerate(book.moves):
            for cell in move.variables[~self.free[move.variables]].tolist():
                self.through.setdefault(cell, set()).add(number)
        some = np.flatnonzero(self.hidden & ~self.free & ~before)
        most = self.looked + _WORK * int(book.target.sum())
        needed = {int(c) for move in self.kept for c in move.variables}
        for cell in some[np.argsort(-self.cost[some], kind="stable")].tolist():
            if cell in needed:
                continue
            if self.looked > most:
                break
            self.run.check()
            self._publish(cell)

    def _publish(self, cell: int) -> None:
        """Publish a cell if everything is proven without it."""
        book = self.book
        gone = self.through.get(cell, set())
        users = [c for number in gone for c in book.moves[number].variables.tolist() if book.target[c]]
        before = {user: book.served[user] for user in dict.fromkeys(users) if user in book.served}
        for user, entries in before.items():
            book.served[user] = [entry for entry in entries if entry[2] not in gone]
            book.closed.discard(user)
        self.hidden[cell] = False
        moves = len(book.moves)
        for user in before:
            if book.settle_cell(user, self.find):
                self.hidden[cell] = True
                for one, entries in before.items():
                    fresh = [entry for entry in book.served[one] if entry[2] >= moves]
                    book.served[one] = entries + fresh
                break
        for number in range(moves, len(book.moves)):
            for other in book.moves[number].variables[~self.free[book.moves[number].variables]].tolist():
                self.through.setdefault(other, set()).add(number)


def mend_inside(
    system: System,
    pattern: Pattern,
    costs: FloatArray,
    insiders: Contributions,
    known: sp.csr_array | None,
    *,
    watch: Watch | None = None,
    run: Run,
) -> Mended:
    """Return a pattern that is also safe against every single respondent, as far as hiding more cells makes it so.

    ``watch`` finds sums of hidden cells that readers know and rules call unsafe: then more is hidden, too.
    """
    needs = system.needs
    n, world = len(needs.tables), needs.world
    grains = grains_of(world)
    may = system.pattern(np.ones(system.n, bool))
    problem = pose(needs, may.unknown & ~world.ties.empty, grains, known)
    listed = problem.cells < n
    at = problem.cells[listed]
    cost, hidden, free = np.zeros(len(problem.cells)), np.ones(len(problem.cells), bool), ~listed
    hidden[listed] = pattern.unknown[at]
    free[listed] = (needs.primary | pattern.unpublished)[at]
    cost[listed] = np.where(free[listed], 0.0, np.maximum(costs[at], 1e-9))
    book = Book(
        stand(problem, grains, needs, insiders), Neighbours(problem.matrix, problem.whole, cost), run, outsider=True
    )
    mender = Mender(book, hidden.copy(), cost, free, run)

    def as_pattern() -> Pattern:
        chosen = np.zeros(n, bool)
        chosen[at] = mender.hidden[listed]
        return Pattern(needs.tables, needs.primary, chosen & ~needs.primary & ~pattern.unpublished)

    mender.prove()
    if watch is not None:
        place = {int(cell): number for number, cell in enumerate(problem.cells)}
        mender.part(watch, as_pattern, place, 10.0 ** grains.decimals[problem.cells].astype(float))
    mender.clean(hidden)
    if watch is not None:
        mender.part(watch, as_pattern, place, 10.0 ** grains.decimals[problem.cells].astype(float))
    return Mended(as_pattern(), [Move(problem.cells[m.variables], m.n, m.denominator) for m in book.used()])
