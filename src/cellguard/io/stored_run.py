"""An output folder read back: its tables, what was found unsafe, what is suppressed, and what the attacker knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import Positions
from cellguard.attack.external_totals import NO_TOTALS, ExternalTotals
from cellguard.errors import InputError
from cellguard.hierarchy.build import from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io import layout
from cellguard.io.stored_insiders import NAME as INSIDERS
from cellguard.io.stored_insiders import read_insiders
from cellguard.io.stored_sums import stored_sums
from cellguard.job.names import check_stored_names
from cellguard.job.rulespec import parse_rule
from cellguard.job.yamlfile import read_yaml
from cellguard.microdata.grouped import COUNT
from cellguard.protection import Requirements, require
from cellguard.rules.assess import Findings, assess, assess_table
from cellguard.table.apriori import NUMBERS
from cellguard.table.contributions import Contributions
from cellguard.table.fact_columns import stored_facts
from cellguard.table.facts import BoolArray
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import open_source
from cellguard.table.sums import parts_matrix
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link, with_sums
from cellguard.world.knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class Stored:
    """What an output folder holds of a run. Confidential."""

    findings: Findings
    needs: Requirements
    pattern: Pattern
    known: ExternalTotals
    insiders: Contributions | None = None
    coalition: int = 1


def rebuild(inside: Path, about: dict[str, Any]) -> Stored:
    """Rebuild tables and rules from the stored facts, and the pattern from what the release shows.

    ``inside`` is the internal half of the folder, and ``about`` its certificate.
    """
    attack, specs, equations = about["attack"], about["tables"], about["equations"]
    tables, statuses = read_stored_tables(inside, about)
    rules = {spec["name"]: [parse_rule(rule) for rule in spec["rules"]] for spec in specs}
    findings = _judged(inside, about, tables, equations, rules)
    linked = findings.tables
    needs = require(findings, replace(knowledge_of(attack), crossing=about["crossing"] == "checked"))
    hidden, seen = np.zeros(len(linked), bool), np.zeros(len(linked), bool)
    shown = read_shown_cells(inside.parent, about, statuses)
    for status, rows, cells in zip(statuses, shown, linked.cells_of, strict=True):
        hidden[cells] |= np.isin(status, ["primary", "secondary"])
        seen[cells[rows]] = True
    hidden &= ~seen
    pattern = Pattern(linked, needs.primary & hidden, hidden & ~needs.primary)
    said = about.get("insiders")
    insiders = read_insiders(inside / INSIDERS, linked, linked=said["respondents"] == "records") if said else None
    together = int(said.get("coalition", 1)) if said else 1
    return Stored(findings, needs, pattern, _known(about.get("known") or [], linked), insiders, together)


def _judged(
    inside: Path, about: Mapping[str, Any], tables: Sequence[Table], equations: Sequence[str], rules: Mapping[str, Any]
) -> Findings:
    """Link the stored tables and apply their rules; sums of their cells are cells of the set too."""
    listed = [table for table in tables if table.release != "sums"]
    findings = assess(link(listed, equations), {table.name: rules[table.name] for table in listed})
    sums = [table for table in tables if table.release == "sums"]
    if not sums:
        return findings
    parts = parts_matrix(stored_sums(inside, about, findings.tables.cells_of), len(findings.tables))
    own = [assess_table(table, tuple(rules[table.name])) for table in sums]
    return Findings(with_sums(findings.tables, sums, parts), (*findings.by_table, *own))


def read_stored_tables(inside: Path, about: Mapping[str, Any]) -> tuple[list[Table], list[list[str]]]:
    """Return the tables of a folder from their facts, and the status of each of their cells."""
    specs, weighted = about["tables"], _weighted_counts(inside)
    check_stored_names(inside.parent, [name for spec in specs for name in (spec["name"], *spec["by"])])
    dimensions = {name: read_dimension(inside, name) for spec in specs for name in spec["by"]}
    statuses = [open_source(inside / f"{spec['name']}.csv").text("status").to_pylist() for spec in specs]
    tables = [
        _read_table(inside, spec, dimensions, np.array(status) == "unpublished")
        for spec, status in zip(specs, statuses, strict=True)
    ]
    return [replace(t, sums_weights=not t.is_count and t.name in weighted) for t in tables], statuses


def _weighted_counts(inside: Path) -> set[str]:
    """Return the tables whose values are numbers of records, or sums of their weights, by the job of a folder."""
    words, _ = read_yaml(inside / "job.yaml")
    listed = words.get("tables") if isinstance(words, dict) else None
    said = [table for table in listed or () if isinstance(table, dict)]
    return {str(table.get("name")) for table in said if table.get("value") == COUNT}


def read_shown_cells(folder: Path, about: Mapping[str, Any], statuses: Sequence[Sequence[str]]) -> list[Positions]:
    """Return for each table the rows of which the release shows a value."""
    seen = []
    for spec, status in zip(about["tables"], statuses, strict=True):
        rows = np.flatnonzero(np.array(status) != "unpublished")
        if spec["release"] != "here":
            rows = np.flatnonzero(np.array(status) == "published")
        elif len(rows):
            rows = rows[_shown(folder / "release" / f"{spec['name']}.csv", len(rows))]
        seen.append(rows)
    return seen


def _shown(path: Path, rows: int) -> BoolArray:
    """Return which rows of a released table show a value, which is all that an attacker goes by."""
    value = open_source(path).text("value").to_pylist()
    if len(value) != rows:
        raise InputError(f"{path.name} in the release does not have the cells of the table; see `cellguard verify`")
    return np.array([bool(text) for text in value], bool)


def _known(sums: list[Any], tables: TableSet) -> ExternalTotals:
    """Return the sums of distinct cells that the certificate says an attacker has from elsewhere, one row each."""
    if not sums:
        return NO_TOTALS
    cells = [int(tables.cells_of[table][row]) for terms in sums for table, row in terms]
    number = np.repeat(np.arange(len(sums)), [len(terms) for terms in sums])
    matrix = sp.csr_array((np.ones(len(cells)), (number, cells)), shape=(len(sums), len(tables)))
    return ExternalTotals(matrix, np.full(len(sums), np.nan))


def read_dimension(inside: Path, name: str) -> Dimension:
    """Return a dimension as the internal half of a folder holds it."""
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
    levels = {name: sorted(numbers) for name, numbers in shown.items()}
    table = replace(table, zeros=spec["zeros"], levels=levels, release=spec["release"])
    return replace(table, levels=None, origin="records") if table.release == "earlier" else table


def knowledge_of(attack: Mapping[str, Any]) -> Knowledge:
    """Return what a certificate says that an attacker knows beforehand."""
    lower = -np.inf if attack["lower"] == "unbounded" else float(attack["lower"])
    upper = np.inf if attack["upper"] == "unbounded" else float(attack["upper"])
    return Knowledge(lower, upper, None if attack["percent"] is None else float(attack["percent"]))
