"""The relations of a few cells as rows of a program, on flat arrays. Compiled."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def rows_of(cells, rows, place):  # noqa: ANN001, ANN201
    """Return the relations of some cells, over them alone, as a sparse array by rows.

    ``place`` has -1 for every relation, and has it again at the end.
    """
    entries = 0
    for i in range(len(cells)):
        entries += rows.start[cells[i] + 1] - rows.start[cells[i]]
    many, size = 0, np.zeros(entries + 1, np.int64)
    for i in range(len(cells)):
        for q in range(rows.start[cells[i]], rows.start[cells[i] + 1]):
            r = rows.row[q]
            if place[r] < 0:
                place[r] = many
                many += 1
            size[place[r] + 1] += 1
    for r in range(many):
        size[r + 1] += size[r]
    start = size[: many + 1].copy()
    column, value = np.empty(entries, np.int32), np.empty(entries, np.int64)
    for i in range(len(cells)):
        for q in range(rows.start[cells[i]], rows.start[cells[i] + 1]):
            at = size[place[rows.row[q]]]
            column[at], value[at] = i, rows.value[q]
            size[place[rows.row[q]]] += 1
    for i in range(len(cells)):
        for q in range(rows.start[cells[i]], rows.start[cells[i] + 1]):
            place[rows.row[q]] = -1
    return start, column, value


@kernel
def peeled(start, column, can):  # noqa: ANN001, ANN201
    """Return which cells are left of those that can move, once whatever is alone in a relation was taken away."""
    n, relations = len(can), len(start) - 1
    kept = can.copy()
    first = np.zeros(n + 1, np.int64)
    for e in range(len(column)):
        first[column[e] + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    at, row = first[:n].copy(), np.empty(len(column), np.int32)
    many, waiting, top = np.zeros(relations, np.int64), np.empty(relations, np.int32), 0
    for r in range(relations):
        for e in range(start[r], start[r + 1]):
            i = column[e]
            row[at[i]] = r
            at[i] += 1
            if kept[i]:
                many[r] += 1
        if many[r] == 1:
            waiting[top] = r
            top += 1
    while top > 0:
        top -= 1
        r = waiting[top]
        if many[r] != 1:
            continue
        for e in range(start[r], start[r + 1]):
            i = column[e]
            if not kept[i]:
                continue
            kept[i] = False
            for q in range(first[i], first[i + 1]):
                many[row[q]] -= 1
                if many[row[q]] == 1:
                    waiting[top] = row[q]
                    top += 1
    return kept


@kernel
def program_of(start, column, value, up, calm, deep, target):  # noqa: ANN001, ANN201
    """Return relations over the columns up, calm down and further down of cells, where these have room.

    Also returns how much of ``target`` is in each relation, and of each column its cell and its sign.
    """
    n = len(up)
    cells, signs = np.empty(3 * n, np.int32), np.empty(3 * n, np.float64)
    number = np.full((3, n), -1, np.int32)
    columns = 0
    for kind in range(3):
        room = up if kind == 0 else (calm if kind == 1 else deep)
        for i in range(n):
            if room[i] > 0:
                number[kind, i] = columns
                cells[columns] = i
                signs[columns] = 1.0 if kind == 0 else -1.0
                columns += 1
    relations = len(start) - 1
    first = np.zeros(relations + 1, np.int32)
    index, factor = np.empty(3 * len(column), np.int32), np.empty(3 * len(column), np.float64)
    weight = np.zeros(relations, np.float64)
    many = 0
    for r in range(relations):
        for e in range(start[r], start[r + 1]):
            i = column[e]
            if i == target:
                weight[r] = value[e]
            for kind in range(3):
                if number[kind, i] >= 0:
                    index[many] = number[kind, i]
                    factor[many] = value[e] if kind == 0 else -value[e]
                    many += 1
        first[r + 1] = many
    return first, index[:many].copy(), factor[:many].copy(), weight, cells[:columns].copy(), signs[:columns].copy()
