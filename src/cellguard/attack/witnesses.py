"""The witnesses of an audit as flat arrays over cells, ready to be stored and checked by others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
    """Return the moves that prove an audit's verdict, cell by cell."""
    reduction, problem = audit.decided.reduction, audit.problem
    numbers, cells, moves, denominators = [], [], [], []
    order = np.argsort(reduction.variable, kind="stable")
    start = np.searchsorted(reduction.variable[order], np.arange(reduction.n + 1))
    for number, move in enumerate(audit.decided.moves):
        size = start[move.variables + 1] - start[move.variables]  # how many cells lie behind each variable
        first = np.repeat(start[move.variables] - np.cumsum(size) + size, size) + np.arange(size.sum())
        behind = order[first]
        n = reduction.sign[behind] * np.repeat(move.n, size)
        behind, n = behind[n != 0], n[n != 0]
        numbers.append(np.full(len(n), number, np.int32))
        cells.append(problem.cells[behind])
        moves.append(n)
        denominators.append(np.full(len(n), move.denominator, np.int64))
    if not numbers:
        none = np.zeros(0, np.int64)
        return Witnesses(none.astype(np.int32), none.astype(np.intp), none, none)
    joined = (np.concatenate(parts) for parts in (numbers, cells, moves, denominators))
    return Witnesses(*joined)
