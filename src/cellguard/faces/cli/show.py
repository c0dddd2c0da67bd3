"""Summaries for people: a table on a terminal, plain text when piped."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cellguard.errors import InputError
from cellguard.words.retell import retell

if TYPE_CHECKING:
    from cellguard.seam.screen import Screen
    from cellguard.verifier.verify import Verification


def show_screen(screen: Screen) -> None:
    """Print lines and boards."""
    for part in screen:
        if isinstance(part, str):
            click.echo(retell(part))
        else:
            show_table([retell(head) for head in part.header], part.rows, numbers=part.numbers)


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


def refuse_no_certificate(path: Path) -> None:
    """Refuse a job or data where a certificate is wanted."""
    if path.is_file() and path.suffix.lower() in {".yaml", ".yml"}:
        raise InputError(
            f"{path.name} is a job, and a certificate is checked: name the output folder, as `cellguard verify out`; "
            f"`--job {path.name}` compares it with the job's inputs"
        )
    if not path.exists():
        raise InputError(
            f"{str(path)!r} is neither a folder nor a file; name the output folder, as `cellguard verify out`"
        )
    if path.is_file() and path.suffix.lower() != ".json":
        raise InputError(f"{path.name} is no certificate; name an output folder, or its internal/certificate.json")


def certificate_of(path: Path) -> Path:
    """Return the certificate of an output folder, which may be named by either of its halves, or the file itself."""
    if not path.is_dir():
        return path
    places = (path / "internal", path, path.absolute().parent / "internal")
    return next(
        (p / "certificate.json" for p in places if (p / "certificate.json").is_file()), places[0] / "certificate.json"
    )


def nothing_shared(found: Mapping[str, Sequence[tuple[str, str, str]]]) -> bool:
    """Return whether no table is in both of two compared folders: all its cells are absent from the one or the other.

    >>> nothing_shared({"a": [("N", "primary", "absent")], "b": [("N", "absent", "primary")]})
    True
    """
    return all(cells and any({c[side] for c in cells} == {"absent"} for side in (1, 2)) for cells in found.values())


def figure_words(figure: object) -> str:
    """Write a figure of a summary as people do.

    >>> figure_words(12345.5), figure_words(0.081), figure_words("safe"), figure_words(None)
    ('12,345.5', '0.081', 'safe', '-')
    """
    if isinstance(figure, (int, float)):
        return f"{figure:,.4g}" if abs(figure) < 1 else f"{round(figure, 2):,}"
    return "-" if figure is None else str(figure)


def show_notes(notes: Sequence[str], folder: Path) -> None:
    """Print where the report is, or why there is none."""
    report = folder / "internal" / "report.html"
    for line in [f"Read first: {report} (confidential)", *notes] if report.exists() else notes:
        click.echo(retell(line))


_SAID = {
    "cost": "with a cost of their own",
    "bounds": "with bounds of their own",
    "needs": "with protection levels of their own",
}


def not_checked_words(names: Sequence[str]) -> list[str]:
    """Return what verify does not check, one line per file."""
    by_file: dict[str, list[str]] = {}
    for name in names:
        file, _, what = name.partition(": ")
        by_file.setdefault(file, []).append(what)
    return [file + (f": {', '.join(what)}" if any(what) else "") for file, what in by_file.items()]


def show_verification(found: Verification) -> None:
    """Print the checks, what was said of single cells, warnings and what is taken on trust."""
    reasons: dict[str, int] = {}
    for check in found.checks:
        first = check.number if check.passed else reasons.setdefault(check.detail, check.number)
        detail = check.detail if first == check.number else f"as check {first}"
        click.echo(retell(f"{'ok  ' if check.passed else 'FAIL'} {check.number}. {check.name}: {detail}"))
    said = ", ".join(f"{many:,} {_SAID.get(word, word)}" for word, many in found.said.items())
    click.echo(retell(f"Statements about single cells: {said or 'nothing'}."))
    for warning in found.warnings:
        click.echo(retell(f"Warning: {warning}"))
    for rule in found.trusted:
        click.echo(retell(f"Taken on trust: the rule {rule}"))
    for words in not_checked_words(found.not_checked):
        click.echo(retell(f"Not checked by verify: {words}"))
    for claim in found.claims if found.valid else ():
        click.echo(retell(f"Claimed: {claim}"))
    click.echo(retell("Valid." if found.valid else "NOT VALID: do not publish."))
    click.echo(retell("This is a checksum of a proof, not a signature: it does not say who made the files."))
