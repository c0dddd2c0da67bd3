"""Cells near the edge: suppressed ones whose interval just reaches their protection levels, published ones just inside
a rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.attack.audit import Audit
from cellguard.methods.suppress.result import Intervals
from cellguard.rules.assess import TableFindings
from cellguard.rules.rule import occupied
from cellguard.table.facts import BoolArray, FloatArray


def margins(audit: Audit, intervals: Intervals) -> FloatArray:
    """Return for each primary how many times its interval is as far-reaching as it needs; infinite elsewhere.

    The least of (upper - value) / need above, (value - lower) / need below and width / sliding need: 1 is just enough.

    >>> import cellguard as cg
    >>> from cellguard.methods.suppress.result import exact_intervals
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
    margin = np.full(len(value), np.inf)
    for far, need in zip(reach, (needs.lower, needs.upper, needs.sliding), strict=True):
        margin = np.minimum(margin, np.divide(far, need, out=np.full(len(value), np.inf), where=need > 0))
    return np.where(needs.primary & intervals.hidden, margin, np.inf)


def tightest(audit: Audit, intervals: Intervals, most: int = 8) -> npt.NDArray[np.intp]:
    """Return the primaries of the smallest margin, smallest first."""
    margin = margins(audit, intervals)
    order = np.argsort(margin, kind="stable")[:most]
    return order[np.isfinite(margin[order])]


def points(audit: Audit, intervals: Intervals) -> npt.NDArray[np.intp]:
    """Return the secondaries that an attacker can work out exactly although they are suppressed."""
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
    table, near = findings.table, []
    open_ = published & ~findings.primary & occupied(table.facts)
    for number, (rule, sensitivity, unsafe) in enumerate(
        zip(findings.rules, findings.sensitivity, findings.unsafe, strict=True)
    ):
        figure = rule.measure(table.facts)
        cells = np.flatnonzero(open_ & ~unsafe & np.isfinite(figure) & np.isfinite(sensitivity))
        scale = np.maximum(np.abs(rule.scale(table.facts)[cells]), 1e-9)
        order = np.argsort(-sensitivity[cells] / scale, kind="stable")[:most]
        near += [NearRule(int(c), number, float(figure[c]), rule.counted) for c in cells[order]]
    return near
