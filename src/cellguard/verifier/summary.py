"""Whether the stored summary says what the files say: counts, suppressed values, verdict, settings.

What it says of the search for the pattern, its cost and its time cannot be worked out again; all that is not checked is
named, so that nobody takes it for proven.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.job import Job
from cellguard.verifier.numbers import Bools
from cellguard.verifier.rows import PRIMARY, SECONDARY, STATUSES, Rows
from cellguard.verifier.spec import SUMS
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_bytes, read_json
from cellguard.verifier.words import Claim

NAME = "internal/summary.json"
STEPS = ("protect", "audit")
CHECKED = frozenset(
    {"step", "verdict", "headline", "caveat", "not_checked", "tables", "set", "failing", "insiders", "coalition"}
    | {"too_near", "sums", "trusted", "settings", "choice"}
)
CHECKED_OF_SET = frozenset({"cells", "primary", "secondary", "failing", "undecided", "witnesses"})
CHECKED_OF_SUMS = frozenset({"unsafe", "beyond"})
# Values are summed in float64 before they are counted in grains.
DUST = 1e-9


def check_summary(
    folder: Folder, job: Job, cells: Cells, rows: Rows, claim: Claim, document: Mapping[str, Any]
) -> None:
    """Refuse a summary that lacks a figure, or has another than the files; ``claim`` is that of the certificate."""
    summary = read_json(read_bytes(folder, NAME), NAME)
    said = {"verdict": "safe", "failing": [], "trusted": list(cells.spec.trusted), "settings": job.words}
    said |= {"too_near": []}
    for key, expected in said.items():
        _same(summary, key, expected)
    if _get(summary, "step") not in STEPS:
        raise Refused(f"{NAME}: step is none of {', '.join(STEPS)}")
    if (_get(summary, "insiders") != "checked") != (cells.spec.inside is None):
        raise Refused(f"{NAME} says of insiders what the certificate does not")
    _same(summary, "coalition", 0 if cells.spec.inside is None else cells.spec.coalition)
    _check_inputs(_get(summary, "inputs"))
    _check_sums(_mapping(summary, "sums"), cells, document)
    choices = ("random",) if claim.random else ("engine",) if claim.chosen else ("engine", "given")
    if _get(summary, "choice") not in choices:
        raise Refused(f"{NAME} says of who chose the suppressed cells what the other files do not")
    _check_set(_mapping(summary, "set"), cells, rows)
    tables = _mapping(summary, "tables")
    if list(tables) != [table.name for table in cells.spec.tables]:
        raise Refused(f"{NAME} does not have the tables of the certificate")
    for number in range(len(tables)):
        _check_table(number, tables, cells, rows)


def not_checked(folder: Folder) -> list[str]:
    """Return what a summary says that no check works out again, as ``set.relations``."""
    summary = read_json(read_bytes(folder, NAME), NAME)
    inner = summary.get("set")
    of_set = [f"set.{key}" for key in inner if key not in CHECKED_OF_SET] if isinstance(inner, dict) else []
    sums = summary.get("sums")
    of_sums = [f"sums.{key}" for key in sums if key not in CHECKED_OF_SUMS] if isinstance(sums, dict) else []
    return [*(key for key in summary if key not in CHECKED), *of_set, *of_sums]


def _check_inputs(summary: object) -> None:
    """Refuse anything but digests of at least one file; only somebody who has the inputs can compare them."""
    if not isinstance(summary, dict) or not summary:
        raise Refused(f"{NAME} names no inputs")
    if not all(isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) for digest in summary.values()):
        raise Refused(f"{NAME} has inputs without a digest")


def _check_set(summary: Mapping[str, Any], cells: Cells, rows: Rows) -> None:
    needed = np.maximum(np.maximum(rows.lower, rows.upper), rows.sliding) > 0
    expected = {
        "cells": np.unique(cells.cell).size,
        "primary": _distinct(cells, (rows.status == PRIMARY) | needed),
        "secondary": _distinct(cells, rows.status == SECONDARY),
        "failing": 0,
        "undecided": 0,
        "witnesses": cells.spec.witnesses,
    }
    for key, count in expected.items():
        _same(summary, key, count, "set.")


def _check_sums(summary: Mapping[str, Any], cells: Cells, document: Mapping[str, Any]) -> None:
    """Refuse another number of unsafe sums than the tables of them have, or other sums that nobody judged."""
    many = sum(int(np.diff(cells.offsets)[i]) for i, table in enumerate(cells.spec.tables) if table.where == SUMS)
    _same(summary, "unsafe", many, "sums.")
    _same(summary, "beyond", ["all"] if cells.spec.told is None else document["sums"]["beyond"], "sums.")


def _distinct(cells: Cells, chosen: Bools) -> int:
    return int(np.unique(cells.cell[chosen]).size)


def _check_table(number: int, tables: Mapping[str, Any], cells: Cells, rows: Rows) -> None:
    table = cells.spec.tables[number]
    summary, where = _mapping(tables, table.name), f"tables.{table.name}."
    status = rows.status[cells.rows(number)]
    expected: dict[str, object] = {"release": table.where, "cells": status.size, "failing": 0}
    expected |= {word: int((status == i).sum()) for i, word in enumerate(STATUSES)}
    for key, count in expected.items():
        _same(summary, key, count, where)
    value = _get(summary, "suppressed_value", where)
    hidden = rows.value[number][(status == PRIMARY) | (status == SECONDARY)]
    grain = 10.0 ** -cells.spec.grains[table.group]
    slack = DUST * float(np.abs(hidden).sum()) * grain + hidden.size * grain
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused(f"{NAME}: {where}suppressed_value is not a number")
    if abs(value - float(hidden.sum()) * grain) > slack:
        raise Refused(f"{NAME}: {where}suppressed_value is not the sum of the suppressed values")


def _get(summary: Mapping[str, Any], key: str, where: str = "") -> Any:  # noqa: ANN401
    if key not in summary:
        raise Refused(f"{NAME} has no {where}{key}")
    return summary[key]


def _mapping(summary: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = _get(summary, key)
    if not isinstance(inner, dict):
        raise Refused(f"{NAME}: {key} is not a mapping")
    return inner


def _same(summary: Mapping[str, Any], key: str, expected: object, where: str = "") -> None:
    """Refuse another value than the expected one; true and 1 are not the same."""
    value = _get(summary, key, where)
    if value != expected or isinstance(value, bool) != isinstance(expected, bool):
        raise Refused(f"{NAME}: {where}{key} is not what the other files say")
