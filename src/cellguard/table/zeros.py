"""Empty cells that may be suppressed: every combination of the observed codes becomes a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.codes import find_columns, read_codes
from cellguard.table.keys import combine, find
from cellguard.table.source import Source
from cellguard.table.table import Table

_MOST = 50_000_000


def fill_zeros(table: Table, impossible: Source | None, by: Mapping[str, Dimension]) -> Table:
    """Add a cell of value 0 for every combination of observed codes without one, but for the impossible ones."""
    observed = [np.unique(column) for column in table.codes]
    size = int(np.prod([float(len(o)) for o in observed]))
    if size > _MOST:
        raise InputError(
            f"table {table.name!r}: with zeros: possible it would have {size:,} cells; say zeros: known, "
            "or publish fewer levels"
        )
    grid = [g.ravel().astype(np.int32) for g in np.meshgrid(*observed, indexing="ij")]
    sizes = [len(d.codes) for d in table.dimensions]
    n = len(table)
    keys = combine([np.concatenate([c, g]) for c, g in zip(table.codes, grid, strict=True)], sizes)
    new = find(keys[n:], keys[:n]) < 0
    if impossible is not None:
        new &= ~_named(table, impossible, by, grid)
    extra = [g[new] for g in grid]
    added = int(new.sum())
    more = np.concatenate([np.arange(n), np.full(added, -1)])
    return replace(
        table,
        codes=tuple(np.concatenate([c, e]) for c, e in zip(table.codes, extra, strict=True)),
        facts=table.facts.take(more),
        apriori=table.apriori.take(more),
        rows=np.concatenate([table.rows, np.full(added, -1)]),
    )


def _named(
    table: Table, impossible: Source, by: Mapping[str, Dimension], grid: Sequence[npt.NDArray[np.int32]]
) -> npt.NDArray[np.bool_]:
    """Return which combinations of the grid the file of impossible ones names; none of them may hold a value."""
    said, keep = read_codes(impossible, find_columns(impossible, by))
    sizes = [len(d.codes) for d in table.dimensions]
    n, m = int(keep.sum()), len(table)
    keys = combine([np.concatenate([s[keep], c, g]) for s, c, g in zip(said, table.codes, grid, strict=True)], sizes)
    filled = np.isin(keys[:n], keys[n : n + m][table.value != 0])
    if filled.any():
        row = int(np.flatnonzero(keep)[np.flatnonzero(filled)[0]])
        raise InputError(
            f"{impossible.place.row(row)}: this combination is said to be impossible, but its cell is not 0"
        )
    return np.isin(keys[n + m :], keys[:n])
