"""A Frictionless data package: `datapackage.json` describes the CSV files of a release, so that `release/` is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.io import layout
from cellguard.io.write import write_json
from cellguard.table.pattern import Release, ReleasedTable

name = "datapackage"
extra: Mapping[str, str] = {}
PACKAGE = "datapackage.json"


def files(release: Release) -> list[str]:
    """Return the name of the file, which is the same for every release."""
    return [PACKAGE]


def write(release: Release, folder: Path) -> None:
    """Write the description of all CSV files."""
    taken = set[str]()
    resources = [_resource(table, taken) for table in release.tables]
    write_json(folder / PACKAGE, {"profile": "tabular-data-package", "name": "release", "resources": resources})


def _resource(table: ReleasedTable, taken: set[str]) -> dict[str, Any]:
    *headed, value, flag = layout.released(table.by)
    fields: list[dict[str, Any]] = [
        {"name": title, "type": "string", "constraints": {"required": True}} for title in headed
    ]
    number = "number" if table.decimals else "integer"
    fields.append({"name": value, "type": number, "description": f"{table.response}; missing where suppressed"})
    fields.append({"name": flag, "type": "string", "constraints": {"enum": ["c"]}, "description": "c: suppressed"})
    return {
        "name": _name(table.name, taken),
        "path": f"{table.name}.csv",
        "profile": "tabular-data-resource",
        "title": f"{table.response} by {', '.join(table.by)}",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "schema": {"fields": fields, "missingValues": [""], "primaryKey": headed},
    }


def _name(table: str, taken: set[str]) -> str:
    """Return a name in small letters, as packages want them, that no other table has."""
    plain, number = re.sub(r"[^a-z0-9._-]", "-", table.lower()), 1
    free = plain
    while free in taken:
        number += 1
        free = f"{plain}-{number}"
    taken.add(free)
    return free
