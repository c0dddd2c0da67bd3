"""S_N: how sensitive a perturbed cell is, how much noise it needs, and its desired total (Cuppen 2000, section 4.1).

A coalition of n - 1 knows the perturbed total, its own contributions D = X_2 + ... + X_n and the rest to within q. With
weights the rest is R = T - D - X_1: what the n largest stand for besides themselves belongs to it. Then

    need = p X_1 - q R,     S_N = need - |noise|,

and the cell is unsafe iff S_N > 0. Negative contributions count by their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.rules.linear import Dominance

_DUST = 1e-12
_REACHED = 1e-9


@dataclass(frozen=True, eq=False)
class Needs:
    """What every cell of a table needs: X_1, D and R as ``largest``, ``coalition`` and ``rest``, and ``size`` = all.

    ``need`` is the least noise, up or down, that makes the cell safe; 0 or less where it is safe as it is.
    """

    table: CalibrationTable
    largest: FloatArray
    coalition: FloatArray
    rest: FloatArray
    size: FloatArray
    need: FloatArray

    @property
    def sensitive(self) -> BoolArray:
        """Which cells are unsafe without noise."""
        return needy(self.need, self.size)

    @cached_property
    def accuracy(self) -> FloatArray:
        """How close, as a share of X_1, the coalition comes without noise and prior knowledge: R / X_1 (theorem 1)."""
        return np.divide(self.rest, self.largest, out=np.full(len(self.rest), inf), where=self.largest > 0)


def needs_of(table: CalibrationTable) -> Needs:
    """Return the protection level of every cell; of several rules the largest counts, with its coalition and rest.

    >>> from cellguard.hierarchy.build import flat
    >>> from cellguard.hierarchy.hierarchy import Dimension
    >>> from cellguard.methods.perturb.cells.calibration import calibration_table
    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firms = respondents({"region": ["N"] * 4}, {"x": [8000, 850, 600, 550]})
    >>> table = calibration_table(firms, [Dimension("region", flat(["N"]))], "x")
    >>> float(needs_of(table).need[1].round(4))
    2878.5714
    """
    records = table.records
    negative = (records.value(table.response) < 0).any()
    size = table.sums(np.abs(records.weighted(table.response))) if negative else table.total
    top = np.abs(table.largest.value)
    coalitions = [top[:, 1 : rule.n].sum(axis=1) for rule in table.rules]
    rests = [rest_of(size, top[:, 0] + coalition) for coalition in coalitions]
    needs = [rule.accuracy * top[:, 0] - rule.prior * rest for rule, rest in zip(table.rules, rests, strict=True)]
    strictest, cell = np.argmax(needs, axis=0), np.arange(len(table))
    coalition, rest, need = (np.asarray(by_rule, float)[strictest, cell] for by_rule in (coalitions, rests, needs))
    return Needs(table, top[:, 0], coalition, rest, size, need)


def rest_of(size: FloatArray, known: FloatArray) -> FloatArray:
    """Return what is left of a size besides the n largest; rounding dust is nothing."""
    rest = size - known
    return np.where(np.abs(rest) <= _DUST * size, 0.0, rest)


def needy(need: FloatArray, size: FloatArray) -> BoolArray:
    """Return which protection levels are more than rounding dust."""
    return np.asarray(need > _DUST * size, bool)


def in_spite_of(noise: FloatArray, need: FloatArray, size: FloatArray) -> BoolArray:
    """Return which protection levels are not met by this noise; noise that reaches the protection level exactly is
    enough.
    """
    slack = np.maximum(_DUST * size, _REACHED * need)
    return np.asarray(needy(need, size) & (need - np.abs(noise) > slack), bool)


def s_n(needs: Needs, noise: FloatArray) -> FloatArray:
    """Return S_N = need - |noise| of every cell; noise is the perturbed total minus the true one."""
    return np.asarray(needs.need - np.abs(noise), float)


def still_unsafe(needs: Needs, noise: FloatArray) -> BoolArray:
    """Return which cells are unsafe with this noise; noise that reaches the protection level exactly is enough."""
    return in_spite_of(noise, needs.need, needs.size)


def supersensitive(needs: Needs, rule: Dominance | None = None) -> BoolArray:
    """Return which sensitive cells are dominated so far that no reasonable multiplier helps (section 5.1).

    By default those in which one contributor alone exceeds k percent of the total. Such cells must be removed by
    another design of the table, see `redesign`, or accepted as unsafe.
    """
    rule = rule or extreme_rule(needs.table)
    if rule.n > needs.table.largest.value.shape[1]:
        raise InputError(
            f"the rule for supersensitive cells looks at {rule.n} contributions, but table {needs.table.name!r} keeps "
            f"the {needs.table.largest.value.shape[1]} largest; use a smaller n"
        )
    top = np.abs(needs.table.largest.value)[:, : rule.n].sum(axis=1)
    return np.asarray(needs.sensitive & (top - rule.k / 100 * needs.size > _DUST * needs.size), bool)


def extreme_rule(table: CalibrationTable) -> Dominance:
    """Return (1, k) dominance with the k of the table's rules, the largest if there are several."""
    return Dominance(1, max(rule.k for rule in table.rules))


def dominated(table: CalibrationTable) -> BoolArray:
    """Return which cells are unsafe under the (n, k) dominance rule (formula 2.1), or under one of several."""
    return np.logical_or.reduce([Dominance(rule.n, rule.k).unsafe(table.table.facts) for rule in table.rules])


def desired_totals(needs: Needs, direction: FloatArray) -> FloatArray:
    """Return total + direction * need for sensitive cells, and the total itself for the others."""
    return np.asarray(needs.table.total + np.where(needs.sensitive, direction * needs.need, 0.0), float)
