"""What the tables of a release are about: dimensions, response, population, decimals and counts, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellguard.io.write import write_json
from cellguard.io.writers.csv_injection import written_codes
from cellguard.table.pattern import Release

name = "metadata"
extra: Mapping[str, str] = {}
METADATA = "metadata.json"


def files(release: Release) -> list[str]:
    """Return the name of the file, which is the same for every release."""
    return [METADATA]


def write(release: Release, folder: Path) -> None:
    """Write what every table is about, what its method says of it, and in which dimensions codes are guarded."""
    about = {}
    for table in release.tables:
        _, guarded = written_codes(table, raw=release.raw_codes)
        about[table.name] = {
            "by": list(table.by),
            "response": table.response,
            "population": table.population,
            "decimals": table.decimals,
            "cells": len(table),
            "suppressed": table.hidden,
            **release.about.get(table.name, {}),
            **({"guarded": guarded} if guarded else {}),
        }
    said = next((table["method"] for table in release.about.values() if "method" in table), None)
    write_json(folder / METADATA, ({"method": said} if said else {}) | {"tables": about})
