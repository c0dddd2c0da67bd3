"""The witnesses of an audit as flat arrays over cells, ready to be stored and checked by others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.arrays import LongArray, Positions
from cellguard.attack.audit import Audit


@dataclass(frozen=True, eq=False)
class Witnesses:
    """One entry for each cell that a witness moves: by move / denominator grains. ``cell`` is a distinct cell."""

    witness: npt.NDArray[np.int32]
    cell: npt.NDArray[np.intp]
    move: npt.NDArray[np.int64]
    denominator: npt.NDArray[np.int64]

    @property
    def n(self) -> int:
        """The number of witnesses."""
        return int(self.witness.max(initial=-1)) + 1


def witnesses(audit: Audit) -> Witnesses:
    """Return the moves that prove an audit's verdict, cell by cell: first against outsiders, then against insiders."""
    reduction, problem = audit.decided.reduction, audit.problem
    numbers: list[npt.NDArray[np.int32]] = []
    cells: list[Positions] = []
    moves: list[LongArray] = []
    denominators: list[LongArray] = []
    order = np.argsort(reduction.variable, kind="stable")
    start = np.searchsorted(reduction.variable[order], np.arange(reduction.n + 1))

    def enter(behind: Positions, n: LongArray, denominator: int) -> None:
        numbers.append(np.full(len(n), len(numbers), np.int32))
        cells.append(problem.cells[behind])
        moves.append(n)
        denominators.append(np.full(len(n), denominator, np.int64))

    for move in audit.decided.moves:
        size = start[move.variables + 1] - start[move.variables]  # how many cells lie behind each variable
        first = np.repeat(start[move.variables] - np.cumsum(size) + size, size) + np.arange(size.sum())
        behind = order[first]
        n = reduction.sign[behind] * np.repeat(move.n, size)
        enter(behind[n != 0], n[n != 0], move.denominator)
    for move in [] if audit.inside is None else audit.inside.moves:
        enter(move.variables, move.n, move.denominator)
    if not numbers:
        none = np.zeros(0, np.int64)
        return Witnesses(none.astype(np.int32), none.astype(np.intp), none, none)
    return Witnesses(
        np.concatenate(numbers), np.concatenate(cells), np.concatenate(moves), np.concatenate(denominators)
    )
