"""The suppression problem over merged cells: what each may move, needs and costs, and the way back to all cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines.policy import USUAL, Policy
from cellguard.proofs.levels import Levels
from cellguard.proofs.merging import Merged, merge_equal
from cellguard.proofs.problem import grains_of, pose
from cellguard.proofs.scale import as_floats
from cellguard.protection import Requirements
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.world.completion import MANY_CROSSING

if TYPE_CHECKING:
    from cellguard.methods.suppress.engines.crossing_cuts import CrossingCuts


@dataclass(frozen=True, eq=False)
class System:
    """Merged cells with M d = 0. ``hidden`` cells are suppressed anyway, ``never`` cells must not be.

    ``down`` and ``up`` are how far a suppressed cell may move, ``levels`` how far it must be able to, all in grains.
    ``cost`` is what suppressing a merged cell costs. A width that could be met on either side is ``pinned`` to one; a
    cut must only follow from the width. With no other level, the cell is ``two_sided``: moving by the width the other
    way serves it as well. ``asked`` are the levels without what widths add to them. ``behind`` is the world with a
    crossing table that the system leaves out, ``policy`` holds the thresholds of the search.
    """

    needs: Requirements
    merged: Merged
    matrix: sp.csr_array
    down: FloatArray
    up: FloatArray
    levels: Levels[FloatArray]
    cost: FloatArray
    hidden: BoolArray
    never: BoolArray
    pinned: BoolArray
    two_sided: BoolArray
    asked: Levels[FloatArray]
    behind: CrossingCuts | None = None
    policy: Policy = USUAL

    @property
    def n(self) -> int:
        """The number of merged cells."""
        return len(self.cost)

    @cached_property
    def needy(self) -> BoolArray:
        """Which merged cells must be able to move."""
        return np.asarray((self.levels.up > 0) | (self.levels.down > 0), bool)

    @property
    def is_flat(self) -> bool:
        """Whether cells are in few relations, as in two dimensions."""
        return bool(self.matrix.nnz <= self.policy.flat_terms * self.n)

    def merge(self, listed: BoolArray) -> BoolArray:
        """Return which merged cells hold one of some listed cells."""
        return np.bincount(self.merged.merged[: len(listed)], listed, self.n) > 0

    def places(self, cells: Positions) -> Positions:
        """Return the merged cells of some cells of the world that may move."""
        world = self.needs.world
        moving = np.flatnonzero(world.extend(np.ones(len(self.needs.tables), bool), world.moving))
        return np.asarray(self.merged.merged[np.searchsorted(moving, cells)], np.intp)

    def pattern(self, chosen: BoolArray) -> Pattern:
        """Return the pattern of all cells when the chosen merged cells are suppressed: the way back."""
        tables = self.needs.tables
        # A cell that must be published may equal one that was said to be suppressed, and so be merged with it.
        must_publish, _ = _states(self.needs)
        hide = chosen[self.merged.merged[: len(tables)]] & ~self.needs.world.constraints.empty & ~must_publish
        free = Pattern(tables, self.needs.primary, np.zeros(len(tables), bool)).unpublished
        return Pattern(tables, self.needs.primary, hide & ~self.needs.primary & ~free)


def build_system(
    needs: Requirements, cost: FloatArray, known: sp.csr_array | None = None, *, policy: Policy = USUAL
) -> System:
    """Merge equal cells and collect what the engine needs of them; ``cost`` has one entry per distinct cell.

    ``known`` are sums of distinct cells that an attacker has from elsewhere: no move may change them.
    """
    world = needs.world
    everything = pose(needs, np.ones(len(needs.tables), bool), grains_of(world))
    # Listed cells come first, and then the latent cells that may move; the others are as good as published.
    cells = everything.cells
    merged = merge_equal(sp.csr_array(world.relations_with(known)[:, cells]))
    at, n = merged.merged, merged.n
    must_publish, free = _states(needs)
    unpublished = Pattern(needs.tables, needs.primary, free).unpublished
    never = _any(world.extend(must_publish | world.constraints.empty, False)[cells], at, n)
    # An unpublished cell is as good as published if a published one equals it.
    hidden = _any(world.extend(needs.primary | (free & ~unpublished), False)[cells], at, n)
    hidden |= ~_any(~world.extend(needs.primary | free, True)[cells], at, n)
    down = smallest(as_floats(everything.down), at, n)
    up = smallest(as_floats(everything.up), at, n)
    asked = largest(everything.levels, at, n)
    levels, pinned, two_sided = pin(asked, down, up)
    return System(
        needs,
        merged,
        merged.relations.astype(float),
        np.where(never, 0.0, down),
        np.where(never, 0.0, up),
        levels,
        np.bincount(at, world.extend(np.where(needs.primary | free, 0.0, cost), 0.0)[cells], n).astype(float),
        hidden,
        never,
        pinned,
        two_sided,
        asked,
        policy=policy,
    )


def manageable(needs: Requirements) -> Requirements:
    """Return the requirements in a world in which so few latent cells move that programs stay small."""
    world = needs.world
    return needs if world.constraints.crossing.sum() <= MANY_CROSSING else replace(needs, world=world.thinned())


def _states(needs: Requirements) -> tuple[BoolArray, BoolArray]:
    """Return the cells that must be published, and those that are suppressed at no cost."""
    tables = needs.tables
    publish, secondary = tables.stated(State.must_publish), tables.stated(State.secondary)
    unpublished = Pattern(tables, needs.primary, secondary).unpublished
    return publish & ~unpublished, secondary | unpublished


def pin(asked: Levels[FloatArray], down: FloatArray, up: FloatArray) -> tuple[Levels[FloatArray], BoolArray, BoolArray]:
    """Turn widths that the other levels do not cover into levels on one side: up, where there is room, or down.

    Where neither side has room for all of it, it goes up as far as possible, and down for the rest. Return which cells
    could have met it on either side, too, and for which of them a width is all that is asked.
    """
    need_down, need_up, width = asked.down, asked.up, asked.width
    open_ = width > need_up + need_down
    upward = open_ & (width - need_down <= up)
    both = open_ & ~upward & (width - need_up > down)
    either = open_ & (down > 0) & (up > 0)
    new_up = np.where(upward, np.maximum(width - need_down, need_up), np.where(both, up, need_up))
    rest = width - np.where(both, up, need_up)
    new_down = np.where(open_ & ~upward, np.maximum(rest, need_down), need_down)
    alone = (need_up == 0) & (need_down == 0) & (np.maximum(new_up, new_down) >= width)
    return Levels(new_down, new_up, width), either, either & alone


def _any(mask: BoolArray, at: Positions, n: int) -> BoolArray:
    return np.bincount(at, mask, n) > 0


def smallest(values: FloatArray, at: Positions, n: int) -> FloatArray:
    """Return the smallest value of the cells behind each of n merged ones, infinite where there is none."""
    found = np.full(n, np.inf)
    np.minimum.at(found, at, values)
    return found


def largest(levels: Levels[LongArray], at: Positions, n: int) -> Levels[FloatArray]:
    """Return the largest levels of the cells behind each of n merged ones, 0 where there is none."""
    whole = levels.largest(at, n)
    return Levels(whole.down.astype(float), whole.up.astype(float), whole.width.astype(float))
