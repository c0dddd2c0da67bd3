"""All cells of a suppressed set as SDMX-CSV 2.0 with reasons in CONF_STATUS: for transmission. Confidential."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text, plain
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED, VERSION
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.rules.assess import TableFindings
from cellguard.table.apriori import State
from cellguard.table.pattern import STATUS

_OF_STATUS = dict(zip(STATUS, ("F", "C", "D", "N"), strict=True))


def write_sdmx_cells(inside: Path, proven: SuppressionResult) -> None:
    """Write of each table all values; CONF_STATUS says why a cell is not free (code list CL_CONF_STATUS of SDMX).

    A primary has the code of the first rule that calls it unsafe, a secondary D (set by the sender), a cell of a level
    that is not published N.
    """
    findings = proven.findings.by_table
    tables = name_ids(here.table.name for here in findings)
    names = dict.fromkeys(d.name for here in findings for d in here.table.dimensions)
    dimensions = name_ids(names, RESERVED)
    for number, here in enumerate(findings):
        header = [
            "STRUCTURE",
            "STRUCTURE_ID",
            "ACTION",
            *(dimensions[d.name] for d in here.table.dimensions),
            *RESERVED,
        ]
        identity = "datastructure", f"{AGENCY}:{tables[here.table.name]}({VERSION})", "I"
        rows = ((*identity, *row) for row in _rows(number, here, proven))
        (inside / f"{here.table.name}.sdmx.csv").write_text(csv_text(header, rows), encoding="utf-8")


def _rows(number: int, here: TableFindings, proven: SuppressionResult) -> Iterator[tuple[str, ...]]:
    table, cells = here.table, proven.audit.needs.tables.cells_of[number]
    ids = [code_ids(d.codes) for d in table.dimensions]
    codes = [
        [known[d.codes[place]] for place in column.tolist()]
        for known, d, column in zip(ids, table.dimensions, table.codes, strict=True)
    ]
    values = [plain(proven.audit.values[cell]) for cell in cells.tolist()]
    return zip(*codes, values, ["A"] * len(table), conf_status(number, here, proven), strict=True)


def conf_status(number: int, here: TableFindings, proven: SuppressionResult) -> Sequence[str]:
    """Return the CONF_STATUS of each cell of a table."""
    pattern = proven.audit.pattern
    codes = np.array([_OF_STATUS[status] for status in pattern.status(number).tolist()], object)
    primary = np.flatnonzero(codes == _OF_STATUS["primary"])
    asked = here.table.apriori.has(State.must_suppress)
    for cell in primary.tolist():
        by = (rule.conf_status for rule, unsafe in zip(here.rules, here.unsafe, strict=True) if unsafe[cell])
        codes[cell] = next(by, "N" if asked[cell] else "C")
    return list(map(str, codes))
