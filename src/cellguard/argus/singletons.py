"""The singleton options of MOD and GH: the only contributor of a cell knows it, and must not learn another from it.

In a row of a table whose suppressed cells are all unsafe, two of them protect nothing if one has a single respondent,
and several protect nothing if they have too few respondents together. Such a row needs another suppressed cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.argus.commands import Suppress
from cellguard.argus.own_table import SAFE, SAFE_MANUAL, SECONDARY, ArgusTable
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.relations import build_relations


@dataclass(frozen=True, slots=True)
class Options:
    """Which rows need another cell: of two single respondents, of one and another cell, of too few respondents."""

    singles: bool = False
    multiples: bool = False
    few: bool = False

    @property
    def asked(self) -> bool:
        """Whether any is asked for."""
        return self.singles or self.multiples or self.few


def options_of(command: Suppress) -> Options:
    """Return the options of a command; those of MOD that are left out are on.

    >>> options_of(Suppress(1, "", "MOD", 1, (5.0, 1.0, 0.0)))
    Options(singles=True, multiples=False, few=True)
    """
    args = command.args
    if command.method == "MOD":
        said = [bool(args[i]) if len(args) > i else True for i in (1, 2, 3)]
        return Options(*said)
    if command.method == "GH" and len(args) > 2 and args[2] == 1:
        return Options(singles=True, multiples=True)
    return Options()


def with_singletons(table: ArgusTable, options: Options) -> tuple[ArgusTable, int]:
    """Return a table with one more suppressed cell in each row that needs it, and how many these are."""
    if not options.asked or not table.counted:
        return table, 0
    relations = abs(_relations(table))
    unsafe, hidden = table.unsafe, table.unsafe | table.secondary
    single = unsafe & (table.freq == 1)
    n_unsafe, n_hidden, n_single, people = (
        relations @ column
        for column in (
            unsafe.astype(float),
            hidden.astype(float),
            single.astype(float),
            np.where(unsafe, table.freq, 0.0),
        )
    )
    alone = n_hidden == n_unsafe
    bad = alone & (n_unsafe == 2) & (n_single == 2) & options.singles
    bad |= alone & (n_unsafe == 2) & (n_single == 1) & options.multiples
    fewest = table.rule.respondents.frequent
    if options.few and fewest:
        bad |= alone & (n_unsafe > 1) & (people < fewest.n)
    status = table.status.copy()
    for row in np.flatnonzero(bad).tolist():
        cells = relations.indices[relations.indptr[row] : relations.indptr[row + 1]]
        if np.isin(status[cells], [SECONDARY, 12]).any():
            continue
        free = cells[np.isin(status[cells], [SAFE, SAFE_MANUAL]) & (table.freq[cells] > 0)]
        if len(free):
            status[free[np.argmin(table.cost[free])]] = SECONDARY
    more = int((status != table.status).sum())
    return (table.with_status(status), more) if more else (table, 0)


def _relations(table: ArgusTable) -> sp.csr_array:
    """Return the relations of the cells of a table."""
    dimensions = tuple(Dimension(s.name, s.tree) for s in table.spanning)
    return build_relations(dimensions, tuple(np.ascontiguousarray(c) for c in table.codes.T))[0]
