"""How closely each insider may come to the largest other contributor of an unsafe cell: the view from the firms.

Insider h, with y in a cell that may be as large as u in its eyes, can tell of the largest other one only that it has no
more than u - y. So it overestimates x by at least (u - y) / x - 1, or comes as near as that where u is the true end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.attack.coalition_proofs import CoalitionProofSearch
from cellguard.attack.insider_knowledge import stand
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.insiders import Inside
from cellguard.proofs.local import Neighbours
from cellguard.proofs.problem import grains_of, pose
from cellguard.proofs.scale import as_floats
from cellguard.protection import Requirements
from cellguard.run_context import UNWATCHED, Run
from cellguard.solver.program import Program, Status
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern
from cellguard.world.completion import MANY_CROSSING

_ALL = (1 << 30, 0, 1 << 30)
_FAR = 1e4
_TOLD = 5  # respondents of a cell
_LOOKS = 4  # coalitions looked at, per respondent or coalition that is reported


class Near(NamedTuple):
    """An insider, an unsafe cell as a distinct one, and by how many percent the insider overestimates at the least.

    ``failing`` says that this is nearer than the rules allow; ``others`` are those who tell the insider more.
    """

    insider: int
    cell: int
    percent: float
    failing: bool
    others: tuple[int, ...] = ()

    @property
    def who(self) -> str:
        """The insider, or all who work together, as people read it."""
        if self.others:
            return f"insiders {', '.join(map(str, (self.insider, *self.others)))} together"
        return "somebody from elsewhere" if self.insider < 0 else f"insider {self.insider}"


def nearest(inside: Inside, most: int = 50) -> list[Near]:
    """Return the pairs in which an insider may come nearest, as far as the proof tells; those that fail come first."""
    prover = inside.prover
    failing = {(pair.insider, pair.cell) for pair in inside.failing}
    cells = prover.knowledge.problem.cells
    pairs = [
        Near(p.insider, int(cells[p.cell]), _exact(prover, p.members, p.cell), True, p.others)
        for p in inside.failing[:most]
    ]
    safe: list[Near] = []
    for cell in prover.targets():
        if not _has_amounts(prover, cell):
            continue
        reached = prover.reached(cell)
        percent = _percent(prover, cell, reached.who, reached.up)
        order = np.argsort(percent, kind="stable")[:3]
        safe += [
            Near(int(reached.who[i]), int(cells[cell]), float(percent[i]), False)
            for i in order.tolist()
            if (int(reached.who[i]), cell) not in failing and reached.who[i] >= 0 and np.isfinite(percent[i])
        ]
        if all(pair.cell != cell for pair in inside.failing):
            safe += [near._replace(cell=int(cells[cell])) for near in _together(prover, cell)[:3]]
    return (
        sorted(pairs, key=lambda near: near.percent) + sorted(safe, key=lambda near: near.percent)[: most - len(pairs)]
    )


def respondents_of(
    needs: Requirements,
    pattern: Pattern,
    known: Contributions,
    totals: sp.csr_array | None = None,
    *,
    coalition: int = 1,
    run: Run = UNWATCHED,
) -> InsiderProofSearch:
    """Return what the respondents behind a pattern know, without a proof of anything.

    Of the cover cells of a large crossing table only those with a value move, as in an audit before needs ask for
    others.
    """
    world = needs.world
    thin = needs if world.constraints.crossing.sum() <= MANY_CROSSING else replace(needs, world=world.thinned())
    grains = grains_of(world)
    problem = pose(thin, pattern.unknown & ~world.constraints.empty, grains, totals)
    prover = InsiderProofSearch(stand(problem, grains, needs, known), Neighbours(problem.matrix, problem.whole), run)
    return CoalitionProofSearch.of(prover, coalition) if coalition > 1 else prover


class Suspects(NamedTuple):
    """Who may come nearest to the others of a cell, nearest first as far as the proof tells; ``all`` who may or not."""

    near: Sequence[Near]
    all: bool


def suspects(inside: Inside, cell: int, most: int | None = None) -> Suspects:
    """Return the insiders who may come near to the others of one unsafe distinct cell, at most so many.

    What the proof tells of each is a bound: nobody comes nearer than that.
    """
    prover = inside.prover
    place = np.flatnonzero(prover.knowledge.problem.cells == cell)
    if not len(place) or not _has_amounts(prover, int(place[0])):
        return Suspects((), True)
    here = int(place[0])
    failing = {pair.members for pair in inside.failing if pair.cell == here}
    reached = prover.reached(here)
    percent = _percent(prover, here, reached.who, reached.up)
    near = [
        Near(who, cell, bound, (who,) in failing)
        for who, bound in zip(reached.who.tolist(), percent.tolist(), strict=True)
        if who >= 0 and np.isfinite(bound)
    ]
    for some in _together(prover, here)[: _LOOKS * _TOLD]:
        near.append(some._replace(cell=cell, failing=(some.insider, *some.others) in failing))
    near.sort(key=lambda one: one.percent)
    return Suspects(near[:most], most is None or len(near) <= most)


def nearest_to(prover: InsiderProofSearch, cell: int, some: Suspects) -> list[Near] | None:
    """Return the suspects who come nearest to the others of an unsafe distinct cell, worked out exactly.

    Since bounds are known, not all protection level be. It is None if others than these suspects may come nearer.
    """
    place = np.flatnonzero(prover.knowledge.problem.cells == cell)
    if not len(place):
        return [] if some.all else None
    found = list[Near]()
    for one in some.near:
        if len(found) >= _TOLD and sorted(near.percent for near in found)[_TOLD - 1] <= one.percent:
            return _first(found)
        percent = _exact(prover, (one.insider, *one.others), int(place[0]))
        found += [one._replace(percent=percent)] if np.isfinite(percent) else []
    return _first(found) if some.all else None


def _first(found: list[Near]) -> list[Near]:
    return sorted(found, key=lambda near: near.percent)[:_TOLD]


def _has_amounts(prover: InsiderProofSearch, cell: int) -> bool:
    knowledge = prover.knowledge
    return bool(knowledge.told[cell]) and not bool(knowledge.problem.whole[cell]) and not knowledge.signed[cell]


def _percent(prover: InsiderProofSearch, cell: int, who: LongArray, up: LongArray) -> FloatArray:
    own, other = prover.knowledge.parties(cell, who)
    most = prover.knowledge.value[cell] + up - own
    return 100 * np.divide(most - other, other, out=np.full(len(who), np.inf), where=other > 0)


def _together(prover: InsiderProofSearch, cell: int) -> list[Near]:
    """Return the coalitions that may matter to a cell, the nearest first as far as the proof tells."""
    if not isinstance(prover, CoalitionProofSearch):
        return []
    near = []
    for reached in prover.looked_at(cell, lambda: prover.entries(cell)):
        if len(reached.members) > 1:
            first, *others = sorted(reached.members)
            percent = _percent_together(prover, cell, (first, *others), reached.up)
            near.append(Near(first, cell, percent, reached.short, tuple(others)))
    return sorted((n for n in near if np.isfinite(n.percent)), key=lambda n: n.percent)


def _exact(prover: InsiderProofSearch, members: tuple[int, ...], cell: int) -> float:
    """Return by how many percent insiders overestimate at the least, from the true end of their interval."""
    near, knowledge = prover.neighbours, prover.knowledge
    everything: BoolArray = np.ones(near.n, bool)
    cells = near.near((cell,), _ALL, everything, ~everything)
    matrix = near.relations_of(cells)
    some = [who for who in members if who >= 0]
    down, up = (
        prover.limits(some) if isinstance(prover, CoalitionProofSearch) else knowledge.limits(np.array(some, np.int64))
    )
    scale = float(max(knowledge.value[cell], 1))
    low, high = (np.minimum(as_floats(limit[cells]) / scale, _FAR) for limit in (down, up))
    cost = np.where(cells == cell, -1.0, 0.0)
    zero = np.zeros(matrix.shape[0])
    solution = solver.solve(Program(matrix.astype(float), zero, zero, -low, high, cost), presolve=True, run=prover.run)
    if solution.status is not Status.optimal:
        return float("inf")
    reach = np.array([round(-solution.objective * scale)], np.int64)
    if isinstance(prover, CoalitionProofSearch) and len(members) > 1:
        return _percent_together(prover, cell, members, int(reach[0]))
    return float(_percent(prover, cell, np.array(members), reach)[0])


def _percent_together(prover: CoalitionProofSearch, cell: int, members: tuple[int, ...], up: int) -> float:
    own, other = prover.coalitions.parties(cell, members)
    return 100 * (int(prover.knowledge.value[cell]) + up - own - other) / other if other else float("inf")
