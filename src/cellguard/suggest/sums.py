"""Levels of ready-made cells guessed from nothing but their values: a code that is the sum of others lies above them.

Codes are taken by rising value, and each is looked for as the sum of codes that have no parent yet, in all combinations
of the other dimensions at once. Sums are tried of neighbours, in the order of the file and of the alphabet, since that
is how lists of codes are written, and of any codes where they are few. A sum tells something only if it can hardly be
an accident: a code with the value v, known to the step g, equals one of k sums of other codes by chance about k g / v
times, and as much less often in each further combination that does not follow from the others. And in the end all must
fit: the codes that are left without a parent must have the total's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import qr

from cellguard.arrays import FloatArray, Positions
from cellguard.hierarchy.code_order import in_code_order

_CHANCE = 1e-6  # how many accidental sums may be expected for a code that is taken for a parent
_FEW = 14  # of so many codes every sum is tried
_WEIGHED = 40  # combinations that chance is reckoned with; all are compared
_CLOSE = 1e-6


def parents_by_sums(codes: Sequence[str], figures: FloatArray, whole: FloatArray, total: str) -> dict[str, str] | None:
    """Return the parent of each code, None where values do not tell; one row of ``figures`` per code.

    >>> rows = np.array([[7.31, 5.12], [3.1, 1.02], [4.21, 4.1], [0.0, 9.4]]) * 1000.001
    >>> parents_by_sums(["A", "A1", "A2", "B"], rows, rows[0] + rows[3], "T")
    {'A': 'T', 'A1': 'A', 'A2': 'A', 'B': 'T'}
    """
    if not len(codes) or (figures < 0).any() or not figures.any(axis=1).all():
        return None
    size = figures.sum(axis=1)
    place = {code: i for i, code in enumerate(in_code_order(codes))}
    orders = (np.arange(len(codes)), np.array([place[code] for code in codes]))
    telling = _independent(figures)
    step = np.where((figures == np.round(figures)).all(axis=0), 1.0, 0.0)
    above = np.full(len(codes), -1)
    left = np.zeros(len(codes), bool)
    # Of codes with equal values the one that the file names first lies above the others.
    for code in np.lexsort((-np.arange(len(codes)), size)).tolist():
        fitting = np.flatnonzero(left & (figures <= figures[code] + _slack(figures[code])).all(axis=1))
        sums = {tuple(parts) for parts in _sums(figures, size, code, fitting, orders)}
        if len(sums) == 1 and _chance(figures[code, telling], step[telling], len(fitting)) < _CHANCE:
            parts = list(sums.pop())
            above[parts], left[parts] = code, False
        left[code] = True
    top = figures[left].sum(axis=0)
    if left.all() or (np.abs(top - whole) > _slack(whole)).any():
        return None
    return {code: codes[above[i]] if above[i] >= 0 else total for i, code in enumerate(codes)}


def _sums(
    figures: FloatArray, size: FloatArray, code: int, fitting: Positions, orders: Sequence[Positions]
) -> Iterator[list[int]]:
    """Return the codes, among those that fit, that a code is the sum of: runs in some order, or any of a few."""
    wanted, slack = size[code], float(_slack(size[code : code + 1])[0])
    for rank in orders:
        run = fitting[np.argsort(rank[fitting], kind="stable")]
        ends = np.concatenate([[0.0], np.cumsum(size[run])])
        last = np.searchsorted(ends, ends + wanted - slack)
        for start in np.flatnonzero(last < len(ends)).tolist():
            parts = run[start : last[start]]
            if _is_sum(figures, code, parts):
                yield sorted(parts.tolist())
    if 0 < len(fitting) <= _FEW:
        sums = np.zeros(1)
        for part in fitting.tolist():
            sums = np.concatenate([sums, sums + size[part]])
        for chosen in np.flatnonzero(np.abs(sums - wanted) <= slack).tolist():
            parts = fitting[[chosen >> bit & 1 == 1 for bit in range(len(fitting))]]
            if _is_sum(figures, code, parts):
                yield sorted(parts.tolist())


def _is_sum(figures: FloatArray, code: int, parts: Positions) -> bool:
    if not len(parts):
        return False
    return bool((np.abs(figures[parts].sum(axis=0) - figures[code]) <= _slack(figures[code])).all())


def _slack(values: FloatArray) -> FloatArray:
    """Return how far a sum may be off for rounding."""
    return _CLOSE * np.maximum(np.abs(values), 1.0)


def _independent(figures: FloatArray) -> Positions:
    """Return combinations of the other dimensions none of which follows from the others."""
    largest = np.argsort(-figures.sum(axis=0), kind="stable")[:_WEIGHED]
    triangle, pivots = qr(figures[:, largest], mode="r", pivoting=True)
    size = np.abs(np.diag(triangle))
    return largest[pivots[: int((size > 1e-9 * size[0]).sum())]]


def _chance(values: FloatArray, step: FloatArray, fitting: int) -> float:
    """Return how many sums of codes would have these values by accident; ``step`` is how finely they are reported."""
    apart = np.maximum(2 * _slack(values), step)
    tried = fitting**2 + (2.0**fitting if fitting <= _FEW else 0.0)
    return float(tried * np.minimum(apart / np.maximum(values, apart), 1.0).prod())
