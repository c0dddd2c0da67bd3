"""The confidential tables of cells, with status and reasons, and the facts that the rules were applied to."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.attack.audit import Audit
from cellguard.io import layout
from cellguard.io.write import csv_text, plain, plain_number
from cellguard.methods.suppress.result import Intervals, SuppressionResult
from cellguard.rules.assess import TableFindings
from cellguard.table.apriori import NUMBERS, State
from cellguard.table.fact_columns import stored_columns
from cellguard.table.table import Table

_NAMED = 10  # unsafe cells that a reason names


def write_cells(inside: Path, proven: SuppressionResult) -> None:
    """Write of each table the cells with status and reasons, and the facts."""
    audit = proven.audit
    (inside / "facts").mkdir()
    needs = [audit.in_grains(_on_cells(audit, amounts)) for amounts in _needs(audit)]
    for number, here in enumerate(proven.findings.by_table):
        _write_table(inside, number, here, proven, needs)
        cells = audit.needs.tables.cells_of[number]
        facts = facts_of(here.table, [audit.values[c] for c in cells.tolist()])
        pq.write_table(facts, inside / "facts" / f"{here.table.name}.parquet")


def _needs(audit: Audit) -> tuple[Any, Any, Any]:
    levels = audit.problem.levels
    return levels.down, levels.up, levels.width


def _on_cells(audit: Audit, amounts: Any) -> Any:  # noqa: ANN401
    """Return amounts of the problem's cells over all distinct cells."""
    amounts_of_all = np.zeros(len(audit.needs.world), np.int64)
    amounts_of_all[audit.problem.cells] = amounts
    return amounts_of_all[: len(audit.needs.tables)]


def _write_table(
    folder: Path, number: int, here: TableFindings, proven: SuppressionResult, needs: Sequence[Sequence[Decimal]]
) -> None:
    audit = proven.audit
    table, cells = here.table, audit.needs.tables.cells_of[number]
    status, reasons = audit.pattern.status(number).tolist(), _reasons(here, cells, proven)
    primary = audit.needs.primary[cells]
    count = [""] * len(table) if table.facts.count is None else [f"{n:.0f}" for n in table.facts.count.tolist()]
    costs = table.apriori.cost if proven.suppression is None else proven.suppression.costs[cells]
    cost = ["" if np.isnan(c) else repr(c) for c in costs.tolist()]
    codes = [column.tolist() for column in table.code_texts()]
    # Those that the page tells are worked out once for both.
    ends = proven.intervals or Intervals(audit.pattern.unknown & audit.exact, audit.lower, audit.upper)
    hidden = ends.hidden & audit.pattern.unknown
    at = cells.tolist()
    columns: list[Sequence[object]] = [*codes, [plain(audit.values[c]) for c in at], count, status, reasons, cost]
    columns += [[plain(need[c]) if p else "" for c, p in zip(at, primary, strict=True)] for need in needs]
    columns += [
        [plain_number(_tidy(end[c], table.decimals)) if hidden[c] else "" for c in at]
        for end in (ends.lower.tolist(), ends.upper.tolist())
    ]
    header = layout.cells([d.name for d in table.dimensions])
    text = csv_text(header, zip(*columns, strict=True))
    (folder / f"{table.name}.csv").write_text(text, encoding="utf-8")


def _tidy(end: float, decimals: int) -> float:
    """Return an end of an interval as the decimals of its table write it, where it is that number but for rounding."""
    written = round(end, decimals) if np.isfinite(end) else end
    return written if abs(written - end) <= 1e-9 * max(abs(end), 1.0) else end


def _reasons(here: TableFindings, cells: Any, proven: SuppressionResult) -> list[str]:  # noqa: ANN401
    """Return why each cell is suppressed: the rules that say so, the unsafe cells that it protects, what it follows."""
    tables, reasons = proven.audit.needs.tables, here.reasons()
    protects = {} if proven.explained is None else proven.explained.protects
    for at in np.flatnonzero(proven.audit.pattern.secondary[cells]).tolist():
        cell = int(cells[at])
        served, whom = protects.get(cell, ()), ""
        if not served and proven.explained is not None:
            served, whom = proven.inside_of.get(cell, ()), " from respondents"
        if served:
            names = [tables.cell_name(c) for c in served[:_NAMED]]
            more = f" and {len(served) - _NAMED} more" if len(served) > _NAMED else ""
            reasons[at] = "protects " + ", ".join(names) + more + whom
    followers = np.fromiter(proven.hidden_with, np.intp, len(proven.hidden_with))
    for at in np.flatnonzero(np.isin(cells, followers)).tolist():
        words = [f"suppressed with {response}" for response in proven.hidden_with[int(cells[at])]]
        reasons[at] = "; ".join(filter(None, [reasons[at], *words]))
    return reasons


def facts_of(table: Table, values: Sequence[Decimal]) -> pa.Table:
    """Return what is stored of a table's facts; ``values`` are the exact values of its cells."""
    codes = zip(layout.facts([d.name for d in table.dimensions]), table.code_texts(), strict=True)
    columns: dict[str, pa.Array] = {name: pa.array(column.tolist()) for name, column in codes}
    columns |= stored_columns(table.facts, [float(value) for value in values])
    names = [None if s == State.none else State(s).name for s in table.apriori.state.tolist()]
    columns["state"] = pa.array(names, pa.string())
    for name in NUMBERS:
        said = getattr(table.apriori, name)
        columns[name] = pa.array(said, pa.float64(), mask=np.isnan(said))
    return pa.table(columns)
