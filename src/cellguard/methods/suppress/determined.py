"""Secondaries that anybody can work out exactly: they hide nothing and protect nothing, so they are published.

Let M x = 0 be the relations of the set and x >= l the public bounds. A suppressed cell c is determined if x_c has one
value in all worlds that agree with the published cells. Then no witness moves c, so no protection level rests on it;
and publishing c adds no constraint that did not follow before, so every other feasibility interval stays as it was, for
outsiders and for insiders alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.attack.deciding import propagated
from cellguard.proofs.problem import grains_of, pose
from cellguard.protection import Requirements
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.world.completion import MANY_CROSSING


def publish_determined(needs: Requirements, pattern: Pattern) -> Pattern:
    """Return the pattern without secondaries that follow from what is published, as far as propagation tells.

    Cells that the job says are suppressed stay so.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 4, 4, 4]}, by=["r"], value="x",
    ...              count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> alone = Pattern(needs.tables, needs.primary, np.array([False, False, False, True]))
    >>> publish_determined(needs, alone).secondary.tolist()
    [False, False, False, False]
    """
    if not (pattern.secondary & ~pattern.unpublished).any() or _rests_on_assumptions(needs):
        return pattern
    free = pattern.secondary & ~pattern.unpublished & ~needs.tables.stated(State.secondary)
    known = free & _determined(needs, pattern)
    return replace(pattern, secondary=pattern.secondary & ~known)


def _rests_on_assumptions(needs: Requirements) -> bool:
    """Return whether bounds are assumed of the attacker: what follows from them is not known to everybody."""
    knows, given = needs.knowledge, (table.apriori for table in needs.tables.tables)
    assumed = knows.percent is not None or np.isfinite(knows.upper) or (np.isfinite(knows.lower) and knows.lower != 0)
    return bool(assumed) or any(not (np.isnan(said.lower).all() and np.isnan(said.upper).all()) for said in given)


def _determined(needs: Requirements, pattern: Pattern) -> BoolArray:
    """Return the distinct cells that have one value only, without totals that only some attackers have."""
    world = needs.world
    light = needs
    if world.constraints.crossing.sum() > MANY_CROSSING:
        light = replace(needs, world=world.without_crossing())  # fewer constraints determine no more
    problem = pose(light, pattern.unknown & ~world.constraints.empty, grains_of(light.world))
    found = propagated(problem)
    low, high = found.reduction.cell_ends(found.least, found.most)
    determined = np.zeros(len(needs.tables), bool)
    listed = problem.cells < len(needs.tables)
    determined[problem.cells[listed]] = (low == 0)[listed] & (high == 0)[listed]
    return determined
