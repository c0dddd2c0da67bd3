"""`Respondents`: the records behind perturbed tables, in columns. They are read and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray, IntArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.record_keys import RecordKeys, Texts
from cellguard.table.unit_grid import binary_grid


@dataclass(frozen=True, eq=False)
class Respondents:
    """Records in columns. Confidential.

    ``codes`` holds for each dimension column the positions of the records' codes in ``labels``; ``values`` one array
    per response, NaN where a record has none (it then contributes nothing); ``weight`` the sample weights, None for a
    census. ``owners`` says whose each record is: the records of a unit share one multiplier.
    """

    codes: Mapping[str, IntArray]
    labels: Mapping[str, tuple[str, ...]]
    values: Mapping[str, FloatArray]
    weight: FloatArray | None
    owners: RecordKeys

    def __post_init__(self) -> None:
        lengths = {name: len(column) for columns in (self.codes, self.values) for name, column in columns.items()}
        lengths |= {} if self.weight is None else {"weight": len(self.weight)}
        for name, length in lengths.items():
            if length != len(self):
                raise InputError(f"column {name!r} has {length} records, but there are {len(self)} respondents")
        _check_codes(self)
        _check_numbers(self)

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def unit(self) -> LongArray:
        """The unit of each record."""
        return self.owners.unit

    @property
    def keys(self) -> Texts:
        """The text key of each unit."""
        return self.owners.keys

    @property
    def units(self) -> int:
        """The number of holdings (or respondents)."""
        return len(self.keys)

    def value(self, response: str) -> FloatArray:
        """Return the contributions to a response, NaN where a record has none."""
        if response not in self.values:
            raise InputError(f"no response {response!r}{did_you_mean(response, self.values)}")
        return self.values[response]

    def weighted(self, response: str) -> FloatArray:
        """Return what each record adds to an unperturbed total: weight times value, 0 where the value is missing."""
        value = self.value(response)
        return on_grid(np.nan_to_num(value if self.weight is None else value * self.weight))

    def plain(self, response: str) -> FloatArray:
        """Return the unweighted contributions, 0 where the value is missing."""
        return on_grid(np.nan_to_num(self.value(response)))


def respondents(
    codes: Mapping[str, Sequence[str]],
    values: Mapping[str, Sequence[float]],
    *,
    weight: Sequence[float] | None = None,
    unit: Sequence[str] | None = None,
) -> Respondents:
    """Return respondents from plain columns; ``unit`` is the text key of each record's holding (or respondent).

    >>> firms = respondents({"region": ["N", "S", "N"]}, {"turnover": [5, 7, 1]}, unit=["b", "a", "b"])
    >>> firms.codes["region"].tolist(), firms.labels["region"], firms.unit.tolist(), firms.keys.tolist()
    ([0, 1, 0], ('N', 'S'), [1, 0, 1], ['a', 'b'])
    """
    n = len(next(iter([*codes.values(), *values.values()]), ()))
    width = len(str(max(n - 1, 0)))
    given = np.char.zfill(np.arange(n).astype(str), width) if unit is None else np.asarray(unit, np.str_)
    coded = {name: np.unique(np.asarray(column, np.str_), return_inverse=True) for name, column in codes.items()}
    return Respondents(
        codes={name: index.astype(np.int32) for name, (_, index) in coded.items()},
        labels={name: tuple(texts.tolist()) for name, (texts, _) in coded.items()},
        values={name: np.asarray(column, float) for name, column in values.items()},
        weight=None if weight is None else np.asarray(weight, float),
        owners=RecordKeys.of(given),
    )


def on_grid(values: FloatArray) -> FloatArray:
    """Round to multiples of a power of two so fine that 53 bits hold every sum of the values.

    All sums are then exact, in whatever order and table they are made: tables are additive, and a cell that stands in
    two tables has the same value in both, to the last bit. The rounding is below 2^-52 of the sum of all sizes.

    >>> on_grid(np.array([0.1, 0.2])).sum() == on_grid(np.array([0.2, 0.1])).sum()
    np.True_
    """
    grid = binary_grid(values, 52)
    return grid.floats(grid.wholes(values))


def _check_codes(records: Respondents) -> None:
    for name, column in records.codes.items():
        if not ((column >= 0) & (column < len(records.labels.get(name, ())))).all():
            raise InputError(f"column {name!r}: a code has no label; codes are positions in the column's labels")


def _check_numbers(records: Respondents) -> None:
    for name, column in records.values.items():
        if np.isinf(column).any():
            raise InputError(f"response {name!r}: {int(np.isinf(column).sum())} values are infinite; correct them")
    weight = records.weight
    if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
        bad = int((~(np.isfinite(weight) & (weight >= 0))).sum())
        raise InputError(f"the weight of {bad} records is missing, infinite or below 0; correct it or drop the records")
