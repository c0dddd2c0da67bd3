"""`Rows`: the 0/1 rows of many tables over the same unknowns, a layer per table.

A table is sums of the parts of a partition. What it needs to keep is the part of each unknown, so that a product with
all rows takes one look at each unknown per table, however many cells of the table an unknown is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray

Ints = np.ndarray[Any, np.dtype[np.int32]]
_DENSE = 4_000_000  # pairs of parts up to which their common weight is a dense table


@dataclass(frozen=True, eq=False)
class _Layer:
    """The rows of one table; ``part`` is the part of each unknown, the last of all for those in none."""

    part: np.ndarray[Any, Any]
    sums: sp.csr_array


@dataclass(frozen=True, eq=False)
class Rows:
    """The matrix A of all rows, 1 where an unknown is in a row."""

    unknowns: int
    count: int = 0
    layers: tuple[_Layer, ...] = ()

    def joined(self, leaf: Ints, chosen: sp.csr_array) -> Rows:
        """Return these and the ``chosen`` sums of parts, ``leaf`` being the part of each unknown (-1: none)."""
        if not chosen.shape[0]:
            return self
        many = chosen.shape[1]
        part = np.where(leaf < 0, many, leaf).astype(np.uint16 if many < 2**16 else np.int32)
        layer = _Layer(part, chosen.astype(float))
        return Rows(self.unknowns, self.count + chosen.shape[0], (*self.layers, layer))

    def seen(self, sums: sp.csc_array) -> FloatArray:
        """Return A times some sparse columns.

        >>> rows = Rows(3).joined(np.array([0, 1, -1], np.int32), sp.csr_array([[1, 1], [0, 1]]))
        >>> rows.seen(sp.csc_array([[1.0], [2], [4]])).tolist(), rows.spread(np.array([[1.0], [10]])).tolist()
        ([[3.0], [2.0]], [[1.0], [11.0], [0.0]])
        """
        found = np.zeros((self.count, sums.shape[1]))
        column = np.repeat(np.arange(sums.shape[1]), np.diff(sums.indptr))
        for layer, start, end in self._places():
            inside = np.zeros((layer.sums.shape[1] + 1, sums.shape[1]))
            np.add.at(inside, (layer.part[sums.indices], column), sums.data)
            found[start:end] = layer.sums @ inside[:-1]
        return found

    def spread(self, values: FloatArray) -> FloatArray:
        """Return A' times a matrix of rows by columns."""
        found = np.zeros((self.unknowns, values.shape[1]))
        for layer, start, end in self._places():
            by_part = np.vstack([layer.sums.T @ values[start:end], np.zeros((1, values.shape[1]))])
            found += by_part[layer.part]
        return found

    def common(self, weight: FloatArray, leaf: Ints, many: int) -> FloatArray:
        """Return how much weight each row and each of ``many`` parts have in common."""
        part = np.where(leaf < 0, many, leaf)
        found = np.zeros((self.count, many))
        for layer, start, end in self._places():
            size = layer.sums.shape[1] + 1, many + 1
            if size[0] * size[1] <= _DENSE:
                key = layer.part.astype(np.int64) * size[1] + part
                both = np.asarray(np.bincount(key, weight, size[0] * size[1])).reshape(size)
                found[start:end] = layer.sums @ both[:-1, :-1]
            else:
                pairs = sp.coo_array((weight, (layer.part, part)), shape=size).tocsr()
                found[start:end] = (layer.sums @ pairs[:-1, :-1]).todense()
        return found

    def columns(self, unknowns: LongArray) -> sp.csr_array:
        """Return some columns of A."""
        blocks = [sp.csr_array((0, len(unknowns)))]
        for layer in self.layers:
            wide = sp.csc_array(sp.hstack([layer.sums, sp.csr_array((layer.sums.shape[0], 1))]))
            blocks.append(sp.csr_array(wide[:, layer.part[unknowns].astype(np.int64)]))
        return sp.csr_array(sp.vstack(blocks, format="csr"))

    def _places(self) -> Iterator[tuple[_Layer, int, int]]:
        end = 0
        for layer in self.layers:
            start, end = end, end + layer.sums.shape[0]
            yield layer, start, end
