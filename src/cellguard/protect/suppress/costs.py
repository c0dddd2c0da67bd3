"""What hiding a cell costs: functions from a table to one number a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cellguard.errors import InputError, did_you_mean
from cellguard.table.facts import FloatArray
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet

Cost = Callable[[Table], FloatArray]


def value(table: Table) -> FloatArray:
    """Return the size of each cell, at least one unit of the last decimal."""
    return np.maximum(np.abs(table.value), table.unit)


def count(table: Table) -> FloatArray:
    """Return the number of respondents, at least 1."""
    if table.facts.count is None:
        raise InputError(
            f"table {table.name!r}: the cost `count` needs the number of respondents; name it with `count`"
        )
    return np.maximum(table.facts.count, 1.0)


def constant(table: Table) -> FloatArray:
    """Return 1 for every cell: as few cells as possible are hidden."""
    return np.ones(len(table))


def log(table: Table) -> FloatArray:
    """Return the logarithm of 1 + the cell's size in units: between `value` and `constant`."""
    return np.log1p(np.abs(table.value) / table.unit) + 1e-6


COSTS: Mapping[str, Cost] = {"value": value, "count": count, "constant": constant, "log": log}


def cost_named(name: str) -> Cost:
    """Return the cost function with a name."""
    if name not in COSTS:
        raise InputError(f"unknown cost {name!r}{did_you_mean(name, COSTS)}")
    return COSTS[name]


def set_costs(tables: TableSet, costs: Mapping[str, Cost]) -> FloatArray:
    """Return the cost of each distinct cell: the highest of the tables that show it; a-priori costs replace it."""
    found = np.zeros(len(tables))
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        own = costs[table.name](table)
        own = np.where(np.isnan(table.apriori.cost), own, table.apriori.cost)
        found[cells] = np.maximum(found[cells], own)
    return found
