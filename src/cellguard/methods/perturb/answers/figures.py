"""S_N of many sets of contributors at once: the sets are the parts of a partition, or sums of parts.

As for cells (`sensitivity`): need = p X_1 - q (W - X_1 - ... - X_n), and a set is unsafe if its need is more than its
noise, by the rule that needs most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.cells.sensitivity import in_spite_of, rest_of
from cellguard.rules.limits import NoiseRule


def largest_of(part: LongArray, size: FloatArray, many: int, n: int) -> FloatArray:
    """Return the n largest sizes of each part, 0 where there are fewer; negative parts are none.

    >>> largest_of(np.array([0, 1, 0, -1]), np.array([3.0, 1, 5, 9]), 2, 2).tolist()
    [[5.0, 3.0], [1.0, 0.0]]
    """
    inside = np.flatnonzero(part >= 0)
    order = inside[np.lexsort((-size[inside], part[inside]))]
    home = part[order]
    rank = np.arange(len(order)) - np.searchsorted(home, home)
    top = np.zeros((many, n))
    first = rank < n
    top[home[first], rank[first]] = size[order[first]]
    return top


def largest_of_sums(sums: sp.csr_array, top: FloatArray) -> FloatArray:
    """Return the largest of sums of parts, from those of the parts."""
    row = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
    n = top.shape[1]
    return largest_of(np.repeat(row, n), top[sums.indices].ravel(), sums.shape[0], n)


def unsafe(size: FloatArray, noise: FloatArray, top: FloatArray, rules: Sequence[NoiseRule]) -> BoolArray:
    """Return which sets are unsafe in spite of their noise, by one of the rules."""
    found = np.zeros(len(size), bool)
    for rule in rules:
        rest = rest_of(size, top[:, : rule.n].sum(axis=1))
        found |= in_spite_of(noise, rule.accuracy * top[:, 0] - rule.prior * rest, size)
    return found
