"""Which respondents are in which cells: calibration tables as sparse matrices, margins included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.protect.perturb.contributors import Contributors, Filing, Largest, file_by_leaf, gather, largest
from cellguard.protect.perturb.respondents import Positions, Respondents
from cellguard.protect.perturb.rule import NoiseRule
from cellguard.table.apriori import Apriori
from cellguard.table.facts import BoolArray, Facts, FloatArray
from cellguard.table.keys import combine
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
        n = len(self.leaf)
        here = sp.csr_array((np.ones(n, np.int8), (self.leaf, np.arange(n))), shape=(self.below.shape[1], n))
        found = sp.csr_array(self.below.astype(np.int8) @ here)
        found.sort_indices()
        return found

    def sums(self, contributions: FloatArray) -> FloatArray:
        """Return the cell totals of the records' contributions (0 for records without the response)."""
        by_leaf = np.bincount(self.leaf, contributions, minlength=self.below.shape[1])
        return np.asarray(self.below @ by_leaf, float)

    def units_in(self, cells: npt.ArrayLike) -> Contributors:
        """Return who contributes how much to each of the given cells, unweighted, largest first; see `Contributors`."""
        return gather(self._filing, np.asarray(cells, np.int64))

    @cached_property
    def _filing(self) -> Filing:
        return file_by_leaf(self.below, self.leaf, self.records.unit, self.records.plain(self.response))


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
    shown = [_ancestors(d, (levels or {}).get(d.name)) for d in dimensions]
    leaf, finest = _leaves(records, columns, np.isnan(records.value(response)))
    codes, below = _cells(finest, shown, [len(d.codes) for d in dimensions])
    filing = file_by_leaf(below, leaf, records.unit, records.plain(response))
    top = largest(filing, max(rule.n, 2))
    total = below @ np.bincount(leaf, records.weighted(response), minlength=below.shape[1])
    facts = Facts(total, top.count.astype(float), top.value)
    silent = Apriori.silent(len(total))
    table = Table(name, dimensions, codes, facts, silent, response, decimals=decimals, levels=levels)
    return CalibrationTable(table, records, leaf, below, _interior(codes, shown), top, rule)


def stack(tables: Iterable[CalibrationTable]) -> sp.csr_array:
    """Return the members of all cells of all tables, one table below the other."""
    return sp.csr_array(sp.vstack([table.members for table in tables], format="csr"))


def _leaves(records: Respondents, by: Mapping[str, Dimension], absent: BoolArray) -> tuple[IntArray, list[IntArray]]:
    """Return each record's combination of codes, and the codes of each combination, one array a dimension."""
    sizes = [len(d.codes) for d in by.values()]
    positions = [_positions(records, column, dimension) for column, dimension in by.items()]
    key = combine(positions, sizes)
    there = key[~absent]
    extent = int(there.max(initial=0)) + 1
    if extent <= 8 * len(key) + 1024:
        occurs = np.zeros(extent, bool)
        occurs[there] = True
        first = np.zeros(extent, np.int64)
        first[there] = np.flatnonzero(~absent)
        combos, place = first[occurs], np.cumsum(occurs) - 1
        inverse = place[there]
    else:
        _, at, inverse = np.unique(there, return_index=True, return_inverse=True)
        combos = np.flatnonzero(~absent)[at]
    leaf = np.full(len(key), len(combos), np.int32)
    leaf[~absent] = inverse
    return leaf, [position[combos] for position in positions]


def _positions(records: Respondents, column: str, dimension: Dimension) -> IntArray:
    """Return the position in the dimension of each record's code; recodings are applied."""
    if column not in records.codes:
        raise InputError(f"the records have no column {column!r}{did_you_mean(column, records.codes)}")
    main, leaves = dimension.main, set(dimension.main.leaves)
    found = []
    for label in records.labels[column]:
        now = main.merged.get(label, label)
        now = main.cut.get(now, now)
        found.append(dimension.position[now] if now in leaves else -1)
    at = np.array([*found, -1], np.int32)[records.codes[column]]
    if (at < 0).any():
        row = int(np.flatnonzero(at < 0)[0])
        code = records.labels[column][records.codes[column][row]]
        known = "has codes below it, so no record can have it" if code in dimension.position else "is not a code"
        raise UnknownCode(
            f"record {row + 1}, column {column!r}: {code!r} {known} of dimension {dimension.name!r}"
            f"{did_you_mean(code, main.leaves)}"
        )
    return at


def _ancestors(dimension: Dimension, levels: Sequence[int] | None) -> IntArray:
    """Return for each code itself and all codes above it, in all hierarchies, that are shown; filled up with -1."""
    rows: list[list[int]] = []
    for code in range(len(dimension.codes)):
        found = {code: None}
        for parent in dimension.parents:
            above = int(parent[code])
            while above >= 0:
                found[above] = None
                above = int(parent[above])
        rows.append([a for a in found if levels is None or dimension.level[a] in levels])
    width = max(map(len, rows))
    if not width:
        raise InputError(f"dimension {dimension.name!r} has none of the levels {list(levels or ())}")
    return np.array([row + [-1] * (width - len(row)) for row in rows], np.int32)


def _cells(
    finest: Sequence[IntArray], shown: Sequence[IntArray], sizes: Sequence[int]
) -> tuple[tuple[IntArray, ...], sp.csr_array]:
    """Return the codes of all cells that somebody is in, and the matrix of cells by combinations of finest codes."""
    many = len(finest[0])
    columns: list[list[IntArray]] = [[] for _ in finest]
    combos: list[Positions] = []
    for slots in product(*(range(above.shape[1]) for above in shown)):
        here = [above[at, slot] for above, at, slot in zip(shown, finest, slots, strict=True)]
        valid = np.flatnonzero(np.logical_and.reduce([h >= 0 for h in here]))
        combos.append(valid)
        for column, h in zip(columns, here, strict=True):
            column.append(h[valid])
    codes = [np.concatenate(column) for column in columns]
    _, first, cell = np.unique(combine(codes, sizes), return_index=True, return_inverse=True)
    combo = np.concatenate(combos)
    below = sp.csr_array((np.ones(len(combo)), (cell, combo)), shape=(len(first), many + 1))
    return tuple(code[first].astype(np.int32) for code in codes), below


def _interior(codes: Sequence[IntArray], shown: Sequence[IntArray]) -> BoolArray:
    """Tell which cells have only codes without a shown code below them."""
    inside = np.ones(len(codes[0]), bool)
    for column, above in zip(codes, shown, strict=True):
        over = np.zeros(len(above), bool)
        occurs = np.unique(column)
        upper = above[occurs]
        over[upper[(upper >= 0) & (upper != occurs[:, None])]] = True
        inside &= ~over[column]
    return inside
