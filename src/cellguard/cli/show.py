"""Summaries for people: a table on a terminal, plain text when piped."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click


def show_assessment(summary: Mapping[str, Any]) -> None:
    """Print what was found: one line a table, then the set, warnings and what was not checked."""
    rows = []
    for name, table in summary["tables"].items():
        share = f"{100 * table['primary'] / table['cells']:.1f} %" if table["cells"] else "-"
        rules = "; ".join(f"{rule}: {many:,}" for rule, many in table["by_rule"].items()) or "no rules"
        rows.append([name, f"{table['cells']:,}", f"{table['primary']:,}", share, rules])
    show_table(["table", "cells", "unsafe", "share", "unsafe by rule"], rows, numbers=(1, 2, 3))
    both = summary["set"]
    click.echo(
        f"\nAs one set: {both['cells']:,} distinct cells, {both['relations']:,} relations, "
        f"{both['primary']:,} unsafe cells."
    )
    for warning in summary["warnings"]:
        click.echo(f"Warning: {warning}")
    click.echo("Insiders not checked. Nothing is protected yet: these tables must not be published as they are.")


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> None:
    """Print rows in columns; the given columns are aligned to the right."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*header)
        for i in numbers:
            table.columns[i].justify = "right"
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [t.rjust(w) if i in numbers else t.ljust(w) for i, (t, w) in enumerate(zip(row, widths, strict=True))]
        click.echo("  ".join(cells).rstrip())
