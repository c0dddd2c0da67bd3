"""Crossing tables of ready-made counts: whether such a table leaves out no sum of its cells, and no rule.

Its counts are not known to anybody: that they fit the tables in front of them is what the check of sums finds out, and
its unsafe cells need witnesses like all others. So nothing about it is taken on trust.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellguard.verifier.cells import Cells, combine, occurring
from cellguard.verifier.rows import UNPUBLISHED, Rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import Every, InRows, Mark, Rule
from cellguard.verifier.spec import FITTED, TableSpec
from cellguard.verifier.stages import Refused


def check_fitted(cells: Cells, rows: Rows) -> int:
    """Refuse a crossing table that does not have all sums of its rows, or not the rules of its response; count them."""
    fitted = [number for number, table in enumerate(cells.spec.tables) if table.where == FITTED]
    for number in fitted:
        table = cells.spec.tables[number]
        others = [i for i, t in enumerate(cells.spec.tables) if t.group == table.group and t.where != FITTED]
        own = [cells.spec.tables[i] for i in others]
        if not own or not table.count or table.zeros != "possible":
            raise Refused(f"{table.internal} is no crossing table of counts whose zeros are not public")
        _check_rules(table, own)
        _check_codes(cells, rows, number, others)
        _check_sums(cells, number)
    return len(fitted)


def _check_rules(table: TableSpec, own: list[TableSpec]) -> None:
    asked = [parse_rule(rule) for other in own for rule in other.rules]
    there = {repr(parse_rule(rule)) for rule in table.rules}
    if any(_can_judge(rule, table) and repr(rule) not in there for rule in asked):
        raise Refused(f"{table.internal} was not judged by all rules of the tables in front of it")


def _can_judge(rule: Rule, table: TableSpec) -> bool:
    """Whether a rule needs nothing but counts, and no dimension that a table does not have."""
    if isinstance(rule, Every):
        return all(_can_judge(part, table) for part in rule.rules)
    return not isinstance(rule, Mark) and (not isinstance(rule, InRows) or rule.by in table.by)


def _check_codes(cells: Cells, rows: Rows, number: int, own: Sequence[int]) -> None:
    """Refuse a table without a code with which another one shows a cell that is not 0."""
    table = cells.spec.tables[number]
    for axis in cells.axes(table):
        dimension = cells.dimensions[axis]
        there = occurring(cells.row_codes[cells.rows(number), axis], dimension)
        for other in own:
            part = cells.rows(other)
            shown = (rows.status[part] != UNPUBLISHED) & np.asarray(rows.value[other] != 0, dtype=bool)
            if (occurring(cells.row_codes[part, axis][shown], dimension) & ~there).any():
                raise Refused(
                    f"{table.internal} lacks a code of {dimension.name} that {cells.spec.tables[other].name} has"
                )


def _check_sums(cells: Cells, number: int) -> None:
    """Refuse a table that lacks the row above another one, in any dimension and grouping."""
    table, codes = cells.spec.tables[number], cells.row_codes[cells.rows(number)]
    axes = cells.axes(table)
    sizes = [len(cells.dimensions[axis].codes) for axis in axes]
    for place, axis in enumerate(axes):
        there = occurring(codes[:, axis], cells.dimensions[axis])
        for tree in cells.dimensions[axis].trees:
            above = np.full(sizes[place], -1, dtype=np.int64)
            for code, parent in zip(tree.codes, tree.parents, strict=True):  # parents come first
                above[code] = parent if parent < 0 or there[parent] else above[parent]
            upward = codes[:, axes].copy()
            upward[:, place] = above[upward[:, place]]
            upward = upward[upward[:, place] >= 0]
            both = np.concatenate([codes[:, axes], upward])
            key = combine(list(both.T), sizes, len(both))
            if not np.isin(key[len(codes) :], key[: len(codes)]).all():
                raise Refused(f"{table.internal} lacks a sum of its rows by {cells.dimensions[axis].name}")
