"""Patterns that are safe against respondents beyond two dimensions, and against several who work together: what a
safe pattern lacks is suppressed, and what is idle then published.

Suppressing more only adds moves, so that whatever was proven stays proven. First every unsafe cell is proven against
every insider through suppressed cells alone, by circuits and by pooled programs for groups of insiders; for the pairs
that remain, the cheapest move through other cells is found, within the bounds of those insiders, and its cells are
suppressed. Then cells are published again, the dearest first, where all that went through them finds another way.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.attack.bottleneck_circuits import enter_widest
from cellguard.attack.coalition_proofs import CoalitionProofSearch
from cellguard.attack.insider_groups import dominating, enter_pooled, groups, is_done, nearly, pays, problem_of
from cellguard.attack.insider_hints import Hints
from cellguard.attack.insider_knowledge import stand
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.local_moves import CLOSE, FAR, WIDE, hopeless_among, near_among
from cellguard.methods.suppress.engines.insider_start import Mended, posed
from cellguard.methods.suppress.engines.repair_for_group import hide_within
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.local import Goal, Neighbours, Rooms
from cellguard.proofs.moves import Move
from cellguard.run_context import Run
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern

_HIDING = ((4, 3, 400), (6, 6, 1_500), (10, 20, 6_000))
_PRICE = 30.0  # of suppressing a cell of middling cost, where being noticed by somebody costs 1
_SCALINGS = 2
_WHOLE = 4_000  # suppressed cells up to which a program may use all of them
_AGAIN = 3  # rounds in which circuits are looked for again
_CROWD = 100  # insiders against whom a cell is open, or cells that rely on one, that take long to look at
_NEARLY = (40, *[10**9] * 7)  # insiders against whom a cell is open at most to be worth suppressing others, by turn
# cells for which others are suppressed before circuits are looked for again: a share, and at least
_BATCHES, _FEW = 8, 40
_WORK = 100  # cells that cleaning up may look at, per unsafe cell
_WALK = 10  # coalitions that take as long to look at as a cell


@dataclass(eq=False)
class Mender:
    """A pattern while it is mended: which cells that may be suppressed are, and what is proven through them."""

    prover: InsiderProofSearch
    hidden: BoolArray
    cost: FloatArray
    free: BoolArray
    system: System
    merged: Positions
    run: Run
    through: dict[int, set[int]] = field(default_factory=dict)
    relying: dict[int, set[int]] = field(default_factory=dict)

    def find(self, prover: InsiderProofSearch, goal: Goal, insiders: LongArray) -> Move | None:
        """Return a short move through suppressed cells: a close one, or else one from afar."""
        rooms, size = prover.rooms(goal.cells[0], insiders), 0
        if hopeless_among(prover, goal, rooms, self.hidden):
            return None
        for step in (CLOSE, WIDE, FAR) if self.hidden.sum() <= _WHOLE else (CLOSE, WIDE):
            cells = near_among(prover, goal, self.hidden, step)
            if len(cells) > size:
                move = prover.cheapest(cells, goal, rooms)
                if move is not None:
                    return move
            size = len(cells)
        return None

    def hide(self, prover: InsiderProofSearch, goal: Goal, insiders: LongArray) -> Move | None:
        """Return the cheapest move through suppressed and other cells, and suppress these."""
        rooms, nothing = prover.rooms(goal.cells[0], insiders), np.zeros(len(self.hidden), bool)
        best, price, among = None, np.inf, np.zeros(0, np.intp)
        for step in _HIDING:
            cells = prover.neighbours.near(goal.cells, step, self.hidden, nothing)
            move = self._cheapest(prover, cells, goal, rooms, np.ones(len(self.hidden)))
            paid = np.inf if move is None else self._price(move)
            if best is not None and paid >= 0.98 * price:
                break
            if move is not None:
                best, price, among = move, paid, cells
        if best is not None:
            best = self._scaled(prover, among, goal, rooms, best)
            self.hidden[best.variables] = True
        return best

    def _price(self, move: Move) -> float:
        return float(self.cost[move.variables[~self.hidden[move.variables]]].sum())

    def _scaled(self, prover: InsiderProofSearch, cells: Positions, goal: Goal, rooms: Rooms, best: Move) -> Move:
        """Return a cheaper move, if there is one, by scaling the slopes until each used cell pays its whole cost."""
        move, size = best, np.ones(len(self.hidden))
        for _ in range(_SCALINGS):
            amount = np.abs(move.n) / (move.denominator * abs(goal.amount))
            size[move.variables] = np.clip(amount, 1e-4, None)
            again = self._cheapest(prover, cells, goal, rooms, size)
            if again is None or self._price(again) >= self._price(best) * (1 - 1e-9):
                break
            move = best = again
        return best

    def _cheapest(
        self, prover: InsiderProofSearch, cells: Positions, goal: Goal, rooms: Rooms, size: FloatArray
    ) -> Move | None:
        """Return the cheapest move through some cells, where a published one costs as if it moved by its ``size``."""
        paid = self.cost[cells][~self.hidden[cells]]
        middling = float(np.median(paid[paid > 0])) if (paid > 0).any() else 1.0
        slope = np.where(self.hidden, 0.0, _PRICE * np.minimum(self.cost / middling, 1e4) / size)
        raised = Rooms(
            rooms.down, rooms.up, rooms.calm, rooms.price + slope, rooms.dear + slope, rooms.price_up + slope
        )
        return prover.cheapest(cells, goal, raised)

    def prove(self) -> None:
        """Prove all unsafe cells against all insiders, suppressing what that takes, as far as that can be had.

        What was suppressed for some gives others new circuits: so after every few of them these are looked for again.
        """
        prover, tried = self.prover, set[int]()
        enter_widest(prover, self.hidden)
        self._prove_in_groups()
        while stuck := [cell for cell in self._open() if cell not in tried]:
            before = self.hidden.copy()
            for cell in stuck[: max(len(stuck) // _BATCHES, _FEW)]:
                if prover.is_spent():
                    return
                tried.add(cell)
                if prover.settle_cell(cell, self.find):
                    prover.settle_cell(cell, self.hide)
                self.run.check()
            self.run.tell(f"{len(stuck):,} cells that need secondaries")
            if (self.hidden & ~before).any():
                enter_widest(prover, self.hidden, _AGAIN)

    def _prove_in_groups(self) -> None:
        """Prove what can be by pooled moves that nobody of a group notices, suppressing what that takes."""
        prover = self.prover
        dominant = dominating(prover, prover.unproven())
        for turn, most in enumerate(_NEARLY if pays(prover) else ()):
            if is_done(prover):
                break
            cells = prover.unproven()
            near = nearly(prover, cells, most)
            for group in groups(prover, cells, dominant, turn):
                left, total = int(prover.unproven().sum()), int(prover.target.sum())
                self.run.left(left, total, "cells to prove against groups of respondents")
                self.run.check()
                enter_pooled(prover, problem_of(prover, group, cells), self.hidden)
                short = problem_of(prover, group, near)
                if short.is_needy:
                    self.hidden = hide_within(self.system, short, self.merged, self.hidden, run=self.run)
                    enter_pooled(prover, short, self.hidden)
            enter_widest(prover, self.hidden, _AGAIN)

    def _open(self) -> list[int]:
        """Return the unsafe cells that are not proven, those that need most first, but for those that many notice."""
        unproven = self.prover.unproven()
        cells = [cell for cell in self.prover.targets() if unproven[cell]]
        return sorted(cells, key=lambda cell: len(self.prover.open(cell).who) > _CROWD)

    def clean(self, before: BoolArray) -> None:
        """Publish cells that were not suppressed ``before``, dearest first, if all that moved through them finds a
        way.
        """
        prover = self.prover
        kept: set[int] = set()
        for cell in prover.served:
            kept.update(self._rely(cell, kept))
        self._enter(0)
        some = np.flatnonzero(self.hidden & ~self.free & ~before)
        most = self._work() + _WORK * int(prover.target.sum())
        for cell in some[np.argsort(-self.cost[some], kind="stable")].tolist():
            if self._work() > most:
                break
            self.run.check()
            self._publish(cell)

    def _work(self) -> int:
        return self.prover.looked + self.prover.walked // _WALK

    def _publish(self, cell: int) -> None:
        """Publish a cell if everything is proven without it, unless that is for too many others to be looked at."""
        prover, moves = self.prover, len(self.prover.moves)
        gone = self.through.get(cell, set()) - prover.dead
        users = sorted({user for number in gone for user in self.relying.get(number, ())} & prover.closed)
        if len(users) > _CROWD:
            return
        prover.dead |= gone
        prover.closed -= set(users)
        self.hidden[cell] = False
        if any(prover.settle_cell(user, self.find) for user in users):
            self.hidden[cell] = True
            prover.dead -= gone
            prover.closed |= set(users)
        else:
            for user in users:
                self._rely(user)
        self._enter(moves)

    def _rely(self, user: int, kept: Container[int] = ()) -> list[int]:
        """Note which moves prove a cell."""
        needed = self.prover.needed(user, kept)
        for number in needed:
            self.relying.setdefault(number, set()).add(user)
        return needed

    def _enter(self, first: int) -> None:
        """Note which moves, from a number on, go through cells that may be published again."""
        for number in range(first, len(self.prover.moves)):
            cells = self.prover.moves[number].variables
            for cell in cells[~self.free[cells]].tolist():
                self.through.setdefault(cell, set()).add(number)


def mend_in_groups(
    system: System,
    pattern: Pattern,
    costs: FloatArray,
    insiders: Contributions,
    known: sp.csr_array | None,
    *,
    coalition: int = 1,
    hints: Hints | None = None,
    run: Run,
) -> Mended:
    """Return a pattern that is also safe against every single respondent, as far as suppressing more cells makes it so.

    It is safe against up to ``coalition`` respondents who tell each other what they contribute, too. ``hints`` are
    moves that prove it against single ones already.
    """
    run = run.endless()
    start = posed(system, pattern, costs, known)
    knowledge = stand(start.problem, start.grains, system.needs, insiders)
    near = Neighbours(start.problem.matrix, start.problem.whole, start.cost)
    prover = InsiderProofSearch(knowledge, near, run, outsider=True)
    if hints is not None:
        prover.enter_hints(hints.among(start.problem.cells))
    places = system.places(start.problem.cells)
    mender = Mender(prover, start.hidden.copy(), start.cost, start.free, system, places, run)
    mender.prove()
    if coalition > 1:
        mender.prover = CoalitionProofSearch.of(prover, coalition)
        mender.prove()
    mender.clean(start.hidden)
    return Mended(start.pattern(mender.hidden), Hints.of(list(mender.prover.used())).renumbered(start.problem.cells))
