"""Iterative proportional fitting, of any number of margins (Cuppen 2000, section 4.2 and A.1).

Values are scaled to one set of margins after the other until all of them hold. What is 0 stays 0, and cross-product
ratios stay as they are. A set of margins is a label per value, -1 for values that are in none of its margins, so that
tables of any shape, sparse ones and several at once are all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.run_context import UNWATCHED, Run

_TOLERANCE, _SWEEPS = 1e-10, 10_000


@dataclass(frozen=True, eq=False)
class Margins:
    """Disjoint sets of values (``label`` per value) and what each is to add up to."""

    label: LongArray
    target: FloatArray


@dataclass(frozen=True, eq=False)
class Raked:
    """The values, how many sweeps it took, and the largest relative deviation from a target that is left."""

    value: FloatArray
    sweeps: int
    residual: float


def rake(
    start: FloatArray,
    margins: Sequence[Margins],
    *,
    tolerance: float = _TOLERANCE,
    sweeps: int = _SWEEPS,
    run: Run = UNWATCHED,
) -> Raked:
    """Scale values that are 0 or more until every margin is its target, to within a relative tolerance.

    It converges where some table of the same zeros has all these margins, and says how far off it ended otherwise.

    >>> rows = Margins(np.array([0, 0, 1, 1]), np.array([10.0, 10.0]))
    >>> columns = Margins(np.array([0, 1, 0, 1]), np.array([12.0, 8.0]))
    >>> rake(np.array([8.0, 4.0, 3.0, 5.0]), [rows, columns]).value.round(6).tolist()
    [7.397464, 2.602536, 4.602536, 5.397464]
    """
    value = np.array(start, float)
    if (value < 0).any() or any((m.target < 0).any() for m in margins):
        raise InputError("raking needs values and margins that are 0 or more")
    for m in margins:
        if ((_sums(value, m) <= 0) & (m.target > 0)).any():
            raise InputError("raking: a margin without any value above 0 cannot be anything but 0")
    residual = float("inf") if margins else 0.0
    sweep = 0
    while residual > tolerance and sweep < sweeps:
        sweep += 1
        residual = 0.0
        run.check()
        for m in margins:
            now = _sums(value, m)
            factor = np.divide(m.target, now, out=np.ones(len(now)), where=now > 0)
            residual = max(residual, float(np.abs(factor[m.target > 0] - 1).max(initial=0.0)))
            value *= np.append(factor, 1.0)[m.label]
    return Raked(value, sweep, residual)


def _sums(value: FloatArray, margins: Margins) -> FloatArray:
    inside = margins.label >= 0
    return np.asarray(np.bincount(margins.label[inside], value[inside], minlength=len(margins.target)), float)


def disjoint(members: sp.csr_array) -> list[tuple[LongArray, LongArray]]:
    """Deal the rows of a matrix out to as few sets of rows without common columns as come of taking them in order.

    Return for each set its label per column, and which row each label is.

    >>> cells = sp.csr_array(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]]))
    >>> [(label.tolist(), rows.tolist()) for label, rows in disjoint(cells)]
    [([0, 0, 1], [0, 1]), ([0, -1, 0], [2])]
    """
    labels: list[LongArray] = []
    chosen: list[list[int]] = []
    for row, (a, b) in enumerate(zip(members.indptr[:-1].tolist(), members.indptr[1:].tolist(), strict=True)):
        columns = members.indices[a:b]
        at = next((i for i, label in enumerate(labels) if (label[columns] < 0).all()), len(labels))
        if at == len(labels):
            labels.append(np.full(members.shape[1], -1, np.int64))
            chosen.append([])
        labels[at][columns] = len(chosen[at])
        chosen[at].append(row)
    return [(label, np.array(rows, np.int64)) for label, rows in zip(labels, chosen, strict=True)]
