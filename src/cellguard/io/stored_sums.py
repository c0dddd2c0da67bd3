"""Sums of suppressed cells in an output folder, read back: the parts of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.arrays import Positions
from cellguard.errors import InputError
from cellguard.table.sums import Sum
from cellguard.table.tableset import TableSet

NAME = "sums.parquet"


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
