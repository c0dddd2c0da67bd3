"""The rows of all tables, and which of them are one distinct cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cellguard.verifier.hierarchies import Dimension
from cellguard.verifier.numbers import Bools, Int64
from cellguard.verifier.spec import Spec, TableSpec
from cellguard.verifier.stages import Refused


def combine(columns: Sequence[Int64], sizes: Sequence[int], rows: int) -> Int64:
    """Return one number per row, equal for two rows if and only if all columns are."""
    key = np.zeros(rows, dtype=np.int64)
    limit = 1
    for column, size in zip(columns, sizes, strict=True):
        if limit * size >= 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            limit = max(rows, 1)
        key = key * size + column
        limit *= size
    return key


@dataclass(frozen=True)
class Cells:
    """Rows of all tables one after the other, the distinct cell of each row, and what each distinct cell is.

    ``codes`` has a row for each combination of codes and a column for each dimension of the set; 0 is the total, also
    where a table does not have the dimension. ``keys`` is sorted: group * combinations + combination of each cell.
    """

    spec: Spec
    dimensions: tuple[Dimension, ...]
    offsets: Int64
    row_codes: Int64
    cell: Int64
    keys: Int64
    codes: Int64

    @property
    def count(self) -> int:
        """How many distinct cells there are."""
        return self.keys.size

    @property
    def group(self) -> Int64:
        """Each distinct cell's response and population, as a position in the groups of the spec."""
        return self.keys // len(self.codes)

    @property
    def combination(self) -> Int64:
        """Each distinct cell's combination of codes, as a row of ``codes``."""
        return self.keys % len(self.codes)

    def rows(self, table: int) -> slice:
        """Return where the rows of a table are."""
        return slice(int(self.offsets[table]), int(self.offsets[table + 1]))

    def axes(self, table: TableSpec) -> list[int]:
        """Return the positions of a table's dimensions among all dimensions."""
        names = [d.name for d in self.dimensions]
        return [names.index(d) for d in table.by]

    def find(self, group: int, combinations: Int64) -> Int64:
        """Return the distinct cell of each combination in a group, -1 where there is none."""
        wanted = group * len(self.codes) + combinations
        places = np.minimum(np.searchsorted(self.keys, wanted), self.count - 1)
        return np.where(self.keys[places] == wanted, places, -1)

    def covered(self, table: int, combinations: Int64, shown: Bools | None = None) -> Bools:
        """Return which combinations a table covers: it has their dimensions, and all the codes occur in it.

        A dimension that the combination has at its total needs that total in the table. With ``shown``, only these
        rows of the table count.
        """
        axes = self.axes(self.spec.tables[table])
        rows = self.row_codes[self.rows(table)]
        rows = rows if shown is None else rows[shown]
        codes = self.codes[combinations]
        fits = np.ones(len(codes), dtype=bool)
        for axis, dimension in enumerate(self.dimensions):
            if axis in axes:
                fits &= occurring(rows[:, axis], dimension)[codes[:, axis]]
            else:
                fits &= codes[:, axis] == 0
        return fits

    def row_name(self, row: int) -> str:
        """Name a row for messages."""
        table = int(np.searchsorted(self.offsets, row, side="right")) - 1
        spec = self.spec.tables[table]
        words = [self.dimensions[a].codes[self.row_codes[row, a]] for a in self.axes(spec)]
        return f"{spec.internal} line {row - int(self.offsets[table]) + 2} ({', '.join(words)})"

    def only_in(self, *kinds: str) -> Bools:
        """Return which distinct cells only tables of some kinds have, by where these are released."""
        only = np.ones(self.count, dtype=bool)
        for i, table in enumerate(self.spec.tables):
            if table.where not in kinds:
                only[self.cell[self.rows(i)]] = False
        return only

    def first_row(self) -> Int64:
        """Return the first row of each distinct cell."""
        first = np.zeros(self.count, dtype=np.int64)
        first[self.cell[::-1]] = np.arange(self.cell.size)[::-1]
        return first

    def cell_name(self, cell: int) -> str:
        """Name a distinct cell by the first row that shows it."""
        return self.row_name(int(self.first_row()[cell]))


def occurring(codes: Int64, dimension: Dimension) -> Bools:
    """Return which codes of a dimension occur."""
    occurs = np.zeros(len(dimension.codes), dtype=bool)
    occurs[codes] = True
    return occurs


def identify(spec: Spec, dimensions: Mapping[str, Dimension], columns: Sequence[Sequence[pa.Array]]) -> Cells:
    """Find the distinct cells: response, population and the codes of all dimensions that are not at their total."""
    every = tuple(dimensions[d] for d in spec.dimensions)
    sizes = [len(code_columns[0]) for code_columns in columns]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    row_codes = np.zeros((int(offsets[-1]), len(every)), dtype=np.int64)
    group = np.zeros(int(offsets[-1]), dtype=np.int64)
    for i, table in enumerate(spec.tables):
        part = slice(int(offsets[i]), int(offsets[i + 1]))
        group[part] = spec.groups.index(table.group)
        for name, column in zip(table.by, columns[i], strict=True):
            row_codes[part, spec.dimensions.index(name)] = dimensions[name].encode(column, table.internal)
    if not row_codes.size:
        raise Refused("the tables have no rows")
    key = combine(list(row_codes.T), [len(d.codes) for d in every], len(row_codes))
    _, first, combination = np.unique(key, return_index=True, return_inverse=True)
    keys, cell = np.unique(group * first.size + combination, return_inverse=True)
    return Cells(spec, every, offsets, row_codes, cell.astype(np.int64), keys, row_codes[first])
