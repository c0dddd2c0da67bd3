"""From the values of a map to totals that no rule finds sensitive, and that tell no large contributor.

Cells with too few contributors get some from their surroundings, the smallest first; then concentrated cells pass on
what is too large, pass after pass. What the printed method leaves open is looked at too: a contributor of 100 that gets
company of 2 and 3 makes a total of 105, which gives the attacker away as well as before. So of each cell that was
changed, the shown total, and the total less what the true runner-up knows to be the attacker's own, must be
``keep_away`` percent away from the true largest value; where they are not, a part of the whole cell is passed on, which
changes no shares. How much is random, since whoever knew the target could divide by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, Positions
from cellguard.errors import NotProtected
from cellguard.geometry.space import Space
from cellguard.methods.maps.algorithms import is_enough, sensitive
from cellguard.methods.maps.capping import Cap, apply_cap, shrink, still_unsafe
from cellguard.methods.maps.capping_kernel import hand_over
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.mapping import Plan
from cellguard.methods.maps.measures import Measures, measure
from cellguard.methods.maps.outlying import Treated, treat_outliers
from cellguard.methods.maps.outlying_kernel import closest
from cellguard.methods.maps.transfers import Transfers
from cellguard.randomness import stream

_PASSES = 100
CLOSE = 10.0  # percent


@dataclass(frozen=True, eq=False)
class Values:
    """A map of values before and after. Confidential.

    ``stuck`` are cells that a rule still finds unsafe, ``close`` those whose total is close to a true contributor;
    ``removed`` were one of both and are no longer shown.
    """

    before: Contributors
    after: Contributors
    treated: Treated
    transfers: Transfers
    passed: float
    passes: int
    stuck: BoolArray
    close: BoolArray
    closeness: float
    removed: BoolArray

    @property
    def mu(self) -> int:
        """The sum of the distances of all contributors that moved."""
        return self.transfers.mu

    @cached_property
    def measures(self) -> Measures:
        """Risk and utility by the number of contributors before; cells whose contributors left the map are not among
        them.
        """
        moved = np.zeros(self.before.cells, bool)
        moved[np.concatenate([self.transfers.source, self.transfers.target])] = True
        kept = np.where(moved | (self.after.count > 0), self.before.count, 0)
        return measure(kept, self.after.count, self.transfers)

    @cached_property
    def lost_value(self) -> float:
        """How much of the total is no longer on the map, since its cell was removed."""
        lost = self.treated.lost or self.removed.any()
        return float(self.before.total.sum() - self.after.total.sum()) if lost else 0.0

    @property
    def why(self) -> str:
        """Explain why the rules still find cells sensitive; blank if they find none."""
        if not self.stuck.any():
            return ""
        if self.passes >= _PASSES:
            return f"after {_PASSES} passes rules still find sensitive cells: what is passed on comes back"
        return (
            "nothing is left besides the largest values, or no other cell has a value to add to; ask for a "
            "min_frequency too, or choose larger hexagons"
        )


def redistribute_values(
    space: Space,
    values: Contributors,
    caps: Sequence[Cap],
    plan: Plan | None,
    *,
    keep_away: float = CLOSE,
    decimals: int = 9,
    seed: int = 0,
) -> Values:
    """Make a map of values safe by all rules; ``plan`` has the least number of contributors, if there is one.

    With ``keep_away`` 0 totals may come as close to a true contributor as they do in the literature; within 10 percent
    they are still told of. Totals are shown with so many ``decimals``: rounding may bring them close again.
    """
    moved, treated, transfers = _fill(space, values, plan)
    after, passed, passes = moved, 0.0, 0
    away = keep_away / 100 * (1 + stream(seed, "map", "away").uniform(values.cells))
    while passes < _PASSES:
        before_pass = passed
        for cap in caps:
            after, more = apply_cap(space, after, cap)
            passed += more
        if keep_away > 0:
            close = estimates(values, after, keep_away, decimals)
            # Farther in each pass, lest two cells pass the same amount to and fro.
            below = (1 - away) * values.top(1) * 0.95**passes
            after, more = shrink(space, after, np.divide(below, after.total, out=np.ones(len(below)), where=close))
            passed += more
        if passed == before_pass:
            break
        passes += 1
    closeness = keep_away or CLOSE
    stuck, close = still_unsafe(after, caps), estimates(values, after, closeness, decimals)
    return Values(values, after, treated, transfers, passed, passes, stuck, close, closeness, stuck & False)


def estimates(before: Contributors, after: Contributors, percent: float, decimals: int = 9) -> BoolArray:
    """Return which changed cells show a total that is within ``percent`` of the true largest value.

    So does the total less the second largest value, which is what its contributor can work out.
    """
    largest, second, shown = before.top(1), before.top(2), np.round(after.total, decimals)
    dust = 1e-9 * np.maximum(before.total, 1.0)
    changed = (before.count > 0) & (after.count > 0) & (np.abs(after.total - before.total) > dust)
    near = [np.abs(estimate - largest) <= percent / 100 * largest for estimate in (shown, shown - second)]
    return changed & (largest > 0) & np.logical_or(*near)


def _fill(space: Space, values: Contributors, plan: Plan | None) -> tuple[Contributors, Treated, Transfers]:
    """Treat outliers, and give every cell enough contributors."""
    if plan is None:
        return values, Treated(values.count, np.zeros(values.cells, bool), 0, Transfers.none()), Transfers.none()
    treated = treat_outliers(
        space, values.count, plan.threshold, treatment=plan.outliers, apart=plan.distance, largest=plan.largest
    )
    values, early = _without_outliers(space, values, treated, plan)
    if not len(values.cell):
        raise NotProtected("nothing is left of the map: all its cells are outliers; choose larger hexagons")
    if not is_enough(values.count, plan.threshold):
        raise NotProtected(
            f"the map has too few contributors for {plan.threshold} in every cell; choose larger hexagons"
        )
    needy = sensitive(values.count, plan.threshold)
    needy = needy[np.lexsort((needy, values.count[needy]))]
    rows = hand_over(
        space.start,
        space.neighbours,
        space.cells,
        space.cell_of,
        values.start,
        values.value,
        values.count,
        needy,
        plan.threshold,
    )
    moves = Transfers.of(values.cell[rows[0]], rows[1], np.ones(rows.shape[1]), rows[2])
    done = _moved(values, rows[0], rows[1])
    if sensitive(done.count, plan.threshold).size:
        raise NotProtected("some cells cannot be reached from any with contributors to spare")
    return done, treated, early.then(moves)


def _without_outliers(
    space: Space, values: Contributors, treated: Treated, plan: Plan
) -> tuple[Contributors, Transfers]:
    """Return the values without those of outliers, or with them elsewhere: the smallest goes to the closest cell."""
    gone = np.flatnonzero(treated.outliers)
    if not len(gone):
        return values, Transfers.none()
    stay = np.where(treated.outliers, 0, values.count)
    if plan.outliers == "remove" or not stay.any():
        kept = ~treated.outliers[values.cell]
        return Contributors.of(values.cell[kept], values.value[kept], values.cells), Transfers.none()
    rows = closest(space.start, space.neighbours, space.cells, space.cell_of, stay, gone, values.count[gone])
    place = np.arange(rows.shape[1]) - np.repeat(np.cumsum(values.count[gone]) - values.count[gone], values.count[gone])
    records = (values.start + values.count - 1)[rows[0]] - place
    return _moved(values, records, rows[1]), Transfers.of(rows[0], rows[1], np.ones(rows.shape[1]), rows[2])


def _moved(values: Contributors, records: Positions, target: Positions) -> Contributors:
    cell = values.cell.copy()
    cell[records] = target
    return Contributors.of(cell, values.value, values.cells)


def without_unresolved(done: Values) -> Values:
    """Return the map without the cells that are stuck or close: their values are lost to it."""
    gone = done.stuck | done.close
    kept = ~gone[done.after.cell]
    after = Contributors.of(done.after.cell[kept], done.after.value[kept], done.after.cells)
    none = np.zeros(after.cells, bool)
    return replace(done, after=after, stuck=none, close=none, removed=gone)
