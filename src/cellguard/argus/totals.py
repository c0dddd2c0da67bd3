"""Totals of ready-made tables, computed from their inner cells where they are missing or no sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.argus.own_table import Codes, keys_of
from cellguard.arrays import FloatArray
from cellguard.hierarchy.hierarchy import Hierarchy

_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells with what adds up: values, contributors, what rules look at, and the largest contributions."""

    codes: Codes
    value: FloatArray
    freq: FloatArray
    shadow: FloatArray
    tops: FloatArray

    def take(self, rows: npt.NDArray[np.generic]) -> Cells:
        """Return some of them."""
        return Cells(self.codes[rows], self.value[rows], self.freq[rows], self.shadow[rows], self.tops[rows])


@dataclass(frozen=True, eq=False)
class Totals:
    """Cells with their totals; ``old`` is the row that each was given in, -1 if it is computed.

    ``off`` is how far given totals are from the sums, None if they are the sums.
    """

    cells: Cells
    old: npt.NDArray[np.intp]
    off: float | None


def with_totals(given: Cells, trees: Sequence[Hierarchy]) -> Totals:
    """Return cells with every total that is missing or no sum computed from the inner cells."""
    shape = [len(tree.codes) for tree in trees]
    inner = np.ones(len(given.value), bool)
    for tree, column in zip(trees, given.codes.T, strict=True):
        leaf = np.ones(len(tree.codes), bool)
        leaf[tree.parent[1:]] = False
        inner &= leaf[column]
    made = _summed(given.take(inner), trees)
    keys, given_keys = keys_of(made.codes, shape), keys_of(given.codes, shape)
    order = np.argsort(given_keys, kind="stable")
    place = np.minimum(np.searchsorted(given_keys[order], keys), max(len(order) - 1, 0))
    row = order[place] if len(order) else np.full(len(keys), -1)
    here = (given_keys[row] == keys) if len(order) else np.zeros(len(keys), bool)
    gap = np.where(here, np.abs(made.value - given.value[row]), 0.0)
    fits = here & (gap <= _NEAR * np.maximum(np.abs(made.value), 1))
    old = np.where(fits, row, -1)
    cells = Cells(
        made.codes,
        np.where(fits, given.value[row], made.value),
        np.where(fits, given.freq[row], made.freq),
        np.where(fits, given.shadow[row], made.shadow),
        np.where(fits[:, None], given.tops[row], made.tops),
    )
    lost = ~np.isin(given_keys, keys)
    off = max(float(gap.max(initial=0.0)), float(np.abs(given.value[lost]).max(initial=0.0)))
    return Totals(cells, old, off if off > _NEAR * max(float(np.abs(given.value).max(initial=0.0)), 1) else None)


def _summed(inner: Cells, trees: Sequence[Hierarchy]) -> Cells:
    """Return inner cells and all sums of them, in the order of their codes."""
    rows, codes = np.arange(len(inner.value)), inner.codes
    for number, tree in enumerate(trees):
        all_rows, all_codes = [rows], [codes]
        above = codes
        while True:
            parent = tree.parent[above[:, number]]
            up = parent >= 0
            if not up.any():
                break
            rows, above = rows[up], above[up].copy()
            above[:, number] = parent[up]
            all_rows.append(rows)
            all_codes.append(above)
        rows, codes = np.concatenate(all_rows), np.concatenate(all_codes)
    keys = keys_of(codes, [len(tree.codes) for tree in trees])
    different, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    n = len(different)
    value, freq, shadow = (
        np.bincount(cell, column[rows], n).astype(float) for column in (inner.value, inner.freq, inner.shadow)
    )
    return Cells(codes[first], value, freq, shadow, _largest(inner.tops[rows], cell, n))


def _largest(tops: FloatArray, cell: npt.NDArray[np.intp], cells: int) -> FloatArray:
    """Return the largest of the largest contributions of the parts of each cell, as many as each has."""
    ranks = tops.shape[1]
    largest = np.zeros((cells, ranks))
    if not ranks:
        return largest
    flat, whose = tops.ravel(), np.repeat(cell, ranks)
    order = np.lexsort((-flat, whose))
    flat, whose = flat[order], whose[order]
    begin = np.searchsorted(whose, np.arange(cells))
    rank = np.arange(len(flat)) - begin[whose]
    some = rank < ranks
    largest[whose[some], rank[some]] = flat[some]
    return largest
