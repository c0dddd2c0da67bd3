"""Which respondents are in which cells: calibration tables as sparse matrices, margins included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.protect.perturb.contributors import Contributors, Largest, gather, largest, members_of
from cellguard.protect.perturb.respondents import Respondents
from cellguard.protect.perturb.rule import NoiseRule
from cellguard.table.apriori import Apriori
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import BoolArray, Facts, FloatArray
from cellguard.table.lattice import ancestors, build_lattice, cells_by_leaves, leaf_positions
from cellguard.table.table import Levels, Table


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """A table that must be safe: its cells, and who is in them. Confidential.

    ``leaf`` is the combination of finest codes that each record has, and ``below`` the 0/1 matrix of cells by such
    combinations; together they say all of `members`, in much less room. The last combination is that of records that
    contribute nothing; it is in no cell. ``interior`` marks the cells without any cell below them. ``largest`` holds
    the largest contributions of each cell (unweighted, by size) that the rule looks at, and whose they are.
    """

    table: Table
    records: Respondents
    leaf: IntArray
    below: sp.csr_array
    interior: BoolArray
    largest: Largest
    rule: NoiseRule

    def __len__(self) -> int:
        return len(self.table)

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    @property
    def response(self) -> str:
        """The response that is summed."""
        return self.table.response

    @property
    def total(self) -> FloatArray:
        """The true (weighted) cell totals."""
        return self.table.value

    @cached_property
    def members(self) -> sp.csr_array:
        """The 0/1 matrix of cells by records, margins included."""
        found = members_of(self.below, self.leaf)
        found.sort_indices()
        return found

    def sums(self, contributions: FloatArray) -> FloatArray:
        """Return the cell totals of the records' contributions (0 for records without the response)."""
        by_leaf = np.bincount(self.leaf, contributions, minlength=self.below.shape[1])
        return np.asarray(self.below @ by_leaf, float)

    def units_in(self, cells: npt.ArrayLike) -> Contributors:
        """Return who contributes how much to each of the given cells, unweighted, largest first; see `Contributors`."""
        members = members_of(self.below[np.asarray(cells, np.int64)], self.leaf)
        return gather(members, self.records.unit, self.records.plain(self.response))


def calibration_table(
    records: Respondents,
    by: Sequence[Dimension] | Mapping[str, Dimension],
    response: str,
    *,
    name: str = "table",
    rule: NoiseRule | None = None,
    levels: Levels | None = None,
    decimals: int = 0,
) -> CalibrationTable:
    """Tabulate a response: all occupied cells at all levels, margins and grand total included.

    ``by`` lists dimensions, or maps columns of the records to them. ``levels`` are the levels shown of some dimensions.

    >>> from cellguard.hierarchy.build import flat
    >>> from cellguard.protect.perturb.respondents import respondents
    >>> firms = respondents({"region": ["N", "S", "N"]}, {"turnover": [5, 7, 1]})
    >>> table = calibration_table(firms, [Dimension("region", flat(["N", "S"]))], "turnover")
    >>> [table.table.cell_name(i) for i in range(3)], table.total.tolist(), table.interior.tolist()
    (['Total', 'N', 'S'], [13.0, 6.0, 7.0], [False, True, True])
    >>> table.members.toarray().tolist()
    [[1, 1, 1], [1, 0, 1], [0, 1, 0]]
    """
    rule = rule or NoiseRule()
    columns = dict(by) if isinstance(by, Mapping) else {dimension.name: dimension for dimension in by}
    if not columns:
        raise InputError(f"table {name!r} needs at least one dimension; name them in `by`")
    dimensions = tuple(columns.values())
    there = ~np.isnan(records.value(response))
    lattice = build_lattice(dimensions, [_positions(records, *pair)[there] for pair in columns.items()], levels)
    leaf = np.full(len(records), lattice.sizes[0], np.int32)
    leaf[there] = lattice.leaf
    nobody = sp.csr_array((len(lattice), 1))
    below = sp.csr_array(sp.hstack([cells_by_leaves(lattice), nobody]))
    top = largest(below, leaf, records.unit, records.plain(response), max(rule.n, 2))
    total = below @ np.bincount(leaf, records.weighted(response), minlength=below.shape[1])
    facts = Facts({Total(): total, Count(): top.count.astype(float), Top(top.value.shape[1]): top.value})
    silent = Apriori.silent(len(total))
    table = Table(name, dimensions, lattice.codes, facts, silent, response, decimals=decimals, levels=levels)
    return CalibrationTable(table, records, leaf, below, _interior(table), top, rule)


def stack(tables: Iterable[CalibrationTable]) -> sp.csr_array:
    """Return the members of all cells of all tables, one table below the other."""
    return sp.csr_array(sp.vstack([table.members for table in tables], format="csr"))


def _positions(records: Respondents, column: str, dimension: Dimension) -> IntArray:
    """Return the position in the dimension of each record's code."""
    if column not in records.codes:
        raise InputError(f"the records have no column {column!r}{did_you_mean(column, records.codes)}")
    return leaf_positions(dimension, records.labels[column], column)[records.codes[column]]


def _interior(table: Table) -> BoolArray:
    """Tell which cells have only codes without a shown code below them."""
    inside = np.ones(len(table), bool)
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        start, above = ancestors(dimension, (table.levels or {}).get(dimension.name))
        code = np.repeat(np.arange(len(dimension.codes)), np.diff(start))
        lower = np.isin(code, column) & (code != above)
        inside &= ~np.isin(column, above[lower])
    return inside
