"""A smaller problem: cells that must move together, or against each other, become one variable; the way back is kept.

If cell c moves by s_c times variable v, then -down_c <= s_c d_v <= up_c. So the room of v is the smallest over its
cells, and its protection levels are the largest; where s_c = -1, up and down change places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.proofs.levels import Levels
from cellguard.proofs.merging import Merged, merge_moves
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import Problem
from cellguard.proofs.scale import UNLIMITED, as_floats


@dataclass(frozen=True, eq=False)
class Reduction:
    """Moves of fewer variables: cell c moves by ``sign[c]`` times variable ``variable[c]``; sign 0 cannot move.

    ``levels`` are the largest of the cells behind a variable.
    """

    matrix: sp.csr_array
    variable: Positions
    sign: LongArray
    down: LongArray
    up: LongArray
    levels: Levels[LongArray]
    whole: BoolArray

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.down)

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """The least and the most that each variable may move by itself, infinite where it has no bound."""
        return -as_floats(self.down), as_floats(self.up)

    def apply(self, move: Move) -> Move:
        """Return a move of cells as one of the variables that they are."""
        n = np.zeros(self.n, np.int64)
        n[self.variable[move.variables]] = self.sign[move.variables] * move.n
        return Move.of(n, move.denominator)

    def lift(self, move: Move) -> Move:
        """Return a move of variables as one of the cells behind them: the way back."""
        n = np.zeros(self.n, np.int64)
        n[move.variables] = move.n
        return Move.of(self.sign * n[self.variable], move.denominator)

    def cell_ends(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most of each cell's move from those of the variables: the way back."""
        low, high = least[self.variable], most[self.variable]
        fixed = self.sign == 0
        return (
            np.where(fixed, 0.0, np.where(self.sign > 0, low, -high)),
            np.where(fixed, 0.0, np.where(self.sign > 0, high, -low)),
        )


def reduce_problem(problem: Problem) -> Reduction:
    """Substitute until every relation has three cells or more, or two of unequal size."""
    merged = merge_moves(problem.matrix.astype(np.float64))
    alive = np.zeros(merged.n, bool)
    alive[merged.merged[merged.sign != 0]] = True
    unlimited = np.full(merged.n, UNLIMITED)
    up = _smallest(merged, unlimited, problem.up, problem.down)
    down = _smallest(merged, unlimited, problem.down, problem.up)
    whole = np.zeros(merged.n, bool)
    whole[merged.merged[problem.whole]] = True
    matrix = merged.relations.astype(np.int64)
    bare = Reduction(
        matrix,
        merged.merged,
        merged.sign,
        np.where(alive, down, 0),
        np.where(alive, up, 0),
        Levels.none(merged.n),
        whole,
    )
    return with_needs(bare, problem)


def with_needs(reduction: Reduction, problem: Problem) -> Reduction:
    """Return the reduction with the protection levels of a problem's cells: of all behind a variable the largest."""
    moving = np.flatnonzero(reduction.sign)
    place, ahead = reduction.variable[moving], reduction.sign[moving] > 0
    return replace(reduction, levels=problem.levels.take(moving).largest(place, reduction.n, ahead))


def _smallest(merged: Merged, start: LongArray, ahead: LongArray, astern: LongArray) -> LongArray:
    """Return the smallest of the cells behind each variable: of one array if they move with it, else of the other."""
    smallest = start.copy()
    for way, amounts in ((merged.sign > 0, ahead), (merged.sign < 0, astern)):
        np.minimum.at(smallest, merged.merged[way], amounts[way])
    return smallest
