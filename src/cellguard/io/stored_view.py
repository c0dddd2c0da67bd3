"""A table of an output folder for eyes: as published, or with suppressed or true values and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.errors import InputError, did_you_mean, listing
from cellguard.io.folder import OutputFolder
from cellguard.job.names import check_stored_names
from cellguard.job.registry import declared
from cellguard.seam.look import Look
from cellguard.views.grid import Grid
from cellguard.views.terminal import View


def read_view(folder: Path, table: str | None, *, internal: bool) -> View:
    """Read one table of an output folder: as published, or with suppressed or true values and marks."""
    output = OutputFolder(folder)
    about = _tables(output, internal)
    name = _choose(table, list(about))
    by, checked = tuple(about[name]["by"]), about[name]["checked"]
    check_stored_names(folder, (name, *by))
    guarded = set(about[name]["guarded"])
    rows = output.rows(name, internal=internal, guarded=set() if internal else guarded)
    look: Look = declared(output.method).look
    changed = internal and bool(look.figure)
    try:
        codes = _codes(rows, by)
        if changed:
            released = (output.outside / f"{name}.csv").exists()
            shown = set(_codes(output.rows(name, internal=False, guarded=guarded), by)) if released else None
            status = tuple(_status(look, row, c, shown) for row, c in zip(rows, codes, strict=True))
        else:
            status = tuple(row["status"] if internal else "suppressed" if row["flag"] else "published" for row in rows)
        true = tuple(row["value"] for row in rows) if changed else ()
        value = tuple(row[look.figure] if changed else row["value"] for row in rows)
    except KeyError as error:
        raise InputError(f"{str(folder)!r} is damaged: table {name!r} has no column {error.args[0]!r}") from None
    except ValueError:
        raise InputError(
            f"{str(folder)!r} is damaged: table {name!r} has protection levels that are no numbers"
        ) from None
    columns = list(zip(*codes, strict=True)) if codes else [()] * len(by)
    axes = [output.axis(d, column) for d, column in zip(by, columns, strict=True)]
    places = [
        np.array([axis.position.get(code, -1) for code in column], np.int32)
        for axis, column in zip(axes, columns, strict=True)
    ]
    grid = Grid(name, axes, places)
    return View(grid, codes, value, status, internal, look, checked, true)


def stored_tables(output: OutputFolder) -> list[str]:
    """Return the names of the tables that the internal half of a folder has."""
    return list(_tables(output, internal=True))


def _tables(output: OutputFolder, internal: bool) -> dict[str, Any]:
    """Return for each table by what it is, whether it was checked, and which codes are guarded."""
    if not (output.outside / "metadata.json").is_file() and output.keeps_internal:
        if not internal:
            raise InputError(
                f"the tables in {str(output.path)!r} were not released; --internal shows them (confidential)"
            )
        return {name: about | {"guarded": []} for name, about in output.unreleased().items()}
    try:
        return {
            name: {
                "by": list(t["by"]),
                "checked": not str(t.get("calibration", "")).endswith("NOT CHECKED"),
                "guarded": list(t.get("guarded", [])),
            }
            for name, t in output.about()["tables"].items()
        }
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{str(output.path)!r} is no output folder: release/metadata.json cannot be read") from None


def _codes(rows: Sequence[Mapping[str, str]], by: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the codes of each row: the first columns are those of the dimensions, whatever they are called."""
    columns = list(rows[0])[: len(by)] if rows else []
    return tuple(tuple(row[c] for c in columns) for row in rows)


def _status(look: Look, row: Mapping[str, str], codes: tuple[str, ...], shown: set[tuple[str, ...]] | None) -> str:
    """Return the status of a cell whose figure was changed; what the release lacks is not published."""
    if shown is not None and codes not in shown:
        return "unpublished"
    return row.get("status", "published") if look.status is None else look.status(row)


def _choose(table: str | None, names: Sequence[str]) -> str:
    if table is None:
        if len(names) > 1:
            raise InputError(f"the folder has the tables {listing(names)}; say which to show")
        return names[0]
    if table not in names:
        raise InputError(f"no table {table!r}{did_you_mean(table, names)}")
    return table
