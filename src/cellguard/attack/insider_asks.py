"""Asks: how far each unsafe cell must be able to move against whom, all of them as flat arrays.

Most insiders contribute nothing to a cell, so that it needs the same against all of them: one ask against *anybody*. A
contributor who needs more or less than that has asks of its own, and is left out of the ask against anybody.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.attack.insider_knowledge import ANYBODY, OUTSIDER, InsiderKnowledge
from cellguard.attack.insider_system import InsiderSystem
from cellguard.attack.kernel_layout import Asks
from cellguard.proofs.levels import Levels


def asks_of(system: InsiderSystem) -> Asks:
    """Return what the unsafe merged cells ask for."""
    knowledge, first = system.knowledge, system.first
    target = np.flatnonzero(system.problem.levels.asked()[first])
    cells = first[target]
    size = np.diff(knowledge.start)[cells]
    size[knowledge.owner[cells] >= 0] = 0  # nobody is to be protected from the only respondent
    entry = np.repeat(knowledge.start[cells] - np.cumsum(size) + size, size) + np.arange(size.sum())
    cell = np.repeat(target, size)
    rank = entry - knowledge.start[first[cell]]
    usual = _levels(knowledge, cells, knowledge.rest[cells], _ranked(knowledge, cells, 0))
    other = np.where(rank == 0, _ranked(knowledge, first[cell], 1), _ranked(knowledge, first[cell], 0))
    own = _levels(knowledge, first[cell], knowledge.amount[entry], other)
    place = np.repeat(np.arange(len(target)), size)
    same = (own.down == usual.down[place]) & (own.up == usual.up[place]) & (own.width == usual.width[place])
    outside = _beyond(knowledge.problem.levels.take(cells), usual)
    levels = Levels(
        np.concatenate([usual.down, own.down[~same], outside.down]),
        np.concatenate([usual.up, own.up[~same], outside.up]),
        np.concatenate([usual.width, own.width[~same], outside.width]),
    )
    cell = np.concatenate([target, cell[~same], target])
    who = [np.full(len(target), ANYBODY), knowledge.who[entry][~same], np.full(len(target), OUTSIDER)]
    return _sorted(system.n, cell, np.concatenate(who), levels)


def _sorted(n: int, cell: Positions, who: LongArray, levels: Levels[LongArray]) -> Asks:
    parts = [
        (cell[need > 0], np.full(int((need > 0).sum()), way), need[need > 0], who[need > 0])
        for way, need in ((-1, levels.down), (1, levels.up), (0, levels.width))
    ]
    cells, ways, needs, whos = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((whos, ways, cells))
    cells, ways, needs, whos = cells[order], ways[order], needs[order], whos[order]
    start = np.searchsorted(cells, np.arange(n + 1)).astype(np.int64)
    return Asks(start, cells.astype(np.int32), ways.astype(np.int32), needs.astype(np.int64), whos.astype(np.int32))


def _beyond(outside: Levels[LongArray], usual: Levels[LongArray]) -> Levels[LongArray]:
    """Return what outsiders' levels ask for beyond those against anybody, which a respondent's moves prove as well."""
    wider = outside.width > np.maximum(np.maximum(usual.down, usual.up), usual.width)
    return Levels(
        np.where(outside.down > usual.down, outside.down, 0),
        np.where(outside.up > usual.up, outside.up, 0),
        np.where(wider, outside.width, 0),
    )


def _levels(knowledge: InsiderKnowledge, cells: Positions, own: LongArray, other: LongArray) -> Levels[LongArray]:
    """Return the protection levels of cells against those who contribute ``own``, the largest others ``other``."""
    problem, outside = knowledge.problem, knowledge.problem.levels.take(cells)
    plain = knowledge.signed[cells] | ~knowledge.told[cells]
    whole = problem.whole[cells] & ~plain
    room = np.maximum(knowledge.value[cells] - own, 0)
    level = np.maximum(own + other + knowledge.shares(cells, other) - knowledge.value[cells], 0)
    down = np.minimum(level, np.minimum(room, problem.down[cells]))
    up = np.minimum(level, problem.up[cells])
    width = np.where(np.maximum(down, up) < knowledge.unit[cells], knowledge.unit[cells], 0)
    down = np.where(whole, np.minimum(outside.down, room), np.where(plain, outside.down, down))
    fixed = plain | whole
    return Levels(down, np.where(fixed, outside.up, up), np.where(fixed, outside.width, width))


def _ranked(knowledge: InsiderKnowledge, cells: Positions, rank: int) -> LongArray:
    """Return the largest (0) or second largest (1) listed contribution to each cell, or what others have at most."""
    amounts = knowledge.rest[cells].copy()
    some = np.diff(knowledge.start)[cells] > rank
    amounts[some] = knowledge.amount[knowledge.start[cells[some]] + rank]
    return amounts
