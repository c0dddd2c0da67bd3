"""CSV on the Web: beside each CSV file of a release its metadata, in W3C's "Metadata Vocabulary for Tabular Data"."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.io import layout
from cellguard.io.write import write_json
from cellguard.table.pattern import Release, ReleasedTable

name = "csvw"
extra: Mapping[str, str] = {}


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}.csv-metadata.json" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write the metadata of each CSV file."""
    for table in release.tables:
        write_json(folder / f"{table.name}.csv-metadata.json", _about(table))


def _about(table: ReleasedTable) -> dict[str, Any]:
    *headed, value, flag = layout.released(table.by)
    columns: list[dict[str, Any]] = [
        {"name": f"d{i}", "titles": title, "datatype": "string", "required": True} for i, title in enumerate(headed)
    ]
    number = {"base": "decimal"} if table.decimals else {"base": "integer"}
    columns.append({"name": "value", "titles": value, "datatype": number, "null": "", "dc:description": table.response})
    columns.append({"name": "flag", "titles": flag, "datatype": {"base": "string", "format": "c?"},
                    "dc:description": "c where the value is suppressed"})  # fmt: skip
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": f"{table.name}.csv",
        "dc:title": f"{table.response} by {', '.join(table.by)}",
        "tableSchema": {"columns": columns, "primaryKey": [f"d{i}" for i in range(len(headed))]},
    }
