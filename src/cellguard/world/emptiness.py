"""Emptiness is information: what tables tell about where there is nobody, or somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cellguard.arrays import BoolArray, Positions
from cellguard.table.apriori import State
from cellguard.table.numbering import ResponseKey
from cellguard.table.table import Table
from cellguard.world.builder import Builder, ResponseCluster
from cellguard.world.cover_cells import TableView


def as_others_see(view: TableView) -> TableView:
    """Return a table as other responses see it: where it counts 0, there is nobody, as where it has no row."""
    return replace(view, there=somebody(view)) if view.table.is_count else view


def somebody(view: TableView) -> BoolArray:
    """Return which rows of a table hold a respondent; a suppressed count may stand as 0 where it is not known."""
    table = view.table
    if table.is_count:
        unknown = table.apriori.has(State.secondary) & (not view.values_known)
        return np.asarray((table.value != 0) | unknown, bool)
    return np.ones(len(table), bool) if table.facts.count is None else np.asarray(table.facts.count > 0, bool)


def informative(
    builder: Builder, own: Sequence[int], others: Sequence[int], strict: Mapping[int, TableView]
) -> list[int]:
    """Return the tables of other responses that say where there is nobody (for counts: or somebody).

    Those that the response's own tables can take up are not among them. A response with one table that holds all others
    of it needs none of them if its empty cells are public and no leaf lies outside its codes: on each of its cells lies
    a true record, and all that moves can lie on that record's combination.
    """
    informing: list[int] = []
    is_count = builder.tables.tables[own[0]].is_count
    whole = [
        i
        for i in own
        if all(_covers(builder, i, j) for j in own)
        and not any(shown.outside.any() for shown in builder.views[i].views.values())
    ]
    if whole and not is_count and builder.tables.tables[whole[0]].zeros == "known":
        return []
    for other in others:
        if any(_covers(builder, i, other) for i in own) or any(_covers(builder, i, other) for i in informing):
            continue
        if is_count or _has_gaps(strict[other]):
            informing.append(other)
    return informing


def _covers(builder: Builder, large: int, small: int) -> bool:
    """Whether a table divides whatever another one does."""
    if large == small:
        return True
    labels = {name: v.labels for name, v in builder.views[large].views.items()}
    return builder.views[small].refined_by(labels)


def _has_gaps(view: TableView) -> bool:
    """Whether a table says of some combination of its codes that there is nobody."""
    room = 1.0
    for shown, column in zip(view.views.values(), view.table.codes, strict=True):
        if shown.rest.any():
            return True
        room *= len(np.unique(column))
    return int(view.there.sum()) < room


def mark_occupied(
    builder: Builder,
    number: int,
    response_key: ResponseKey,
    rooms: Sequence[ResponseCluster],
    own: Sequence[int],
    others: Sequence[int],
) -> None:
    """Mark the counts of which readers know that they are 1 or more: some table with public zeros lists their row."""
    tables = builder.tables
    for i in [*own, *others]:
        table = tables.tables[i]
        some = somebody(builder.views[i])
        if not builder.views[i].values_known:
            some &= ~table.apriori.has(State.secondary)  # a table made elsewhere may list whatever it suppresses
        single, value = _single_codes(table), (table.value != 0) & (i not in own)
        if table.zeros == "possible":
            some &= single | value
        rows = np.flatnonzero(some)
        cell = tables.locate(response_key, i, rows)
        listed = ~table.unpublished | (table.release == "earlier")  # which lists what it suppresses
        # A row that is not listed is known from its value, which attackers may derive from others, or from its
        # single code.
        told = listed | value | (single & _shown(table, listed))
        builder.occupied[cell[(cell >= 0) & told[rows]]] = True
        if i in others:
            _occupy_between(builder, number, i, rows[cell < 0], rooms)


def _shown(table: Table, listed: BoolArray) -> BoolArray:
    """Return which rows have only codes that some listed row has, or has a code below."""
    shown = np.ones(len(table), bool)
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        there = np.zeros(len(dimension.codes), bool)
        there[column[listed]] = True
        for parent in dimension.parents:
            code = np.unique(column[listed])
            while len(code := parent[code[code >= 0]]):
                there[code[code >= 0]] = True
        shown &= there[column]
    return shown


def _single_codes(table: Table) -> BoolArray:
    """Return which rows show one code by itself: a table made from records lists a code only if a record has it.

    A code that all rows have says whom the table is about, and is not counted.
    """
    if table.origin != "records":
        return np.zeros(len(table), bool)
    own = [(column != 0).astype(int) for column in table.codes if len(column) and (column != column[0]).any()]
    return np.asarray(sum(own, np.zeros(len(table), int)) <= 1, bool)


def _occupy_between(
    builder: Builder, number: int, other: int, rows: Positions, rooms: Sequence[ResponseCluster]
) -> None:
    """Say of another response's finest rows, which this one does not list, that there is somebody."""
    view = builder.views[other]
    wanted = np.zeros(len(view.table), bool)
    wanted[rows] = True
    for room in rooms:
        if not view.refined_by(room.labels) or not len(room):
            continue
        for row in view.locate(room.labels, room.cover_cells):
            cover_cells = np.flatnonzero((row >= 0) & wanted[np.maximum(row, 0)])
            if not len(cover_cells):
                continue
            named, group = np.unique(row[cover_cells], return_inverse=True)
            wholes = builder.between(len(named), number, crossing=room.crossing, occupied=True)
            builder.tie(wholes, group, room.cell[cover_cells])
        return
