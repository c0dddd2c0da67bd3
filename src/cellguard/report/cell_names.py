"""How a page names a cell, and how its script finds it."""

from __future__ import annotations

import json

from cellguard.table.table import ADDED, Table


def name_cell(table: Table, position: int) -> dict[str, str]:
    """Return a cell's table, codes and labels."""
    codes = [d.codes[c[position]] for d, c in zip(table.dimensions, table.codes, strict=True)]
    labels = [d.labels.get(code, "") for d, code in zip(table.dimensions, codes, strict=True)]
    words = {"table": ADDED.get(table.release, table.name), "go": link_to(table, position)}
    if table.release == "sums":
        return words | {"codes": labels[0] or codes[0], "labels": ""}
    return words | {"codes": " / ".join(codes), "labels": " / ".join(filter(None, labels))}


def link_to(table: Table, position: int) -> str:
    """Return how a page's script finds a cell: the table's name and the codes."""
    codes = [d.codes[c[position]] for d, c in zip(table.dimensions, table.codes, strict=True)]
    return json.dumps([table.name, codes], ensure_ascii=False)
