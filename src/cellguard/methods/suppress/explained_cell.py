"""One cell in words: what it is, what each rule says of it, and why it is suppressed or may be seen. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import Positions
from cellguard.attack.audit import audit
from cellguard.errors import InputError, did_you_mean, listing
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io.stored_explanations import StoredExplanations
from cellguard.methods.suppress.cell_card import rule_line
from cellguard.methods.suppress.explain import explain_pattern
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings, TableFindings
from cellguard.table.pattern import Pattern
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet

if TYPE_CHECKING:
    import scipy.sparse as sp


def explain_one(
    findings: Findings,
    needs: Requirements,
    pattern: Pattern,
    name: str,
    *,
    table: str | None = None,
    known: sp.csr_array | None = None,
    stored: StoredExplanations = StoredExplanations(),  # noqa: B008
) -> list[str]:
    """Return what is known of a cell: value, respondents, the figure of each rule, and why it is suppressed or not.

    The name is spelled as codes joined by ``/``, with or without blanks around, or by the labels of the codes. What
    ``stored`` explanations do not tell is worked out.
    """
    tables = needs.tables
    number, position = find_cell(tables, name, table)
    here, cell = findings.by_table[number], int(tables.cells_of[number][position])
    called = tables.cell_name(cell) if here.table.is_added else here.table.cell_name(position)
    figures = [rule_line(here, rule, position) for rule in range(len(here.rules))]
    lines = [_facts(here, position, called), *figures]
    if needs.primary[cell]:
        reasons = here.why(position) or ["unsafe in a linked table"]
        through = [tables.cell_name(c) for c in _through(needs, pattern, cell, known, stored)]
        lines.append(f"{called} is primary: {'; '.join(reasons)}.")
        return [*lines, "It is protected through " + listing(through, 20) + "." if through else "Nothing protects it."]
    if pattern.unpublished[cell]:
        return [*lines, f"{called} is in no release."]
    if not pattern.secondary[cell]:
        return [*lines, f"{called} is published{_since(tables, cell)}."]
    lost = _lost_without(needs, pattern, cell, known, stored)
    if not len(lost):
        return [*lines, f"{called} is secondary. Every unsafe cell would be protected without it too."]
    names = listing([tables.cell_name(int(c)) for c in lost], 20)
    return [*lines, f"{called} is secondary. Without it these unsafe cells would not be protected: {names}."]


def _through(
    needs: Requirements, pattern: Pattern, cell: int, known: sp.csr_array | None, stored: StoredExplanations
) -> Sequence[int]:
    """Return the cells through which an unsafe one is protected."""
    if cell in stored.through:
        return stored.through[cell]
    moved = explain_pattern(needs, pattern, only=cell, known=known).through.values()
    return sorted(set().union(*moved))


def _lost_without(
    needs: Requirements, pattern: Pattern, secondary: int, known: sp.csr_array | None, stored: StoredExplanations
) -> Positions:
    """Return the unsafe cells that are not protected if a secondary is published.

    Only those are attacked whose proof relies on it, as far as that is known.
    """
    relying = needs.primary.copy()
    relying[[cell for cell, others in stored.relies.items() if secondary not in others]] = False
    if not relying.any():
        return np.zeros(0, np.intp)
    asked = [np.where(relying, need, 0.0) for need in (needs.lower, needs.upper, needs.sliding)]
    some = replace(needs, primary=relying, lower=asked[0], upper=asked[1], sliding=asked[2])
    without = replace(pattern, secondary=pattern.secondary & (np.arange(len(needs.tables)) != secondary))
    return np.flatnonzero(audit(some, without, known=known).failing)


def _since(tables: TableSet, cell: int) -> str:
    """Describe which table of an earlier release shows a cell, if one does."""
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.release == "earlier" and (~table.unpublished & (cells == cell)).any():
            return f", and was so before: {table.name}"
    return ""


def _facts(here: TableFindings, position: int, called: str) -> str:
    table = here.table
    value = f"{table.value[position]:,.{table.decimals}f}"
    labels = [d.labels.get(d.codes[c[position]], "") for d, c in zip(table.dimensions, table.codes, strict=True)]
    label = f" ({' / '.join(filter(None, labels))})" if any(labels) else ""
    count = table.facts.count
    people = (
        ""
        if count is None or table.is_count
        else f", {count[position]:,.0f} respondent{'' if count[position] == 1 else 's'}"
    )
    if table.is_added:
        return f"{called}: {table.response} {value}{people}."
    return f"{called}{label} in table {table.name!r}: {table.response} {value}{people}."


def find_cell(tables: TableSet, name: str, wanted: str | None = None) -> tuple[int, int]:
    """Return the table that has a cell of this name (the first, if they are one cell), and its position there."""
    for number, cells in enumerate(tables.cells_of):
        added = cells[tables.unlisted[cells]] if tables.tables[number].is_added else cells[:0]
        if wanted is None and (same := [c for c in added.tolist() if tables.cell_name(c) == name]):
            return number, int(np.flatnonzero(cells == same[0])[0])  # as summaries write it
    names = [table.name for table in tables.tables]
    first, mark, rest = name.partition(": ")
    if mark and wanted is None and first in names:  # as summaries write it
        wanted, name = first, rest
    if wanted is not None and wanted not in names:
        raise InputError(f"no table {wanted!r}{did_you_mean(wanted, names)}")
    places = [
        (number, position)
        for number, table in enumerate(tables.tables)
        if (wanted is None or table.name == wanted) and (position := _position(table, name)) is not None
    ]
    if not places:
        if wanted is not None:
            tables.tables[names.index(wanted)].find(name)  # which says what is wrong
        raise InputError(f"no table has a cell {name!r}; write it as codes or labels joined by /{_example(tables)}")
    if len({int(tables.cells_of[number][position]) for number, position in places}) > 1:
        told = listing([names[number] for number, _ in places])
        raise InputError(f"the tables {told} have a cell {name!r}; say which with --table")
    return places[0]


def _example(tables: TableSet) -> str:
    by = [d.name for d in tables.tables[0].dimensions]
    return f", in the order {' / '.join(by)}"


def _position(table: Table, name: str) -> int | None:
    parts = name.split("/")
    if len(parts) != len(table.dimensions):
        return None
    codes = [_code(dimension, part) for dimension, part in zip(table.dimensions, parts, strict=True)]
    if any(code is None for code in codes):
        return None
    try:
        return table.find([str(code) for code in codes])
    except InputError:
        return None


def _code(dimension: Dimension, word: str) -> str | None:
    """Return the code that a word stands for: as written, without blanks around it, or by its label."""
    if word in dimension.position:
        return word
    short = word.strip()
    same = [code for code in dimension.codes if code.strip() == short]
    same = same or [code for code, label in dimension.labels.items() if label.casefold() == short.casefold()]
    return same[0] if len(same) == 1 else None
