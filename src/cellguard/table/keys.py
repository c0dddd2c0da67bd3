"""Many code columns as one integer key, so that finding a cell is a search in a sorted array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cellguard.arrays import IntArray

Keys = npt.NDArray[np.int64]
_LIMIT = 2**62


def combine(columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int], *, room: int = 1) -> Keys:
    """Return keys that are equal exactly where all columns are; times ``room`` they still fit into 64 bits.

    >>> combine([np.array([0, 1, 1]), np.array([2, 0, 0])], [2, 3]).tolist()
    [2, 3, 3]
    """
    n = len(columns[0]) if columns else 0
    key: Keys = np.zeros(n, np.int64)
    extent = 1
    for column, size in zip(columns, sizes, strict=True):
        if extent * size * room > _LIMIT:
            _, key = np.unique(key, return_inverse=True)
            extent = int(key.max(initial=0)) + 1
        key *= size
        key += column
        extent *= size
    return key


def find(wanted: Keys, known: Keys) -> npt.NDArray[np.intp]:
    """Return for each wanted key its position among the known ones (all different), or -1."""
    if not len(known):
        return np.full(len(wanted), -1, np.intp)
    order = np.argsort(known, kind="stable")
    rank = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    position = order[rank]
    return np.where(known[position] == wanted, position, -1)


def first_repeat(keys: Keys) -> tuple[int, int] | None:
    """Return the positions of the first key that comes again and of its first place, or None."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if not len(again):
        return None
    second = int(order[again + 1].min())
    return int(np.flatnonzero(keys == keys[second])[0]), second


def distinct(columns: Sequence[IntArray], extents: Sequence[int]) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Number the different combinations in order; return the number of each row, and one row of each combination."""
    return number_keys(combine(columns, extents), math.prod(extents))


def number_keys(keys: Keys, room: int) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Number the different keys below ``room`` in order; return the number of each, and one place of each."""
    if room > 4 * len(keys) + 1_000_000:
        _, seen, number = np.unique(keys, return_index=True, return_inverse=True)
        return number.astype(np.int32), seen
    where = np.full(room, -1, np.int32)
    where[keys] = np.arange(len(keys), dtype=np.int32)
    taken = np.flatnonzero(where >= 0)
    seen = where[taken].astype(np.intp)
    where[taken] = np.arange(len(taken), dtype=np.int32)
    return where[keys], seen
