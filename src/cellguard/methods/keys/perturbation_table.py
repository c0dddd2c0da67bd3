"""`PerturbationTable`: which noise a count gets for which cell key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError

FINE = 2**32  # the number of keys that noise is looked up by, unless the records' own keys are used as they are
_DUST = 1e-9  # of one key, by which a printed bound may miss the key that it means


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """A row per count, from 0 on: changes in the order of keys, and up to which share of all keys each of them goes.

    Counts beyond the last row take the last ``period`` rows by turns. ``name`` says where the table is from.

    >>> table = PerturbationTable((np.array([0]), np.array([-1, 1])), (np.array([1.0]), np.array([0.5, 1.0])), "coin")
    >>> table.noise(np.array([0, 1, 7]), np.array([3, 3, 12]), 16).tolist(), table.variance(1)
    ([0, -1, 1], 1.0)
    """

    changes: tuple[LongArray, ...]
    upper: tuple[FloatArray, ...]
    name: str
    period: int = 1

    def __post_init__(self) -> None:
        for count, (changes, upper) in enumerate(zip(self.changes, self.upper, strict=True)):
            row = f"{self.name}: the row of count {count}"
            if not len(changes) or len(changes) != len(upper):
                raise InputError(f"{row} is empty; give it one line at least")
            if (np.diff(upper, prepend=0.0) < 0).any() or abs(upper[-1] - 1.0) > 1e-6:
                raise InputError(f"{row}: the upper ends of probabilities must rise to 1")
            if (changes + count < 0).any():
                raise InputError(f"{row} has a change that makes the count negative")
        if not self.changes or (self.changes[0] != 0).any():
            raise InputError(f"{self.name}: a count of 0 must stay 0: a true zero has no records, and so no key")
        if not 1 <= self.period < len(self.changes):
            raise InputError(f"{self.name}: there must be rows for the count 0 and for 1 at least")

    @property
    def last(self) -> int:
        """The count of the last row."""
        return len(self.changes) - 1

    @cached_property
    def deviation(self) -> int:
        """The largest change, up or down."""
        return max(int(np.abs(row).max()) for row in self.changes)

    def rows(self, counts: LongArray) -> LongArray:
        """Return the row of each count."""
        beyond = self.last - self.period + 1 + (counts - self.last - 1) % self.period
        return np.where(counts <= self.last, counts, beyond)

    def bounds(self, count: int, keys: int) -> LongArray:
        """Return how many of the keys 0, 1, ..., ``keys`` - 1 lie below the upper end of each change."""
        bounds = np.ceil(self.upper[count] * keys - _DUST).astype(np.int64)
        bounds[-1] = keys
        return bounds

    def noise(self, counts: LongArray, key: LongArray, keys: int) -> LongArray:
        """Return the change of each count by its key, one of ``keys`` whole numbers from 0 on."""
        steps, changes = self._flat(keys)
        place = np.searchsorted(steps, self.rows(counts) * keys + key, side="right")
        return changes[place]

    def _flat(self, keys: int) -> tuple[LongArray, LongArray]:
        steps = [count * keys + self.bounds(count, keys) for count in range(len(self.changes))]
        return np.concatenate(steps), np.concatenate(self.changes)

    def chances(self, keys: int = FINE) -> FloatArray:
        """Return the exact probability of each change: a row per count, a column per change from the lowest to the
        highest.
        """
        chances = np.zeros((len(self.changes), 2 * self.deviation + 1))
        for count, changes in enumerate(self.changes):
            shares = np.diff(self.bounds(count, keys), prepend=0) / keys
            np.add.at(chances[count], changes + self.deviation, shares)
        return chances

    def mean(self, count: int) -> float:
        """Return the mean change of a count."""
        row = int(self.rows(np.array([count]))[0])
        return float(self._shares(row) @ self.changes[row])

    def variance(self, count: int) -> float:
        """Return the variance of the change of a count."""
        row = int(self.rows(np.array([count]))[0])
        return float(self._shares(row) @ (self.changes[row] - self.mean(count)) ** 2)

    def _shares(self, row: int) -> FloatArray:
        return np.diff(self.upper[row], prepend=0.0)
