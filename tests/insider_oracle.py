"""Which insiders come too near to whom, by brute force: one program per insider, unsafe cell and direction.

Plain Python over codes and contributions; of the package it takes the tables, the needs of outsiders and the pattern.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

import oracle

SLACK = 1e-6


def contributions(table, records, columns, value, holding):
    """What each holding contributes to each cell: a list of dictionaries, one per cell of the table."""
    found = []
    below = [oracle.leaves_below(d.hierarchies[0]) for d in table.dimensions]
    for codes in oracle.names(table):
        leaves = [part[code] for part, code in zip(below, codes, strict=True)]
        here = {}
        for row in range(len(records[holding])):
            if all(records[c][row] in inside for c, inside in zip(columns, leaves, strict=True)):
                amount = 1 if value == "count" else records[value][row]
                here[records[holding][row]] = here.get(records[holding][row], 0) + amount
        found.append(here)
    return found


def failing(needs, unknown, parts, accuracy, *, size=1, is_count=False):
    """The pairs of a coalition (as a tuple) and an unsafe cell that it comes too near to."""
    tables = needs.tables
    value, n = tables.value, len(tables)
    rows = [dict(row) for row in oracle.linked_relations(tables.tables)]
    matrix = np.array([[row.get(c, 0) for c in range(n)] for row in rows], float).reshape(-1, n)
    everybody = sorted({h for part in parts for h in part})
    pairs = set()
    for together in combinations(everybody, size):
        bounds = []
        for c in range(n):
            own = sum(parts[c].get(h, 0) for h in together)
            fixed = not unknown[c] or (parts[c] and set(parts[c]) <= set(together))
            low = max(own, 1 if is_count and value[c] else 0)
            bounds.append((value[c], value[c]) if fixed else (low, None))
        for c in np.flatnonzero(needs.primary).tolist():
            others = [x for h, x in parts[c].items() if h not in together]
            if not others:
                continue
            own = sum(parts[c].get(h, 0) for h in together)
            ends = [_end(matrix, bounds, c, sign) for sign in (-1, 1)]
            if _too_near(value[c], own, max(others), ends, accuracy, is_count, needs.upper[c]):
                pairs.add((together, c))
    return pairs


def _too_near(value, own, other, ends, accuracy, is_count, reach):
    low, high = ends
    if is_count:
        return high - low < 1 - SLACK or high < value + reach - SLACK
    level = max(own + (1 + accuracy / 100) * other - value, 0)
    down = min(level, value - own)
    if max(level, down) < 1 - SLACK:
        return high - low < 1 - SLACK or high < value + level - SLACK or low > value - down + SLACK
    return high < value + level - SLACK or low > value - down + SLACK


def _end(matrix, bounds, cell, sign):
    cost = np.zeros(len(bounds))
    cost[cell] = -sign
    answer = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds, method="highs")
    if answer.status == 3:
        return sign * np.inf
    assert answer.status == 0, answer.message
    return answer.x[cell]
