"""On which suppressed cells the proof of an unsafe one relies: those that every witness of one of its protection levels
moves.

A witness holds as long as the cells that it moves are unknown. So an unsafe cell stays protected when a suppressed cell
is published that some witness of each of its protection levels lets stay fixed, and nothing has to be proven anew. What
proves it against respondents is a witness against outsiders, too. Cells that equal each other are one variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray, Positions
from cellguard.attack.audit import Audit
from cellguard.proofs.levels import Levels
from cellguard.proofs.moves import Move
from cellguard.table.components import components

_WIDE = 300  # variables from which on a witness is left out here, which leaves more to prove anew, and never less


def relies_on(audit: Audit) -> dict[int, list[int] | None]:
    """Return for unsafe distinct cells the others on which their proof relies; None where only wide moves prove them.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 1, 4, 4]}, by=["r"], value="x",
    ...              count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> relies_on(cg.audit(needs, cg.suppress(needs).pattern))
    {1: [3]}
    """
    reduction, cells = audit.decided.reduction, audit.problem.cells
    inside = [] if audit.inside is None else [reduction.apply(move) for move in audit.inside.moves]
    moves = [move for move in (*audit.decided.moves, *inside) if len(move.variables) <= _WIDE]
    levels = reduction.levels
    found: dict[int, list[_Witness]] = {variable: [] for variable in np.flatnonzero(levels.asked()).tolist()}
    for move in sorted(moves, key=lambda move: len(move.variables)):
        _enter(found, move)
    moving = np.flatnonzero((reduction.sign != 0) & (cells < len(audit.needs.tables)))
    behind: dict[int, list[int]] = {}
    for number, cell in zip(reduction.variable[moving].tolist(), cells[moving].tolist(), strict=True):
        behind.setdefault(number, []).append(cell)
    relying: dict[int, list[int] | None] = {}
    for variable, witnesses in found.items():
        kept = _common(witnesses, *(int(need[variable]) for need in (levels.up, levels.down, levels.width)))
        for cell in behind.get(variable, ()):
            if audit.needs.primary[cell]:
                relying[cell] = None if kept is None else sorted({c for v in kept for c in behind.get(v, ())} - {cell})
    return dict(sorted(relying.items()))


def moved_inside(audit: Audit) -> dict[int, list[int]]:
    """Return for unsafe distinct cells the others that prove them against respondents: those that such a witness moves.

    Without insiders, or where moves against outsiders prove all of it, nothing is in it.
    """
    if audit.inside is None:
        return {}
    cells, primary, n = audit.problem.cells, audit.needs.primary, len(audit.needs.tables)
    found: dict[int, set[int]] = {}
    for move in audit.inside.moves:
        moved = {cell for cell in cells[move.variables].tolist() if cell < n}
        for unsafe in moved:
            if primary[unsafe]:
                found.setdefault(unsafe, set()).update(moved)
    return {unsafe: sorted(moved - {unsafe}) for unsafe, moved in sorted(found.items())}


def through_short_moves(audit: Audit, most: int) -> dict[int, list[int]]:
    """Return for unsafe distinct cells the others that move when short moves of the proof protect them.

    Short are moves of at most so many variables; cells that these alone do not protect are left out. Of several moves
    that meet a protection level, the shortest counts.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 1, 4, 4]}, by=["r"], value="x",
    ...              count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> through_short_moves(cg.audit(needs, cg.suppress(needs).pattern), 40)
    {1: [3]}
    """
    reduction, cells = audit.decided.reduction, audit.problem.cells
    levels, n = reduction.levels, len(audit.needs.tables)
    asked = levels.asked()
    moving = np.flatnonzero((reduction.sign != 0) & (cells < n))
    order = np.argsort(reduction.variable[moving], kind="stable")
    behind, start = moving[order], np.searchsorted(reduction.variable[moving][order], np.arange(reduction.n + 1))
    inside = [] if audit.inside is None else (reduction.apply(move) for move in audit.inside.moves)
    parts = (part for move in (*audit.decided.moves, *inside) for part in _apart(reduction.matrix, move))
    moves = [part for part in parts if len(part.variables) <= most]
    shortest = _Ways(levels)
    for move in sorted(moves, key=lambda move: len(move.variables)):
        for variable, reach in zip(move.variables.tolist(), move.reach().tolist(), strict=True):
            if reach and asked[variable]:
                shortest.enter(variable, reach, move.variables)
    through = dict[int, list[int]]()
    for variable in np.flatnonzero(asked).tolist():
        taken = shortest.taken(variable)
        if taken is None:
            continue
        near = [behind[start[v] : start[v + 1]] for v in np.unique(np.concatenate(taken)).tolist()]
        others = np.sort(cells[np.concatenate(near)])
        for cell in cells[behind[start[variable] : start[variable + 1]]].tolist():
            if audit.needs.primary[cell]:
                through[cell] = others[others != cell].tolist()
    return dict(sorted(through.items()))


def _apart(matrix: sp.csr_array, move: Move) -> list[Move]:
    """Return the parts of a move that share no relation: each is a move by itself, and many together were found."""
    label = components(sp.csr_array(matrix[:, move.variables]))[1]
    order = np.argsort(label, kind="stable")
    ends = np.flatnonzero(np.diff(label[order])) + 1
    return [Move(move.variables[part], move.n[part], move.denominator) for part in np.split(order, ends)]


class _Ways:
    """For each variable the shortest moves that meet its levels up and down, and those that go furthest."""

    def __init__(self, levels: Levels[LongArray]) -> None:
        self._levels = levels
        self._near = dict[tuple[int, bool], tuple[int, Positions]]()
        self._far = dict[tuple[int, bool], tuple[int, Positions]]()

    def enter(self, variable: int, reach: int, moved: Positions) -> None:
        """Enter a move of some variables that takes one so far; shorter moves come before longer ones."""
        key, size = (variable, reach > 0), abs(reach)
        if size >= (self._levels.up if reach > 0 else self._levels.down)[variable]:
            self._near.setdefault(key, (size, moved))
        if size > self._far.get(key, (0, moved))[0]:
            self._far[key] = size, moved

    def taken(self, variable: int) -> list[Positions] | None:
        """Return what moves in moves that meet all levels of a variable; None if these moves do not."""
        levels, asked = self._levels, list[tuple[int, Positions]]()
        for upward, need in ((True, levels.up[variable]), (False, levels.down[variable])):
            if need and (variable, upward) not in self._near:
                return None
            asked += [self._near[variable, upward]] if need else []
        if sum(size for size, _ in asked) < levels.width[variable]:
            far = [self._far[variable, upward] for upward in (True, False) if (variable, upward) in self._far]
            wide = [one for one in far if one[0] >= levels.width[variable]][:1] or far
            if sum(size for size, _ in wide) < levels.width[variable]:
                return None
            asked += wide
        return [moved for _, moved in asked]


_Witness = tuple[int, frozenset[int]]  # how far it moves the cell, and all that it moves


def _enter(found: dict[int, list[_Witness]], move: Move) -> None:
    """Enter a move for all unsafe variables that it moves."""
    moved = frozenset(move.variables.tolist())
    for variable, reach in zip(move.variables.tolist(), move.reach().tolist(), strict=True):
        if reach and variable in found:
            found[variable].append((reach, moved))


def _common(witnesses: Sequence[_Witness], up: int, down: int, sliding: int) -> frozenset[int] | None:
    """Return what all witnesses of some protection level move; None if these do not meet all protection levels."""
    ways = [[moved for reach, moved in witnesses if reach >= up]] if up else []
    ways += [[moved for reach, moved in witnesses if -reach >= down]] if down else []
    ways += [list(_wide_enough(witnesses, sliding))] if sliding else []
    if not all(ways):
        return None
    return frozenset().union(*(frozenset.intersection(*way) for way in ways))


def _wide_enough(witnesses: Sequence[_Witness], sliding: int) -> Iterator[frozenset[int]]:
    """Go through what moves a variable far enough both ways together: one move, or the furthest two."""
    yield from (moved for reach, moved in witnesses if abs(reach) >= sliding)
    up = max((one for one in witnesses if one[0] > 0), key=lambda one: one[0], default=None)
    down = min((one for one in witnesses if one[0] < 0), key=lambda one: one[0], default=None)
    if up and down and up[0] - down[0] >= sliding:
        yield up[1] | down[1]
