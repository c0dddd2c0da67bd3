"""Which tables belong together, and which records no published cell of theirs distinguishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.table.keys import combine

Parts = Mapping[str, Mapping[str, int]]


def families(tables: Sequence[CalibrationTable], definitions: Parts) -> list[tuple[CalibrationTable, ...]]:
    """Return the tables in groups that share a response, directly or through definitions.

    A definition ties its parts even if no table shows their sum: an attacker who knows the parts knows the sum.
    """
    links = [(set(definitions.get(table.response, {table.response: 1})), [table]) for table in tables]
    shown = {leaf for leaves, _ in links for leaf in leaves}
    links += [(set(part), []) for part in definitions.values() if shown.issuperset(part)]
    groups: list[tuple[set[str], list[CalibrationTable]]] = []
    for mine, here in links:
        touching = [g for g in groups if g[0] & mine]
        merged = (mine.union(*(g[0] for g in touching)), [t for g in touching for t in g[1]] + here)
        groups = [g for g in groups if g not in touching] + [merged]
    return [tuple(sorted(members, key=list(tables).index)) for _, members in groups]


def alike(tables: Sequence[CalibrationTable]) -> tuple[LongArray, int]:
    """Return the group of each record: records in the same published cells of all tables; and the number of groups."""
    leaves = [_classes(t)[t.membership.leaf] for t in tables]
    key = combine([leaf.astype(np.int64) for leaf in leaves], [int(leaf.max(initial=0)) + 1 for leaf in leaves])
    different, group = np.unique(key, return_inverse=True)
    return group.astype(np.int64), len(different)


def _classes(table: CalibrationTable) -> LongArray:
    """Return for each combination of finest codes its class: those of one class are in the same published cells."""
    shown = sp.csc_array(table.membership.below[np.flatnonzero(~table.table.unpublished)])
    shown.sort_indices()
    known: dict[bytes, int] = {}
    ends = zip(shown.indptr[:-1].tolist(), shown.indptr[1:].tolist(), strict=True)
    return np.array([known.setdefault(shown.indices[a:b].tobytes(), len(known)) for a, b in ends], np.int64)
