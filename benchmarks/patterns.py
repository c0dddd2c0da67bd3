"""Safe patterns for measuring the audit: grown crudely, by hiding cells around whatever the audit still finds."""

from __future__ import annotations

import numpy as np

from cellguard.attack.audit import audit
from cellguard.protection import Requirements
from cellguard.table.pattern import Pattern


def grow_safe(needs: Requirements, *, rounds: int = 60) -> Pattern:
    """Hide the smallest published cell of every relation near a failing cell, again and again, until all is safe."""
    relations = abs(needs.tables.relations)
    value = needs.tables.value
    secondary = np.zeros(len(needs.tables), bool)
    reach = 1
    for _ in range(rounds):
        pattern = Pattern(needs.tables, needs.primary, secondary & ~needs.primary)
        found = audit(needs, pattern)
        near = (found.failing | found.undecided).astype(float)
        if not near.any():
            return pattern
        rows = relations @ near > 0
        for _ in range(reach - 1):
            rows = relations @ (relations.T @ rows.astype(float) > 0).astype(float) > 0
        chosen = _cheapest(relations[np.flatnonzero(rows)], value, ~pattern.unknown & (value > 0))
        reach = 1 if len(chosen) else reach + 1
        secondary[chosen] = True
    raise RuntimeError("no safe pattern found")


def _cheapest(relations, value, candidate):
    """Return for each relation its smallest candidate cell."""
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    cells = relations.indices
    keep = candidate[cells]
    rows, cells = rows[keep], cells[keep]
    order = np.lexsort((value[cells], rows))
    first = np.r_[True, rows[order][1:] != rows[order][:-1]] if len(rows) else np.zeros(0, bool)
    return np.unique(cells[order][first])
