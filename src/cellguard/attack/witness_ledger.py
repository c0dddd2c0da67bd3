"""Who is proven by which witness: the protection levels still open, and the moves that closed the others."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.echelon import Echelon, echelon
from cellguard.proofs.exact import fits, room_of
from cellguard.proofs.moves import Move, MoveStore
from cellguard.proofs.reduction import Reduction
from cellguard.run_context import Run


class WitnessLedger:
    """Collects exact moves; each is kept only if it brings some variable nearer to its protection level."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        self.up: LongArray = np.zeros(reduction.n, np.int64)
        self.down: LongArray = np.zeros(reduction.n, np.int64)
        self.moves = MoveStore()

    @cached_property
    def form(self) -> Echelon:
        """The echelon form of the relations: nobody needs it where nothing is to be proven."""
        return echelon(self.reduction.matrix)

    def open_up(self) -> BoolArray:
        """Return which variables still need a move up."""
        return np.asarray(self.up < self.reduction.levels.up, bool)

    def open_down(self) -> BoolArray:
        """Return which variables still need a move down."""
        return np.asarray(self.down < self.reduction.levels.down, bool)

    def open_sliding(self) -> BoolArray:
        """Return which variables still need a wider interval."""
        return np.asarray(self.up + self.down < self.reduction.levels.width, bool)

    def open(self) -> BoolArray:
        """Return which variables have any need that is not met yet."""
        return self.reduction.levels.short_of(self.down, self.up)

    @cached_property
    def asked(self) -> int:
        """How many variables have a protection level."""
        return int(self.reduction.levels.asked().sum())

    def tell(self, run: Run, more: str = "") -> None:
        """Return how many variables are left to prove."""
        run.left(int(self.open().sum()), self.asked, f"cells left to prove {more}".rstrip())

    def needs_open(self) -> int:
        """Return how many protection levels are not met yet: up, down and sliding ones."""
        return int(self.open_up().sum() + self.open_down().sum() + self.open_sliding().sum())

    def credit(self, move: Move | None) -> int:
        """Enter a move, and its reverse where the bounds allow it; return how many open variables they close."""
        if move is None:
            return 0
        before = int(self.open().sum())
        for one in (move, move.reversed()):
            if self._holds(one) and self._helps(one):
                self._enter(one)
        return before - int(self.open().sum())

    def _enter(self, move: Move) -> None:
        self.moves.append(move)
        reach = move.reach()
        self.up[move.variables] = np.maximum(self.up[move.variables], reach)
        self.down[move.variables] = np.maximum(self.down[move.variables], -reach)

    def _helps(self, move: Move) -> bool:
        moving, reach = move.variables, move.reach()
        up = (reach > self.up[moving]) & (self.open_up() | self.open_sliding())[moving]
        down = (-reach > self.down[moving]) & (self.open_down() | self.open_sliding())[moving]
        return bool(((up | down) & self.reduction.levels.take(moving).asked()).any())

    def _holds(self, move: Move) -> bool:
        """Check the move exactly: M n = 0, within bounds, whole for counts."""
        reduction, moving = self.reduction, move.variables
        part = reduction.matrix[:, moving]
        # In floating point to a hair, and so without overflow in whole numbers.
        if float((abs(part) @ np.abs(move.n).astype(float)).max(initial=0)) > 2.0**62 or (part @ move.n).any():
            return False
        if move.denominator != 1 and reduction.whole[moving].any():
            return False
        return fits(np.abs(move.n), room_of(move, reduction), move.denominator)
