"""CSV files as Eurostat has disseminated them since January 2025: flags and confidentiality in two columns. Public.

The columns are those of its SDMX-CSV 1.0: DATAFLOW, LAST UPDATE, the dimensions in small letters, OBS_VALUE, OBS_FLAG
and CONF_STATUS, which is C where a value is confidential and blank elsewhere. Before that date a small c stood among
the flags. LAST UPDATE is blank, so that the same release is the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellguard.io.write import csv_text
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED
from cellguard.table.pattern import Release

name = "eurostat"
extra: Mapping[str, str] = {}
_HEAD, _TAIL = ("DATAFLOW", "LAST UPDATE"), ("OBS_VALUE", "OBS_FLAG", "CONF_STATUS")


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}.eurostat.csv" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write a file per table."""
    tables = name_ids(table.name for table in release.tables)
    dimensions = name_ids((tree.name for tree in release.dimensions), RESERVED)
    codes = {tree.name: code_ids(tree.codes) for tree in release.dimensions}
    for table in release.tables:
        header = [*_HEAD, *(dimensions[by].lower() for by in table.by), *_TAIL]
        flow = f"{AGENCY}:{tables[table.name]}(1.0)"
        columns = [[codes[by][code] for code in column] for by, column in zip(table.by, table.codes, strict=True)]
        status = ["C" if hidden else "" for hidden in table.suppressed.tolist()]
        rows = zip(*columns, table.value, [""] * len(table), status, strict=True)
        text = csv_text(header, ((flow, "", *row) for row in rows))
        (folder / f"{table.name}.eurostat.csv").write_text(text, encoding="utf-8")
