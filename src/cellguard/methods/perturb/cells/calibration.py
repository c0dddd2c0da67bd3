"""`CalibrationTable`: a table that must be safe, with who is in its cells, made by the one tabulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray, IntArray
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.rules.limits import NoiseRule
from cellguard.table.apriori import Apriori
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts
from cellguard.table.lattice import ancestors, build_lattice, leaf_positions
from cellguard.table.membership import Contributors, Largest, Membership, largest, membership
from cellguard.table.table import Levels, Table


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """A table that must be safe: its cells, and who is in them. Confidential.

    ``interior`` marks the cells without any cell below them. ``largest`` holds the largest contributions of each cell
    (unweighted, by size) that the rules look at, and whose they are. A cell must be safe by ``rule`` and ``others``.
    ``columns`` are the records' columns of its dimensions.
    """

    table: Table
    records: Respondents
    membership: Membership
    interior: BoolArray
    largest: Largest
    rule: NoiseRule
    others: tuple[NoiseRule, ...] = ()
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    @property
    def rules(self) -> tuple[NoiseRule, ...]:
        """All rules of the table."""
        return (self.rule, *self.others)

    @property
    def n(self) -> int:
        """The largest n of its rules."""
        return max(rule.n for rule in self.rules)

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

    def sums(self, contributions: FloatArray) -> FloatArray:
        """Return the cell totals of the records' contributions (0 for records without the response)."""
        return self.membership.sums(contributions)

    def units_in(self, cells: npt.ArrayLike) -> Contributors:
        """Return who contributes how much to each of the given cells, unweighted, largest first; see `Contributors`."""
        value = self.records.plain(self.response)
        return self.membership.contributors(np.asarray(cells, np.int64), self.records.unit, value)


def calibration_table(
    records: Respondents,
    by: Sequence[Dimension] | Mapping[str, Dimension],
    response: str,
    *,
    name: str = "table",
    rule: NoiseRule | None = None,
    others: Sequence[NoiseRule] = (),
    levels: Levels | None = None,
    decimals: int = 0,
) -> CalibrationTable:
    """Tabulate a response: all occupied cells at all levels, margins and grand total included.

    ``by`` lists dimensions, or maps columns of the records to them. ``levels`` are the levels shown of some dimensions.

    >>> from cellguard.hierarchy.build import flat
    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firms = respondents({"region": ["N", "S", "N"]}, {"turnover": [5, 7, 1]})
    >>> table = calibration_table(firms, [Dimension("region", flat(["N", "S"]))], "turnover")
    >>> [table.table.cell_name(i) for i in range(3)], table.total.tolist(), table.interior.tolist()
    (['Total', 'N', 'S'], [13.0, 6.0, 7.0], [False, True, True])
    >>> table.membership.matrix.toarray().tolist()
    [[1, 1, 1], [1, 0, 1], [0, 1, 0]]
    """
    rule = rule or NoiseRule()
    columns = dict(by) if isinstance(by, Mapping) else {dimension.name: dimension for dimension in by}
    if not columns:
        raise InputError(f"table {name!r} needs at least one dimension; name them in `by`")
    dimensions = tuple(columns.values())
    present = ~np.isnan(records.value(response))
    lattice = build_lattice(dimensions, [_positions(records, *pair)[present] for pair in columns.items()], levels)
    members = membership(lattice, present)
    n = max(2, *(r.n for r in (rule, *others)))
    top = largest(lattice, records.unit[present], records.plain(response)[present], n)
    total = members.sums(records.weighted(response))
    facts = Facts({Total(): total, Count(): top.count.astype(float), Top(top.value.shape[1]): top.value})
    silent = Apriori.silent(len(lattice))
    table = Table(name, dimensions, lattice.codes, facts, silent, response, decimals=decimals, levels=levels)
    return CalibrationTable(table, records, members, _interior(table), top, rule, tuple(others), tuple(columns))


def _positions(records: Respondents, column: str, dimension: Dimension) -> IntArray:
    """Return the position in the dimension of each record's code."""
    if column not in records.codes:
        raise InputError(f"the records have no column {column!r}{did_you_mean(column, records.codes)}")
    return leaf_positions(dimension, records.labels[column], column)[records.codes[column]]


def _interior(table: Table) -> BoolArray:
    """Return which cells have only codes without a shown code below them."""
    inside = np.ones(len(table), bool)
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        start, above = ancestors(dimension, (table.levels or {}).get(dimension.name))
        code = np.repeat(np.arange(len(dimension.codes)), np.diff(start))
        lower = np.isin(code, column) & (code != above)
        inside &= ~np.isin(column, above[lower])
    return inside
