"""A-priori files: the unsafe cells of a table with their protection levels, for another run."""

from __future__ import annotations

import numpy as np

from cellguard.argus.own_table import PROTECTED, ArgusTable


def hst_text(table: ArgusTable, *, secondaries: bool = False, separator: str = ",") -> str:
    """Return a line per unsafe cell and one with its levels; protected cells too, secondaries if they are asked for."""
    lines = []
    for row in np.argsort(table.keys, kind="stable").tolist():
        codes = [s.tree.codes[c] for s, c in zip(table.spanning, table.codes[row], strict=True)]
        if table.unsafe[row]:
            levels = [f"{level[row]:.12g}" for level in (table.lower, table.upper)]
            lines += [separator.join([*codes, "u"]), separator.join([*codes, "pl", *levels])]
        elif table.status[row] == PROTECTED:
            lines.append(separator.join([*codes, "p"]))
        elif secondaries and table.secondary[row]:
            lines.append(separator.join([*codes, "m"]))
    return "\n".join(lines) + "\n" if lines else ""
