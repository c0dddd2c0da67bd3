"""Whom tables are about: whether the rows are of those that the job selects, and whether differences are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.hierarchies import Dimension
from cellguard.verifier.job import NAME, Job
from cellguard.verifier.rows import Rows
from cellguard.verifier.spec import SUMS
from cellguard.verifier.stages import Refused

Leaves = frozenset[int]
KEY = "differences"


def held_by(dimension: Dimension) -> dict[int, Leaves]:
    """Return the leaves below each code, by position."""
    held: dict[int, Leaves] = {}
    for tree in dimension.trees:
        below: dict[int, set[int]] = {code: set() for code in tree.codes}
        for code, parent in zip(reversed(tree.codes), reversed(tree.parents), strict=True):
            below[code] = below[code] or {code}
            if parent >= 0:
                below[parent] |= below[code]
        held |= {code: frozenset(leaves) for code, leaves in below.items()}
    return held


@dataclass(frozen=True)
class Extent:
    """What a table is about: its group, the dimensions that it divides, and the leaves that its respondents have."""

    table: int
    group: tuple[str, str]
    by: frozenset[str]
    where: Mapping[str, Leaves]


def check_selected(job: Job, cells: Cells) -> None:
    """Refuse rows of others than those whom the job says that the table is about."""
    for number, (entry, table) in enumerate(zip(job.tables, cells.spec.tables, strict=True)):
        for name, said in (entry["where"] or {}).items():
            axis = cells.spec.dimensions.index(name)
            dimension = cells.dimensions[axis]
            held, codes = held_by(dimension), np.unique(cells.row_codes[cells.rows(number), axis])
            if codes.size != 1 or held[int(codes[0])] != _selected(dimension, held, said):
                raise Refused(f"{table.internal} is not of those whom {NAME} selects by {name}")


def _selected(dimension: Dimension, held: Mapping[int, Leaves], said: Any) -> Leaves:  # noqa: ANN401
    """Return the leaves that a job selects: those of the listed codes, or all others."""
    places = {code: held[place] for place, code in enumerate(dimension.codes)}
    listed = said["all_but"] if isinstance(said, dict) else said
    if any(code not in places for code in listed):
        raise Refused(f"{NAME} selects a code that hierarchies/{dimension.name}.csv does not have")
    named = frozenset().union(*(places[code] for code in listed))
    return held[0] - named if isinstance(said, dict) else named


def check_differences(cells: Cells, rows: Rows, listed: Sequence[str]) -> None:
    """Refuse a set in which a reader can form a difference of populations that nobody judged, unless it is named."""
    if KEY in listed:
        return
    extents, every = _extents(cells)
    for small in extents:
        for large in extents:
            rest = _rest(large, small, every)
            if rest is None or _same_people(cells, rows, large, small):
                continue
            by = small.by & large.by
            if not any(e.group == small.group and e.where == rest and by <= e.by for e in extents):
                names = (cells.spec.tables[e.table].name for e in (large, small))
                raise Refused(f"the difference was not judged of the populations of {' and '.join(names)}")


def is_uncrossed(cells: Cells) -> bool:
    """Whether some tables of one response have a crossing table behind them that no table of the set is."""
    extents, _ = _extents(cells)
    own = [extent for extent in extents if cells.spec.tables[extent.table].where != SUMS]
    for group in cells.spec.groups:
        here = [extent for extent in own if extent.group == group]
        if not here:
            continue
        shared = {n: held for n, held in here[0].where.items() if all(e.where.get(n) == held for e in here)}
        by = {name for extent in here for name in (*extent.by, *extent.where)} - set(shared)
        if not any(extent.where == shared and by <= extent.by for extent in here):
            return True
    return False


def _extents(cells: Cells) -> tuple[list[Extent], dict[str, Leaves]]:
    extents, every = [], dict[str, Leaves]()
    for number, table in enumerate(cells.spec.tables):
        where = {}
        for axis in cells.axes(table):
            codes = np.unique(cells.row_codes[cells.rows(number), axis])
            if codes.size == 1 and codes[0]:
                name, held = cells.dimensions[axis].name, held_by(cells.dimensions[axis])
                where[name], every[name] = held[int(codes[0])], held[0]
        extents.append(Extent(number, table.group, frozenset(table.by) - set(where), where))
    return extents, every


def _rest(large: Extent, small: Extent, every: Mapping[str, Leaves]) -> dict[str, Leaves] | None:
    """Return whom the larger population has more than the smaller one; None if it is not one.

    What differs in several columns is no cell of a table: {} stands for it, which no table about some people has.
    """
    if large.group != small.group:
        return None
    rest = dict(small.where)
    narrower = 0
    for name in {*large.where, *small.where}:
        ours, theirs = large.where.get(name, every[name]), small.where.get(name, every[name])
        if name in large.by or name in small.by or not theirs <= ours:
            return None
        if theirs < ours:
            rest[name] = ours - theirs
            narrower += 1
    return None if not narrower else rest if narrower == 1 else {"": frozenset()}


def _same_people(cells: Cells, rows: Rows, large: Extent, small: Extent) -> bool:
    """Whether two tables have the same values and counts wherever both show something: nobody is in the difference."""
    shared = [cells.spec.dimensions.index(name) for name in sorted(large.by & small.by)]
    seen: list[dict[tuple[int, ...], tuple[int, int]]] = []
    for extent in (large, small):
        part = cells.rows(extent.table)
        codes, count = cells.row_codes[part], rows.count[part]
        others = [a for a in cells.axes(cells.spec.tables[extent.table]) if a not in shared]
        free = [a for a in others if cells.dimensions[a].name not in extent.where]
        margin = np.flatnonzero((codes[:, free] == 0).all(axis=1))
        if (count[margin] < 0).any():
            return False
        value = rows.value[extent.table]
        seen.append({tuple(codes[i, shared].tolist()): (int(value[i]), int(count[i])) for i in margin.tolist()})
    larger, smaller = seen
    return bool(smaller) and all(larger.get(key) == value for key, value in smaller.items())
