"""Ready-made cells whose codes a recoding merged: their facts and statements in one cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError
from cellguard.table.apriori import Apriori, State
from cellguard.table.fact import Count
from cellguard.table.keys import combine
from cellguard.table.table import Table


def merge_recoded(table: Table) -> Table:
    """Add up the cells whose codes a recoding merged; what becomes of each fact, the fact says."""
    if not any(d.main.merged for d in table.dimensions):
        return table
    keys = combine(table.codes, [len(d.codes) for d in table.dimensions])
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(table):
        return table
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    group, rows = rank[group], first[order]
    merged = table.facts.merge(group, len(rows))
    return replace(
        table,
        codes=tuple(column[rows] for column in table.codes),
        facts=merged.plus({Count(): merged.total}) if table.is_count else merged,
        apriori=_merge_statements(table, group, rows),
        rows=table.rows[rows],
        origin="merged",
    )


def _merge_statements(table: Table, group: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Apriori:
    """Return what the parts' statements mean for merged cells: the strictest that holds for the whole."""
    said, n = table.apriori, len(rows)
    parts = np.bincount(group, minlength=n)
    bounded = ~(np.isnan(said.lower) & np.isnan(said.upper)) & (parts[group] > 1)
    if bounded.any():
        cell = int(np.flatnonzero(bounded)[0])
        raise InputError(
            f"{table.where(cell)}: bounds are given for a cell that a recoding merges into {table.message_name(cell)}; "
            "give them for the merged cell in the a-priori file"
        )
    agreed = np.bincount(group, said.state == said.state[rows][group], n) == parts
    forced = np.bincount(group, said.has(State.must_suppress), n) > 0
    state = np.where(forced, State.must_suppress, np.where(agreed, said.state[rows], State.none)).astype(np.int8)
    largest = {}
    for name in ("cost", "need_lower", "need_upper"):
        largest[name] = np.full(n, np.nan)
        np.fmax.at(largest[name], group, getattr(said, name))
    return replace(said.take(rows), state=state, **largest)
