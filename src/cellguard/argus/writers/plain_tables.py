"""Tables for readers: CSV with a block per layer, and one line per cell (pivot, code-value, SBS)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from cellguard.argus.own_table import (
    EMPTY,
    FREQ,
    RULE,
    SECONDARIES,
    UNSAFE,
    ArgusTable,
)
from cellguard.argus.writers.cell_text import all_cells, labels, number, shown, status_of
from cellguard.errors import InputError
from cellguard.io.writers.sbs import shares


def csv_table(table: ArgusTable, options: Mapping[str, bool]) -> str:
    """Return a table with a line per row and a block per layer; suppressed cells are ``x``."""
    names = labels(table, quotes=options["QU"])
    columns = range(table.shape[-1])
    lines: list[str] = []
    head = "," + ",".join(names[-1])
    if len(table.shape) == 1:
        return "\n".join([head, "," + ",".join(_cell(table, (c,)) for c in columns)]) + "\n"
    for layer in itertools.product(*(range(size) for size in table.shape[:-2])):
        if layer:
            lines.append(", ".join(f"Var {i + 1},{names[i][code]}" for i, code in enumerate(layer)))
        lines.append(head)
        for row in range(table.shape[-2]):
            cells = ",".join(_cell(table, (*layer, row, column)) for column in columns)
            lines.append(f"{names[-2][row]},{cells}")
        lines.append("")
    return "\n".join(lines) + "\n"


def _cell(table: ArgusTable, index: tuple[int, ...]) -> str:
    key = 0
    for position, size in zip(index, table.shape, strict=True):
        key = key * size + position
    return shown(table, table.row_of.get(key, -1), unsafe=False)


def code_value(table: ArgusTable, options: Mapping[str, bool]) -> str:
    """Return a line per cell: codes, value, and with AS the status, 1 to 14, and also the values of unsafe cells."""
    names, status = labels(table, quotes=options["QU"]), options["AS"]
    lines = [_first_line(table, options)] if options["FL"] else []
    for index, row in all_cells(table, skip_empty=options["SE"]):
        fields = [names[i][code] for i, code in enumerate(index)] + [shown(table, row, unsafe=status)]
        lines.append(",".join([*fields, str(status_of(table, row))] if status else fields))
    return "\n".join(lines) + "\n"


def _first_line(table: ArgusTable, options: Mapping[str, bool]) -> str:
    mark = '"' if options["QU"] else ""
    names = [*(s.name for s in table.spanning), table.response, *(["Status"] if options["AS"] else [])]
    return ",".join(f"{mark}{name}{mark}" for name in names)


def keyed_table(table: ArgusTable, options: Mapping[str, bool]) -> str:
    """Return a line per cell with its published figure and, with AO and AD, the true one and the difference."""
    if table.original is None:
        raise InputError(f"format 7 is for tables with noise; table {table.number} has none, so write format 1, 2 or 3")
    if options["AC"]:
        raise InputError("AC+: cell keys are not written by a batch; the internal half of the results has them")
    names, true = labels(table, quotes=options["QU"]), table.original
    heads = [name for name, wanted in (("Original", options["AO"]), ("Difference", options["AD"])) if wanted]
    mark = '"' if options["QU"] else ""
    lines = [",".join(f"{mark}{name}{mark}" for name in [*(s.name for s in table.spanning), table.response, *heads])]
    for index, row in all_cells(table, skip_empty=options["SE"]):
        fields = [names[i][code] for i, code in enumerate(index)] + [shown(table, row, unsafe=False)]
        more = (0.0, 0.0) if row < 0 else (float(true[row]), float(table.value[row] - true[row]))
        wanted = zip(more, (options["AO"], options["AD"]), strict=True)
        lines.append(",".join([*fields, *(number(x, table.written) for x, asked in wanted if asked)]))
    return "\n".join(lines) + "\n"


def sbs(table: ArgusTable, options: Mapping[str, bool]) -> str:
    """Return a line per cell that is not empty: codes, value, contributors, flag, and for some flags dominance.

    The flags: V safe, A too few contributors, B request, zero, by hand, or dominance of one, C dominance of more,
    F p %, D secondary.
    """
    names = labels(table, quotes=options["QU"])
    lines = []
    for index, row in all_cells(table, skip_empty=True):
        fields = []
        for i, code in enumerate(index):
            fields.append(names[i][code])
            if options["HL"]:
                spanning = table.spanning[i]
                fields.append(str(int(spanning.tree.level[code])) if spanning.is_hierarchical else "0")
        lines.append(",".join([*fields, shown(table, row, unsafe=True), *_tail(table, row)]))
    return "\n".join(lines) + "\n"


def _tail(table: ArgusTable, row: int) -> list[str]:
    """Return contributors, flag and percentages of a cell."""
    status, rule = status_of(table, row), table.rule
    held = table.holding_tops.shape[1] > 0
    count = table.holdings[row] if table.holdings[row] > 0 else table.freq[row]
    by_percent = bool(rule.respondents.percents or rule.holdings.percents)
    tops = table.holding_tops[row] if held else table.tops[row]
    if status in SECONDARIES:
        flag = "D"
    elif status == FREQ:
        flag = "A"
    elif status == RULE:
        flag = "F" if by_percent else "C" if len(tops) > 1 else "B"
    elif status in UNSAFE:
        flag = "B"
    else:
        flag = "-" if status == EMPTY else "V"
    fields = [f"{count:.0f}", flag]
    if flag in {"B", "C", "F"}:
        fields += shares(tops.tolist(), float(table.shadow[row]), each=by_percent)
    return fields
