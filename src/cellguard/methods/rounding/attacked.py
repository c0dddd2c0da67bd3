"""What somebody concludes who knows method, base and threshold, all published values and all additivity constraints.

Each published value leaves a range open for the true one (`values.box_of`). The true table is some table within these
ranges that satisfies all relations; every such table could have been published like this, conventionally for certain,
at random with some probability, since the seed is secret. So the attack on suppressed tables is the attack on rounded
ones, with every cell unknown and the ranges as bounds: witnesses prove protection levels, and bounds refute them.

That attack takes bounds for what is known beforehand, and asks for no protection beyond them. Here the release itself
sets them, so levels that go beyond a range are refuted first (`_beyond`, and `_beyond_inside` for respondents).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.audit import Audit, audit
from cellguard.methods.rounding.rounded import Rounded
from cellguard.methods.rounding.values import FAR
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.table.contributions import NOBODY, Contributions
from cellguard.table.pattern import Pattern
from cellguard.table.propagate import tighten

MOST = 1_500  # cells up to which every interval is exact; of more cells they follow from single relations
_ROUNDS = 100  # of propagation


@dataclass(frozen=True, eq=False)
class Attacked:
    """An attack on rounded tables. Confidential.

    ``alone_lower`` and ``alone_upper`` are the ends that each published value leaves by itself and with what the
    attacker knows beforehand; ``lower`` and ``upper`` those that all of them leave together. If they are not ``exact``,
    the attacker's interval may be narrower; witnesses then prove that those of unsafe cells are wide enough.
    ``short`` are the unsafe cells that their own published values already leave too little; ``spent`` says that the
    work allowed was done before all was decided.
    """

    audit: Audit
    alone_lower: FloatArray
    alone_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    exact: bool
    short: BoolArray
    spent: bool = False

    @property
    def verdict(self) -> str:
        """Safe only if every protection level is proven: safe, unsafe or undecided."""
        return "unsafe" if self.short.any() else self.audit.verdict

    @property
    def open(self) -> BoolArray:
        """The unsafe cells that are too well known, or not proven not to be, to anybody."""
        open_ = self.audit.failing | self.audit.undecided | self.short
        inside = self.audit.inside
        if inside is not None:
            pairs = [*inside.failing, *inside.undecided]
            cells = self.audit.problem.cells[[pair.cell for pair in pairs]]
            open_ = open_.copy()
            open_[cells[cells < len(open_)]] = True
        return open_

    @property
    def narrowed(self) -> BoolArray:
        """The cells of which other cells tell more than their own value does."""
        width, alone = self.upper - self.lower, self.alone_upper - self.alone_lower
        return width < alone - 1e-9

    @property
    def known(self) -> BoolArray:
        """The cells whose value follows exactly."""
        return self.upper - self.lower < 1e-9


def attack(
    needs: Requirements,
    rounded: Rounded,
    *,
    known: sp.csr_array | None = None,
    insiders: Contributions | None = None,
    coalition: int = 1,
    run: Run,
) -> Attacked:
    """Attack rounded tables with the protection levels of their unsafe cells."""
    posed = _within(needs, rounded)
    tables, n = needs.tables, len(needs.tables)
    every = Pattern(tables, needs.primary, ~needs.primary)
    exact = n <= MOST
    judged = audit(posed, every, known=known, intervals=exact, insiders=insiders, coalition=coalition, run=run)
    short = _beyond(needs, posed) | _beyond_inside(needs, judged)
    world = posed.world
    low, high = tighten(world.relations_with(known).astype(float), world.lower, world.upper, rounds=_ROUNDS)
    low, high = np.where(world.is_count, np.ceil(low - 1e-6), low)[:n], np.where(world.is_count, _floor(high), high)[:n]
    if exact:
        sharp = judged.exact & ~world.constraints.empty
        low, high = np.where(sharp, judged.lower, low), np.where(sharp, judged.upper, high)
        exact = bool(judged.exact.all())
    return Attacked(judged, world.lower[:n], world.upper[:n], low, high, exact, short, run.is_spent)


def _floor(ends: FloatArray) -> FloatArray:
    return np.floor(ends + 1e-6)


def _within(needs: Requirements, rounded: Rounded) -> Requirements:
    """Return the protection levels with the ranges of the published values as what is known beforehand."""
    world, n = needs.world, len(needs.tables)
    size = rounded.plan.grains.size()
    box = rounded.box
    low = np.where(box.lower <= -FAR, -np.inf, box.lower * size)
    high = np.where(box.upper >= FAR, np.inf, box.upper * size)
    lower = np.concatenate([np.maximum(world.lower[:n], low), world.lower[n:]])
    upper = np.concatenate([np.minimum(world.upper[:n], high), world.upper[n:]])
    return replace(needs, world=replace(world, lower=lower, upper=upper))


def _beyond(needs: Requirements, posed: Requirements) -> BoolArray:
    """Return the unsafe cells with protection levels beyond the ranges of their published values."""
    n, value = len(needs.tables), needs.tables.value
    down, up = value - posed.world.lower[:n], posed.world.upper[:n] - value
    hair = 1e-9 * np.maximum(np.abs(value), 1.0)
    beyond = (needs.lower > down + hair) | (needs.upper > up + hair) | (needs.sliding > down + up + hair)
    return needs.primary & beyond


def _beyond_inside(needs: Requirements, judged: Audit) -> BoolArray:
    """Return the unsafe cells of which some respondent knows more of another, by the ranges alone, than it may."""
    short = np.zeros(len(needs.tables), bool)
    if judged.inside is None:
        return short
    known, problem = judged.inside.knowledge, judged.problem
    size = 10.0 ** judged.grains.decimals[problem.cells]
    up = (needs.world.upper - needs.world.value)[problem.cells] * size
    down = (needs.world.value - needs.world.lower)[problem.cells] * size
    for place in np.flatnonzero(known.told & ~problem.whole & ~known.signed).tolist():
        cell = int(problem.cells[place])
        if cell >= len(short) or not needs.primary[cell] or known.knowing[place] >= 0:
            continue
        everybody = np.array([*np.unique(known.contributors(place)[:2]), NOBODY], np.int64)
        own, other = known.parties(place, everybody)
        level = known.level(place, own, other)
        falls = np.minimum(np.minimum(level, np.maximum(known.value[place] - own, 0)), down[place])
        rises = np.minimum(level, up[place])
        short[cell] = bool((rises > problem.up[place] + 0.5).any() or (falls > problem.down[place] + 0.5).any())
    return short
