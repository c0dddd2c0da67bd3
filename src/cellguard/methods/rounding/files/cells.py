"""The confidential tables of rounded cells: true and published values, and what an attacker concludes of each."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text, plain, plain_number
from cellguard.methods.rounding.result import RoundingResult
from cellguard.table.columns import all_headed

COLUMNS = (
    "value",
    "published",
    "count",
    "status",
    "reasons",
    "need_lower",
    "need_upper",
    "need_sliding",
    "interval_lower",
    "interval_upper",
)


def write_cells(inside: Path, done: RoundingResult) -> None:
    """Write of each table the cells, with status, reasons, protection levels and the attacker's interval."""
    for number in range(len(done.tables)):
        table = done.tables[number]
        names = [d.name for d in table.dimensions]
        codes = [np.array(d.codes, object)[c].tolist() for d, c in zip(table.dimensions, table.codes, strict=True)]
        rows = zip(*codes, *_columns(done, number), strict=True)
        text = csv_text([*all_headed(names, COLUMNS), *COLUMNS], rows)
        (inside / f"{table.name}.csv").write_text(text, encoding="utf-8")


def _columns(done: RoundingResult, number: int) -> list[Sequence[object]]:
    here, cells = done.assessed.findings.by_table[number], done.assessed.tables.cells_of[number]
    table, grains, needs = here.table, done.rounded.plan.grains, done.assessed.needs
    exact = grains.exact()
    shown = [int(v) for v in done.rounded.value.tolist()]
    size = [int(d) for d in grains.decimals.tolist()]
    seen = done.rounded.seen.tolist()
    at = cells.tolist()
    count = [""] * len(table) if table.facts.count is None else [f"{n:.0f}" for n in table.facts.count.tolist()]
    columns: list[Sequence[object]] = [
        [plain(exact[c]) for c in at],
        [_published(shown[c], size[c]) if seen[c] else "" for c in at],
        count,
        done.status(number),
        here.reasons(),
    ]
    for need in (needs.lower, needs.upper, needs.sliding):
        columns.append([plain_number(float(need[c])) if needs.primary[c] else "" for c in at])
    for end in (done.attacked.lower, done.attacked.upper):
        columns.append([plain_number(round(float(end[c]), size[c])) if np.isfinite(end[c]) else "" for c in at])
    return columns


def _published(amount: int, decimals: int) -> str:
    return plain(Decimal(amount).scaleb(-decimals))
