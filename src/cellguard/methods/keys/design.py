"""Perturbation tables of maximum entropy.

Of all distributions of the noise v of a count i that obey the constraints, the one of the largest entropy tells an
attacker the least (Giessing 2016, *Computational issues in the design of transition probabilities and disclosure risk
estimation for additive noise*). The constraints: |v| <= D; i + v is 0 or above js; the mean is 0; the variance is at
most V, or exactly V; the probability to stay is as said; probabilities do not rise with |v|.

The dual of the convex program has one multiplier per constraint: p is proportional to exp(-A'y), with y >= 0 for
inequalities. It is minimised by L-BFGS-B, and Newton's method on the constraints that bind brings it to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog, minimize

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.methods.keys.perturbation_table import PerturbationTable

_NONE = 1e-9  # below which a probability that cannot be larger is none
_BINDS = 1e-9


@dataclass(frozen=True)
class Design:
    """What a perturbation table is to be like.

    ``deviation`` is the largest change, ``variance`` that of the noise (at most, or ``exact``), ``small`` the largest
    positive count that is never published, ``staying`` the probability of no change, ``monotone`` that larger changes
    are never likelier than smaller ones in the same direction.

    >>> table = Design(2, 1.0).table()
    >>> [round(p, 4) for p in np.diff(table.upper[2], prepend=0).tolist()]
    [0.0638, 0.2447, 0.383, 0.2447, 0.0638]
    """

    deviation: int
    variance: float
    small: int = 0
    staying: float | None = None
    exact: bool = False
    monotone: bool = True

    def __post_init__(self) -> None:
        if self.deviation < 1 or not 0 < self.variance <= self.deviation**2:
            raise InputError(
                f"a perturbation table needs a deviation of 1 or more, and a variance above 0 and at most its square; "
                f"not {self.deviation} and {self.variance:g}"
            )
        if not 0 <= self.small < self.deviation:
            raise InputError(f"`small` is 0 or more, and below the deviation {self.deviation}: counts must get past it")
        if self.staying is not None and not 0 <= self.staying < 1:
            raise InputError(f"`staying` is a probability below 1, not {self.staying:g}")

    @property
    def last(self) -> int:
        """The smallest count from which all have the same noise."""
        return self.deviation + (self.small + 1 if self.small else 0)

    def changes(self, count: int) -> LongArray:
        """Return the changes that a count may have."""
        changes = np.arange(-min(count, self.deviation), self.deviation + 1)
        shown = count + changes
        return changes[(shown == 0) | (shown > self.small)]

    def table(self) -> PerturbationTable:
        """Return the table of the largest entropy; a design that no table obeys is refused."""
        rows: list[tuple[LongArray, FloatArray]] = [(np.array([0]), np.array([1.0]))]
        for count in range(1, self.last + 1):
            changes = self.changes(count)
            rows.append((changes, self.row(count, changes.astype(float))))
        upper = [np.append(np.cumsum(p)[:-1], 1.0) for _, p in rows]
        name = f"a table of largest entropy, deviation {self.deviation} and variance {self.variance:g}"
        return PerturbationTable(tuple(v for v, _ in rows), tuple(upper), name)

    def row(self, count: float, changes: FloatArray) -> FloatArray:
        """Return the distribution of the largest entropy over some changes of a count; it may be a share of a unit."""
        constraints = self._constraints(changes)
        able = self._able(count, constraints, changes)
        some = np.zeros(len(changes))
        some[able] = constraints.only(able).largest_entropy()
        return some

    def _constraints(self, v: FloatArray) -> Constraints:
        equal, value = [v.astype(float)], [0.0]
        below, most = list[FloatArray](), list[float]()
        if self.exact:
            equal.append(v.astype(float) ** 2)
            value.append(self.variance)
        else:
            below.append(v.astype(float) ** 2)
            most.append(self.variance)
        if self.staying is not None and (v == 0).any():
            equal.append((v == 0).astype(float))
            value.append(self.staying)
        if self.monotone:
            for i, j in zip(range(len(v) - 1), range(1, len(v)), strict=True):
                near, far = (j, i) if v[j] <= 0 else (i, j)
                if v[i] < 0 < v[j] or (self.staying is not None and v[near] == 0):
                    continue
                row = np.zeros(len(v))
                row[far], row[near] = 1.0, -1.0
                below.append(row)
                most.append(0.0)
        return Constraints(np.array(equal), np.array(value), np.array(below).reshape(-1, len(v)), np.array(most, float))

    def _able(self, count: float, constraints: Constraints, v: FloatArray) -> LongArray:
        """Return the changes that can have a positive probability."""
        least = constraints.least()
        if least is None:
            raise InputError(self._why_none(count, v))
        if least > _NONE:
            return np.arange(len(v))
        reach = [constraints.most(np.eye(len(v))[i]) or 0.0 for i in range(len(v))]
        return np.flatnonzero(np.array(reach) > _NONE)

    def _why_none(self, count: float, v: FloatArray) -> str:
        """Say what variances a count could have."""
        free = replace(self, variance=float(self.deviation**2), exact=False)._constraints(v)
        low, high = free.most(-(v.astype(float) ** 2)), free.most(v.astype(float) ** 2)
        cure = "give another deviation, `small` or `staying`, or say `monotone: false`"
        if low is not None and high is not None:
            cure = f"it can be {-low + 0.0:.4g} to {high:.4g}"
        return (
            f"no perturbation table has the variance {self.variance:g} for a count of {count:g} with the deviation "
            f"{self.deviation} and `small` {self.small}: {cure}"
        )


@dataclass(frozen=True, eq=False)
class Constraints:
    """Linear constraints on probabilities: ``equal`` @ p == ``value``, ``below`` @ p <= ``most``, and sum(p) == 1."""

    equal: FloatArray
    value: FloatArray
    below: FloatArray
    limit: FloatArray

    def only(self, able: LongArray) -> Constraints:
        """Return the constraints on some probabilities, the others being 0."""
        return Constraints(self.equal[:, able], self.value, self.below[:, able], self.limit)

    def least(self) -> float | None:
        """Return what all probabilities can reach together; None if none obey the constraints."""
        n = self.equal.shape[1]
        equal = np.vstack([np.ones(n), self.equal])
        below = np.vstack([self.below, -np.eye(n)])
        shift = np.append(np.zeros(len(self.below)), np.ones(n))
        done = linprog(
            np.append(np.zeros(n), -1.0),
            np.column_stack([below, shift]),
            np.append(self.limit, np.zeros(n)),
            np.column_stack([equal, np.zeros(len(equal))]),
            np.append(1.0, self.value),
            bounds=(0, 1),
            method="highs-ds",
        )
        return -float(done.fun or 0.0) if done.status == 0 else None

    def most(self, weights: FloatArray) -> float | None:
        """Return the largest weighted sum of probabilities; None if none obey the constraints."""
        equal = np.vstack([np.ones(len(weights)), self.equal])
        done = linprog(
            -weights, self.below, self.limit, equal, np.append(1.0, self.value), bounds=(0, 1), method="highs-ds"
        )
        return -float(done.fun or 0.0) if done.status == 0 else None

    def largest_entropy(self) -> FloatArray:
        """Return the distribution of the largest entropy; some distribution with positive entries obeys them."""
        rows, value = np.vstack([self.equal, self.below]), np.append(self.value, self.limit)
        bounds = [(None, None)] * len(self.equal) + [(0.0, None)] * len(self.below)

        def dual(y: FloatArray) -> tuple[float, FloatArray]:
            p, log_sum = _softmax(-y @ rows)
            return log_sum + float(y @ value), value - rows @ p

        start = np.zeros(len(rows))
        done = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 5000, "ftol": 0})
        y = done.x
        binding = (np.arange(len(rows)) < len(self.equal)) | (y > _BINDS)
        return self._polished(y, rows, value, binding)

    def _polished(self, y: FloatArray, rows: FloatArray, value: FloatArray, binding: BoolArray) -> FloatArray:
        """Return the distribution after Newton steps on the constraints that bind."""
        y = np.where(binding, y, 0.0)
        best, error = _softmax(-y @ rows)[0], np.inf
        for _ in range(100):
            p = _softmax(-y @ rows)[0]
            gap = rows[binding] @ p - value[binding]
            size = float(np.abs(gap).max(initial=0.0))
            if size < error:
                best, error = p, size
            if size < 1e-15:
                break
            mean = rows[binding] @ p
            hessian = (rows[binding] * p) @ rows[binding].T - np.outer(mean, mean)
            step = np.linalg.lstsq(hessian, gap, rcond=1e-13)[0]
            y[binding] += step / max(1.0, float(np.abs(step).max(initial=0.0)) / 5.0)
        over = float(np.max(self.below @ best - self.limit, initial=0.0))
        if error > 1e-7 or over > 1e-7:
            raise InputError("no perturbation table was found for this design; change the variance a little")
        return best


def _softmax(exponents: FloatArray) -> tuple[FloatArray, float]:
    top = float(exponents.max())
    weights = np.exp(exponents - top)
    whole = float(weights.sum())
    return weights / whole, top + float(np.log(whole))
