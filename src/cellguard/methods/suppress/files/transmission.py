"""Files for an office that may know all cells and why some are not free: SDMX-CSV and SBS. Confidential.

They are written when a table is protected, and by `verify` once more from what the folder holds, to compare bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cellguard.arrays import BoolArray
from cellguard.io.stored_run import read_stored_tables
from cellguard.io.write import plain
from cellguard.job.rulespec import parse_rule
from cellguard.methods.suppress.files.sbs_cells import sbs_cells
from cellguard.methods.suppress.files.sdmx_cells import sdmx_cells
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.rules.assess import assess_table
from cellguard.rules.rule import Rule
from cellguard.table.source import open_source
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class SentTable:
    """A released table as it is sent: which rule calls which cell unsafe, and status and exact value of each cell."""

    table: Table
    rules: tuple[Rule, ...]
    unsafe: tuple[BoolArray, ...]
    status: Sequence[str]
    value: Sequence[str]


Writer: TypeAlias = Callable[[Sequence[SentTable]], Mapping[str, str]]
_WRITERS: Mapping[str, tuple[str, Writer]] = {"sbs": (".sbs", sbs_cells), "sdmx": (".sdmx.csv", sdmx_cells)}


def write_transmissions(inside: Path, proven: SuppressionResult, formats: Collection[str]) -> None:
    """Write into the internal half what the formats of a job have to send."""
    for name, text in _texts(lambda: _of_result(proven), formats).items():
        (inside / name).write_text(text, encoding="utf-8")


def rewrite_transmissions(inside: Path, document: Mapping[str, Any]) -> dict[str, bytes]:
    """Return these files as the stored cells, facts and rules give them: those of a format of which any is there."""
    there = {path.name for path in inside.iterdir()}
    names = [spec["name"] for spec in document["tables"]]
    formats = [f for f, (ending, _) in _WRITERS.items() if any(f"{name}{ending}" in there for name in names)]
    texts = _texts(lambda: _of_folder(inside, document), formats)
    return {name: text.encode("utf-8") for name, text in texts.items()}


def _texts(sent: Callable[[], Sequence[SentTable]], formats: Collection[str]) -> dict[str, str]:
    """Return the texts of the files by their names; tables are only looked at if a format sends any."""
    asked = [_WRITERS[name] for name in sorted(_WRITERS) if name in formats]
    tables = sent() if asked else ()
    return {f"{name}{ending}": text for ending, writer in asked for name, text in writer(tables).items()}


def _of_result(proven: SuppressionResult) -> list[SentTable]:
    audit, sent = proven.audit, []
    for number, here in enumerate(proven.findings.by_table):
        if here.table.release != "here":
            continue
        values = [plain(audit.values[cell]) for cell in audit.needs.tables.cells_of[number].tolist()]
        status = audit.pattern.status(number).tolist()
        sent.append(SentTable(here.table, here.rules, here.unsafe, status, values))
    return sent


def _of_folder(inside: Path, document: Mapping[str, Any]) -> list[SentTable]:
    tables, statuses = read_stored_tables(inside, document)
    sent = []
    for spec, table, status in zip(document["tables"], tables, statuses, strict=True):
        if table.release != "here":
            continue
        here = assess_table(table, tuple(parse_rule(rule) for rule in spec["rules"]))
        values = open_source(inside / f"{table.name}.csv").text("value").to_pylist()
        sent.append(SentTable(table, here.rules, here.unsafe, status, [str(value) for value in values]))
    return sent
