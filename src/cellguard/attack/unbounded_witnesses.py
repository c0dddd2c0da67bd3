"""Witnesses where no bound is known: every move that algebra allows, as far as any protection level, without a program.

With the free columns of the echelon form at 0 but one at 1, the pivots follow in whole numbers. Relations that had no
unit pivot are not part of that form: what such moves leave over there is a small system of its own, whose solutions
combine them to moves that keep every relation.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.proofs.moves import Move
from cellguard.proofs.scale import UNLIMITED
from cellguard.run_context import Run

_MOST = 300  # free columns up to which each is tried
_LONGEST = 2**56  # grains that a witness may have


def move_freely(ledger: WitnessLedger, *, run: Run) -> None:
    """Prove what single free columns prove, if no variable that can move has a bound; all else is left to programs."""
    reduction = ledger.reduction
    fixed = (reduction.down == 0) & (reduction.up == 0)
    unlimited = (reduction.down >= UNLIMITED) & (reduction.up >= UNLIMITED)
    if not (unlimited | fixed).all() or not ledger.open().any():
        return
    form = ledger.form
    free = np.flatnonzero(form.free & ~fixed)
    if len(free) > _MOST:
        return
    moves = []
    for column in free.tolist():
        run.check()
        single = np.zeros(reduction.n, np.int64)
        single[column] = 1
        whole = form.complete(single)
        if whole is not None and np.abs(whole).max() < _LONGEST:
            moves.append(whole)
    for move in _kept(ledger, moves, fixed):
        ledger.credit(_long_enough(ledger, move))


def _kept(ledger: WitnessLedger, moves: list[LongArray], fixed: BoolArray) -> list[LongArray]:
    """Return combinations of moves that keep every relation, and do not move what is fixed."""
    if not moves:
        return []
    left = np.array([np.concatenate([ledger.reduction.matrix @ move, move[fixed]]) for move in moves])
    broken = np.unique(left[:, left.any(axis=0)], axis=1)
    combined = []
    for factors in _null_space([[int(x) for x in column] for column in broken.T], len(moves)):
        total = [
            sum(f * int(move[v]) for f, move in zip(factors, moves, strict=True) if f) for v in range(len(moves[0]))
        ]
        if max(map(abs, total)) < _LONGEST:
            combined.append(np.array(total, np.int64))
    return combined


def _null_space(rows: list[list[int]], n: int) -> list[list[int]]:
    """Return a basis of the whole vectors that are 0 on all rows.

    >>> _null_space([[1, 1, 0], [0, 1, 2]], 3)
    [[2, -2, 1]]
    """
    pivots: list[tuple[int, list[Fraction]]] = []
    for row in rows:
        rest = [Fraction(x) for x in row]
        for column, other in pivots:
            if rest[column]:
                rest = [a - rest[column] * b for a, b in zip(rest, other, strict=True)]
        first = next((c for c in range(n) if rest[c]), None)
        if first is None:
            continue
        rest = [x / rest[first] for x in rest]
        pivots = [(c, [a - o[first] * b for a, b in zip(o, rest, strict=True)]) for c, o in pivots] + [(first, rest)]
    taken = {column for column, _ in pivots}
    basis = []
    for free in (c for c in range(n) if c not in taken):
        vector = [Fraction(int(c == free)) for c in range(n)]
        for column, other in pivots:
            vector[column] = -other[free]
        scale = lcm(*(x.denominator for x in vector))
        basis.append([int(x * scale) for x in vector])
    return basis


def _long_enough(ledger: WitnessLedger, move: LongArray) -> Move:
    """Return the move so many times that all variables with needs that it moves get their protection levels, if that
    can be.
    """
    reduction = ledger.reduction
    need = reduction.levels.most()
    some = (move != 0) & (need > 0)
    times = int(np.ceil(need[some] / np.abs(move[some])).max(initial=1))
    return Move.of(move * max(min(times, _LONGEST // int(np.abs(move).max())), 1), 1)
