"""`Transfers`: which units went from where to where, and how far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import LongArray


@dataclass(frozen=True, eq=False)
class Transfers:
    """Units that were moved: from cell ``source`` to cell ``target``, so many ``units``, so many ``steps`` far each.

    >>> one = Transfers.of([0], [1], [2], [3])
    >>> one.mu, one.units_moved, one.change(2).tolist()
    (6, 2, [-2, 2])
    """

    source: LongArray
    target: LongArray
    units: LongArray
    steps: LongArray

    @classmethod
    def of(cls, *columns: object) -> Transfers:
        """Return transfers from four columns of whole numbers."""
        source, target, units, steps = (np.asarray(column, np.int64) for column in columns)
        return cls(source, target, units, steps)

    @classmethod
    def none(cls) -> Transfers:
        """Return no transfers at all."""
        return cls.of([], [], [], [])

    def __len__(self) -> int:
        return len(self.units)

    @property
    def mu(self) -> int:
        """The sum of the distances of all moved units."""
        return int(self.units @ self.steps)

    @property
    def units_moved(self) -> int:
        """How many units were moved."""
        return int(self.units.sum())

    def change(self, cells: int) -> LongArray:
        """Return by how much the count of each cell changes."""
        gained = np.bincount(self.target, self.units, cells) - np.bincount(self.source, self.units, cells)
        return gained.astype(np.int64)

    def then(self, later: Transfers) -> Transfers:
        """Return these transfers and later ones."""
        names = ("source", "target", "units", "steps")
        return Transfers.of(*(np.concatenate([getattr(self, name), getattr(later, name)]) for name in names))
