"""Protection levels against the widths of feasibility intervals, as dots on logarithmic axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.attack.audit import Audit
from cellguard.methods.suppress.result import Intervals
from cellguard.report.words import many

LEFT, RIGHT, TOP, BOTTOM = 70.0, 470.0, 10.0, 190.0  # of the plot in its picture
MOST = 400  # dots that are drawn: of more, those with the least margin


def widths_chart(audit: Audit, intervals: Intervals) -> dict[str, Any] | None:
    """Return where the unsafe cells stand in the chart, its axes and its words; None with less than two of them.

    Both axes have one scale, so that the line of intervals that are just wide enough goes through their corner.
    """
    needs = audit.needs
    level = np.maximum(needs.lower + needs.upper, needs.sliding)
    width = intervals.upper - intervals.lower
    asked = needs.primary & intervals.hidden & (level > 0) & (width > 0)
    drawn = np.flatnonzero(asked & np.isfinite(width))
    if len(drawn) < 2:
        return None
    drawn = drawn[np.argsort(width[drawn] / level[drawn], kind="stable")][:MOST]
    low, high = float(level[drawn].min()), float(max(width[drawn].max(), level[drawn].max()))
    ends = np.floor(np.log10(low)), np.ceil(np.log10(high) + 1e-9)
    x, y = _place(level[drawn], ends, LEFT, RIGHT), _place(width[drawn], ends, BOTTOM, TOP)
    tens = 10.0 ** np.arange(ends[0], ends[1] + 1, max(1, (ends[1] - ends[0]) // 6))
    ticks = [_tick(round(np.log10(t))) for t in tens.tolist()]
    wide = int((width[drawn] >= 2 * level[drawn]).sum())
    return {
        "marks": [(round(a, 1), round(b, 1)) for a, b in zip(x.tolist(), y.tolist(), strict=True)],
        "columns": list(zip(_place(tens, ends, LEFT, RIGHT).round(1).tolist(), ticks, strict=True)),
        "rows": list(zip(_place(tens, ends, BOTTOM, TOP).round(1).tolist(), ticks, strict=True)),
        "limit": f"M{LEFT:.0f} {BOTTOM:.0f}L{RIGHT:.0f} {TOP:.0f}",
        "open": many(int((asked & ~np.isfinite(width)).sum()), "cell") if (asked & ~np.isfinite(width)).any() else "",
        "words": f"Widths of feasibility intervals against protection levels: {many(len(drawn), 'unsafe cell')}, "
        f"{wide:,} of them with an interval at least twice as wide as its protection level",
    }


def _tick(power: int) -> str:
    """Name a power of ten, in few characters.

    >>> [_tick(power) for power in (-5, -1, 0, 3, 9)]
    ['10⁻⁵', '0.1', '1', '1,000', '10⁹']
    """
    if -4 < power < 6:
        return f"{10**power:,g}" if power < 0 else f"{10**power:,}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _place(values: FloatArray, ends: tuple[float, float], first: float, last: float) -> FloatArray:
    """Return where values stand on a logarithmic axis between two powers of ten."""
    share = (np.log10(values) - ends[0]) / (ends[1] - ends[0])
    return np.asarray(first + share * (last - first), float)
