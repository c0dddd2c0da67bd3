"""One CSV file per table: codes, values with all their decimals, and flags. A `Release` is all it gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cellguard.io import layout
from cellguard.io.write import csv_text
from cellguard.io.writers.csv_injection import written_codes
from cellguard.table.pattern import Release

name = "csv"
extra: Mapping[str, str] = {}


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}.csv" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write the files of a release."""
    for table in release.tables:
        codes, _ = written_codes(table, raw=release.raw_codes)
        rows = zip(*codes, table.value, np.where(table.suppressed, "c", "").tolist(), strict=True)
        (folder / f"{table.name}.csv").write_text(csv_text(layout.released(table.by), rows), encoding="utf-8")
