"""`suppress`: from requirements to a pattern that hides as little as possible; and what to do if none can be safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cellguard.errors import NotProtected
from cellguard.protect.suppress.cuts import Target, targets_of
from cellguard.protect.suppress.master import Impossible
from cellguard.protect.suppress.repair import Repairer
from cellguard.protect.suppress.system import System, build_system
from cellguard.protect.suppress.witness import Solved, Unprotectable, witness
from cellguard.protection import Requirements
from cellguard.table.apriori import State
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.pattern import Pattern
from cellguard.table.tableset import TableSet

Tell = Callable[[str], None]


class Engine(Protocol):
    """Chooses the cells to hide; every engine has this signature, and is judged by the same contract tests."""

    def __call__(self, system: System, *, start: BoolArray | None, tell: Tell) -> Solved:
        """Return a pattern that should be safe, perhaps from one to start with; the audit proves it or not."""
        ...


@dataclass(frozen=True, eq=False)
class Suppression:
    """The pattern, what its secondaries cost, and a bound on what any safe pattern costs."""

    pattern: Pattern
    cost: float
    bound: float
    finished: bool = True

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, as a share of it; 0 if it is proven to be the optimum."""
        gap = 0.0 if self.cost == 0 else (self.cost - self.bound) / self.cost
        return gap if gap > 1e-6 else 0.0


def quiet(text: str) -> None:
    """Tell nobody."""


def suppress(
    needs: Requirements,
    cost: FloatArray,
    *,
    engine: Engine = witness,
    start: BoolArray | None = None,
    tell: Tell = quiet,
) -> Suppression:
    """Hide cells until every unsafe one is protected; ``cost`` has one entry a distinct cell.

    ``start`` marks distinct cells to begin with, say the secondaries of an earlier run.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    >>> suppress(needs, needs.tables.value).pattern.secondary.tolist()
    [False, False, False, True]
    """
    system = build_system(needs, cost)
    try:
        first = None if start is None else np.bincount(system.merged.merged, start, system.n) > 0
        solved = engine(system, start=first, tell=tell)
    except (Unprotectable, Impossible) as error:
        target = error.target if isinstance(error, Unprotectable) else None
        raise NotProtected(_advice(system, cost, target)) from None
    pattern = system.pattern(solved.hidden)
    return Suppression(pattern, float(cost[pattern.secondary].sum()), solved.bound, solved.finished)


def _advice(system: System, cost: FloatArray, target: Target | None) -> str:
    """Say which unsafe cell cannot be protected, and which cells would have to be given up for it."""
    tables = system.needs.tables
    open_ = replace(system, never=np.zeros(system.n, bool), cost=_merged_cost(system, cost))
    target = target or _first_blocked(system)
    if target is None:
        return "no pattern protects all unsafe cells; fewer cells must be published"
    first = system.merged.first
    name = tables.cell_name(int(first[target.cell]))
    flow = Repairer(_with_room(open_, system)).flow(target, system.hidden, open_.cost + 1e-9)
    given_up = [] if flow is None else [int(c) for c in flow.cells if system.never[c]]
    if not given_up:
        return f"{name} cannot be protected, whatever is hidden: what the attacker knows leaves it no room"
    names = ", ".join(tables.cell_name(int(first[c])) for c in given_up)
    return (
        f"{name} cannot be protected while these cells must be published: {names}. The cheapest way out is to take "
        "must_publish away from them"
    )


def _merged_cost(system: System, cost: FloatArray) -> FloatArray:
    return np.bincount(system.merged.merged, cost, system.n).astype(float)


def _with_room(open_: System, system: System) -> System:
    """Give cells that must be published the room that they would have if hidden."""
    fresh = build_system(replace(system.needs, tables=_freed(system)), np.ones(len(system.needs.tables)))
    return replace(open_, down=fresh.down, up=fresh.up)


def _freed(system: System) -> TableSet:
    """Return the tables as if no cell had to be published."""
    changed = []
    for table in system.needs.tables.tables:
        state = np.where(table.apriori.has(State.must_publish), State.none, table.apriori.state).astype(np.int8)
        changed.append(replace(table, apriori=replace(table.apriori, state=state)))
    return replace(system.needs.tables, tables=tuple(changed))


def _first_blocked(system: System) -> Target | None:
    repairer = Repairer(system)
    for target in targets_of(system):
        if repairer.flow(target, system.hidden, system.cost + 1e-9) is None:
            return target
    return None
