"""Which cells of several tables are one and the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.keys import Keys, combine, find
from cellguard.table.table import Table

Positions = npt.NDArray[np.intp]
ResponseKey = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Numbering:
    """The cells of all tables one below the other ("rows"), and the distinct cell that each of them is.

    ``key`` is equal where the codes of all dimensions are (a table without a dimension stands at its total),
    ``response`` is the number of the row's response and population. Distinct cells are numbered in order of appearance.
    """

    dimensions: dict[str, Dimension]
    columns: tuple[IntArray, ...]
    key: Keys
    response_keys: tuple[ResponseKey, ...]
    response_key: npt.NDArray[np.intp]
    cell: Positions
    first: Positions

    @property
    def n(self) -> int:
        """The number of distinct cells."""
        return len(self.first)

    def cells_of(self, tables: Sequence[Table]) -> tuple[Positions, ...]:
        """Return for each table the distinct cell of each of its cells."""
        return tuple(np.split(self.cell, np.cumsum([len(t) for t in tables])[:-1]))

    def locate(self, response_key: ResponseKey, keys: Keys) -> Positions:
        """Return the distinct cell of the response with each key, or -1."""
        mine = self.first[self.response_key[self.first] == self.response_keys.index(response_key)]
        position = find(keys, self.key[mine])
        return np.where(position >= 0, self.cell[mine][position], -1) if len(mine) else position


def number_cells(tables: Sequence[Table]) -> Numbering:
    """Number the distinct cells: two cells are one iff response, population and all codes not at a total agree."""
    dimensions = shared_dimensions(tables)
    sizes = [len(d.codes) for d in dimensions.values()]
    columns = tuple(np.concatenate([_column(table, name) for table in tables]).astype(np.int32) for name in dimensions)
    response_keys = tuple(dict.fromkeys(t.response_key for t in tables))
    response_key = np.repeat([response_keys.index(t.response_key) for t in tables], [len(t) for t in tables])
    key = combine(columns, sizes, room=len(response_keys))
    _, first, inverse = np.unique(key * len(response_keys) + response_key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return Numbering(dimensions, columns, key, response_keys, response_key, rank[inverse], np.sort(first))


def shared_dimensions(tables: Sequence[Table]) -> dict[str, Dimension]:
    """Return the dimensions of all tables by name; one name must mean one dimension."""
    shared: dict[str, Dimension] = {}
    for table in tables:
        for dimension in table.dimensions:
            known = shared.setdefault(dimension.name, dimension)
            if known is not dimension and not _same(known, dimension):
                raise InputError(
                    f"table {table.name!r} uses another dimension {dimension.name!r} than an earlier table; linked "
                    "tables must share one dimension, or name their dimensions differently"
                )
    return shared


def _same(a: Dimension, b: Dimension) -> bool:
    return a.codes == b.codes and len(a.parents) == len(b.parents) and all(map(np.array_equal, a.parents, b.parents))


def _column(table: Table, name: str) -> IntArray:
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        if dimension.name == name:
            return column
    return np.zeros(len(table), np.int32)
