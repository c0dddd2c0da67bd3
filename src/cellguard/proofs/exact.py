"""From a solver's move to an exact one: whole numbers over one denominator, with M n = 0 to the last digit.

A solver's move d satisfies M d = 0 to about 1e-9. Round its free columns to multiples of 1/q, and the echelon form
gives pivots with M n = 0 exactly, where n = q d is whole. The pivots then differ from the solver's by what was rounded
off, times a few: nothing if q is a denominator of the vertex, and otherwise so little, at q = 2**k, that shortening the
move by that ratio brings it back within bounds (0 is within them, and all moves between 0 and n satisfy M n = 0 too).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray
from cellguard.linalg.echelon import Echelon, echelon
from cellguard.proofs.levels import Levels
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import Problem
from cellguard.proofs.reduction import Reduction
from cellguard.proofs.scale import UNLIMITED, hair

_DENOMINATORS = (1, 2, 6, 12, 60, 420, 2520, 27720)  # least common multiples: vertices have small determinants
_BITS = 56  # of a numerator, so that sums of a hundred stay within int64
_LONGEST = 2.0**60  # grains that a move may have at most, to be a whole number of them in int64


def exact_move(reduction: Reduction, form: Echelon, moves: FloatArray) -> Move | None:
    """Return an exact move within the bounds next to a floating-point one, or None if there is none that near.

    The free columns of the echelon form are rounded and the pivots follow exactly. A vertex is often whole, or has a
    small denominator, and is then met exactly. Otherwise a fine grid and a hair's shortening keep it within bounds.
    """
    largest = float(np.abs(moves).max(initial=0))
    if not 0.5 <= largest < _LONGEST:
        return None
    free = np.where(form.free, moves, 0.0)
    for denominator in _DENOMINATORS:
        scaled = free * denominator
        if (np.abs(scaled - np.rint(scaled)) < 1e-6 * denominator + 1e-11 * np.abs(scaled)).all():
            move = _complete(form, scaled, denominator)
            if move is not None and excess(move, reduction) <= 1:
                return move
    if reduction.whole.any():
        move = _complete(form, free, 1)
        return move if move is not None and excess(move, reduction) <= 1 else None
    denominator = _finest(largest)
    shorten = 1.0
    for _ in range(3):
        move = _complete(form, free * (denominator * shorten), denominator)
        if move is None:
            return None
        ratio = excess(move, reduction)
        if ratio <= 1:
            return move
        shorten /= ratio * (1 + 1e-9)
    return None


def exact_among(reduction: Reduction, moves: FloatArray, still: float) -> Move | None:
    """Return an exact move next to a floating-point one of those variables alone that move by more than ``still``.

    What has no room stays fixed to the last digit then, where rounding would let pivots of a common form move.
    """
    moving = np.flatnonzero(np.abs(moves) > still)
    matrix = sp.csr_array(reduction.matrix[:, moving])
    matrix = sp.csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
    part = Reduction(
        matrix,
        np.arange(len(moving)),
        np.ones(len(moving), np.int64),
        reduction.down[moving],
        reduction.up[moving],
        Levels.none(len(moving)),
        reduction.whole[moving],
    )
    move = exact_move(part, echelon(matrix), moves[moving])
    return None if move is None else Move(moving[move.variables], move.n, move.denominator)


def tight_move(reduction: Reduction, moves: FloatArray, variable: int) -> Move | None:
    """Return an exact move in which one variable and all that are at a bound are there exactly, or None.

    These variables T keep their whole moves b, and the others R follow from M_R d_R = -M_T b: an echelon form of its
    own, with M_T b as one more column. It is for needs that take all the room there is, where no hair may be missing.
    """
    low, high = reduction.limits
    near = hair(moves)
    at_low, at_high = moves <= low + near, moves >= high - near
    is_tight = at_low | at_high
    is_tight[variable] = True
    tight, rest = np.flatnonzero(is_tight), np.flatnonzero(~is_tight)
    bound = np.where(at_low, -reduction.down, np.where(at_high, reduction.up, np.rint(moves).astype(np.int64)))[tight]
    column = sp.csr_array((reduction.matrix[:, tight] @ bound).reshape(-1, 1))
    form = echelon(sp.csr_array(sp.hstack([reduction.matrix[:, rest], column], format="csr")))
    largest = float(np.abs(moves).max(initial=0))
    if not form.free[-1] or not 0.5 <= largest < _LONGEST:
        return None
    fine = _finest(largest)
    for denominator in (1,) if reduction.whole.any() else (*_DENOMINATORS, fine):
        part = form.complete(np.rint(np.append(moves[rest], 1.0) * denominator).astype(np.int64))
        if part is None:
            continue
        n = np.zeros(reduction.n, np.int64)
        n[rest], n[tight] = part[:-1], bound * denominator
        move = Move.of(n, denominator)
        # Rows without a unit pivot are not in the form: a vertex satisfies them with the right denominator only.
        if excess(move, reduction) <= 1 and not (reduction.matrix @ n).any():
            return move
    return None


def _complete(form: Echelon, free: FloatArray, denominator: int) -> Move | None:
    n = form.complete(np.rint(free).astype(np.int64))
    return None if n is None else Move.of(n, denominator)


def _finest(largest: float) -> int:
    """Return the largest power of two that leaves room for a move's numerators."""
    return int(2 ** max(_BITS - int(np.ceil(np.log2(largest + 1))) - 1, 0))


def excess(move: Move, reduction: Reduction) -> float:
    """Return the largest ratio of a variable's move to its room, at most 1 exactly if the move is within bounds."""
    room = room_of(move, reduction)
    limited = np.flatnonzero(room < UNLIMITED)
    if not len(limited):
        return 0.0
    size, room = np.abs(move.n[limited]), room[limited]
    if fits(size, room, move.denominator):
        return 1.0
    if (room == 0).any():
        return float("inf")
    return max(float((size / (room * float(move.denominator))).max()), 1 + 1e-12)


def room_of(move: Move, reduction: Reduction | Problem) -> LongArray:
    """Return how far each listed variable may go the way it moves."""
    return np.where(move.n > 0, reduction.up[move.variables], reduction.down[move.variables])


def fits(size: LongArray, room: LongArray, denominator: int) -> bool:
    """Return whether size <= room * denominator everywhere, exactly."""
    # size // denominator <= room is the same for whole numbers, but for the remainder at equality.
    whole, rest = np.divmod(size, denominator)
    return bool(np.all((whole < room) | ((whole == room) & (rest == 0))))
