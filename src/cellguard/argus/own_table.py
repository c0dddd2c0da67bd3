"""`ArgusTable`: a table as its program knows it, one row per cell that is not empty, with the numbers of statuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cellguard.argus.safety_rule import SafetyRule
from cellguard.argus.spanning import Spanning
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError

SAFE, SAFE_MANUAL, RULE, REQUEST, FREQ, ZERO, MANUAL = 1, 2, 3, 4, 5, 6, 9
PROTECTED, SECONDARY, SECONDARY_MANUAL, EMPTY_POSSIBLE, EMPTY = 10, 11, 12, 13, 14
UNSAFE = (RULE, REQUEST, FREQ, ZERO, 7, 8, MANUAL)
SECONDARIES = (SECONDARY, SECONDARY_MANUAL)
_MOST_KEYS = 2**62
Status = npt.NDArray[np.int8]
Codes = npt.NDArray[np.int32]


def letter(status: int) -> str:
    """Return the letter of a status.

    >>> "".join(map(letter, (1, 2, 5, 10, 11, 14)))
    'SSUPME'
    """
    if status in UNSAFE:
        return "U"
    if status in SECONDARIES:
        return "M"
    return {PROTECTED: "P", EMPTY: "E", EMPTY_POSSIBLE: "E"}.get(status, "S")


@dataclass(frozen=True, eq=False)
class ArgusTable:
    """One table. ``codes`` has a column per spanning variable: positions in its tree.

    ``tops`` are the largest contributions to ``shadow``, which the rules look at; ``realized`` are the ends of the
    attacker's intervals, if they were worked out; ``original`` are the true values where others are published.
    ``counted`` says whether anybody counted contributors: else ``freq`` is 1. Values have ``decimals``, and are written
    with as many as the metadata declared.
    """

    number: int
    name: str
    spanning: tuple[Spanning, ...]
    response: str
    is_count: bool
    decimals: int
    rule: SafetyRule
    codes: Codes
    value: FloatArray
    freq: FloatArray
    holdings: FloatArray
    shadow: FloatArray
    cost: FloatArray
    tops: FloatArray
    status: Status
    lower: FloatArray
    upper: FloatArray
    counted: bool = True
    cost_name: str = ""
    shadow_name: str = ""
    holding_tops: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    realized: tuple[FloatArray, FloatArray] | None = None
    tolerance: float | None = None
    distant: bool = False
    declared: int | None = None
    original: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each spanning variable."""
        return tuple(len(s.tree.codes) for s in self.spanning)

    @cached_property
    def keys(self) -> npt.NDArray[np.int64]:
        """The number of each cell among all combinations of codes."""
        return keys_of(self.codes, self.shape)

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of a cell by its number."""
        return {int(key): row for row, key in enumerate(self.keys.tolist())}

    @property
    def cells(self) -> int:
        """The number of combinations, empty ones included."""
        return math.prod(self.shape)

    def is_in(self, statuses: Sequence[int]) -> BoolArray:
        """Return which cells have one of these statuses."""
        return np.asarray(np.isin(self.status, statuses), bool)

    @property
    def written(self) -> int:
        """With how many decimals values are written."""
        return self.decimals if self.declared is None else self.declared

    @property
    def unsafe(self) -> BoolArray:
        """The cells that are unsafe by a rule or by hand."""
        return self.is_in(UNSAFE)

    @property
    def secondary(self) -> BoolArray:
        """The cells that are suppressed to protect others."""
        return self.is_in(SECONDARIES)

    @property
    def unit(self) -> float:
        """One unit of the last decimal."""
        return float(10.0**-self.decimals)

    def cell_name(self, row: int) -> str:
        """Return the codes of a cell as people write them."""
        return "/".join(s.tree.codes[c].strip() for s, c in zip(self.spanning, self.codes[row], strict=True))

    def with_status(self, status: Status) -> ArgusTable:
        """Return the same table with other statuses."""
        return replace(self, status=status)


def keys_of(codes: Codes, shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the number of each combination of codes, counted as files list them."""
    if math.prod(map(int, shape)) > _MOST_KEYS:
        raise InputError(f"a table of {len(shape)} variables has more combinations of codes than can be counted")
    keys = np.zeros(len(codes), np.int64)
    for column, size in zip(codes.T, shape, strict=True):
        keys = keys * size + column
    return keys
