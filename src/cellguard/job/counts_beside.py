"""Counts beside values: a table that says so gets a frequency table of the same cells at its side.

To every later step, the attacker's included, this is one more table of the job, so all that readers learn from both is
learnt from two tables: the world behind them has nobody where a count is 0 and somebody where a value is listed, counts
are whole and add up, and with one pattern a count is unknown where its value is.
"""

from __future__ import annotations

from collections.abc import Sequence

from cellguard.job.specs import CellsSpec, TableSpec
from cellguard.rules.rule import Rule
from cellguard.rules.simple import MinFrequency

COUNT = "count"
_NO_SECRET = MinFrequency(1)  # by which no cell has too few


def with_counts(tables: Sequence[TableSpec]) -> list[TableSpec]:
    """Return the tables and, after them, a frequency table for each that is to have counts beside its values."""
    if not any(table.counts for table in tables):
        return list(tables)
    together = [_with_its_counts(table) if table.counts == "hidden_with_values" else table for table in tables]
    values = [table.model_copy(update={"counts": None}) for table in together]
    return values + [_counts_of(table) for table in tables if table.counts]


def _with_its_counts(table: TableSpec) -> TableSpec:
    """Return a table whose values are suppressed where their counts are."""
    followed = [*getattr(table.protect, "hide_with", ()), COUNT]
    return table.model_copy(update={"protect": table.protect.model_copy(update={"hide_with": followed})})


def _counts_of(table: TableSpec) -> TableSpec:
    """Return the frequency table of a table's cells, by what its rules ask of counts."""
    shown = table.counts == "shown"
    rules = [] if shown else _rules_of_counts(table.rules)
    followed = [] if shown else [table.response or table.value]
    own = {
        "name": f"{table.name}_{COUNT}",
        "value": COUNT,
        "response": None,
        "decimals": None,
        "tolerance": None,
        "negative": None,
        "counts": None,
        "zeros": "possible" if table.impossible else table.zeros or "known",
        "cells": table.cells and _columns_of_counts(table.cells),
        "rules": rules or [_NO_SECRET],
        "protect": table.protect.model_copy(update={"hide_with": followed}),
    }
    return table.model_copy(update=own)


def _rules_of_counts(rules: Sequence[Rule]) -> list[Rule]:
    """Return what some rules ask of a count."""
    return [of_counts for rule in rules if (of_counts := rule.of_counts) is not None]


def _columns_of_counts(cells: CellsSpec) -> CellsSpec:
    """Return the columns of ready-made cells that say something of their counts."""
    of_values = ("top", "sizes", "cost", "need_lower", "need_upper", "lower", "upper")
    return cells.model_copy(update={name: CellsSpec.model_fields[name].get_default() for name in of_values})
