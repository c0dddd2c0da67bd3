"""What an attacker concludes of counts, given all that was answered: the posterior of every cell, named or left over.

Cells that nobody lists but that sums leave (`Sum`) take part: a difference of two large counts may be a small one. What
sums do not tie, a cell inside another by several variables, is judged pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray
from cellguard.methods.keys.answers.boxes import Box, Sum, contains, sums_of
from cellguard.methods.keys.perturbation_table import PerturbationTable
from cellguard.methods.keys.posterior import Published, infer

MOST_BOXES = 20_000
_WIDEST = 160  # counts of a cell that is left over
_MOST_PAIRS = 2_000_000


@dataclass(frozen=True)
class Cell:
    """A cell that was answered: its true and its published count, and whether everybody knows that it has a record."""

    true: int
    published: int
    filled: bool


@dataclass(frozen=True)
class Verdict:
    """What counts tell: the largest posterior probability of a small count, how many are estimates, what is undecided.

    ``pairs`` is the same of differences of two cells by several variables.
    """

    largest: float
    pairs: float
    estimated: int
    undecided: int


@dataclass(frozen=True, eq=False)
class _Seen(Published):
    """Published cells and cells that are left over, each with its own counts that it may have."""

    low: LongArray
    own: FloatArray

    @property
    def base(self) -> LongArray:
        """The least count of each cell."""
        return self.low

    def weights(self) -> FloatArray:
        """The weights of counts, see `Published`."""
        return self.own


def judge(cells: Mapping[Box, Cell], new: Sequence[Box], table: PerturbationTable, threshold: int) -> Verdict:
    """Return what all cells, the new ones included, tell of counts from 1 to below ``threshold``."""
    sums, undecided = list[Sum](), 0
    left: dict[Box, tuple[int, int]] = {}
    for one in sums_of(cells):
        window = _window(one, cells, table.deviation)
        if window is None:
            sums.append(one)
            continue
        rest, low, high = window
        if low >= threshold:
            continue  # many in any case: it tells nothing of few
        if high - low >= _WIDEST:
            undecided += 1
            continue
        before = left.get(rest, (0, high))
        left[rest] = (max(low, before[0]), min(high, before[1]))
        sums.append(one)
    posterior = infer(_seen(cells, left, sums, table))
    limits = np.full(len(cells) + len(left), threshold, np.int64)
    largest = posterior.largest(limits)
    tied = np.zeros(len(limits), bool)
    place = {box: i for i, box in enumerate([*cells, *left])}
    for one in sums:
        tied[[place[box] for box in (one.whole, *one.parts)]] = True
    estimated = int((~posterior.exact & tied).sum())
    return Verdict(float(largest.max(initial=0.0)), _pairs(cells, new, table, threshold), estimated, undecided)


def _window(one: Sum, cells: Mapping[Box, Cell], deviation: int) -> tuple[Box, int, int] | None:
    """Return the cell that is left over in a sum, with its least and its largest count; None if all are listed."""
    known = [cells[part].published for part in one.parts if part in cells]
    rest = next((part for part in one.parts if part not in cells), None)
    if rest is None:
        return None
    whole = cells[one.whole].published
    low = whole - deviation - sum(count + deviation for count in known)
    high = whole + deviation - sum(max(count - deviation, 0) for count in known)
    return rest, max(low, 0), max(high, 0)


def _seen(
    cells: Mapping[Box, Cell], left: Mapping[Box, tuple[int, int]], sums: Sequence[Sum], table: PerturbationTable
) -> Published:
    boxes = [*cells, *left]
    place = {box: i for i, box in enumerate(boxes)}
    rows = [i for i, one in enumerate(sums) for _ in range(1 + len(one.parts))]
    columns = [place[box] for one in sums for box in (one.whole, *one.parts)]
    signs = [sign for one in sums for sign in (1.0, *(-1.0 for _ in one.parts))]
    relations = sp.csr_array((signs, (rows, columns)), shape=(len(sums), len(boxes)))
    counts = np.array([*(cell.published for cell in cells.values()), *(-1 for _ in left)], np.int64)
    filled = np.array([*(cell.filled for cell in cells.values()), *(False for _ in left)], bool)
    fixed = np.arange(len(boxes)) >= len(cells)
    flat = np.ones(1)
    plain = Published(
        counts[: len(cells)],
        sp.csr_array((0, len(cells))),
        table,
        table.chances(),
        filled[: len(cells)],
        fixed[: len(cells)],
        flat,
    )
    width = max([2 * table.deviation + 1, *(high - low + 1 for low, high in left.values())])
    own = np.zeros((len(boxes), width))
    own[: len(cells), : 2 * table.deviation + 1] = plain.weights()
    for i, (low, high) in enumerate(left.values(), start=len(cells)):
        own[i, : high - low + 1] = 1.0
    least = np.concatenate([plain.base, np.array([low for low, _ in left.values()], np.int64)])
    return _Seen(counts, relations, table, table.chances(), filled, fixed, flat, least, own)


def _pairs(cells: Mapping[Box, Cell], new: Sequence[Box], table: PerturbationTable, threshold: int) -> float:
    """Return how sure an attacker may be of a small difference of two cells, one of them new, of which one holds the
    other.
    """
    worst, chances = 0.0, table.chances()
    for outer, inner in _nested(cells, new, threshold):
        large, small = (_likely(cells[box], table, chances) for box in (outer, inner))
        same = cells[outer].published == cells[inner].published
        worst = max(worst, _small_difference(large, small, same=same, threshold=threshold))
    return worst


def _nested(cells: Mapping[Box, Cell], new: Sequence[Box], threshold: int) -> Iterator[tuple[Box, Box]]:
    """Yield pairs of a cell and one inside it, one of them new, that differ by few records."""
    boxes = list(cells)
    true = np.array([cell.true for cell in cells.values()], np.int64)
    order = np.argsort(true, kind="stable")
    ranked, looked = true[order], 0
    for box in new:
        here = cells[box].true
        first, last = np.searchsorted(ranked, [here - threshold + 1, here + threshold])
        looked += int(last - first)
        for at in order[first:last].tolist() if looked <= _MOST_PAIRS else ():
            other = boxes[at]
            if true[at] < here and contains(box, other):
                yield box, other
            elif true[at] > here and contains(other, box):
                yield other, box
    if looked > _MOST_PAIRS:
        raise OverflowError


def _likely(cell: Cell, table: PerturbationTable, chances: FloatArray) -> tuple[int, FloatArray]:
    """Return the least count that a cell may have, and the probability of what is published for each from there on."""
    d = table.deviation
    base = cell.published - d
    true = base + np.arange(2 * d + 1)
    rows = table.rows(np.maximum(true, 0))
    likely = np.where(true >= 0, chances[rows, np.arange(2 * d, -1, -1)], 0.0)
    return base, likely


def _small_difference(
    outer: tuple[int, FloatArray], inner: tuple[int, FloatArray], *, same: bool, threshold: int
) -> float:
    """Return the largest probability of a difference from 1 to below ``threshold``, each count as likely beforehand.

    With a difference of 0 both cells have the same records, hence the same noise.
    """
    (above, large), (below, small) = outer, inner
    weights = np.correlate(large, small, mode="full")
    difference = np.arange(len(weights)) - (len(small) - 1) + above - below
    weights = np.where(difference > 0, weights, 0.0)
    nothing = float(small.sum()) if same else 0.0
    total = float(weights.sum()) + nothing
    few = weights[(difference > 0) & (difference < threshold)]
    return 1.0 if total <= 0 else float(few.max(initial=0.0)) / total
