"""`Coverage`: which targets are known to be served, by moves that were seen."""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.methods.suppress.engines.propagation import Propagation
from cellguard.methods.suppress.engines.propagation_kernel import DOWN, UP

ENOUGH = 1.0 - 1e-7  # of a protection level


class Coverage:
    """How far each cell was seen to move, up and down, and which targets that serves."""

    def __init__(self, propagation: Propagation) -> None:
        self._system = propagation.system
        self._goals = propagation.goals
        self.up, self.down = np.zeros(propagation.system.n), np.zeros(propagation.system.n)
        self.said = np.zeros(len(propagation.goals.cell), bool)

    def credit(self, moves: FloatArray) -> None:
        """Note a move within the bounds."""
        self.up, self.down = np.maximum(self.up, moves), np.maximum(self.down, -moves)

    def credit_both(self, moves: FloatArray, cells: Positions | slice = slice(None)) -> None:
        """Note a move of all cells, or of some, and its reverse, as far as each is within the bounds."""
        high, low = (room[cells] * (1 + 1e-9) + 1e-6 for room in (self._system.up, self._system.down))
        for ahead in (moves, -moves):
            if (ahead <= high).all() and (-ahead <= low).all():
                self.up[cells] = np.maximum(self.up[cells], ahead)
                self.down[cells] = np.maximum(self.down[cells], -ahead)

    def mask(self) -> BoolArray:
        """Return which targets are served. A width counts what one move gives, so that whole moves can prove it too."""
        cell, kind, need = self._goals.cell, self._goals.kind, self._goals.need
        up, down = self.up[cell], self.down[cell]
        reached = np.where(kind == UP, up, np.where(kind == DOWN, down, np.maximum(up, down)))
        return np.asarray((reached >= need * ENOUGH) | self.said, bool)

    def has(self, target: int) -> bool:
        """Return whether one target is served."""
        cell, kind = self._goals.cell[target], self._goals.kind[target]
        up, down = self.up[cell], self.down[cell]
        reached = up if kind == UP else down if kind == DOWN else max(up, down)
        return bool(self.said[target] or reached >= self._goals.need[target] * ENOUGH)
