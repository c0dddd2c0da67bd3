"""`Rounded`: what is published of every distinct cell, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.methods.rounding.controlled import Search, round_controlled
from cellguard.methods.rounding.draws import uniforms
from cellguard.methods.rounding.plan import Plan
from cellguard.methods.rounding.small_counts import round_small_counts, small_count_box
from cellguard.methods.rounding.values import Box, box_of, conventional, random
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.printed import rounded as to_units


@dataclass(frozen=True, eq=False)
class Rounded:
    """The published value of each distinct cell in grains, and which cells are hidden. Confidential until released.

    ``search`` is how the search for a controlled rounding ended.
    """

    plan: Plan
    value: LongArray
    hidden: BoolArray
    search: Search | None = None

    def hiding(self, cells: BoolArray) -> Rounded:
        """Return the same with further cells hidden."""
        return replace(self, hidden=self.hidden | (cells & self.plan.shown))

    @cached_property
    def box(self) -> Box:
        """Which true values the published value of each cell leaves open by itself."""
        if self.plan.kind == "small_counts":
            return Box(*small_count_box(self.plan, self.value))
        return box_of(self.plan, self.value, self.hidden)

    @cached_property
    def changed(self) -> LongArray:
        """How far each shown value is from the true one, in grains; 0 where nothing is shown."""
        return np.where(self.seen, self.value - self.plan.value, 0)

    @property
    def seen(self) -> BoolArray:
        """The cells of which a value is published."""
        return self.plan.shown & ~self.hidden

    @cached_property
    def gaps(self) -> LongArray:
        """What is left of each relation of which all cells are seen if published values are put into it."""
        relations = self.plan.tables.relations
        rows = np.flatnonzero(abs(relations) @ (~self.seen).astype(float) == 0)
        return np.asarray(relations[rows].astype(np.int64) @ self.value, np.int64)

    @property
    def is_additive(self) -> bool:
        """Whether the published values add up wherever all of a sum are published."""
        return not self.gaps.any()

    def release(self) -> Release:
        """Return the tables as published."""
        tables, grains = self.plan.tables, self.plan.grains
        released = []
        for table, cells in zip(tables.tables, tables.cells_of, strict=True):
            if table.release != "here":
                continue
            rows = np.flatnonzero(~table.unpublished)
            at = cells[rows]
            exact = to_units(self.value[at].tolist(), grains.decimals[at].tolist(), table.decimals)
            gone = self.hidden[at]
            units: Sequence[int | None] = [None if g else x for g, x in zip(gone.tolist(), exact, strict=True)]
            codes = tuple(
                np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True)
            )
            names = tuple(d.name for d in table.dimensions)
            head = (table.name, names, codes, units, gone, table.response, table.population, table.decimals)
            released.append(ReleasedTable(*head))
        return Release.of(released, {d.name: d for table in tables.tables for d in table.dimensions})


def round_cells(plan: Plan, seed: int, *, first: bool = False, run: Run = UNWATCHED) -> Rounded:
    """Round every shown cell as its plan says; cells that are kept stay as they are.

    Of controlled roundings ``first`` takes the first that adds up.
    """
    if plan.kind == "small_counts":
        return Rounded(plan, round_small_counts(plan, seed, run), plan.small)
    if plan.kind == "controlled":
        found, search = round_controlled(plan, seed, plan.steps, first=first, run=run)
        return Rounded(plan, found, plan.small, search)
    moved = plan.shown & ~plan.kept & (plan.base > 1)
    if plan.kind == "conventional":
        value = conventional(plan.value, plan.base)
    else:
        off = moved & (plan.value % plan.base != 0)
        value = random(plan.value, plan.base, uniforms(plan.tables, seed, "rounding", off))
    return Rounded(plan, np.where(moved, value, plan.value), plan.small)
