"""Summaries for people: a table on a terminal, plain text when piped."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellguard.cli.words import counted

if TYPE_CHECKING:
    from cellguard.verify.verify import Verification


def show_assessment(summary: Mapping[str, Any], *, cure: str = "") -> None:
    """Print what was found: one line a table, then the set, warnings and what was not checked."""
    rows = []
    for name, table in summary["tables"].items():
        share = f"{100 * table['primary'] / table['cells']:.1f} %" if table["cells"] else "-"
        rules = "; ".join(f"{rule}: {many:,}" for rule, many in table["by_rule"].items()) or "no rules"
        rows.append([name, f"{table['cells']:,}", f"{table['primary']:,}", share, rules])
    show_table(["table", "cells", "unsafe", "share", "unsafe by rule"], rows, numbers=(1, 2, 3))
    both = summary["set"]
    click.echo(
        f"\nAs one set: {counted(both['cells'], 'distinct cell')}, {counted(both['relations'], 'relation')}, "
        f"{counted(both['primary'], 'unsafe cell')}."
    )
    for warning in summary["warnings"]:
        click.echo(f"Warning: {warning}")
    click.echo(f"{summary['headline']}: these tables must not be published as they are. Insiders not checked.")
    if cure:
        click.echo(cure)


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


def nothing_shared(found: Mapping[str, Sequence[tuple[str, str, str]]]) -> bool:
    """Tell whether no table is in both of two compared folders: all its cells are absent from the one or the other.

    >>> nothing_shared({"a": [("N", "primary", "absent")], "b": [("N", "absent", "primary")]})
    True
    """
    return all(cells and any({c[side] for c in cells} == {"absent"} for side in (1, 2)) for cells in found.values())


def show_audit(summary: Mapping[str, Any], written: Sequence[str], *, cure: str = "") -> None:
    """Print the verdict first, then the cells that are given away and how, what was written, what was not checked."""
    both = summary["set"]
    click.echo(f"{summary['headline'].rstrip('.')}.")
    if "tables" in summary:
        header = ["table", "cells", "published", "primary", "secondary", "not protected"]
        keys = ("cells", "published", "primary", "secondary", "failing")
        rows = [[name, *(f"{table[k]:,}" for k in keys)] for name, table in summary["tables"].items()]
        show_table(header, rows, numbers=range(1, 6))
        click.echo(
            f"As one set: {counted(both['cells'], 'distinct cell')}, {counted(both['relations'], 'relation')}, "
            f"{counted(both['witnesses'], 'witness')}."
        )
    else:
        click.echo(
            f"{counted(both['cells'], 'distinct cell')}, {both['suppressed']:,} suppressed, "
            f"{both['disclosed']:,} disclosed."
        )
    for failure in summary["failing"][:_SHOWN]:
        click.echo(f"\n{failure['cell']}: {_interval(failure)}")
        for line in failure["how"]:
            click.echo(f"  {line}")
    if len(summary["failing"]) > _SHOWN:
        click.echo(
            f"\n... and more; --json lists up to 100 of {max(both.get('failing', 0), len(summary['failing'])):,}."
        )
    if summary.get("gap") is not None:
        click.echo(
            f"At most {summary['gap']:.1%} of what the secondary cells cost could be saved (0.0% is the optimum)."
        )
    for warning in summary.get("warnings", ()):
        click.echo(f"Warning: {warning}")
    for rule in summary.get("trusted", ()):
        click.echo(f"Taken on trust: the rule {rule}, which `cellguard verify` cannot recompute.")
    for line in written:
        click.echo(f"Written: {line}")
    for line in (cure, summary.get("caveat", "")):
        if line:
            click.echo(line)


def show_notes(notes: Sequence[str], folder: Path) -> None:
    """Print where the report is, or why there is none."""
    report = folder / "internal" / "report.html"
    for line in [f"Read first: {report} (confidential)", *notes] if report.exists() else notes:
        click.echo(line)


_SHOWN = 20
_SAID = {"cost": "with a cost of their own", "bounds": "with bounds of their own", "needs": "with needs of their own"}


def _interval(failure: Mapping[str, Any]) -> str:
    if failure.get("undecided"):
        return "not decided"
    low, high = failure["lower"], failure["upper"]
    if low is not None and low == high:
        return f"known exactly, {low:,.10g}"
    ends = ("no lower end" if low is None else f"{low:,.10g}"), ("no upper end" if high is None else f"{high:,.10g}")
    return f"between {ends[0]} and {ends[1]}"


def show_verification(found: Verification) -> None:
    """Print the checks, what was said of single cells, warnings and what is taken on trust."""
    for check in found.checks:
        click.echo(f"{'ok  ' if check.passed else 'FAIL'} {check.number}. {check.name}: {check.detail}")
    said = ", ".join(f"{many:,} {_SAID.get(word, word)}" for word, many in found.said.items())
    click.echo(f"Said of single cells beforehand: {said or 'nothing'}.")
    for warning in found.warnings:
        click.echo(f"Warning: {warning}")
    for rule in found.trusted:
        click.echo(f"Taken on trust: the rule {rule}")
    click.echo("Valid." if found.valid else "NOT VALID: do not publish.")
    click.echo("This is a checksum of a proof, not a signature: it does not tell who made the files.")
