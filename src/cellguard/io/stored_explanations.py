"""What a run knows of why cells are suppressed, as an output folder keeps it, so that nobody needs to find it anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.attack.nearness import Near, Suspects
from cellguard.errors import InputError
from cellguard.table.tableset import TableSet

NAME = "explanations.parquet"
_CELLS = pa.list_(pa.struct([("table", pa.int32()), ("row", pa.int64())]))
_NEAR = pa.list_(pa.struct([("members", pa.list_(pa.int64())), ("percent", pa.float64()), ("failing", pa.bool_())]))


@dataclass(frozen=True, eq=False)
class StoredExplanations:
    """For unsafe distinct cells: through which others they are protected, on which their proof relies, who is near.

    ``inside`` has the cells that prove an unsafe one against respondents. What is not in a mapping is not known.
    ``suspects`` are None where respondents were not looked at.
    """

    through: Mapping[int, Sequence[int]] = field(default_factory=dict)
    relies: Mapping[int, Sequence[int]] = field(default_factory=dict)
    suspects: Mapping[int, Suspects] | None = None
    inside: Mapping[int, Sequence[int]] = field(default_factory=dict)


def write_explanations(path: Path, known: StoredExplanations, tables: TableSet) -> None:
    """Write one row per unsafe cell of which something is known."""
    cells = sorted({*known.through, *known.relies, *(known.suspects or ()), *known.inside})
    table, row = (numbers.tolist() for numbers in tables.first)

    def listed(some: Mapping[int, Sequence[int]], cell: int) -> list[dict[str, int]] | None:
        return [{"table": table[c], "row": row[c]} for c in some[cell]] if cell in some else None

    columns = {
        "table": pa.array([table[cell] for cell in cells], pa.int32()),
        "row": pa.array([row[cell] for cell in cells], pa.int64()),
        "through": pa.array([listed(known.through, cell) for cell in cells], _CELLS),
        "relies": pa.array([listed(known.relies, cell) for cell in cells], _CELLS),
        "inside": pa.array([listed(known.inside, cell) for cell in cells], _CELLS),
        "near": pa.array([_near(known, cell) for cell in cells], _NEAR),
        "all_near": pa.array([bool(known.suspects and known.suspects[cell].all) for cell in cells]),
    }
    pq.write_table(pa.table(columns), path)


def _near(known: StoredExplanations, cell: int) -> list[dict[str, Any]] | None:
    if known.suspects is None:
        return None
    return [
        {"members": [one.insider, *one.others], "percent": one.percent, "failing": one.failing}
        for one in known.suspects[cell].near
    ]


def read_explanations(path: Path, tables: TableSet) -> StoredExplanations:
    """Read what a folder knows; nothing, if it has no such file, as older ones."""
    if not path.is_file():
        return StoredExplanations()
    try:
        return _read(pq.ParquetFile(path).read().to_pylist(), tables)
    except (pa.ArrowException, KeyError, TypeError, ValueError, IndexError):
        raise InputError(f"internal/{NAME} is damaged; see `cellguard verify`") from None


def _read(rows: Sequence[Mapping[str, Any]], tables: TableSet) -> StoredExplanations:
    through, relies, inside = dict[int, list[int]](), dict[int, list[int]](), dict[int, list[int]]()
    suspects = dict[int, Suspects]()
    starts = np.cumsum([0, *(len(cells) for cells in tables.cells_of)]).tolist()
    distinct = np.concatenate(tables.cells_of).tolist()

    def cell_of(place: Mapping[str, int]) -> int:
        return int(distinct[starts[place["table"]] + place["row"]])

    for stored in rows:
        cell = cell_of(stored)
        for name, some in (("through", through), ("relies", relies), ("inside", inside)):
            if stored.get(name) is not None:
                some[cell] = [cell_of(place) for place in stored[name]]
        if stored["near"] is not None:
            near = [_as_near(cell, **one) for one in stored["near"]]
            suspects[cell] = Suspects(near, stored["all_near"])
    return StoredExplanations(through, relies, suspects or None, inside)


def _as_near(cell: int, members: Sequence[int], percent: float, failing: bool) -> Near:
    insider, *others = members
    return Near(insider, cell, percent, failing, tuple(others))
