"""Descent: suppress everything, and publish what is needless, the dearest cells first, with exact looks on the way.

Where everything is suppressed, all is safe that can be. What propagation finds needless is published at once; it does
not see all that determines cells, so cells are put on circuits with room for a part of their protection levels (see
`elimination`), and the few that this leaves open on circuits with room for all of them. That is the first safe pattern,
after seconds; joint flows within it, for what was open, make it cheaper.

Then tiers of it are published again, dear cells first, as far as propagation and all cuts so far allow. An exact look
after each tier finds what that breaks while all cheaper cells are still suppressed: it is little, and few cells mend
it. Repairing a pattern that is thin from the beginning takes many rounds instead, and each of its cells in turn is then
found to need others. Every tier that is served whole ends with a safe pattern. Where programs of all suppressed cells
are slow, tiers are looked at roughly, by the relations near each protection level, and only the last one exactly. At
last joint flows for all protection levels within the pattern show what none of them uses.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.methods.suppress.engines.effort import QUICK
from cellguard.methods.suppress.engines.elimination import with_room
from cellguard.methods.suppress.engines.search import Search


def first_pattern(search: Search, start: BoolArray | None) -> None:
    """Make the first safe pattern; cells of ``start`` are published last."""
    system, state, run = search.system, search.state, search.run
    run.tell("constructing a pattern")
    run.check()
    state.move_to(~system.never)
    if start is not None:
        state.clean(np.flatnonzero(state.hidden & ~system.hidden & ~start))
    state.clean(_dearest_first(search))
    goals, need = search.propagation.goals, np.zeros(system.n)
    np.maximum.at(need, goals.cell, goals.need)
    share = search.policy.vast_share if search.oracle.is_vast(state.hidden) else search.policy.circuit_share
    state.move_to(with_room(system, state.hidden, need, share, run=run))
    open_ = search.oracle.unproven(state.hidden, run, patience=1, split=True)
    if search.oracle.vast or not len(open_):
        search.keep(search.flow(state.hidden, open_) if len(open_) else state.hidden)
        return
    thin = state.hidden
    _keep_wide(search, open_)
    search.keep(search.flow(thin, open_, within=search.pattern()))


def _keep_wide(search: Search, open_: LongArray) -> None:
    """Make a dear pattern safe at once: what is open is put on circuits with room for all of its protection level.

    What pooled programs do not prove then, single ones look at, before flows serve it.
    """
    system, state, goals, need = search.system, search.state, search.propagation.goals, np.zeros(search.system.n)
    np.maximum.at(need, goals.cell[open_], goals.need[open_])
    state.move_to(with_room(system, state.hidden, need, 1.0, run=search.run))
    left = search.oracle.unproven(state.hidden, search.run, among=open_, patience=1)
    left = search.oracle.look(state.hidden, left, search.run).open if len(left) else left
    search.keep(search.flow(state.hidden, left) if len(left) else state.hidden)


def publish_tiers(search: Search) -> None:
    """Suppress everything again, publish ever cheaper cells, tier by tier, and keep each pattern that is safe and
    cheaper.

    A tier leaves cells suppressed, whatever they are needed for, which together are worth a share of what propagation
    alone would suppress. Not so in large sets, and in five dimensions, where tiers take minutes and save nothing.
    """
    system, state = search.system, search.state
    if system.matrix.nnz > search.policy.threaded_terms * system.n or search.oracle.is_vast(search.pattern()):
        return
    state.move_to(~system.never)
    order = _dearest_first(search)
    below = np.cumsum(system.cost[order][::-1])[::-1] - system.cost[order]
    rank = np.full(system.n, -1)
    rank[order] = np.arange(len(order))
    state.clean(order)
    thin = state.cost
    state.move_to(~system.never)
    large, open_ = search.oracle.is_large(search.pattern()), np.zeros(0, np.int64)
    for share in search.policy.quick_tiers if search.effort is QUICK else search.policy.tiers:
        cells = _dearest_first(search)
        state.clean(cells[rank[cells] <= int((below > share * thin).sum())])
        open_ = _roughly(search) if large else search.prove_or_repair(search.policy.tier_repair * search.size)
        if not large and not len(open_):
            search.keep(state.hidden)
        search.report_progress("descending")
    if large:
        open_ = search.prove_or_repair(search.policy.tier_repair * search.size, patience=search.policy.patient_rounds)
    if state.cost < search.cost(search.pattern()):
        search.keep(search.flow(state.hidden, open_) if len(open_) else state.hidden)


def _roughly(search: Search) -> LongArray:
    """Serve by cuts what a tier of a large system broke, as far as what is near it tells; return what is left."""
    state, oracle, run = search.state, search.oracle, search.run
    open_ = oracle.unproven(state.hidden, run, patience=1, rough=True)
    for _ in range(search.policy.rough_rounds):
        look = oracle.look(state.hidden, open_, run, rough=True)
        open_ = look.open
        if not look.cuts:
            break
        search.watch(look.cuts)
        run.left(len(open_), len(search.propagation.goals.cell), "protection levels to repair")
        run.check()
    return open_


def _dearest_first(search: Search) -> Positions:
    """Return the present secondaries, the dearest first; of those that cost the same, the largest: they are totals."""
    system = search.system
    cells = np.flatnonzero(search.state.hidden & ~system.hidden)
    return cells[np.lexsort((-system.down[cells], -system.cost[cells]))]
