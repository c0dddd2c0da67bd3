"""What a statistician should know of a table's findings: cells to look at, and margins whose parts are all safe."""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.errors import listing
from cellguard.rules.assess import TableFindings
from cellguard.table.table import Table

_NAMED = 3


def notices(findings: TableFindings) -> list[str]:
    """Return the remarks of a table's rules, and where a rule that is not sub-additive makes only the margin unsafe.

    >>> import cellguard as cg
    >>> from cellguard.rules.statisticon import Statisticon
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [30, 15, 15], "n": [8, 4, 4], "a": [11, 11, 11], "b": [11, 4, 3]},
    ...              by=["r"], value="x", count="n", top=["a", "b"])
    >>> notices(cg.assess(t, Statisticon(30))["table"])[0][:77]
    "table 'table': the rule statisticon 30 makes 1 cell unsafe all of whose parts"
    """
    table, texts = findings.table, []
    for rule, unsafe in zip(findings.rules, findings.unsafe, strict=True):
        texts += [_told(table, f"{{}} {words}", cells) for words, cells in rule.remarks(table.facts) if cells.any()]
        margins = _only_margins(table, unsafe) if rule.subadditive is False else np.zeros(0, bool)
        if margins.any():
            words = f"the rule {rule} makes {{}} unsafe all of whose parts are safe: it is not sub-additive"
            texts.append(_told(table, words, margins))
    return texts


def _only_margins(table: Table, unsafe: BoolArray) -> BoolArray:
    """Return which cells are unsafe though they are the sum of cells that are all safe."""
    relations = table.relations
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    above = relations.data > 0
    safe = np.bincount(row[~above], unsafe[relations.indices[~above]], relations.shape[0]) == 0
    margins = np.zeros(len(table), bool)
    margins[relations.indices[above & safe[row]]] = True
    return margins & unsafe


def _told(table: Table, words: str, cells: BoolArray) -> str:
    numbers = np.flatnonzero(cells)
    names = listing([table.message_name(int(cell)) for cell in numbers[:_NAMED]], _NAMED)
    more = " and more" if len(numbers) > _NAMED else ""
    many = "1 cell" if len(numbers) == 1 else f"{len(numbers):,} cells"
    return f"table {table.name!r}: {words.format(many)} ({names}{more})"
