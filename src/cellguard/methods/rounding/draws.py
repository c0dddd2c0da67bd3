"""The chance of random rounding: one number per distinct cell, from a secret seed and from what the cell is.

The same seed gives the same cell the same number in every job, so that who publishes a cell again does not draw again:
several independent roundings of one value would give it away. Cells that a relation makes equal, as a total with one
part, share a number for the same reason. Numbers are bits of a keyed hash, which tell nothing about each other.
"""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


def uniforms(tables: TableSet, seed: int, purpose: str, wanted: BoolArray) -> FloatArray:
    """Return a number above 0 and below 1 for each distinct cell that is wanted, 1/2 for the others.

    >>> import cellguard as cg
    >>> one = cg.link(cg.cells({"r": ["Total", "N", "S"], "x": [5, 2, 3]}, by=["r"], value="x", name="a"))
    >>> two = cg.link(cg.cells({"r": ["Total", "S", "N"], "x": [5, 3, 2]}, by=["r"], value="x", name="b"))
    >>> every = np.ones(3, bool)
    >>> sorted(uniforms(one, 7, "up", every)) == sorted(uniforms(two, 7, "up", every))
    True
    """
    alike = equal_cells(tables)
    first, names = tables.first, dict[int, str]()
    asked = np.unique(alike[np.flatnonzero(wanted)])
    number, row = (column[asked] for column in first)
    for at, table in enumerate(tables.tables):
        mine = number == at
        if mine.any():
            names.update(zip(asked[mine].tolist(), _names(table, row[mine]), strict=True))
    key = seed.to_bytes(8, "little") + purpose.encode()
    drawn = np.full(len(tables), 0.5)
    for cell, name in names.items():
        bits = hashlib.blake2b(name.encode(), key=key, digest_size=8).digest()
        drawn[cell] = ((int.from_bytes(bits, "little") >> 12) + 0.5) * 2.0**-52
    return np.where(wanted, drawn[alike], 0.5)


def equal_cells(tables: TableSet) -> Positions:
    """Return for each distinct cell the first of those that relations of two cells make equal to it."""
    relations = tables.relations
    short = relations[np.flatnonzero(np.diff(relations.indptr) == 2)]
    n = len(tables)
    pairs = short.indices.reshape(-1, 2)
    equal = short.data.reshape(-1, 2).sum(axis=1) == 0
    left, right = pairs[equal].T if len(pairs) else (np.zeros(0, int), np.zeros(0, int))
    graph = sp.coo_array((np.ones(len(left)), (left, right)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    first = np.full(count, n)
    np.minimum.at(first, label, np.arange(n))
    return first[label]


def _names(table: Table, rows: Positions) -> list[str]:
    """Return what the same cell is called in every table that shows it: its response, and the codes but for totals."""
    parts = []
    for dimension, codes in sorted(zip(table.dimensions, table.codes, strict=True), key=lambda pair: pair[0].name):
        named = [f"\x1f{dimension.name}\x1e{code}" for code in dimension.codes]
        named[0] = ""
        parts.append(np.array(named, object)[codes[rows]])
    head = f"{table.response}\x1f{table.population}"
    return [head + "".join(words) for words in zip(*parts, strict=True)]
