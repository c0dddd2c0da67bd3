"""`cellguard show`: a drawn table on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cellguard.views.terminal import Drawing, View, draw, legend

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {"primary": "bold #d55e00", "secondary": "#3b9bd8", "unpublished": "dim italic", "suppressed": "dim"}
_STYLES |= {"unsafe": "bold #d55e00", "accepted": "#d55e00", "sensitive": "#3b9bd8"}


def rich_table(drawing: Drawing) -> Table:
    """Return a drawing in the colours of a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(drawing.corner), no_wrap=True)
    for column in drawing.columns:
        table.add_column(Text(column), justify="right", no_wrap=True)
    for line in drawing.lines:
        cells = [Text(cell.text, style=_STYLES.get(cell.status, "")) for cell in line.cells]
        table.add_row(Text("  " * line.level + line.code, style="" if line.level else "bold"), *cells)
    return table


def print_view(view: View, where: Mapping[str, str], *, depth: int | None = None) -> None:
    """Print a table with its notes; as wide as it is when nobody watches."""
    from rich.console import Console

    drawing = draw(view, where, depth=depth)
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    console.print(view.name, style="bold", markup=False)
    console.print(rich_table(drawing))
    for line in filter(None, [*drawing.notes, legend(view)]):
        console.print(line, markup=False)
