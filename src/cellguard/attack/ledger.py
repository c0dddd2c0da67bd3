"""Who is proven by which witness: the needs still open, and the moves that closed the others."""

from __future__ import annotations

import numpy as np

from cellguard.attack.echelon import echelon
from cellguard.attack.exact import Move, fits
from cellguard.attack.problem import Whole
from cellguard.attack.reduction import Reduction
from cellguard.table.facts import BoolArray


class Ledger:
    """Collects exact moves; each is kept only if it brings some variable nearer to what it needs."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        self.form = echelon(reduction.matrix)
        self.up: Whole = np.zeros(reduction.n, np.int64)
        self.down: Whole = np.zeros(reduction.n, np.int64)
        self.moves: list[Move] = []

    def open_up(self) -> BoolArray:
        """Tell which variables still need a move up."""
        return np.asarray(self.up < self.reduction.need_up, bool)

    def open_down(self) -> BoolArray:
        """Tell which variables still need a move down."""
        return np.asarray(self.down < self.reduction.need_down, bool)

    def open_sliding(self) -> BoolArray:
        """Tell which variables still need a wider interval."""
        return np.asarray(self.up + self.down < self.reduction.sliding, bool)

    def open(self) -> BoolArray:
        """Tell which variables have any need that is not met yet."""
        return self.open_up() | self.open_down() | self.open_sliding()

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
        at, reach = move.variables, move.reach()
        reduction = self.reduction
        up = (reach > self.up[at]) & (self.open_up() | self.open_sliding())[at]
        down = (-reach > self.down[at]) & (self.open_down() | self.open_sliding())[at]
        needs = (reduction.need_up + reduction.need_down + reduction.sliding)[at] > 0
        return bool(((up | down) & needs).any())

    def _holds(self, move: Move) -> bool:
        """Check the move exactly: M n = 0, within bounds, whole for counts."""
        reduction, at = self.reduction, move.variables
        part = reduction.matrix[:, at]
        # In floating point to a hair, and so without overflow in whole numbers.
        if float((abs(part) @ np.abs(move.n).astype(float)).max(initial=0)) > 2.0**62 or (part @ move.n).any():
            return False
        if move.denominator != 1 and reduction.whole[at].any():
            return False
        room = np.where(move.n > 0, reduction.up[at], reduction.down[at])
        return fits(np.abs(move.n), room, move.denominator)
