"""What proves a pattern against insiders: from moves of merged cells to moves of all cells, and back."""

from __future__ import annotations

import numpy as np

from cellguard.attack.insider_coverage import Coverage, Moves
from cellguard.attack.insider_hints import Hints
from cellguard.proofs.stack import Stack


def proof_of(coverage: Coverage) -> Hints:
    """Return the moves that the proof of all that is proven needs, on cells of the problem."""
    move, times, cell = coverage.needed()
    system, moves = coverage.system, coverage.moves()
    key = np.unique(np.stack([move, times, cell.astype(np.int64)]), axis=1)
    new = np.ones(key.shape[1], bool)
    new[1:] = (np.diff(key[:2]) != 0).any(axis=0)
    which, often = key[0][new], key[1][new]
    size = np.diff(moves.start)[which]
    begin = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    entry = np.repeat(moves.start[which] - begin[:-1], size) + np.arange(begin[-1])
    stack = Stack(
        begin,
        moves.cells[entry].astype(np.intp),
        moves.n[entry] * np.repeat(often, size),
        np.repeat(moves.denominator[which], size),
    )
    helped, start = key[2], np.append(np.flatnonzero(new), key.shape[1]).astype(np.int64)
    order = np.argsort(system.at, kind="stable")
    behind = np.searchsorted(system.at[order], np.arange(system.n + 1))
    width = behind[helped + 1] - behind[helped]
    place = np.repeat(behind[helped] - np.cumsum(width) + width, width) + np.arange(width.sum())
    total = np.concatenate([[0], np.cumsum(width)])
    return Hints(system.lift(stack), order[place], total[start].astype(np.int64))


def enter_hints(coverage: Coverage, hints: Hints) -> None:
    """Enter moves of cells of the problem: each is checked like any other, and no more believed."""
    system = coverage.system
    if not len(hints):
        return
    lowered, alike = system.lower(hints.stack)
    size = np.diff(lowered.start)
    some = np.flatnonzero(alike & (size > 0))
    entries = np.repeat(alike & (size > 0), size)
    start = np.concatenate([[0], np.cumsum(size[some])]).astype(np.int64)
    coverage.enter(
        Moves(
            start,
            lowered.cells[entries].astype(np.int32),
            lowered.n[entries],
            lowered.denominator[lowered.start[some]],
        )
    )
