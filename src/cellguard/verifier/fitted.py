"""Crossing tables of ready-made counts: whether such a table leaves out no sum of its cells, and no rule.

Its counts are not known to anybody: that they fit the tables in front of them is what the check of sums finds out, and
its unsafe cells need witnesses like all others. So nothing about it is taken on trust.
"""

from __future__ import annotations

import numpy as np

from cellguard.verifier.cells import Cells, combine, occurring
from cellguard.verifier.clusters import Pieces
from cellguard.verifier.cover_cells import Between
from cellguard.verifier.leaves import Parts, per_part
from cellguard.verifier.numbers import Int64
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import Every, InRows, Mark, Rule
from cellguard.verifier.spec import FITTED, Spec, TableSpec
from cellguard.verifier.stages import Refused


def check_fitted(cells: Cells) -> int:
    """Refuse a crossing table that does not have all sums of its rows, or not the rules of its response; count them."""
    fitted = [number for number, table in enumerate(cells.spec.tables) if table.where == FITTED]
    for number in fitted:
        table = cells.spec.tables[number]
        own = [other for other in cells.spec.tables if other.group == table.group and other.where != FITTED]
        if not own or not table.count or table.zeros != "possible":
            raise Refused(f"{table.internal} is no crossing table of counts whose zeros are not public")
        _check_rules(table, own)
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


def check_parted(spec: Spec, pieces: Pieces, between: Between) -> None:
    """Refuse latent cells of a response with crossing tables unless one of these divides as much as they do.

    Its crossing tables leave nothing cyclic: each of its clusters is one table, and what clusters tell together they
    tell one by one. A crossing table without latent cells judges all that others have of its own.
    """
    for g, group in enumerate(pieces.groups):
        fitted = [number for number, table in enumerate(spec.tables) if table.where == FITTED and table.group == group]
        names = ", ".join(spec.tables[number].internal for number in fitted)
        if fitted and any(len(piece.tables) > 1 for piece in pieces.clusters[g]):
            raise Refused(f"{names}: tables of {group[0]} still cross, and no table has the cells of their cover table")
        left = set(np.unique(between.cluster[between.group == g]).tolist())
        whole = [p for c, p in enumerate(pieces.clusters[g]) if c not in left and set(p.tables) & set(fitted)]
        for c, piece in ((c, pieces.clusters[g][c]) for c in sorted(left) if fitted):
            some = between.part[(between.group == g) & (between.cluster == c)]
            if not any(_divides(one.parts, piece.parts, some) for one in whole):
                raise Refused(f"{names}: lacks cells of the cover table of table {spec.tables[piece.tables[0]].name}")


def _divides(fine: Parts, coarse: Parts, cells: Int64) -> bool:
    """Whether partitions divide all that others do where some cells are, one row each with their part of each axis.

    Where they have none, codes that one table shows as empty may be apart there, and together in what no table shows.
    """
    there = {axis: np.where(np.isin(label, cells[:, axis]), label, -1) for axis, label in coarse.items()}
    return all(axis in fine and per_part(fine[axis], label) is not None for axis, label in there.items())


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
