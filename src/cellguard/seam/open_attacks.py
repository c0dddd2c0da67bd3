"""What no audit of a linked set looks at, whatever its method: ties between tables, and tables that are not there."""

from __future__ import annotations

import numpy as np

from cellguard.errors import listing
from cellguard.seam.verdict import NotChecked
from cellguard.table.populations import uncrossed, unjudged
from cellguard.table.tableset import TableSet
from cellguard.world.world import World


def open_ties(world: World) -> tuple[NotChecked, ...]:
    """Return what could tie cells together, but is not part of the proof: see docs/explanation/threat-model.md."""
    found = []
    if world.constraints.accepted:
        who = (
            f"Somebody who uses that several tables come from one cover table: {'; '.join(world.constraints.accepted)}."
        )
        found.append(NotChecked("crossing", "crossing tables", who))
    kinds = {(p, c) for (_, p), c in zip(world.tables.response_keys, world.counts_of_response, strict=True)}
    several = any(len(clusters.rooms) > 1 for clusters in world.constraints.responses)
    # Of one table that groups its codes twice, readers work out values that no row shows, and who is there.
    several |= not np.array(world.counts_of_response)[world.constraints.response_key].all()
    if several and any((p, not c) in kinds for p, c in kinds):
        who = "Somebody who uses that the counts and the values of several tables come from the same respondents."
        found.append(NotChecked("counts_and_values", "counts and values of several tables together", who))
    return tuple(found)


def open_differences(tables: TableSet) -> tuple[NotChecked, ...]:
    """Return the differences of overlapping populations that no table of the set has, so that no rule judged them."""
    open_ = [f"{d.larger} without {d.smaller}" for d in unjudged(tables.tables)]
    if not open_:
        return ()
    cure = "give it as a table with `publish: nothing`"
    who = f"Somebody who subtracts a table from one about more respondents: {listing(open_, 5)} ({cure})."
    return (NotChecked("differences", "differences of populations", who),)


def open_latent(world: World) -> tuple[NotChecked, ...]:
    """Return the crossing tables that no table of the set has, and ready-made tables with latent cells them."""
    open_ = [
        f"{listing(response_key.tables, 5)} (by {', '.join(response_key.by)})"
        for response_key in uncrossed(world.tables.tables)
    ]
    for clusters in world.constraints.responses:
        own = [t for t in world.tables.tables if t.response_key == clusters.response_key]
        ready = clusters.response_key in world.tables.ready_made and all(t.release != "fitted" for t in own)
        if ready and not open_ and any((room.cell >= len(world.tables)).any() for room in clusters.rooms):
            open_.append(f"{listing([t.name for t in own], 5)} (by parts that no code names)")
    if not open_:
        return ()
    cure = "give the crossing table with `publish: nothing`, or publish fewer tables in one job"
    who = f"Somebody who works out latent cells, which several tables sum and none lists: {listing(open_, 3)} ({cure})."
    return (NotChecked("latent", "cells that no table lists (latent cells)", who),)
