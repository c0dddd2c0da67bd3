"""When safety is impossible: which cells that must be published stand in the way, and which to give up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InternalError
from cellguard.methods.suppress.engines.cuts import Target, targets_of
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.repair import Repairer
from cellguard.methods.suppress.engines.system import System, build_system
from cellguard.methods.suppress.engines.witness import EngineResult, Unprotectable
from cellguard.run_context import Run
from cellguard.solver.program import Program
from cellguard.table.apriori import State


def advice(
    system: System, cost: FloatArray, known: sp.csr_array | None, engine: Callable[[System], EngineResult], *, run: Run
) -> str:
    """Describe which unsafe cell cannot be protected, what conflicts with it, and the cheapest cells to give
    up.
    """
    publish = _must_publish(system)
    open_ = _without_states(system, cost, known)
    try:
        solved = engine(replace(open_, cost=_price(open_.cost, publish, system.policy.small_price)))
    except Unprotectable as error:
        name = _unsafe_name(system, error.target.cell)
        return f"{name} cannot be protected, whatever is suppressed: the a-priori bounds leave too narrow an interval"
    except Impossible:
        return (
            "the unsafe cells cannot be protected, whatever is suppressed: the a-priori bounds leave too narrow "
            "intervals"
        )
    except InternalError:  # there is no pattern, whatever hindered the search for a cheap way out
        blocking = np.flatnonzero(publish)[: system.policy.blocked_targets].tolist()
        return f"the unsafe cells cannot be protected while these cells must be published: {_names(system, blocking)}"
    given_up = np.flatnonzero(solved.hidden & publish & (~open_.hidden | open_.needy)).tolist()
    unsafe, conflict = _conflict(system, open_, publish, run)
    return (
        f"{_unsafe_name(system, unsafe)} cannot be protected while these cells must be published: "
        f"{_names(system, conflict)}. The cheapest way out is to take must_publish away from "
        f"{_names(system, given_up, every=True)}"
    )


def _price(cost: FloatArray, publish: BoolArray, small: float) -> FloatArray:
    """Return the cost of the cells that must be published; all others cost next to nothing beside the cheapest."""
    least = cost[publish].min(initial=1.0, where=cost[publish] > 0)
    return np.where(publish, np.maximum(cost, least), least * small)


def _conflict(system: System, open_: System, publish: BoolArray, run: Run) -> tuple[int, list[int]]:
    """Return the unsafe cell that the fewest cells block, and these."""
    repairer, best = Repairer(open_, run=run), None
    price = publish.astype(float) + open_.policy.token_cost
    for target in _blocked(system, run):

        def way_out(fixed: list[int], target: Target = target) -> list[int] | None:
            """Return the cells to give up if only the fixed ones must be published; None if there is no way out."""
            if target.cell in fixed:
                return None
            allowed = ~open_.never
            allowed[fixed] = False
            flow = repairer.flow(target, system.hidden, price, allowed=allowed)
            return None if flow is None else [int(c) for c in flow.cells if publish[c]]

        conflict = _smallest(way_out, open_.policy.ways_out, run)
        conflict = conflict or _irreducible(np.flatnonzero(publish).tolist(), way_out)
        if best is None or len(conflict) < len(best[1]):
            best = target.cell, conflict
    if best is None:
        raise InternalError("every unsafe cell can be protected, and yet no pattern was found")
    return best


def _blocked(system: System, run: Run) -> list[Target]:
    """Return the first targets that nothing serves, as long as some cells must be published."""
    repairer, blocked = Repairer(system, run=run), []
    for target in targets_of(system):
        if repairer.flow(target, system.hidden, system.cost + system.policy.token_cost) is None:
            blocked.append(target)
            if len(blocked) == system.policy.blocked_targets:
                break
    return blocked


def _smallest(way_out: Callable[[list[int]], list[int] | None], most: int, run: Run) -> list[int] | None:
    """Return the fewest cells that conflict, or None if that takes too long to find.

    A conflict has a cell in common with every way out, so the fewest cells that do are tried, until they leave none
    (smallest unsatisfiable subset by implicit hitting sets, Ignatiev et al. 2015).
    """
    ways: list[list[int]] = []
    for _ in range(most):
        fixed = _hitting(ways, run)
        way = way_out(fixed)
        if way is None:
            return fixed
        ways.append(way)
    return None


def _hitting(sets: list[list[int]], run: Run) -> list[int]:
    """Return the fewest members such that every set has one of them."""
    members = sorted({member for one in sets for member in one})
    rows = np.array([[member in one for member in members] for one in sets], float).reshape(len(sets), len(members))
    zero, one = np.zeros(len(members)), np.ones(len(members))
    least, most = np.ones(len(sets)), np.full(len(sets), np.inf)
    if not sets:
        return []
    solution = solver.solve(Program(sp.csr_array(rows), least, most, zero, one, one, one > 0), run=run)
    return [m for m, x in zip(members, solution.x, strict=True) if x > 0.5]


def _irreducible(cells: list[int], way_out: Callable[[list[int]], list[int] | None]) -> list[int]:
    """Return a subset that still conflicts, and does not without any one of its cells: drop parts, halving them."""
    kept, size = cells, max(len(cells) // 2, 1)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if way_out(fewer) is None:
                kept = fewer
            else:
                at += size
        if size == 1:
            return kept
        size //= 2


def _names(system: System, merged: list[int], *, every: bool = False) -> str:
    """Return the names of merged cells: of one member that must be published, or of every such member."""
    tables, wanted = system.needs.tables, system.needs.tables.stated(State.must_publish)
    found = []
    for cell in merged:
        members = np.flatnonzero(system.merged.merged[: len(tables)] == cell)
        said = members[wanted[members]].tolist() or members[:1].tolist()
        found += [tables.message_name(int(c)) for c in (said if every else said[:1])]
    return ", ".join(found)


def _unsafe_name(system: System, merged: int) -> str:
    """Return the name of a merged cell by a member that is unsafe, not by one that only equals it."""
    members = np.flatnonzero(system.merged.merged[: len(system.needs.tables)] == merged)
    unsafe = members[system.needs.primary[members]]
    return system.needs.tables.message_name(int((unsafe if len(unsafe) else members)[0]))


def _must_publish(system: System) -> BoolArray:
    return system.merge(system.needs.tables.stated(State.must_publish))


def _without_states(system: System, cost: FloatArray, known: sp.csr_array | None) -> System:
    """Return the system as if no cell had to be published."""
    tables = []
    for table in system.needs.tables.tables:
        state = np.where(table.apriori.has(State.must_publish), State.none, table.apriori.state).astype(np.int8)
        tables.append(replace(table, apriori=replace(table.apriori, state=state)))
    world = system.needs.world
    constraints = replace(world.constraints, tables=replace(world.tables, tables=tuple(tables)))
    freed = replace(system.needs, world=replace(world, constraints=constraints))
    return build_system(freed, cost, known)
