"""Controlled redraw: the largest contributors of cells that got too little noise draw again, and nobody else.

ZES(mu) promises each cell its probability, and a hundred cells are then seldom safe all at once. Drawing again with
another seed would throw away what was safe. Here only the n largest contributors of failing cells draw again, from
streams of their own, until all cells are safe that can well be.

What that tells: noise is then drawn *given* that it is enough, an attacker who knows the method knows that |noise| >=
need, and so would the attacker if other seeds were tried until one is safe. It suppresses the less the rarer that is by
chance: of a cell that is safe with probability c only the outer c of the noise is left. So cells are redrawn only if c
is at least `LEAST`, which leaves nearly half of the spread of the sizes, and both directions; for all others there must
be a larger mu.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe
from cellguard.methods.perturb.draw.mu import CellMu, chances
from cellguard.methods.perturb.draw.multipliers import Multipliers, Redrawn
from cellguard.methods.perturb.draw.strata import conditions
from cellguard.methods.perturb.draw.zes import draw_multipliers
from cellguard.run_context import UNWATCHED, Run

LEAST = 0.2


def set_chances(made: Multipliers, tables: Sequence[CalibrationTable]) -> list[CellMu]:
    """Return every sensitive cell with the probability that it is safe, drawn as these multipliers were."""
    options = conditions(replace(made.settings.mu, sigma=made.plan.zes.sigma), made.plan.zes, tables)
    return chances(tables, made.plan.mu_of_units(made.records.units), options)


def redraw(
    made: Multipliers,
    tables: Sequence[CalibrationTable],
    rounds: int,
    *,
    accepted: Collection[tuple[str, str]] = (),
    run: Run = UNWATCHED,
) -> Multipliers:
    """Let the largest contributors of failing cells draw again, for at most so many rounds.

    ``accepted`` cells, as table and cell, may stay as they are.
    """
    likely = {(c.table, c.cell) for c in set_chances(made, tables) if c.probability >= LEAST}
    likely -= {(c.table, c.cell) for c in set_chances(made, tables) if (c.table, c.name) in set(accepted)}
    base, drawn, times = made.base, np.zeros(made.records.units, bool), 0
    now, units = made, _failing(made, tables, likely)
    while len(units) and times < rounds:
        run.check()
        times += 1
        mine = np.zeros(made.records.units, bool)
        mine[units] = True
        new = draw_multipliers(
            made.records, made.plan.zes, made.seed, mu=made.plan.by_unit, only=made.plan.only, purpose=f"redraw {times}"
        )
        base, drawn = np.where(mine, new, base), drawn | mine
        now = replace(made, base=base, attributes={})
        units = _failing(now, tables, likely)
    if not times:
        return replace(made, redrawn=Redrawn(0, 0, 0))
    leaves = now.by_leaf([t.response for t in tables])
    return replace(now, attributes=leaves, redrawn=Redrawn(times, int(drawn.sum()), len(units)))


def _failing(made: Multipliers, tables: Sequence[CalibrationTable], likely: Collection[tuple[str, int]]) -> LongArray:
    """Return the units among the n largest of cells that have too little noise, but well might have enough."""
    units = [np.zeros(0, np.int64)]
    for table in tables:
        unsafe: BoolArray = still_unsafe(needs_of(table), made.totals(table) - table.total)
        cells = [c for c in np.flatnonzero(unsafe).tolist() if (table.name, c) in likely]
        units.append(table.largest.unit[cells, : table.n].ravel())
    there = np.unique(np.concatenate(units))
    there = there[there >= 0]
    return there if made.plan.only is None else there[made.plan.only[there]]
