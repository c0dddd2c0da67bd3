"""Which insiders come too near to whom, by brute force: one program per insider, unsafe cell and direction.

Plain Python over codes and contributions; of the package it takes the tables, the requirements and the pattern.
"""

from __future__ import annotations

from itertools import combinations

import highspy
import numpy as np

import oracle

SLACK = 1e-6
FAR = 1e7  # beyond all that a cell of these small tables can be


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
        program = _Ends(matrix, bounds)
        for c in np.flatnonzero(needs.primary).tolist():
            others = [x for h, x in parts[c].items() if h not in together]
            if not others:
                continue
            own = sum(parts[c].get(h, 0) for h in together)
            ends = [program.end(c, sign) for sign in (-1, 1)]
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


class _Ends:
    """The largest and smallest values of cells under some bounds: one program, whose cost changes from cell to cell."""

    def __init__(self, matrix, bounds):
        n = len(bounds)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = n, len(matrix)
        model.col_cost_ = np.zeros(n)
        model.col_lower_ = np.array([low for low, _ in bounds], float)
        model.col_upper_ = np.array([FAR if high is None else high for _, high in bounds], float)
        model.row_lower_ = model.row_upper_ = np.zeros(len(matrix))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        rows, columns = np.nonzero(matrix)
        model.a_matrix_.start_ = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int32)
        model.a_matrix_.index_ = columns.astype(np.int32)
        model.a_matrix_.value_ = matrix[rows, columns]
        self.highs = highspy.Highs()
        for option, value in {"output_flag": False, "presolve": "off", "threads": 1}.items():
            self.highs.setOptionValue(option, value)
        assert self.highs.passModel(model) == highspy.HighsStatus.kOk

    def end(self, cell, sign):
        """The end of a cell's interval, upper or lower; infinite if it has none."""
        self.highs.changeColCost(cell, -float(sign))
        self.highs.run()
        assert self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        value = self.highs.getInfo().objective_function_value * -sign
        self.highs.changeColCost(cell, 0.0)
        return sign * np.inf if abs(value) > FAR / 2 else value
