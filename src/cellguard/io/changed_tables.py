"""The confidential tables of a method that changes figures: true and published values side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text
from cellguard.table.columns import all_headed
from cellguard.table.pattern import Release
from cellguard.table.table import Table

COLUMNS = ("value", "published", "status")
Columns = Mapping[str, Sequence[object]]


def write_changed(
    inside: Path, tables: Sequence[Table], drawn: Release, more: Mapping[str, Columns] | None = None
) -> None:
    """Write every cell of some tables with its true value, what is made of it, and its status.

    ``more`` has further columns for each table by its name; one called ``status`` goes before that of the release.
    """
    made = {table.name: table for table in drawn.tables}
    for table in tables:
        published, status = [""] * len(table), ["unpublished"] * len(table)
        if table.name in made:
            here = made[table.name]
            rows = zip(np.flatnonzero(~table.unpublished).tolist(), here.value, here.suppressed.tolist(), strict=True)
            for row, value, hidden in rows:
                published[row], status[row] = value, "suppressed" if hidden else "published"
        true = [f"{value + 0.0:.15g}" for value in table.value.tolist()]
        columns = {**dict(zip(COLUMNS, (true, published, status), strict=True)), **(more or {}).get(table.name, {})}
        codes = [column.tolist() for column in table.code_texts()]
        header = [*all_headed([d.name for d in table.dimensions], columns), *columns]
        text = csv_text(header, zip(*codes, *columns.values(), strict=True))
        (inside / f"{table.name}.csv").write_text(text, encoding="utf-8")
