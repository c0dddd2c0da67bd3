"""The list of unsafe cells, for the statistician's eyes only."""

from __future__ import annotations

import numpy as np

from cellguard.io.write import csv_text
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings


def findings_csv(findings: Findings, needs: Requirements) -> str:
    """Return one row an unsafe cell of a table: the cell, the reasons, and how far it must be protected."""
    rows: list[tuple[object, ...]] = []
    for here, cells in zip(findings.by_table, findings.tables.cells_of, strict=True):
        table, reasons = here.table, here.reasons()
        for at in np.flatnonzero(findings.primary[cells]).tolist():
            cell = cells[at]
            levels = (f"{array[cell]:.10g}" for array in (needs.lower, needs.upper, needs.sliding))
            rows.append((table.name, table.cell_name(at), reasons[at] or "unsafe in a linked table", *levels))
    return csv_text(("table", "cell", "reasons", "need_lower", "need_upper", "need_sliding"), rows)
