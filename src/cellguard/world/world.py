"""`World`: what lies behind all published cells, as protect, audit and certificate use it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.relations import Relations
from cellguard.table.tableset import TableSet
from cellguard.world.completion import complete, refuse_contradiction
from cellguard.world.constraints import Constraints, constrain_tables
from cellguard.world.knowledge import Knowledge, least_between, listed_bounds

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class World:
    """The distinct cells of a set and, numbered on from them, the latent cells that nobody publishes.

    ``value`` holds a value of every cell: the true one of those that are listed, for the others one that fits them.
    ``lower`` and ``upper`` are the attacker's a-priori bounds. ``moving`` marks the latent cells that witnesses may
    use: fewer make smaller programs, and whatever they prove is proven; only what they refute is not refuted.
    """

    constraints: Constraints
    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    moving: BoolArray

    def __len__(self) -> int:
        return int(self.relations.shape[1])

    def __repr__(self) -> str:
        return f"<World of {len(self.tables)} distinct cells and {self.between} between them>"

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.constraints.tables

    @property
    def relations(self) -> Relations:
        """All relations: one row each, over listed cells and latent cells."""
        return self.constraints.relations

    @property
    def is_thin(self) -> bool:
        """Whether some latent cells stay fixed."""
        return not bool(self.moving.all())

    def thinned(self) -> World:
        """Return the world in which of the cover cells of crossing tables only those with a value move."""
        return replace(self, moving=~self.constraints.crossing | (self.value > 0)[len(self.tables) :])

    def without_crossing(self) -> World:
        """Return the world in which nothing is asked of tables that only cross: what it refutes is refuted."""
        between = ~self.constraints.crossing
        keep = np.concatenate([np.ones(len(self.tables), bool), between])
        gone = abs(self.relations) @ (~keep).astype(float) > 0
        relations = sp.csr_array(self.relations[np.flatnonzero(~gone)][:, np.flatnonzero(keep)])
        constraints = replace(
            self.constraints,
            relations=relations,
            response_key=self.constraints.response_key[between],
            crossing=self.constraints.crossing[between],
            occupied=self.constraints.occupied[keep],
        )
        value, lower, upper = (array[keep] for array in (self.value, self.lower, self.upper))
        return World(constraints, value, lower, upper, np.ones(int(between.sum()), bool))

    @property
    def between(self) -> int:
        """How many latent cells there are."""
        return len(self.constraints.response_key)

    @property
    def open(self) -> tuple[str, ...]:
        """What is not part of any proof, in words."""
        return self.constraints.open

    @property
    def counts_of_response(self) -> tuple[bool, ...]:
        """Which responses, in the order of the responses, are frequencies."""
        kinds = {t.response_key: t.is_count for t in self.tables.tables}
        return tuple(kinds[response_key] for response_key in self.tables.response_keys)

    @cached_property
    def is_count(self) -> BoolArray:
        """Which cells are frequencies."""
        return self.constraints.by_response_key(self.tables.is_count)

    @cached_property
    def never_negative(self) -> BoolArray:
        """Which cells are counts, or sums of weights, and so not below 0 whatever values may be."""
        return self.constraints.by_response_key(self.tables.never_negative)

    @cached_property
    def unit(self) -> FloatArray:
        """One unit of the last decimal in which each cell is, or would be, published."""
        return self.constraints.by_response_key(self.tables.unit)

    @cached_property
    def empty(self) -> BoolArray:
        """The cells of which every reader knows that they are 0."""
        return self.extend(self.constraints.empty, False)

    def extend(self, listed: npt.NDArray[T], between: npt.NDArray[T] | bool | float) -> npt.NDArray[T]:
        """Return one array over all cells from one over the listed ones and a filling for those between."""
        return self.constraints.extend(listed, between)

    def relations_with(self, known: sp.csr_array | None) -> Relations:
        """Return the relations and, below them, sums of listed cells that the attacker has from elsewhere."""
        return self.relations if known is None or not known.shape[0] else with_sums(self.relations, known)


def see_world(tables: TableSet, knowledge: Knowledge, *, run: Run = UNWATCHED) -> World:
    """Return the world behind a set of tables, as an attacker with this knowledge sees it.

    A latent cell is not negative, unless it is of values that may be. A count that readers know not to be empty is at
    least 1.
    """
    constraints = constrain_tables(tables, crossing=knowledge.crossing)
    refuse_contradiction(constraints)
    low, high = listed_bounds(tables, knowledge)
    is_count = constraints.by_response_key(tables.is_count)
    n, between = len(tables), len(constraints.response_key)
    lower = np.concatenate([low, least_between(knowledge, constraints.by_response_key(tables.never_negative)[n:])])
    lower = np.where(constraints.occupied & is_count, np.maximum(lower, 1.0), lower)
    value = np.concatenate([tables.value, complete(constraints, lower[n:], is_count[n:], run=run)])
    lower = np.minimum(lower, value)  # a row may be listed although it counts 0
    return World(constraints, value, lower, np.concatenate([high, np.full(between, np.inf)]), np.ones(between, bool))


def with_sums(relations: Relations, sums: sp.csr_array) -> Relations:
    """Return the relations of a world and, below them, sums of listed cells."""
    wide = sp.csr_array((sums.data, sums.indices, sums.indptr), shape=(sums.shape[0], relations.shape[1]))
    return sp.csr_array(sp.vstack([relations, wide], format="csr"))
