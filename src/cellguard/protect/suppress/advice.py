"""When safety is impossible: which cells that must be published stand in the way, and which to give up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cellguard.protect.suppress.cuts import Target, targets_of
from cellguard.protect.suppress.repair import Flow, Repairer
from cellguard.protect.suppress.system import System, build_system
from cellguard.table.apriori import State
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.tableset import TableSet


def advice(system: System, cost: FloatArray, target: Target | None) -> str:
    """Say which unsafe cell cannot be protected, what conflicts with it, and the cheapest cells to give up."""
    target = target or _first_blocked(system)
    if target is None:
        return "no pattern protects all unsafe cells; fewer cells must be published"
    publish = _must_publish(system)
    open_ = _without_states(system, cost)
    repairer = Repairer(open_)

    def way_out(fixed: list[int]) -> Flow | None:
        allowed = ~open_.never
        allowed[fixed] = False
        allowed[target.cell] = target.cell not in fixed
        return repairer.flow(target, system.hidden, open_.cost + 1e-9, allowed=allowed)

    name = system.needs.tables.cell_name(int(system.merged.first[target.cell]))
    flow = way_out([])
    given_up = [] if flow is None else [int(c) for c in flow.cells if publish[c]]
    if not given_up:
        return f"{name} cannot be protected, whatever is hidden: what the attacker knows leaves it no room"
    conflict = _smallest(np.flatnonzero(publish).tolist(), lambda fixed: way_out(fixed) is None)
    return (
        f"{name} cannot be protected while these cells must be published: {_names(system, conflict)}. "
        f"The cheapest way out is to take must_publish away from {_names(system, given_up)}"
    )


def _smallest(cells: list[int], conflicts: Callable[[list[int]], bool]) -> list[int]:
    """Return a subset that still conflicts, and does not without any one of its cells: drop parts, halving them."""
    kept, size = cells, max(len(cells) // 2, 1)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if conflicts(fewer):
                kept = fewer
            else:
                at += size
        if size == 1:
            return kept
        size //= 2


def _names(system: System, merged: list[int]) -> str:
    """Return the names of merged cells: of the member that must be published."""
    tables, wanted = system.needs.tables, _said(system.needs.tables)
    found = []
    for cell in merged:
        members = np.flatnonzero(system.merged.merged == cell)
        said = members[wanted[members]]
        found.append(tables.cell_name(int(said[0] if len(said) else members[0])))
    return ", ".join(found)


def _said(tables: TableSet) -> BoolArray:
    """Tell which distinct cells some table says must be published."""
    found = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        found[cells] |= table.apriori.has(State.must_publish)
    return found


def _must_publish(system: System) -> BoolArray:
    return np.bincount(system.merged.merged, _said(system.needs.tables), system.n) > 0


def _without_states(system: System, cost: FloatArray) -> System:
    """Return the system as if no cell had to be published."""
    tables = []
    for table in system.needs.tables.tables:
        state = np.where(table.apriori.has(State.must_publish), State.none, table.apriori.state).astype(np.int8)
        tables.append(replace(table, apriori=replace(table.apriori, state=state)))
    freed = replace(system.needs, tables=replace(system.needs.tables, tables=tuple(tables)))
    return build_system(freed, cost)


def _first_blocked(system: System) -> Target | None:
    repairer = Repairer(system)
    for target in targets_of(system):
        if repairer.flow(target, system.hidden, system.cost + 1e-9) is None:
            return target
    return None
