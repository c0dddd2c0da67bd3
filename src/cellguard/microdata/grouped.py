"""`Grouped`: records summed by leaf codes and holding, all that tabulation needs of the microdata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.units import Units

COUNT = "count"


class Pairs(NamedTuple):
    """Single records of a response: the row of `Grouped` that each belongs to, its value and its weight."""

    row: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<Pairs of {len(self.row)} records>"


@dataclass(frozen=True, eq=False)
class Grouped:
    """Records summed by leaf codes and holding, ordered by holding and then by codes. Confidential.

    Rows of one holding are adjacent; holdings are numbered 0 to H-1 in the order of their names in the data (of the
    numbers, if all names are whole numbers), so that ties are broken by holding, whatever the threads. Without a
    holding column the respondent stands in for it, and without that each record is its own.

    columns     the dimension columns
    labels      the codes of each column that the records have, sorted
    codes       for each column, the rows' positions in its labels
    holding     the rows' holdings
    records     the number of records in each row
    total       for each response the sum of its values, without weights
    weighted    for each response the weighted sum (without weights the same array as ``total``); where there are
                weights, for ``count`` their sum
    waived      the holding allows publication: all its records say so
    requested   the holding asks for protection: any of its records says so
    has_weights whether the records have weights
    has_requests whether it is known who asks for protection
    key         the sum of the rows' record keys modulo ``key_modulus``, None where records have none
    notes       what a statistician should know of the reading: records dropped, and the like
    name        the file that the records are from, or what they are called, for messages

    >>> import cellguard as cg
    >>> cg.records({"region": ["N", "N", "S"], "x": [5, 2, 1]}, by=["region"], values=["x"])
    <Grouped: 3 rows of 3 holdings by region, values x>
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    holding: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    total: Mapping[str, npt.NDArray[np.float64]]
    weighted: Mapping[str, npt.NDArray[np.float64]]
    waived: npt.NDArray[np.bool_]
    requested: npt.NDArray[np.bool_]
    has_weights: bool = False
    has_requests: bool = True
    read_units: Callable[[], Units] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    name: str = "the records"
    key: npt.NDArray[np.int64] | None = None
    key_modulus: int = 1

    def __len__(self) -> int:
        return len(self.holding)

    def __repr__(self) -> str:
        values = f", values {', '.join(self.total)}" if self.total else ""
        return f"<Grouped: {len(self)} rows of {self.holdings} holdings by {', '.join(self.columns)}{values}>"

    @property
    def holdings(self) -> int:
        """How many holdings there are."""
        return int(self.holding[-1]) + 1 if len(self.holding) else 0

    def column(self, name: str) -> int:
        """Return the position of a dimension column, or raise an error that names the nearest ones."""
        if name not in self.columns:
            raise InputError(f"the records were not read by column {name!r}{did_you_mean(name, self.columns)}")
        return self.columns.index(name)

    def units(self) -> Units:
        """Return the records themselves; they are read anew from their source."""
        if self.read_units is None:
            raise InputError("the records behind these sums are not known; group them with `records`")
        return self.read_units()

    def pairs(self, response: str) -> Pairs:
        """Return the single records of a response, with the row that each belongs to; for ``count`` each value is 1.

        >>> import cellguard as cg
        >>> data = {"firm": [1, 2, 1], "region": ["S", "N", "S"], "x": [5, 2, 7]}
        >>> pairs = cg.records(data, by=["region"], values=["x"], respondent="firm").pairs("x")
        >>> pairs.row.tolist(), pairs.value.tolist()
        ([0, 1, 0], [5.0, 2.0, 7.0])
        """
        units = self.units()
        if response != COUNT and response not in units.values:
            raise InputError(f"the records have no response {response!r}{did_you_mean(response, units.values)}")
        row = _rows_of(self, units)
        value = np.ones(len(units)) if response == COUNT else units.values[response]
        weight = np.ones(len(units)) if units.weight is None else units.weight
        return Pairs(row, value, weight)


def of_holding(rows: npt.NDArray[np.bool_], holding: npt.NDArray[np.int64], *, every: bool) -> npt.NDArray[np.bool_]:
    """Return for each row whether every row, or any row, of its holding is marked; holdings are adjacent."""
    several = in_several(holding)
    if not len(several):
        return rows
    starts = np.flatnonzero(np.diff(holding[several], prepend=-1))
    merge = np.logical_and if every else np.logical_or
    marks: npt.NDArray[np.bool_] = merge.reduceat(rows[several], starts)
    merged = rows.copy()
    merged[several] = np.repeat(marks, np.diff(starts, append=len(several)))
    return merged


def in_several(holding: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Return the rows of holdings that have several."""
    return np.flatnonzero(has_several(holding))


def has_several(holding: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which rows are of holdings that have several, which are adjacent.

    >>> has_several(np.array([0, 1, 1, 2])).tolist()
    [False, True, True, False]
    """
    same = holding[1:] == holding[:-1]
    inside = np.zeros(len(holding), bool)
    inside[1:] = same
    inside[:-1] |= same
    return inside


def _order(
    holding: npt.NDArray[np.int64], codes: Sequence[npt.NDArray[np.int32]]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the order by holding and then codes, and where each new combination starts in it."""
    columns: list[npt.NDArray[np.signedinteger]] = [holding, *codes]
    order = np.lexsort(columns[::-1])
    changed = np.zeros(len(order), bool)
    changed[:1] = True
    for column in columns:
        ordered = column[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(changed)


def _rows_of(grouped: Grouped, units: Units) -> npt.NDArray[np.int64]:
    """Return the row of each record; the rows are the records' different combinations in order."""
    order, starts = _order(units.holding, units.codes)
    if len(starts) != len(grouped):
        raise InputError("the records have changed since they were grouped; group them again")
    row = np.empty(len(units), np.int64)
    row[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(units)))
    return row
