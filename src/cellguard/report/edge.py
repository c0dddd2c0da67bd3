"""Cells near the edge: hidden ones whose interval just reaches what they need, published ones just inside a rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.attack.audit import Audit, attacker_ends, quiet
from cellguard.attack.intervals import exact_moves
from cellguard.rules.assess import TableFindings
from cellguard.rules.rule import occupied
from cellguard.table.facts import BoolArray, FloatArray

MOST = 2_000  # unknown cells up to which exact intervals are worked out for a report


@dataclass(frozen=True, eq=False)
class Intervals:
    """The attacker's exact interval of every distinct cell; ``hidden`` marks those that an attacker does not see."""

    hidden: BoolArray
    lower: FloatArray
    upper: FloatArray


def exact_intervals(audit: Audit, most: int = MOST) -> Intervals | None:
    """Return the exact intervals: those of the audit, or worked out now if they are few; None if they are many."""
    problem, n = audit.problem, len(audit.needs.tables)
    hidden = np.zeros(n, bool)
    hidden[problem.cells[problem.cells < n]] = True
    if audit.exact.all():
        return Intervals(hidden, audit.lower, audit.upper)
    if len(problem.cells) > most:
        return None
    return Intervals(hidden, *attacker_ends(audit.grains, problem, n, *exact_moves(problem, tell=quiet)))


def margins(audit: Audit, intervals: Intervals) -> FloatArray:
    """Return for each primary how many times its interval is as far-reaching as it needs; infinite elsewhere.

    The least of (upper - value) / need above, (value - lower) / need below and width / sliding need: 1 is just enough.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    >>> done = cg.audit(needs, cg.suppress(needs).pattern, intervals=True)
    >>> margins(done, exact_intervals(done)).tolist()
    [inf, 10.0, inf, inf]
    """
    needs = audit.needs
    value = (audit.grains.value * audit.grains.size())[: len(needs.tables)]
    reach = (value - intervals.lower, intervals.upper - value, intervals.upper - intervals.lower)
    found = np.full(len(value), np.inf)
    for far, need in zip(reach, (needs.lower, needs.upper, needs.sliding), strict=True):
        found = np.minimum(found, np.divide(far, need, out=np.full(len(value), np.inf), where=need > 0))
    return np.where(needs.primary & intervals.hidden, found, np.inf)


def tightest(audit: Audit, intervals: Intervals, most: int = 8) -> npt.NDArray[np.intp]:
    """Return the primaries of the smallest margin, smallest first."""
    margin = margins(audit, intervals)
    order = np.argsort(margin, kind="stable")[:most]
    return order[np.isfinite(margin[order])]


def points(audit: Audit, intervals: Intervals) -> npt.NDArray[np.intp]:
    """Return the secondaries that an attacker can work out exactly although they are hidden."""
    unit = audit.needs.tables.unit
    exact = intervals.upper - intervals.lower < 1e-6 * unit
    return np.flatnonzero(exact & audit.pattern.secondary & intervals.hidden)


@dataclass(frozen=True, slots=True)
class NearRule:
    """A cell that a rule just lets pass: its position in the table, and the figure that the rule is known by.

    The figure is a count of respondents (``counted``), or a percentage.
    """

    cell: int
    rule: int
    figure: float
    counted: bool


def nearly_unsafe(findings: TableFindings, published: BoolArray, most: int = 3) -> list[NearRule]:
    """Return for each rule the published cells of the largest sensitivity, relative to what its figure is a share of.

    A rule without a figure (a mark, say) has no near misses. Ties come in the order of the cells.
    """
    table, found = findings.table, []
    open_ = published & ~findings.primary & occupied(table.facts)
    for number, (rule, sensitivity, unsafe) in enumerate(
        zip(findings.rules, findings.sensitivity, findings.unsafe, strict=True)
    ):
        figure = rule.measure(table.facts)
        cells = np.flatnonzero(open_ & ~unsafe & np.isfinite(figure) & np.isfinite(sensitivity))
        scale = np.maximum(np.abs(rule.scale(table.facts)[cells]), 1e-9)
        order = np.argsort(-sensitivity[cells] / scale, kind="stable")[:most]
        found += [NearRule(int(c), number, float(figure[c]), rule.counted) for c in cells[order]]
    return found
