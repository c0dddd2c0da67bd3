"""The formats of ``<WRITETABLE>`` and of our own commands, by their numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cellguard.argus.commands import WriteTable
from cellguard.argus.own_table import ArgusTable
from cellguard.argus.writers.hst import hst_text
from cellguard.argus.writers.intermediate import intermediate
from cellguard.argus.writers.jj import jj_file
from cellguard.argus.writers.plain_tables import code_value, csv_table, keyed_table, sbs
from cellguard.errors import InputError
from cellguard.io.write import csv_text

# Whether a format always has the values of suppressed cells; 2 and 3 have them with AS+.
SHOWS_HIDDEN: Mapping[int, bool] = {1: False, 2: False, 3: False, 4: True, 5: True, 6: True, 7: False}
_MOST_LINES = 20_000_000


def texts_of(table: ArgusTable, write: WriteTable, stem: str) -> Mapping[str, str]:
    """Return the texts of the files of a command, by their endings; that of the named file has none."""
    options = write.options
    if table.cells > _MOST_LINES and not (options["SE"] and write.kind in {2, 3, 5}) and write.kind != 4:
        raise InputError(
            f"table {table.number} has {table.cells:,} combinations of codes, of which {len(table):,} have values; "
            "write it in format 2, 3 or 5 with SE+, which leaves out empty cells"
        )
    if table.original is not None and SHOWS_HIDDEN[write.kind]:
        raise InputError(
            f"table {table.number} has other figures than the true ones, and format {write.kind} lists what is behind "
            "them; write format 1, 2, 3 or 7"
        )
    match write.kind:
        case 1:
            return {"": csv_table(table, options)}
        case 2:
            return {"": code_value(table, {**options, "FL": True})}
        case 3:
            return {"": code_value(table, options)}
        case 4:
            return {"": sbs(table, options)}
        case 5:
            return intermediate(table, options, stem)
        case 7:
            return {"": keyed_table(table, options)}
        case _:
            return jj_file(table, options)


def own_text(table: ArgusTable, word: str) -> str:
    """Return the text of a file that an extension asks for."""
    return _OWN[word](table)


def _intervals(table: ArgusTable) -> str:
    """Return the exact interval of each suppressed cell."""
    if table.realized is None:
        raise InputError(f"AUDIT {table.number}: the table has not been suppressed; put AUDIT after <SUPPRESS>")
    hidden = (table.unsafe | table.secondary).nonzero()[0]
    rows = []
    for row in hidden.tolist():
        codes = [s.tree.codes[i] for s, i in zip(table.spanning, table.codes[row], strict=True)]
        ends = [f"{end[row]:.12g}" for end in table.realized]
        rows.append([*codes, f"{table.value[row]:.12g}", str(int(table.status[row])), *ends])
    names = [s.name for s in table.spanning]
    return csv_text([*names, table.response, "Status", "Lower", "Upper"], rows)


_OWN: Mapping[str, Callable[[ArgusTable], str]] = {"AUDIT": _intervals, "PRIMARY": hst_text}
