"""JJ files: cells with bounds and levels, and all relations, as solvers of suppression problems read them.

Format: `index value cost status lower-bound upper-bound LPL UPL SPL` for each cell, then for each relation the
right-hand side 0, the number of its cells, and the total with -1 and its parts with 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from cellguard.argus.own_table import EMPTY, PROTECTED, SECONDARIES, UNSAFE, ArgusTable
from cellguard.argus.spanning import Spanning
from cellguard.argus.writers.cell_text import number, status_of

_DEAREST = 20_000


def jj_file(table: ArgusTable, options: Mapping[str, bool]) -> dict[str, str]:
    """Return the text of the file under '', and that of the numbers of contributors beside it."""
    kept = [kept_codes(s, trivial=not options["TR"]) for s in table.spanning]
    cells = list(itertools.product(*kept))
    rows = [table.row_of.get(_key(index, table.shape), -1) for index in cells]
    place = {index: i for i, index in enumerate(cells)}
    lines = ["0", str(len(cells)), *_cell_lines(table, rows)]
    relations = list(_relations(table, kept, place))
    lines += [str(len(relations)), *relations]
    freq = (f"{table.freq[r]:.0f} {table.holdings[r]:.0f}" if r >= 0 else "0 0" for r in rows)
    return {"": "\n".join(lines) + "\n", ".frq": "\n".join(freq) + "\n"}


def _cell_lines(table: ArgusTable, rows: Sequence[int]) -> list[str]:
    most, least = float(table.value.max(initial=0.0)), float(table.value.min(initial=0.0))
    low, high = 1.5 * min(least, 0.0), 1.5 * max(most, 0.0)
    dearest = float(table.cost.max(initial=1.0))
    scale = _DEAREST / dearest if dearest > _DEAREST else 1.0
    fine, lines = table.decimals + 3, []
    for i, row in enumerate(rows):
        status = status_of(table, row)
        value = float(table.value[row]) if row >= 0 else 0.0
        unsafe = status in UNSAFE
        lower, upper = (float(table.lower[row]), float(table.upper[row])) if unsafe else (0.0, 0.0)
        upper = max(upper, table.unit) if unsafe else 0.0
        mark = "u" if unsafe else "m" if status in SECONDARIES else "z" if status in {PROTECTED, EMPTY} else "s"
        cost = max(1, round(float(table.cost[row]) * scale)) if row >= 0 else 1
        bounds = [min(low, value - lower), max(high, value + upper)]
        figures = [number(value, table.decimals), str(cost), mark, *(number(b, table.decimals) for b in bounds)]
        lines.append(" ".join([str(i), *figures, number(lower, fine), number(upper, fine), number(0.0, fine)]))
    return lines


def _relations(table: ArgusTable, kept: Sequence[Sequence[int]], place: Mapping[tuple[int, ...], int]) -> Sequence[str]:
    found = []
    for dimension, spanning in enumerate(table.spanning):
        children = _children(spanning, kept[dimension])
        others = [kept[i] if i != dimension else [0] for i in range(len(kept))]
        for rest in itertools.product(*others):
            for parent, parts in children.items():
                cells = [place[(*rest[:dimension], code, *rest[dimension + 1 :])] for code in (parent, *parts)]
                terms = [f"{cells[0]} (-1)", *(f"{cell} (1)" for cell in cells[1:])]
                found.append(f"0 {len(cells)} : {' '.join(terms)}")
    return found


def kept_codes(spanning: Spanning, *, trivial: bool) -> list[int]:
    """Return the codes that are written: without trivial levels only the first of those that mean the same."""
    every = range(len(spanning.tree.codes))
    if trivial:
        return list(every)
    return [i for i in every if spanning.same[spanning.tree.codes[i]][0] == spanning.tree.codes[i]]


def _children(spanning: Spanning, kept: Sequence[int]) -> dict[int, list[int]]:
    """Return the codes below each code, over levels that are not written."""
    tree, listed = spanning.tree, set(kept)
    below: dict[int, list[int]] = {}
    for code in kept:
        parent = int(tree.parent[code])
        while parent >= 0 and parent not in listed:
            parent = int(tree.parent[parent])
        if parent >= 0:
            below.setdefault(parent, []).append(code)
    return below


def _key(index: Sequence[int], shape: Sequence[int]) -> int:
    return int(np.ravel_multi_index(tuple(index), tuple(shape)))
