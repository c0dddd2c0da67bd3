"""Sums of suppressed cells as a suppressed set stores them: the parts of each, and the facts of told ones."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.io.stored_sums import NAME
from cellguard.job.rulespec import dump_rule
from cellguard.methods.suppress.files.cell_tables import facts_of
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.table.sums import Sum, SumTable
from cellguard.table.tableset import TableSet


def write_sums(inside: Path, proven: SuppressionResult) -> dict[str, Any] | None:
    """Write the parts of all sums, and the facts of those that are reported; return what the certificate says of them.

    None says that nobody looked at sums.
    """
    if proven.sums is None:
        return None
    tables = proven.audit.needs.tables
    unsafe = [table.name for table in tables.tables if table.release == "sums"]
    told = _named(proven.sums.told, [table.name for table in tables.tables])
    named = [*_unsafe_parts(tables), *((name, made.sums) for name, made in told)]
    _write_parts(inside / NAME, tables, named)
    for name, made in told:
        values = [Decimal(repr(total)) for total in made.table.value.tolist()]
        pq.write_table(facts_of(made.table, values), inside / "facts" / f"{name}.parquet")
    return {
        "tables": unsafe,
        "told": [
            {"name": name, "by": made.table.dimensions[0].name, "rules": [dump_rule(r) for r in made.rules]}  # type: ignore[arg-type]
            for name, made in told
        ],
        "beyond": list(proven.sums.beyond),
    }


def _named(told: Sequence[SumTable], taken: Sequence[str]) -> list[tuple[str, SumTable]]:
    free = (n for i in range(1, len(taken) + len(told) + 2) if (n := f"told{i}") not in taken)
    return [(next(free), made) for made in told]


def _unsafe_parts(tables: TableSet) -> list[tuple[str, list[Sum]]]:
    if tables.parts is None:
        return []
    rows = np.split(tables.parts.indices, tables.parts.indptr[1:-1])
    sums, named = [tuple(row.tolist()) for row in rows], []
    for table in tables.tables:
        if table.release == "sums":
            named.append((table.name, sums[: len(table)]))
            sums = sums[len(table) :]
    return named


def _write_parts(path: Path, tables: TableSet, named: Sequence[tuple[str, Sequence[Sum]]]) -> None:
    number, row = tables.first
    names, places, cells = list[str](), list[int](), list[int]()
    for name, sums in named:
        for place, one in enumerate(sums):
            names += [name] * len(one)
            places += [place] * len(one)
            cells += one
    at = np.array(cells, np.intp)
    columns = {
        "sums": pa.array(names, pa.string()),
        "sum": pa.array(places, pa.int64()),
        "table": pa.array(number[at], pa.int32()),
        "row": pa.array(row[at], pa.int64()),
    }
    pq.write_table(pa.table(columns), path)
