"""Do counts and largest contributions fit their margins? No respondent of a part is missing from the whole."""

from __future__ import annotations

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.table.additivity import allowance
from cellguard.table.signed_facts import Sizes
from cellguard.table.table import Table


def check_margins(table: Table) -> None:
    """Refuse ready-made cells of which a total has fewer respondents, or a smaller largest one, than one of its parts.

    Every respondent of a part is in the whole too, and if nothing is negative contributes at least as much there. So
    counts are always compared, and the largest contributions unless a value or contribution may be negative or they are
    virtual ones of a survey. Merged cells have worst-case contributions, which need not fit. A ``tolerance`` is
    allowed here too, since who rounds values one by one may have rounded the other figures so.

    >>> from cellguard.table.read import cells
    >>> check_margins(cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [4, 2, 7]}, ["r"], value="x", count="n"))
    Traceback (most recent call last):
    cellguard.errors.InputError: table 'table' row 1: the count of respondents of Total is below that of its part S \
(table 'table' row 3), which cannot be; correct one of them, or the hierarchy
    """
    if table.origin not in {"cells", "merged"}:
        return
    facts, slack = table.facts, np.full(len(table), table.tolerance or 0.0)
    if facts.count is not None:
        _refuse(table, facts.count, slack, "count of respondents")
    if facts.tops is None or facts.base is not None or Sizes() in facts or table.origin == "merged":
        return
    if not ((table.value < 0).any() or (facts.tops < 0).any()):
        _refuse(table, facts.tops[:, 0], slack + allowance(table), "largest contribution")


def _refuse(table: Table, column: FloatArray, slack: FloatArray, what: str) -> None:
    """Refuse a figure that is larger in a part than in the whole; cells that are in no row are not looked at."""
    relations = table.relations
    number = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    above = relations.data > 0
    wholes = np.full(relations.shape[0], -1, np.int64)
    wholes[number[above]] = relations.indices[above]
    parts, whole = relations.indices[~above], wholes[number[~above]]
    given = whole >= 0
    if len(table.rows):
        given &= table.rows[whole] >= 0
    bad = np.flatnonzero(given & (column[parts] > column[whole] + slack[parts] + slack[whole]))
    if not len(bad):
        return
    total, part = int(whole[bad[0]]), int(parts[bad[0]])
    more = f" ({len(bad)} pairs of cells have this fault)" if len(bad) > 1 else ""
    raise InputError(
        f"{table.where(total)}: the {what} of {table.message_name(total)} is below that of its part "
        f"{table.message_name(part)} ({table.where(part)}), which cannot be{more}; correct one of them, or the "
        "hierarchy"
    )
