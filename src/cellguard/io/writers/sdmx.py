"""SDMX: data as SDMX-CSV 2.0, one file per table, and one structure message (SDMX-ML 3.0) for all. Public.

`OBS_STATUS` is A (normal), Q (suppressed) or O (no value); `CONF_STATUS` is F (free) or C (confidential). Primary and
secondary suppressions look alike, as everywhere in a release.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellguard.io.write import csv_text
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED, VERSION, structure_message
from cellguard.table.pattern import Release, ReleasedTable

name = "sdmx"
extra: Mapping[str, str] = {}
STRUCTURE = "structure.sdmx.xml"


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [*(f"{table.name}.sdmx.csv" for table in release.tables), STRUCTURE]


def write(release: Release, folder: Path) -> None:
    """Write the data of each table, and the structure of all."""
    tables = name_ids(table.name for table in release.tables)
    dimensions = name_ids((tree.name for tree in release.dimensions), RESERVED)
    codes = {tree.name: code_ids(tree.codes) for tree in release.dimensions}
    for table in release.tables:
        header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *(dimensions[by] for by in table.by), *RESERVED]
        identity = "datastructure", f"{AGENCY}:{tables[table.name]}({VERSION})", "I"
        columns = [[codes[by][code] for code in column] for by, column in zip(table.by, table.codes, strict=True)]
        rows = zip(*columns, table.value, *_status(table), strict=True)
        (folder / f"{table.name}.sdmx.csv").write_text(
            csv_text(header, ((*identity, *row) for row in rows)), encoding="utf-8"
        )
    (folder / STRUCTURE).write_text(structure_message(release, tables, dimensions, codes), encoding="utf-8")


def _status(table: ReleasedTable) -> tuple[list[str], list[str]]:
    """Return the status of each observation, and its confidentiality."""
    gone = table.suppressed.tolist()
    status = ["Q" if hidden else "A" if value else "O" for hidden, value in zip(gone, table.value, strict=True)]
    return status, ["C" if hidden else "F" for hidden in gone]
