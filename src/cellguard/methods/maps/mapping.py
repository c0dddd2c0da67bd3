"""From the counts of a map to counts of at least the threshold: outliers first, then one of the algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.errors import InputError, NotProtected
from cellguard.geometry.space import Space
from cellguard.methods.maps.algorithms import Order, algorithm_named, is_enough, optimal, sensitive
from cellguard.methods.maps.measures import Measures, measure
from cellguard.methods.maps.outlying import Treated, Treatment, treat_outliers
from cellguard.methods.maps.transfers import Transfers


@dataclass(frozen=True, slots=True)
class Plan:
    """How a map of counts is redistributed; ``apart`` is the outliers' distance, the threshold if None."""

    threshold: int = 3
    algorithm: str = "group"
    outliers: Treatment = "remove"
    apart: int | None = None
    largest: int = 2
    order: Order = "smallest"

    def __post_init__(self) -> None:
        if self.threshold < 2:
            raise InputError("the threshold of a map must be 2 or more: with 1 no cell is sensitive")
        algorithm_named(self.algorithm)

    @property
    def distance(self) -> int:
        """How many steps an outlier is from all other data at the least."""
        return self.threshold if self.apart is None else self.apart


@dataclass(frozen=True, eq=False)
class Redistribution:
    """A map before and after: ``filled`` are the transfers that raised the sensitive cells. Confidential."""

    space: Space
    before: LongArray
    plan: Plan
    treated: Treated
    filled: Transfers

    @property
    def after(self) -> LongArray:
        """The counts as they may be shown."""
        return self.treated.count + self.filled.change(len(self.before))

    @cached_property
    def transfers(self) -> Transfers:
        """All units that moved, those of outliers included."""
        return self.treated.transfers.then(self.filled)

    @property
    def mu(self) -> int:
        """The sum of the distances of all moved units."""
        return self.transfers.mu

    @property
    def lost(self) -> int:
        """How many records are no longer on the map, since they were outliers."""
        return self.treated.lost

    @property
    def sensitive(self) -> Positions:
        """The cells with fewer records than the threshold, outliers included."""
        return sensitive(self.before, self.plan.threshold)

    @cached_property
    def least(self) -> int:
        """The smallest mu that any algorithm could have, with the same outliers."""
        if self.plan.algorithm == "optimal":
            return self.mu
        return self.treated.transfers.mu + optimal(self.space, self.treated.count, self.plan.threshold).mu

    @cached_property
    def measures(self) -> Measures:
        """Risk and utility by original count; cells that were removed are not among them."""
        removed = self.treated.outliers & (self.plan.outliers != "redistribute")
        return measure(np.where(removed, 0, self.before), self.after, self.transfers)


def redistribute(space: Space, count: LongArray, plan: Plan = Plan()) -> Redistribution:  # noqa: B008
    """Raise every cell that has records to the threshold, with records from cells nearby.

    Raises `NotProtected` if the records do not suffice, or if all of them are outliers.

    >>> line = Space.of_pairs(4, [(0, 1), (1, 2), (2, 3)])
    >>> done = redistribute(line, np.array([1, 2, 9, 0]))
    >>> done.after.tolist(), done.mu
    ([3, 3, 6, 0], 5)
    """
    count = np.asarray(count, np.int64)
    if (count < 0).any():
        raise InputError("a count is below 0; counts are whole numbers from 0")
    treated = treat_outliers(
        space, count, plan.threshold, treatment=plan.outliers, apart=plan.distance, largest=plan.largest
    )
    if not treated.count.any():
        raise NotProtected(
            "nothing is left of the map: all its cells are outliers; choose larger hexagons, or a smaller distance of "
            "outliers"
        )
    filled = algorithm_named(plan.algorithm)(space, treated.count, plan.threshold, plan.order)
    return Redistribution(space, count, plan, treated, filled)


def can_be_filled(space: Space, count: LongArray, plan: Plan) -> bool:
    """Return whether the records that are no outliers suffice for the threshold in every cell."""
    treated = treat_outliers(
        space, count, plan.threshold, treatment=plan.outliers, apart=plan.distance, largest=plan.largest
    )
    return is_enough(treated.count, plan.threshold)
