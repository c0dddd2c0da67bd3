"""`NoiseTable`: which noise a sum gets for which cell key, in units that depend on its largest contributors.

A row belongs to a figure i, that is to a sum of i such units; the last row to all larger ones. A key u between 0 and 1
chooses the change v whose share of all keys it falls into. Between two rows both changes are looked up by the same key,
and averaged by how near the rows are. Since both rise with u, so does what is looked up: it is a quantile function.

`smooth` spreads each change evenly over the width of a step, by where in its share the key falls. Otherwise few changes
are possible at all, and an attacker who knows two sums of the same unknown finds the only one that goes with both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.methods.keys.design import Design

ALL, EVEN, ODD, SMALL = "all", "even", "odd", "small_cells"
_BISECTIONS = 52
_DUST = 1e-9


@dataclass(frozen=True, eq=False)
class Row:
    """The changes of a sum of ``figure`` units, in rising order, and up to which share of all keys each goes."""

    figure: float
    changes: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one kind of cells, by their figures from 0 on; ``step`` is how far changes are apart.

    >>> rows = Rows((Row(0, np.zeros(1), np.ones(1)), Row(2, np.array([-1.0, 1]), np.array([0.5, 1]))), 2.0)
    >>> rows.quantile(np.array([0.0, 1, 2, 9]), np.array([0.1, 0.1, 0.1, 0.9])).tolist()
    [0.0, -0.5, -1.0, 1.0]
    """

    rows: tuple[Row, ...]
    step: float

    @property
    def last(self) -> Row:
        """The row of all larger figures."""
        return self.rows[-1]

    @cached_property
    def figures(self) -> FloatArray:
        """The figure of each row."""
        return np.array([row.figure for row in self.rows])

    @cached_property
    def _flat(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, LongArray]:
        """Shares from and to, changes, the ends that each is spread over, and where rows begin."""
        low, high, change, left, right = [], [], [], [], []
        for row in self.rows:
            keys = np.append(0.0, row.upper)
            keys[-1] = 1.0
            half = self.step / 2 if row.figure > 0 else 0.0
            low.append(keys[:-1])
            high.append(keys[1:])
            change.append(row.changes)
            floor = -np.inf if row is self.last else -row.figure
            left.append(np.maximum(row.changes - half, floor))
            right.append(row.changes + half)
        start = np.append(0, np.cumsum([len(row.changes) for row in self.rows])).astype(np.int64)
        return (*(np.concatenate(part) for part in (low, high, change, left, right)), start)  # type: ignore[return-value]

    def _between(self, figure: FloatArray) -> tuple[LongArray, LongArray, FloatArray]:
        """Return the rows below and above each figure, and how near it is to the upper one."""
        figures = self.figures
        lower = np.clip(np.searchsorted(figures, figure, side="right") - 1, 0, len(figures) - 1)
        upper = np.minimum(lower + 1, len(figures) - 1)
        width = np.where(upper > lower, figures[upper] - figures[lower], 1.0)
        near = np.where(upper > lower, np.clip((figure - figures[lower]) / width, 0.0, 1.0), 0.0)
        return lower.astype(np.int64), upper.astype(np.int64), near

    def quantile(self, figure: FloatArray, key: FloatArray, *, smooth: bool = False) -> FloatArray:
        """Return the change of each figure by its key, a number from 0 to below 1."""
        lower, upper, near = self._between(figure)
        below, above = self._of_row(lower, key, smooth=smooth), self._of_row(upper, key, smooth=smooth)
        return np.asarray((1 - near) * below + near * above, float)

    def _of_row(self, row: LongArray, key: FloatArray, *, smooth: bool) -> FloatArray:
        low, high, change, left, right, start = self._flat
        keys = high + 2.0 * np.repeat(np.arange(len(self.rows)), np.diff(start))
        place = np.clip(np.searchsorted(keys, key + 2.0 * row, side="right"), start[row], start[row + 1] - 1)
        if not smooth:
            return np.asarray(change[place], float)
        share = (key - low[place]) / np.where(high[place] > low[place], high[place] - low[place], 1.0)
        return np.asarray(left[place] + share * (right[place] - left[place]), float)

    def below(self, figure: FloatArray, change: FloatArray) -> FloatArray:
        """Return the share of keys whose smooth change of a figure is at most so much."""
        lower, _, near = self._between(figure)
        share = np.asarray(self._below_row(lower, change), float)
        mixed = np.flatnonzero(near > 0)
        if not len(mixed):
            return share
        at, wanted = figure[mixed], change[mixed]
        low, high = np.zeros(len(mixed)), np.ones(len(mixed))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            under = self.quantile(at, middle, smooth=True) <= wanted
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        share[mixed] = np.where(self.quantile(at, np.zeros(len(mixed)), smooth=True) > wanted, 0.0, high)
        return share

    def _below_row(self, row: LongArray, change: FloatArray) -> FloatArray:
        low, high, _, left, right, start = self._flat
        far = 4.0 * (float(np.abs(right).max()) + self.step + 1.0)
        of = np.repeat(np.arange(len(self.rows)), np.diff(start))
        wanted = np.clip(change, -far / 4, far / 4)
        place = np.clip(np.searchsorted(right + far * of, wanted + far * row), start[row], start[row + 1] - 1)
        wide = right[place] > left[place]
        share = (wanted - left[place]) / np.where(wide, right[place] - left[place], 1.0)
        share = np.where(wide, np.clip(share, 0.0, 1.0), wanted >= left[place])
        return np.asarray(low[place] + share * (high[place] - low[place]), float)


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Rows for all cells, or for those of an even and an odd number of contributors; and for small values, if apart.

    ``name`` says where the table is from.
    """

    kinds: Mapping[str, Rows]
    name: str

    def __post_init__(self) -> None:
        known = set(self.kinds) - {SMALL}
        if known not in ({ALL}, {EVEN, ODD}):
            raise InputError(
                f"{self.name}: a perturbation table of sums has rows of the type `all`, or of `even` and `odd`, and "
                f"perhaps of `small_cells`; this one has {', '.join(sorted(self.kinds)) or 'none'}"
            )
        for kind, rows in self.kinds.items():
            for row in rows.rows:
                _check(f"{self.name}: the row of {row.figure:g} ({kind})", row)
            if rows.rows[0].figure != 0 or rows.rows[0].changes.any() or len(rows.rows) < 2:
                raise InputError(f"{self.name} ({kind}): it begins with the figure 0, which stays 0, and has others")

    @property
    def parity(self) -> bool:
        """Whether even and odd numbers of contributors have noise of their own."""
        return EVEN in self.kinds

    @property
    def separated(self) -> bool:
        """Whether small values have noise of their own."""
        return SMALL in self.kinds

    @cached_property
    def deviation(self) -> float:
        """The largest change, in units of the noise."""
        return max(float(np.abs(row.changes).max()) for rows in self.kinds.values() for row in rows.rows)

    def variance(self, kind: str) -> float:
        """Return the variance of the change of large figures, which is the fixed one of small values."""
        row = self.kinds[kind].last
        share = np.diff(row.upper, prepend=0.0)
        return float(share @ (row.changes - share @ row.changes) ** 2)

    def digest(self) -> str:
        """Return what tells tables apart."""
        digest = hashlib.sha256()
        for kind in sorted(self.kinds):
            digest.update(f"{kind} {self.kinds[kind].step!r}\n".encode())
            for row in self.kinds[kind].rows:
                digest.update(f"{row.figure!r}\n".encode())
                digest.update(np.round(row.changes, 9).astype("<f8").tobytes() + b"|")
                digest.update(np.round(row.upper, 12).astype("<f8").tobytes())
        return digest.hexdigest()


def _check(row: str, said: Row) -> None:
    if not len(said.changes) or len(said.changes) != len(said.upper):
        raise InputError(f"{row} is empty; give it one line at least")
    if (np.diff(said.upper, prepend=0.0) < 0).any() or abs(said.upper[-1] - 1.0) > 1e-6:
        raise InputError(f"{row}: the upper ends of probabilities must rise to 1")
    if (np.diff(said.changes) <= 0).any():
        raise InputError(f"{row}: its changes must rise")
    if (said.changes + said.figure < -_DUST).any():
        raise InputError(f"{row} has a change that makes the figure negative")


@dataclass(frozen=True)
class NoiseDesign:
    """What a perturbation table of sums is to be like.

    ``deviation`` is the largest change in units of the noise, ``variance`` that of the noise at most, ``steps`` how
    many changes a unit has, ``figures`` those that have a row beside 0 and the deviation; ``parity`` and ``separation``
    say that even and odd numbers of contributors, and small values, have tables of their own.

    >>> rows = NoiseDesign(5, 1.0, 2).table().kinds["all"].rows
    >>> np.diff(rows[1].upper, prepend=0)[:4].round(5).tolist()  # the table that τ-ARGUS ships for its example
    [0.24007, 0.24007, 0.24007, 0.10377]
    """

    deviation: int
    variance: float
    steps: int
    figures: tuple[float, ...] = (1.0,)
    parity: bool = False
    separation: bool = False

    def table(self) -> NoiseTable:
        """Return the table of the largest entropy; even and odd numbers differ by how wide their noise is."""
        design = Design(self.deviation, self.variance)
        kinds = {ALL: self._rows(design)}
        if self.parity:
            wider = Design(self.deviation, min(1.25 * self.variance, float(self.deviation) ** 2))
            kinds = {EVEN: self._rows(design), ODD: self._rows(wider)}
        if self.separation:
            kinds[SMALL] = self._rows(design)
        name = f"a table of largest entropy, deviation {self.deviation:g} and variance {self.variance:g}"
        return NoiseTable(kinds, name)

    def _rows(self, design: Design) -> Rows:
        far = round(self.deviation * self.steps)
        rows = [Row(0.0, np.zeros(1), np.ones(1))]
        for figure in sorted({*(f for f in self.figures if 0 < f < self.deviation), float(self.deviation)}):
            least = -min(int(figure * self.steps + _DUST), far)
            changes = np.arange(least, far + 1) / self.steps
            share = design.row(figure, changes)
            some = share > 0
            upper = np.cumsum(share[some])
            upper[-1] = 1.0
            rows.append(Row(float(figure), changes[some], upper))
        return Rows(tuple(rows), 1 / self.steps)
