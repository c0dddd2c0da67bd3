"""One cell in words: what it is, what each rule says of it, and why it is suppressed or may be seen. Confidential."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, Positions
from cellguard.attack.audit import audit
from cellguard.attack.derivation import name as name_beside
from cellguard.errors import InputError, did_you_mean, listing
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io.stored_explanations import StoredExplanations
from cellguard.methods.suppress.explain import explain_pattern
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings, TableFindings
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern
from cellguard.table.sums import Sum
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet
from cellguard.world.determined_sums import determined_sums

if TYPE_CHECKING:
    import scipy.sparse as sp


MANY = 3_000  # distinct cells up to which a set is attacked anew where the folder does not tell what to look at


@dataclass(frozen=True, eq=False)
class Context:
    """What is known of a run beyond its pattern.

    Parameters
    ----------
    known
        Totals that the attacker has from elsewhere.
    stored
        What the run knew of why cells are suppressed; what it does not tell is worked out.
    insiders, coalition
        The respondents, if the job looks at them, and how many pool what they know.
    followed
        The cells that the job has suppressed with another response.
    intervals
        The attacker's interval of suppressed cells, as far as it is known.
    """

    known: sp.csr_array | None = None
    stored: StoredExplanations = field(default_factory=StoredExplanations)
    insiders: Contributions | None = None
    coalition: int = 1
    followed: Collection[int] = ()
    intervals: Mapping[int, tuple[float, float]] = field(default_factory=dict)


def explain_one(
    findings: Findings,
    needs: Requirements,
    pattern: Pattern,
    name: str,
    *,
    table: str | None = None,
    context: Context = Context(),  # noqa: B008
) -> list[str]:
    """Return what is known of a cell: value, respondents, the figure of each rule, and why it is suppressed or not.

    The name is spelled as codes joined by ``/``, with or without blanks around, or by the labels of the codes.
    """
    tables = needs.tables
    number, position = find_cell(tables, name, table)
    here, cell = findings.by_table[number], int(tables.cells_of[number][position])
    called = tables.cell_name(cell) if here.table.is_added else here.table.cell_name(position)
    lines = [_facts(here, position, called), *_figures(here, position, context.intervals.get(cell))]
    if needs.primary[cell]:
        reasons = here.why(position) or ["unsafe in a linked table"]
        through = [_short(needs, c, cell) for c in _through(needs, pattern, cell, context)]
        lines.append(f"{called} is primary: {'; '.join(reasons)}.")
        return [*lines, "It is protected through " + listing(through, 10) + "." if through else "Nothing protects it."]
    if pattern.unpublished[cell]:
        return [*lines, f"{called} is in no release."]
    if not pattern.secondary[cell]:
        return [*lines, f"{called} is published{_since(tables, cell)}."]
    return [*lines, f"{called} is secondary. {_why_secondary(needs, pattern, cell, context)}"]


def _why_secondary(needs: Requirements, pattern: Pattern, cell: int, context: Context) -> str:
    """Say what a secondary is suppressed for: against outsiders, against respondents, or with another response."""
    lost = _lost_without(needs, pattern, cell, context.known, context.stored)
    if len(lost):
        names = listing([_short(needs, int(c), cell) for c in lost], 10)
        return f"Without it these unsafe cells would not be protected: {names}."
    exposed = _exposed_without(needs, pattern, cell, context)
    if exposed:
        names = listing([_short(needs, c, cell) for c in exposed], 10)
        return (
            "Without it outsiders could still estimate no unsafe cell too closely, but respondents, who know what they "
            f"reported, could, or it would not be proven that they cannot: {names}."
        )
    if cell in context.followed:
        return "No unsafe cell depends on it: the job has it suppressed with another response."
    if context.insiders is not None and len(pattern.hidden) > MANY:
        return "No unsafe cell depends on it against outsiders; against respondents it is part of the proof as a whole."
    sums = _sums_without(needs, pattern, cell, context)
    if sums:
        return (
            "No unsafe cell depends on it alone, but without it an attacker could work out sums of suppressed cells, "
            f"which the rules judge like cells: {listing([_sum_in_words(needs, one, cell) for one in sums], 3)}."
        )
    return "No unsafe cell depends on it alone: the search did not find that it can be published."


def _short(needs: Requirements, cell: int, home: int) -> str:
    """Return a cell's name beside another one; of a sum of many cells the first ones."""
    parts = name_beside(needs.world.constraints, cell, home).split(" + ")
    names = [part.split(": ", 1)[-1] if len(parts) > 1 and len(needs.tables.tables) <= 2 else part for part in parts]
    if len(names) == 1:
        return names[0]
    more = f" and {len(names) - 3} more cells" if len(names) > 3 else ""
    return f"the sum of {', '.join(names[:3])}{more}"


def _through(needs: Requirements, pattern: Pattern, cell: int, context: Context) -> Sequence[int]:
    """Return the cells through which an unsafe one is protected."""
    if cell in context.stored.through:
        return context.stored.through[cell]
    moved = explain_pattern(needs, pattern, only=[cell], known=context.known).through.values()
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
    some = _only(needs, relying)
    without = replace(pattern, secondary=pattern.secondary & (np.arange(len(needs.tables)) != secondary))
    return np.flatnonzero(audit(some, without, known=known).failing)


def _exposed_without(needs: Requirements, pattern: Pattern, secondary: int, context: Context) -> list[int]:
    """Return the unsafe cells that respondents may estimate too closely if a secondary is published.

    Only those are attacked which a witness against respondents protects by moving it; of small sets all, if that is
    not known.
    """
    if context.insiders is None:
        return []
    inside, relying = context.stored.inside, needs.primary.copy()
    if inside:
        relying[:] = False
        relying[[cell for cell, others in inside.items() if secondary in others]] = True
    if not relying.any() or (not inside and len(relying) > MANY):
        return []
    some = _only(needs, relying)
    without = replace(pattern, secondary=pattern.secondary & (np.arange(len(needs.tables)) != secondary))
    judged = audit(some, without, known=context.known, insiders=context.insiders, coalition=context.coalition)
    if judged.inside is None:
        return []
    pairs = [*judged.inside.failing, *judged.inside.undecided]
    return sorted({int(judged.problem.cells[pair.cell]) for pair in pairs})


def _sums_without(needs: Requirements, pattern: Pattern, secondary: int, context: Context) -> list[Sum]:
    """Return the sums with an unsafe part that relations tell once a secondary is published; of small sets only."""
    world, n = needs.world, len(needs.tables)
    if n > MANY:
        return []
    relations = world.relations_with(context.known)

    def told(hidden: BoolArray) -> set[Sum]:
        return set(determined_sums(relations, world.extend(hidden & ~world.constraints.empty, True)).sums)

    less = pattern.unknown.copy()
    less[secondary] = False
    new = told(less) - told(pattern.unknown)
    return sorted((one for one in new if one[-1] < n and needs.primary[list(one)].any()), key=len)


def _sum_in_words(needs: Requirements, one: Sum, home: int) -> str:
    """Return a sum of cells by the first of them."""
    names = [name_beside(needs.world.constraints, cell, home) for cell in one]
    return " + ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _only(needs: Requirements, relying: BoolArray) -> Requirements:
    """Return the protection levels of some of the unsafe cells."""
    asked = [np.where(relying, need, 0.0) for need in (needs.lower, needs.upper, needs.sliding)]
    return replace(needs, primary=relying, lower=asked[0], upper=asked[1], sliding=asked[2])


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


def _figures(here: TableFindings, position: int, interval: tuple[float, float] | None) -> list[str]:
    """Say for each rule what its figure is, what suppression makes of it, and on which side of its limit it is."""
    lines = []
    for rule, unsafe in zip(here.rules, here.unsafe, strict=True):
        told = rule.figures(here.table, np.array([position]))[0]
        after = rule.after(here.table, position, *interval) if interval and unsafe[position] else ""
        side = "unsafe" if unsafe[position] else "safe"
        lines.append(f"  {rule} ({rule.words()}): {told}, {side}{f'; {after}' if after else ''}")
    return lines


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
