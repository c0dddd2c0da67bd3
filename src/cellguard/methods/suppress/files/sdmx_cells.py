"""All cells of a suppressed set as SDMX-CSV 2.0 with reasons in CONF_STATUS: for transmission. Confidential."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cellguard.io.write import csv_text
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED, VERSION
from cellguard.table.apriori import State
from cellguard.table.pattern import STATUS

if TYPE_CHECKING:
    from cellguard.methods.suppress.files.transmission import SentTable

_OF_STATUS = dict(zip(STATUS, ("F", "C", "D", "N"), strict=True))


def sdmx_cells(sent: Sequence[SentTable]) -> dict[str, str]:
    """Return for each table a text with all values; CONF_STATUS says why a cell is not free (CL_CONF_STATUS of SDMX).

    A primary has the code of the first rule that calls it unsafe, a secondary D (set by the sender), a cell of a level
    that is not published N.
    """
    tables = name_ids(here.table.name for here in sent)
    dimensions = name_ids(dict.fromkeys(d.name for here in sent for d in here.table.dimensions), RESERVED)
    texts = {}
    for here in sent:
        by = [dimensions[d.name] for d in here.table.dimensions]
        identity = "datastructure", f"{AGENCY}:{tables[here.table.name]}({VERSION})", "I"
        rows = ((*identity, *row) for row in _rows(here))
        texts[here.table.name] = csv_text(["STRUCTURE", "STRUCTURE_ID", "ACTION", *by, *RESERVED], rows)
    return texts


def _rows(here: SentTable) -> Iterator[tuple[str, ...]]:
    table = here.table
    ids = [code_ids(d.codes) for d in table.dimensions]
    codes = [
        [known[d.codes[place]] for place in column.tolist()]
        for known, d, column in zip(ids, table.dimensions, table.codes, strict=True)
    ]
    return zip(*codes, here.value, ["A"] * len(table), conf_status(here), strict=True)


def conf_status(here: SentTable) -> Sequence[str]:
    """Return the CONF_STATUS of each cell of a table."""
    asked = here.table.apriori.has(State.must_suppress)
    codes = [_OF_STATUS[status] for status in here.status]
    for cell, status in enumerate(here.status):
        if status == "primary":
            by = (rule.conf_status for rule, unsafe in zip(here.rules, here.unsafe, strict=True) if unsafe[cell])
            codes[cell] = next(by, "N" if asked[cell] else "C")
    return codes
