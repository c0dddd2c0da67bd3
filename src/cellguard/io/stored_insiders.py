"""Who contributes what to the suppressed cells, as an output folder keeps it: under numbers, and only inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.attack.insider_knowledge import InsiderKnowledge
from cellguard.proofs.problem import listed_grains
from cellguard.table.contributions import NOBODY, Contributions
from cellguard.table.tableset import TableSet

NAME = "insiders.parquet"


def write_insiders(path: Path, knowledge: InsiderKnowledge, tables: TableSet) -> None:
    """Write the contributions to all unknown cells: one row each, and one per cell for those who are not listed."""
    cells = knowledge.problem.cells
    told = np.flatnonzero((cells < len(tables)) & knowledge.told)
    size = np.diff(knowledge.start)
    behind = np.repeat(np.arange(len(cells)), size)
    cell = cells[np.concatenate([behind, told])]
    table, row = tables.first
    columns = {
        "table": pa.array(table[cell], pa.int32()),
        "row": pa.array(row[cell], pa.int64()),
        "insider": pa.array(np.concatenate([knowledge.who, np.full(len(told), NOBODY)]), pa.int64()),
        "amount": pa.array(np.concatenate([knowledge.amount, knowledge.rest[told]]), pa.int64()),
    }
    pq.write_table(pa.table(columns), path)


def read_insiders(path: Path, tables: TableSet, *, linked: bool) -> Contributions:
    """Read the contributions to the cells that were suppressed; nobody stores those to the others."""
    stored = pq.ParquetFile(path).read()
    table, row, insider, grains = (stored.column(name).to_numpy() for name in ("table", "row", "insider", "amount"))
    starts = np.cumsum([0, *(len(cells) for cells in tables.cells_of)])
    cell = np.concatenate(tables.cells_of)[starts[table] + row]
    amount = grains / 10.0 ** listed_grains(tables).decimals[cell]
    n = len(tables)
    rest, told, owner = np.zeros(n), np.zeros(n, bool), np.full(n, NOBODY, np.int64)
    others = insider == NOBODY
    rest[cell[others]], told[cell[others]] = amount[others], True
    cell, insider, amount = cell[~others], insider[~others], amount[~others]
    order = np.lexsort((insider, -amount, cell))
    start = np.searchsorted(cell[order], np.arange(n + 1)).astype(np.int64)
    single = np.flatnonzero((np.diff(start) == 1) & (rest == 0))
    owner[single] = insider[order][start[single]]
    return Contributions(start, insider[order].astype(np.int64), amount[order], rest, owner, told, linked)
