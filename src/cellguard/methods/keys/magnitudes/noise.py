"""The noise of sums: for each of the largest contributions a unit, a change by the key, and no sum below 0.

Let x_1 >= x_2 >= ... be the largest contributions of a cell with the sum X (or one stand-in for them: its mean, range
or sum), and X_0 = X. The j-th part is

    d_j = min(epsilon_j m(x_j) x_j, X_(j-1)),   X_j = max(X_(j-1) + sign(v_j) (mu + |v_j|) d_j, 0),

where v_j is looked up for X_(j-1) / d_j units with the j-th key, and mu (of the first part of sensitive cells only)
keeps what is published away from the truth. With separation, values below the point z = sqrt(V) / (m sqrt(sum of
squared epsilons)) have units of 1 and a table of their own; V is that table's variance.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.keys.keyed_hash import keyed_hash
from cellguard.methods.keys.magnitudes.multiplier import Multiplier
from cellguard.methods.keys.magnitudes.noise_table import ALL, EVEN, ODD, SMALL, NoiseTable
from cellguard.methods.keys.record_keys import Secret

Scaling = Literal["top_contr", "mean", "range", "sum"]
_FINE = 2.0**53


@dataclass(frozen=True, eq=False)
class Noise:
    """How sums get noise. ``epsilon`` has a factor for each contribution that is looked at; ``mu`` is for sensitive
    cells; ``smooth`` spreads changes evenly over a step.
    """

    table: NoiseTable
    multiplier: Multiplier
    scaling: Scaling
    epsilon: tuple[float, ...]
    mu: float
    smooth: bool

    @cached_property
    def point(self) -> float:
        """The value below which noise is that of small values; 0 without separation."""
        if not self.table.separated:
            return 0.0
        squares = sum(e * e for e in self.epsilon)
        return float(np.sqrt(self.table.variance(SMALL)) / (np.sqrt(squares) * self.multiplier.small))

    def kinds(self, number: LongArray) -> LongArray:
        """Return which of the table's rows cells have by their number of contributors: the place in `names`."""
        return number % 2 if self.table.parity else np.zeros(len(number), np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of rows: for all numbers of contributors, or for even and odd ones, and for small values."""
        return (*((EVEN, ODD) if self.table.parity else (ALL,)), SMALL)

    def unit(self, size: FloatArray, left: FloatArray, part: int) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Return the unit of the noise of a contribution, whether it is small, and whether it then has no noise.

        ``left`` is the sum with the noise of the parts before.
        """
        epsilon = self.epsilon[part]
        small = size < self.point
        unit = np.where(small, 1.0, epsilon * self.multiplier.share(size) * size)
        over = left < unit
        unit = np.where(over, left, unit)
        tiny = over & (left < self.point * self.multiplier.small * max(epsilon, 1e-9))
        unit = np.where(tiny, 1.0, unit)
        nothing = (small | tiny) & (part > 0)
        return unit, small | tiny, nothing

    def changed(self, change: FloatArray, sensitive: BoolArray) -> FloatArray:
        """Return changes with what sensitive cells have on top of them."""
        return change + np.where(sensitive, self.mu, 0.0) * np.where(change >= 0, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class Sums:
    """What noise needs to know of distinct cells: the sum, the number of contributors, the sizes that noise is in
    proportion to (a column per part), the key, and whether a cell is sensitive.
    """

    value: FloatArray
    number: LongArray
    sizes: FloatArray
    key: LongArray
    sensitive: BoolArray


def parts(sums: Sums, noise: Noise, keys: FloatArray) -> FloatArray:
    """Return the noise of each cell, a column per part; ``keys`` has a number from 0 to below 1 for each."""
    left = sums.value.copy()
    found = np.zeros_like(sums.sizes)
    kinds = noise.kinds(sums.number)
    for part in range(len(noise.epsilon)):
        unit, small, nothing = noise.unit(sums.sizes[:, part], left, part)
        none = nothing | (unit <= 0) | (sums.value == 0)
        which = np.where(small, len(noise.names) - 1, kinds)
        change = np.zeros(len(left))
        for place, name in enumerate(noise.names):
            at = np.flatnonzero((which == place) & ~none)
            if len(at):
                rows = noise.table.kinds[name]
                change[at] = rows.quantile(left[at] / unit[at], keys[at, part], smooth=noise.smooth)
        moved = noise.changed(change, sums.sensitive & (part == 0)) * unit
        found[:, part] = np.where(none, 0.0, np.maximum(moved, -left))
        left = left + found[:, part]
    return found


def keys_of(sums: Sums, secret: Secret, response: str, count: int, *, same_key: bool) -> FloatArray:
    """Return numbers from 0 to below 1 for each cell, a column per part.

    ``hashed``: a keyed hash of key, number of contributors and part; each response has hashes of its own. ``plain``:
    the key as a fraction; for each further part its first decimal goes to the end, for the first too unless
    ``same_key``.
    """
    columns = []
    if secret.lookup == "plain":
        key = sums.key
        for part in range(count):
            if part or not same_key:
                key = (key * 10) % secret.modulus + (key * 10) // secret.modulus
            columns.append(np.minimum(key / secret.modulus, np.nextafter(1.0, 0.0)))
        return np.stack(columns, axis=1)
    own = hashlib.blake2b(secret.of("sums") + response.encode(), digest_size=16).digest()
    for part in range(count):
        hashed = keyed_hash(own, sums.key, sums.number * 8 + part)
        columns.append((hashed >> np.uint64(11)).astype(float) / _FINE)
    return np.stack(columns, axis=1)


def sizes_of(shares: sp.csr_array, scaling: Scaling, count: int) -> FloatArray:
    """Return what noise is in proportion to, a row per cell; ``shares`` has a column per contributor.

    The range of a single contribution is that contribution: else it would have no noise at all.
    """
    start, amount = shares.indptr, np.asarray(shares.data, float)
    number = np.diff(start)
    cell = np.repeat(np.arange(len(number)), number)
    order = np.lexsort((-amount, cell))
    ranked = amount[order]
    if scaling == "top_contr":
        sizes = np.zeros((len(number), count))
        rank = np.arange(len(amount)) - start[cell]
        top = rank < count
        sizes[cell[top], rank[top]] = ranked[top]
        return sizes
    total: FloatArray = np.bincount(cell, amount, len(number)).astype(float)
    if scaling == "range":
        some = number > 0
        most, least = np.zeros(len(number)), np.zeros(len(number))
        most[some], least[some] = ranked[start[:-1][some]], ranked[start[1:][some] - 1]
        total = np.asarray(np.where(number > 1, most - least, most), float)
    elif scaling == "mean":
        total = np.asarray(total / np.maximum(number, 1), float)
    return np.asarray(total[:, None], float)
