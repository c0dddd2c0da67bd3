"""Small cells, for people: what an attacker can still tell of each suppressed count."""

from __future__ import annotations

import numpy as np

from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.section import Section
from cellguard.report.words import many, number, told_count
from cellguard.seam.outcome import Outcome


def counts(outcome: Outcome[SuppressionResult], most: int = 60) -> Section | None:
    """Say of each suppressed count what can be told of it: "exactly 3", "1 or 2", "at most 4"; None without such
    counts.

    The counts of which most can be told come first, unsafe ones before the others.
    """
    audit, ends = outcome.protected.audit, outcome.protected.intervals
    tables, pattern = audit.needs.tables, audit.pattern
    cells = np.flatnonzero(pattern.hidden & tables.is_count & ~tables.unlisted)
    if not len(cells):
        return None
    title = "What can be concluded of suppressed counts"
    if ends is None:
        return Section("counts", title, {"exact": False})
    low, high = ends.lower[cells], ends.upper[cells]
    order = np.lexsort((cells, ~pattern.primary[cells], high - low))[:most]
    rows = [
        outcome.protected.cell(int(cells[i]))
        | {
            "status": outcome.protected.status(int(cells[i])),
            "value": number(tables.value[cells[i]]),
            "told": told_count(low[i], high[i]),
        }
        for i in order.tolist()
    ]
    wide = high - low
    kinds = {"exactly": wide == 0, "to two neighbours, such as 1 or 2": wide == 1, "less than that": wide > 1}
    tally = [(word, many(int(which.sum()), "count")) for word, which in kinds.items()]
    return Section("counts", title, {"exact": True, "rows": rows, "tally": tally, "more": max(len(cells) - most, 0)})
