"""Repair of counts that must only not be told exactly: circuits of cells that go both ways come before programs.

A circuit is a whole move, which proofs of counts need, where programs may find fractions of moves. Circuits within the
bounds serve most; cuts and flows serve what they leave.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.linalg.circuits import circuits
from cellguard.methods.suppress.engines.elimination import Ranking, in_order
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System
from cellguard.protection import Requirements
from cellguard.run_context import Run

_CROWDED = 0.03  # share of open targets up to which cuts repair with fewer cells than circuits would
_TANGLED, _RIGID = 0.5, 0.05  # share of targets left open by circuits, and of suppressed cells that go one way only
_FITTING = 0.1  # share of targets for which long circuits must fit
_TRIMMED = 60_000  # targets up to which a second proof is worth the few cells that it saves
_PROVING = 8  # sweeps that prove needs by circuits of suppressed cells before programs do
_SWEEPS = 12  # that look for circuits within the bounds; each leaves about half of what it tries


def is_exact(needs: Requirements) -> bool:
    """Return whether all protection levels are that a count is not told exactly: a width of 1, whichever way."""
    more = (needs.lower > 0) | (needs.upper > 0) | (needs.sliding > 1)
    return bool(not more.any() and needs.tables.is_count[needs.primary].all())


def repair_counts(search: Search, pattern: BoolArray) -> None:
    """Serve what bounds and whole numbers leave open: by circuits of cells that go both ways, by cuts and by flows."""
    state, oracle, run = search.state, search.oracle, search.run
    state.move_to(pattern)
    state.construct(search.guide, run)
    cell = search.propagation.goals.cell
    targets = len(cell)
    open_ = _off_circuits(search)
    # Where cells go one way only, those of a pool are in each other's way; programs of small sets are quick anyway.
    vast = oracle.is_vast(state.hidden) and _rigid(search.system, state.hidden) >= _RIGID
    if not (tangled := _is_tangled(search.system, state.hidden, len(open_) / max(targets, 1))):
        open_ = _unproven(search, open_, vast)
    crowded = tangled or len(open_) > _CROWDED * targets
    if crowded:
        run.left(len(open_), targets, "protection levels to repair")
        on = with_circuits(search.system, state.hidden, cell[open_], run=run)
        state.move_to(state.hidden | on)
        open_ = _unproven(search, open_[~on[cell[open_]]], vast)
    if len(open_) and not vast:
        allowed = search.policy.counts_repair * max(1.0, targets / 10_000)
        open_ = search.repair(open_, allowed, patience=search.policy.counts_patience)
    search.keep(search.flow(state.hidden, open_) if len(open_) else state.hidden)
    state.move_to(search.pattern())
    # Where propagation left much open, it does not see what a cell is needed for either.
    if not crowded and targets <= _TRIMMED and state.clean():
        run.tell("publishing what is needless")
        open_ = oracle.unproven(state.hidden, run, among=_off_circuits(search), patience=1)
        if len(open_):
            limit, patience = search.cost(search.pattern()), search.policy.counts_patience
            open_ = search.repair(open_, search.policy.counts_repair, limit=limit, patience=patience)
        if not len(open_) or state.cost < search.cost(search.pattern()):
            search.keep(search.flow(state.hidden, open_) if len(open_) else state.hidden)


def _unproven(search: Search, open_: LongArray, vast: bool) -> LongArray:
    """Return what pooled programs leave open or, of a large set, whose programs take long, short moves near each."""
    if vast:
        return search.unproven_nearby(open_)
    return search.oracle.unproven(search.state.hidden, search.run, among=open_, patience=1)


def _off_circuits(search: Search) -> LongArray:
    """Return the targets that circuits of suppressed cells do not prove; all, if other protection levels than exact
    counts are left.
    """
    cell = search.propagation.goals.cell
    if not is_exact(search.system.needs):
        return np.arange(len(cell))
    proven = on_circuits(search.system, search.state.hidden, cell, only=True, sweeps=_PROVING, run=search.run)
    return np.flatnonzero(~proven[cell])


def _is_tangled(system: System, hidden: BoolArray, open_: float) -> bool:
    """Return whether suppressed cells can go both ways, and yet circuits of them do not prove most of what they could.

    Programs may find fractions of moves then, but no whole ones, which proofs of counts need.
    """
    return is_exact(system.needs) and open_ > _TANGLED and _rigid(system, hidden) < _RIGID


def _rigid(system: System, hidden: BoolArray) -> float:
    """Return the share of suppressed cells that go one way only."""
    return float((np.minimum(system.up, system.down)[hidden] < 1).mean()) if hidden.any() else 1.0


def with_circuits(system: System, hidden: BoolArray, cells: Positions, *, run: Run) -> BoolArray:
    """Return the cells of circuits through as many of these cells as can be: whole moves within the bounds.

    Circuits of suppressed cells come first. Where they are long, few of them are within the bounds, and short ones of
    cheap cells, suppressed or not, are taken.
    """
    on = on_circuits(system, hidden, cells, run=run)
    if on[cells].mean() < _FITTING:
        on = on_circuits(system, hidden, cells, loyal=False, run=run)
    return on


def on_circuits(
    system: System,
    hidden: BoolArray,
    cells: Positions,
    *,
    only: bool = False,
    loyal: bool = True,
    sweeps: int = _SWEEPS,
    run: Run,
) -> BoolArray:
    """Return which cells lie on circuits through some, whole moves within the bounds; of ``only`` suppressed cells, if
    asked.

    Suppressed cells are taken before others if ``loyal``, and otherwise like others.

    Cells that are to be suppressed can go both ways, by 1 at least, so that mostly the cells themselves are in each
    other's way: whichever are, are tried again with fewer of them. Of suppressed cells those that go one way come last.
    """
    movable = hidden if only else (np.minimum(system.up, system.down) >= 1) & ~system.never
    left, size = np.unique(cells), len(cells)
    rng = np.random.default_rng(1)
    on = np.zeros(system.n, bool)
    for _ in range(sweeps):
        if not len(left):
            break
        run.check()
        some = np.sort(rng.permutation(left)[:size])
        tie = rng.random(system.n) if only else system.down
        ranking = Ranking.among(system, (hidden | on) & loyal, movable, some, roomy=only, tie=tie)
        basis = circuits(in_order(system, ranking.order), len(some))
        used = basis.some(basis.within(system.down[ranking.order], system.up[ranking.order])).columns
        on[ranking.order[used]] = True
        before = len(left)
        left = left[~on[left]]
        if 2 * (before - len(left)) < len(some):
            size = max(size // 2, 1)
    return on
