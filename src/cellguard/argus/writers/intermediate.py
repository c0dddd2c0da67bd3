"""Intermediate files: a ``.tab`` with all that is known of each cell, the ``.rda`` that describes it, hierarchies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cellguard.argus.own_table import UNSAFE, ArgusTable, letter
from cellguard.argus.spanning import Spanning
from cellguard.argus.writers.cell_text import all_cells, labels, number, status_of
from cellguard.arrays import FloatArray
from cellguard.errors import InputError

LEAD = "@"


def intermediate(table: ArgusTable, options: Mapping[str, bool], stem: str) -> dict[str, str]:
    """Return the text of the table under '', and those of the files beside it by their endings."""
    if options["AR"] and table.realized is None:
        raise InputError(f"table {table.number}: AR+ writes intervals, and only suppressed tables have them")
    whole = not options["SO"]
    tops = table.holding_tops if options["HI"] and table.holding_tops.shape[1] else table.tops
    names = labels(table, quotes=options["QU"])
    lines = []
    for index, row in all_cells(table, skip_empty=options["SE"]):
        fields = [names[i][code] for i, code in enumerate(index)]
        lines.append(";".join([*fields, *_figures(table, row, tops, options, whole=whole)]))
    files = {"": "\n".join(lines) + "\n", ".rda": _metadata(table, tops.shape[1], options, stem, whole=whole)}
    for i, spanning in enumerate(table.spanning, 1):
        if _is_tree(spanning):
            files[f"_{i}.hrc"] = hrc_text(spanning)
    return files


def _figures(table: ArgusTable, row: int, tops: FloatArray, options: Mapping[str, bool], *, whole: bool) -> list[str]:
    decimals = table.written

    def told(column: FloatArray) -> str:
        return number(float(column[row]) if row >= 0 else 0.0, decimals)

    fields = [told(table.value)]
    if not table.is_count:
        freq = table.holdings if options["HI"] and table.holdings.any() else table.freq
        fields.append(f"{freq[row] if row >= 0 else 0:.0f}")
        fields += [told(table.shadow)] if whole else []
    fields.append(f"{table.cost[row] if row >= 0 else 0:.{max(decimals, 0)}f}")
    fields += [told(column) for column in tops.T] if whole else []
    status = status_of(table, row)
    unit = table.unit if letter(status) != "E" else 0.0
    given = status in UNSAFE
    levels = (table.lower, table.upper)
    fields.append(letter(status))
    fields += [
        number(float(level[row]) if given else unit, max(decimals, _needed(level[row] if given else 0)))
        for level in levels
    ]
    if options["AR"]:
        fields += _realized(table, row)
    return fields


def _needed(level: float) -> int:
    """Return how many decimals a level has, 3 at most."""
    return next((d for d in range(3) if abs(level * 10**d - round(level * 10**d)) < 1e-9), 3)


def _realized(table: ArgusTable, row: int) -> list[str]:
    """Return the ends and the width of a cell's interval, and the same in percent of its value."""
    if row < 0 or table.realized is None:
        return ["0"] * 6
    value = float(table.value[row])
    low, high = (float(ends[row]) for ends in table.realized)
    if not (table.unsafe | table.secondary)[row]:
        low = high = value
    figures = [low, high, high - low]
    shares = [value - low, high - value, high - low]
    told = [number(f, table.written) if np.isfinite(f) else "inf" for f in figures]
    if value == 0 or low == high:
        return [*told, "0", "0", "0"]
    return [*told, *(f"{100 * s / value:.2f}" if np.isfinite(s) else "inf" for s in shares)]


def _metadata(table: ArgusTable, tops: int, options: Mapping[str, bool], stem: str, *, whole: bool) -> str:
    lines = ['<SEPARATOR> ";"']
    for i, spanning in enumerate(table.spanning, 1):
        missing = "".join(f' "{code}"' for code in spanning.missing)
        lines += [f"{_named(spanning.name)}{missing}", "    <RECODEABLE>", f'    <TOTCODE> "{spanning.tree.total}"']
        if _is_tree(spanning):
            lines += ["    <HIERARCHICAL>", f'    <HIERCODELIST> "{stem}_{i}.hrc"', f'    <HIERLEADSTRING> "{LEAD}"']
    name = _named(table.response)
    decimals = [f"    <DECIMALS> {table.written}"] if table.written else []
    if table.is_count:
        lines += [name, "    <FREQUENCY>"]
    else:
        lines += [name, "    <NUMERIC>", *decimals, "FreqVar", "    <FREQUENCY>"]
        lines += [f"{table.response}_Shadow", "    <NUMERIC> <SHADOW>"] if whole else []
    lines += [f"{table.response}_Cost", "    <NUMERIC> <COSTVAR>"]
    for rank in range(1, tops + 1) if whole else ():
        lines += [f"Top{rank}", "    <MAXSCORE>"]
    lines += ["StatusVar", "    <STATUS>", "LowerProtLevel", "    <NUMERIC> <LOWERPL>"]
    lines += ["UpperProtLevel", "    <NUMERIC> <UPPERPL>"]
    if options["AR"]:
        for name in ("RealizedLower", "RealizedUpper", "Range", "LowerPercent", "UpperPercent", "RangePercent"):
            lines += [name, "    <NUMERIC>"]
    return "\n".join(lines) + "\n"


def _named(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _is_tree(spanning: Spanning) -> bool:
    """Return whether the codes have levels."""
    return bool((spanning.tree.level > 1).any())


def hrc_text(spanning: Spanning) -> str:
    """Return the file of a hierarchy; codes for missing are named in the metadata instead."""
    tree = spanning.tree
    return "".join(
        LEAD * (int(tree.level[i]) - 1) + f"{code}\n"
        for i, code in enumerate(tree.codes)
        if i and code not in spanning.missing
    )
