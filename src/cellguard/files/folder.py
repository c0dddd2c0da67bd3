"""Reading an output folder back: its tables, what was found unsafe, and which cells are hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cellguard.errors import CellguardError, InputError
from cellguard.files import layout
from cellguard.files.names import check_stored_names
from cellguard.files.rulespec import parse_rule
from cellguard.hierarchy.build import from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.protection import Requirements, require
from cellguard.rules.assess import Findings, assess
from cellguard.table.apriori import NUMBERS
from cellguard.table.facts import BoolArray
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import open_source
from cellguard.table.stored import stored_facts
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link
from cellguard.world.knowledge import Knowledge


def read_folder(folder: str | Path) -> tuple[Findings, Requirements, Pattern]:
    """Rebuild tables and rules from the stored facts, and the pattern from the stored statuses."""
    refuse_perturbed(folder)
    inside = Path(folder) / "internal"
    try:
        about = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{str(folder)!r} is no output folder: internal/certificate.json cannot be read") from None
    try:
        return _rebuild(inside, about)
    except CellguardError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(f"{str(folder)!r} is damaged: its files do not fit together; see `cellguard verify`") from None


def is_perturbed(folder: str | Path) -> bool:
    """Tell whether the tables of an output folder were perturbed, as its release or its internal half says."""
    for part, key in (("release/metadata.json", "method"), ("internal/summary.json", "step")):
        try:
            about = json.loads((Path(folder) / part).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(about, dict) and about.get(key) == "perturb":
            return True
    return False


def refuse_perturbed(folder: str | Path) -> None:
    """Refuse an output folder whose tables were perturbed, where a pattern or a certificate is wanted."""
    if is_perturbed(folder):
        raise InputError(
            f"the tables in {str(folder)!r} were perturbed, not suppressed: there is no pattern and no certificate; "
            f"what the checks found is in internal/findings.json, and `cellguard show` shows the tables"
        )


def _rebuild(inside: Path, about: dict[str, Any]) -> tuple[Findings, Requirements, Pattern]:
    attack, specs, equations = about["attack"], about["tables"], about["equations"]
    check_stored_names(inside.parent, [name for spec in specs for name in (spec["name"], *spec["by"])])
    dimensions = {name: _read_dimension(inside, name) for spec in specs for name in spec["by"]}
    statuses = [open_source(inside / f"{spec['name']}.csv").text("status").to_pylist() for spec in specs]
    tables = [
        _read_table(inside, spec, dimensions, np.array(status) == "unpublished")
        for spec, status in zip(specs, statuses, strict=True)
    ]
    linked = link(tables, equations)
    rules = {spec["name"]: [parse_rule(rule) for rule in spec["rules"]] for spec in specs}
    findings = assess(linked, rules)
    needs = require(findings, replace(_knowledge(attack), crossing=about["crossing"] == "checked"))
    hidden, seen = np.zeros(len(linked), bool), np.zeros(len(linked), bool)
    for spec, status, cells in zip(specs, statuses, linked.cells_of, strict=True):
        hidden[cells] |= np.isin(status, ["primary", "secondary"])
        shown = np.flatnonzero(np.array(status) != "unpublished")
        seen[cells[shown[_shown(inside.parent / "release" / f"{spec['name']}.csv", len(shown))]]] = True
    hidden &= ~seen
    return findings, needs, Pattern(linked, needs.primary & hidden, hidden & ~needs.primary)


def _shown(path: Path, rows: int) -> BoolArray:
    """Tell which rows of a released table show a value, which is all that an attacker goes by."""
    value = open_source(path).text("value").to_pylist()
    if len(value) != rows:
        raise InputError(f"{path.name} in the release does not have the cells of the table; see `cellguard verify`")
    return np.array([bool(text) for text in value], bool)


def read_known_sums(folder: str | Path, tables: TableSet) -> sp.csr_array | None:
    """Return the sums of distinct cells that the certificate says an attacker has from elsewhere, one row each."""
    about = json.loads((Path(folder) / "internal" / "certificate.json").read_text(encoding="utf-8"))
    sums = about.get("known") or []
    if not sums:
        return None
    try:
        cells = [int(tables.cells_of[table][row]) for terms in sums for table, row in terms]
    except (TypeError, ValueError, IndexError):
        raise InputError(
            f"{str(folder)!r} is damaged: its known totals name no cells; see `cellguard verify`"
        ) from None
    number = np.repeat(np.arange(len(sums)), [len(terms) for terms in sums])
    return sp.csr_array((np.ones(len(cells)), (number, cells)), shape=(len(sums), len(tables)))


def read_statuses(folder: str | Path) -> dict[str, dict[str, str]]:
    """Return for each table of an output folder the status of each cell, by its name."""
    refuse_perturbed(folder)
    inside = Path(folder) / "internal"
    try:
        specs = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))["tables"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{str(folder)!r} is no output folder: internal/certificate.json cannot be read") from None
    check_stored_names(folder, [name for spec in specs for name in (spec["name"], *spec["by"])])
    found = {}
    for spec in specs:
        source = open_source(inside / f"{spec['name']}.csv")
        columns = layout.cells(spec["by"])[: len(spec["by"])]
        codes = zip(*(source.text(name).to_pylist() for name in columns), strict=True)
        statuses = source.text("status").to_pylist()
        found[spec["name"]] = dict(zip(map("/".join, codes), statuses, strict=True))
    return found


def _read_dimension(inside: Path, name: str) -> Dimension:
    source = open_source(inside / "hierarchies" / f"{name}.csv")
    columns = [source.text(column).to_pylist() for column in ("hierarchy", "code", "parent", "label")]
    rows = list(zip(*columns, strict=True))
    labels = {code: label for _, code, _, label in rows if label}
    numbers = dict.fromkeys(number for number, *_ in rows)
    trees = [from_parents([(c, p) for n, c, p, _ in rows if n == number], labels=labels) for number in numbers]
    return Dimension(name, *trees)


def _read_table(inside: Path, spec: dict[str, Any], dimensions: dict[str, Dimension], unpublished: BoolArray) -> Table:
    source = open_source(inside / "facts" / f"{spec['name']}.parquet")
    codes = layout.facts(spec["by"])
    said: dict[str, Any] = {name: name for name in NUMBERS}
    columns = CellColumns("total", status="state", others=stored_facts(source), origin="stored", **said)
    about = About(
        spec["name"], spec["response"], spec["population"], spec["count"], spec["decimals"], "known", spec["tolerance"]
    )
    table = read_cells(source, {c: dimensions[name] for c, name in zip(codes, spec["by"], strict=True)}, columns, about)
    if (np.diff(table.rows) < 0).any():
        raise InputError(
            f"the rows of table {table.name!r} are not in the order of its hierarchies, which may disclose something; "
            "protect it again"
        )
    # A cell is unpublished by its state, which is in the facts, or by a level of which no cell is shown.
    shown = {d.name: set(d.level[c[~unpublished]].tolist()) for d, c in zip(table.dimensions, table.codes, strict=True)}
    levels = {name: sorted(found) for name, found in shown.items()}
    return replace(table, zeros=spec["zeros"], levels=levels)


def _knowledge(attack: dict[str, Any]) -> Knowledge:
    lower = -np.inf if attack["lower"] == "unbounded" else float(attack["lower"])
    upper = np.inf if attack["upper"] == "unbounded" else float(attack["upper"])
    return Knowledge(lower, upper, None if attack["percent"] is None else float(attack["percent"]))
