"""What a notebook shows of a released table: rows by the first dimension, columns by the second. Safe to show."""

from __future__ import annotations

import html
from collections.abc import Mapping

from cellguard.faces.python.wide import Layout, Wide
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.pattern import ReleasedTable
from cellguard.views.grid import Grid, released_codes

_MOST_ROWS, _MOST_COLUMNS = 60, 20
_STYLE = "border:1px solid #ccc;padding:2px 8px;text-align:right;font-variant-numeric:tabular-nums"


def _cells(
    table: ReleasedTable, dimensions: Mapping[str, Dimension]
) -> tuple[list[str], list[str], list[list[str | None]], list[list[bool]]]:
    """Return codes of rows and columns, the values as text (None where there is none), and which cells are suppressed.

    Dimensions beyond the second stand at their total.
    """
    others = table.by[2:]
    trees = [dimensions[name] for name in table.by]
    grid = Grid.of(table.name, trees, released_codes(table, trees))
    cut = grid.cut({name: dimensions[name].total for name in others})
    rows = _margin_last(grid, cut.rows, trees[0].total)
    columns = _margin_last(grid, cut.columns, trees[1].total) if cut.columns else [table.response]
    cells = grid.cells(cut, rows, columns)
    down = [i for i in range(len(rows)) if any(cell is not None for cell in cells[i])]
    across = [j for j in range(len(columns)) if any(row[j] is not None for row in cells)]
    shown = [[cells[i][j] for j in across] for i in down]
    values = [[None if cell is None else table.value[cell] or None for cell in row] for row in shown]
    hidden = [[cell is not None and bool(table.suppressed[cell]) for cell in row] for row in shown]
    return [rows[i] for i in down], [columns[j] for j in across], values, hidden


def _margin_last(grid: Grid, name: str, total: str) -> list[str]:
    """Return the codes of an axis that cells have: as in the hierarchy, but the total last, as margins stand."""
    codes = list(grid.axis(name).depth)
    return [code for code in codes if code != total] + [code for code in codes if code == total]


def grid_html(table: ReleasedTable, dimensions: Mapping[str, Dimension]) -> str:
    """Return a grid as HTML, with suppressed cells marked; only what is released is in it."""
    rows, columns, values, hidden = _cells(table, dimensions)
    head = "".join(f"<th style='{_STYLE}'>{html.escape(code)}</th>" for code in columns[:_MOST_COLUMNS])
    lines = []
    level = dimensions[table.by[0]]
    for code, cells, gone in list(zip(rows, values, hidden, strict=True))[:_MOST_ROWS]:
        depth = max(int(level.level[level.position[code]]) - 1, 0)
        shown = "".join(_cell(v, g) for v, g in list(zip(cells, gone, strict=True))[:_MOST_COLUMNS])
        indent = f"text-align:left;padding-left:{8 + 14 * depth}px"
        lines.append(f"<tr><th style='{_STYLE};{indent}'>{html.escape(code)}</th>{shown}</tr>")
    more = [f"{len(rows) - _MOST_ROWS} more rows"] if len(rows) > _MOST_ROWS else []
    more += [f"{len(columns) - _MOST_COLUMNS} more columns"] if len(columns) > _MOST_COLUMNS else []
    more += [f"{', '.join(table.by[2:])} at the total"] if table.by[2:] else []
    words = [
        f"{html.escape(table.response)} by {html.escape(', '.join(table.by))}",
        f"{table.hidden} of {len(table)} cells suppressed (c)",
    ]
    caption = "; ".join([*words, *map(html.escape, more)])
    corner = html.escape(" \\ ".join(table.by[:2]))
    return (
        f"<table style='border-collapse:collapse'><caption style='text-align:left'>{caption}</caption>"
        f"<thead><tr><th style='{_STYLE};text-align:left'>{corner}</th>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def wide_html(wide: Wide, layout: Layout) -> str:
    """Return a wide table as HTML, with suppressed cells marked; only what is released is in it."""
    corner = html.escape(" / ".join(str(layout.title(name)) for name in layout.rows))
    columns = [" / ".join(str(part) for part in key if part != "") for key in wide.columns[:_MOST_COLUMNS]]
    head = "".join(f"<th style='{_STYLE}'>{html.escape(name)}</th>" for name in columns)
    lines = []
    for i, key in enumerate(wide.rows[:_MOST_ROWS]):
        name = html.escape(" / ".join(str(part) for part in key if part != ""))
        cells = zip(wide.value[i].tolist(), wide.hidden[i].tolist(), wide.counted, strict=True)
        shown = "".join(_cell(_number(v, counted), g) for v, g, counted in list(cells)[:_MOST_COLUMNS])
        lines.append(f"<tr><th style='{_STYLE};text-align:left'>{name}</th>{shown}</tr>")
    words = [f"{int(wide.hidden.sum())} of {wide.hidden.size} cells suppressed (c)"]
    words += [f"{len(wide.rows) - _MOST_ROWS} more rows"] if len(wide.rows) > _MOST_ROWS else []
    words += [f"{len(wide.columns) - _MOST_COLUMNS} more columns"] if len(wide.columns) > _MOST_COLUMNS else []
    return (
        f"<table style='border-collapse:collapse'><caption style='text-align:left'>{'; '.join(words)}</caption>"
        f"<thead><tr><th style='{_STYLE};text-align:left'>{corner}</th>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _number(value: float, counted: bool) -> str | None:
    if value != value:
        return None
    return f"{value:.0f}" if counted else f"{value:.6f}".rstrip("0").rstrip(".")


def _cell(value: str | None, gone: bool) -> str:
    if gone:
        return f"<td style='{_STYLE};background:#eee;color:#666' title='suppressed'>c</td>"
    return f"<td style='{_STYLE}'>{'' if value is None else html.escape(f'{float(value):,.{_decimals(value)}f}')}</td>"


def _decimals(value: str) -> int:
    return len(value.partition(".")[2])
