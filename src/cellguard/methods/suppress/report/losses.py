"""What suppressing costs: cells and value by level of the hierarchies, and the dearest single cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.table.pattern import Pattern
from cellguard.table.table import Table


@dataclass(frozen=True, slots=True)
class LevelLoss:
    """What is suppressed of one combination of levels, say all sections by all regions.

    ``value`` and the suppressed values are sums of absolute values, so that a loss is never a gain. Cells that the
    table does not show are not counted.
    """

    level: tuple[int, ...]
    cells: int
    primary: int
    secondary: int
    value: float
    primary_value: float
    secondary_value: float

    @property
    def hidden(self) -> int:
        """How many cells are suppressed."""
        return self.primary + self.secondary

    @property
    def hidden_value(self) -> float:
        """What they are worth."""
        return self.primary_value + self.secondary_value


def losses_by_level(pattern: Pattern, number: int) -> list[LevelLoss]:
    """Return the losses of one table, by its position in the set; the coarsest levels come first.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    >>> [(row.level, row.cells, row.hidden_value) for row in losses_by_level(cg.suppress(needs).pattern, 0)]
    [((0,), 1, 0.0), ((1,), 3, 50.0)]
    """
    table, cells = pattern.tables.tables[number], pattern.tables.cells_of[number]
    shown = ~table.unpublished
    levels, group = np.unique(_levels(table)[shown], axis=0, return_inverse=True)
    many, worth = len(levels), np.abs(table.value[shown])

    def both(mask: npt.NDArray[np.bool_]) -> tuple[list[int], list[float]]:
        here = group.ravel()[mask]
        return np.bincount(here, minlength=many).tolist(), np.bincount(here, worth[mask], many).tolist()

    primary = pattern.primary[cells][shown]
    sums = [both(np.ones(len(worth), bool)), both(primary), both(pattern.secondary[cells][shown] & ~primary)]
    counts, values = zip(*sums, strict=True)
    losses = [
        LevelLoss(tuple(level), *count, *value)
        for level, count, value in zip(
            levels.tolist(), zip(*counts, strict=True), zip(*values, strict=True), strict=True
        )
    ]
    return sorted(losses, key=lambda loss: (sum(loss.level), loss.level))


def level_name(depth: int) -> str:
    """Name a level of a dimension: its total, or how deep it is."""
    return f"level {depth}" if depth else "total"


def dearest(pattern: Pattern, most: int = 10) -> npt.NDArray[np.intp]:
    """Return the suppressed distinct cells of the largest value, largest first; ties in the order of the cells."""
    hidden = np.flatnonzero(pattern.hidden & ~pattern.unpublished)
    worth = np.abs(pattern.tables.value[hidden])
    return hidden[np.argsort(-worth, kind="stable")[:most]]


def _levels(table: Table) -> npt.NDArray[np.int32]:
    return np.stack([d.level[c] for d, c in zip(table.dimensions, table.codes, strict=True)], axis=1)
