"""Sums of suppressed cells in an output folder: the parts of each, and the facts of those that are told and safe."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError
from cellguard.files.cell_tables import facts_of
from cellguard.results.proven import Proven
from cellguard.spec.rulespec import dump_rule
from cellguard.table.sums import Sum, SumTable
from cellguard.table.tableset import TableSet
from cellguard.types import Positions

NAME = "sums.parquet"


def write_sums(inside: Path, proven: Proven) -> dict[str, Any] | None:
    """Write the parts of all sums, and the facts of those that are told; return what the certificate says of them.

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


def read_parts(inside: Path, name: str, cells_of: Sequence[Positions]) -> list[Sum]:
    """Return the parts of the sums of one stored table, as cells of the set without sums."""
    stored = pq.ParquetFile(inside / NAME).read()
    here = np.array(stored.column("sums").to_pylist(), object) == name
    place, table, row = (stored.column(key).to_numpy()[here] for key in ("sum", "table", "row"))
    parts: dict[int, list[int]] = {}
    for p, t, r in zip(place.tolist(), table.tolist(), row.tolist(), strict=True):
        parts.setdefault(p, []).append(int(cells_of[t][r]))
    return [tuple(sorted(parts[p])) for p in sorted(parts)]


def stored_sums(inside: Path, about: Mapping[str, Any], cells_of: Sequence[Positions]) -> list[Sum]:
    """Return the sums that are cells of a stored set, in their order."""
    names = [spec["name"] for spec in about["tables"] if spec["release"] == "sums"]
    return [one for name in names for one in read_parts(inside, name, cells_of)]


def sums_of_folder(inside: Path, tables: TableSet) -> list[Sum]:
    """Return the sums that the internal half of a folder has as cells, as cells of the tables that it is made of."""
    try:
        about = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))
        return list(dict.fromkeys(stored_sums(inside, about, tables.cells_of)))
    except (OSError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException):
        raise InputError(f"{str(inside.parent)!r} is damaged: its sums of cells cannot be read") from None
