"""`audit`, `verify`, `explain`, `show` and `diff`: what is in an output folder, and whether it holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from cellguard.faces.cli.options import ACCEPT, AS_JSON, FILE, FORCE, PATH, QUIET, SET, THREADS
from cellguard.faces.cli.progress import progress
from cellguard.faces.cli.show import (
    certificate_of,
    figure_words,
    nothing_shared,
    refuse_no_certificate,
    show_screen,
    show_verification,
)


@click.command()
@click.argument("folder", type=PATH)
@click.argument("cell")
@click.option("--table", help="The table that the cell is in, if several have a cell of that name.")
def explain(folder: Path, cell: str, table: str | None) -> None:
    """Say why a CELL (codes joined by /) of the output FOLDER is suppressed, and what it protects or is protected by;
    of a cell whose figure was changed, how."""
    from cellguard.pipeline import explain_cell

    for line in explain_cell(folder, cell, table=table):
        click.echo(line)


@click.command()
@click.argument("folder", type=PATH)
@click.argument("table", required=False)
@click.option("--internal", is_flag=True, help="Show suppressed values, and which cells are primary. Confidential.")
@click.option("--where", multiple=True, metavar="DIMENSION=CODE", help="Show the part with this code. Repeatable.")
@click.option("--depth", type=click.IntRange(0), help="Show levels down to this one (0 is the total).")
def show(folder: Path, table: str | None, internal: bool, where: tuple[str, ...], depth: int | None) -> None:
    """Show a TABLE of the output FOLDER on the terminal, as published: c marks suppressed cells.

    Rows are the first dimension as a tree, columns the second; other dimensions stand at their total. Dimensions that
    --where names make room for the others: --where region=North shows the rest of the table for North.
    """
    from cellguard.faces.cli.show_table import print_view
    from cellguard.io.stored_view import read_view
    from cellguard.views.terminal import parse_where

    print_view(read_view(folder, table, internal=internal), parse_where(where), depth=depth)


@click.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@AS_JSON
def diff(first: Path, second: Path, as_json: bool) -> None:
    """Compare two output folders: which cells changed their status, and the totals and costs of both."""
    from cellguard.pipeline import compare_folders, diff_folders
    from cellguard.seam.screen import Board, counted

    found = diff_folders(first, second)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    rows = [[table, cell, old, new] for table, cells in found.items() for cell, old, new in cells]
    click.echo(f"{counted(len(rows), 'cell')} {'differs' if len(rows) == 1 else 'differ'}.")
    if nothing_shared(found):
        click.echo("The folders have no table in common: every cell is absent from one of them.")
    if rows:
        show_screen([Board(["table", "cell", "first", "second"], rows)])
    figures = [[word, *map(figure_words, pair)] for word, pair in compare_folders(first, second).items()]
    show_screen([Board(["in all", "first", "second"], figures, numbers=[1, 2])])


@click.command()
@click.argument("path", required=False, type=PATH)
@click.option(
    "--table", "tables", multiple=True, type=FILE, help="A table made elsewhere (CSV or Parquet); repeatable."
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="COLUMN[:WAY=FILE]",
    help="A dimension column of --table, with its hierarchy: :levels=FILE, :parents=FILE, :hrc=FILE, :digits=1,1,2, "
    "and :total=CODE if the total is not called Total. Repeatable.",
)
@click.option("--value", default="value", show_default=True, help="The value column of --table.")
@click.option(
    "--flag",
    help="A column of --table that marks suppressed cells: any entry, or the statuses of τ-ARGUS and others; else "
    "values such as x or .. are suppressed.",
)
@click.option("--suppressed", multiple=True, help="A value of --flag that means suppressed, where others do not.")
@click.option(
    "--true", help="A column of --table with the true values: then protection is judged, not only disclosure."
)
@click.option(
    "--primary", multiple=True, help="With --true: a value of --flag that means primary (default: all of them)."
)
@click.option(
    "--percent",
    default=10.0,
    show_default=True,
    help="With --true: the protection level of a primary, in percent of its value.",
)
@click.option("--count", is_flag=True, help="The values of --table are counts, which are whole numbers.")
@click.option("--known", type=FILE, help="Totals that an attacker has from elsewhere: dimension columns and value.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Lower bound of the cells of --table.")
@click.option("--upper", type=float, default=float("inf"), help="Upper bound of the cells of --table.")
@click.option(
    "--with",
    "others",
    multiple=True,
    type=PATH,
    help="Another output folder about the same respondents, which the attacker has too. Repeatable.",
)
@click.option("--intervals", type=FILE, help="Write the exact interval of each suppressed cell to this CSV file.")
@click.option("--out", type=PATH, help="With a job: if safe, write release and certificate here.")
@THREADS
@ACCEPT
@FORCE
@AS_JSON
@QUIET
def audit(path: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: ANN401
    """Attack tables as an outsider would: PATH is an output folder or a job; or give --table files made elsewhere.

    \b
      cellguard audit out/                         an output folder, from its stored facts
      cellguard audit out/ --with last/            what an attacker finds who has both releases
      cellguard audit job.yaml                     unsafe cells and those given as secondary are suppressed
      cellguard audit --table t.csv --dim region:parents=region.csv --dim size --value turnover

    The attacker knows every published cell, all relations and the bounds. Exit status 1 if a cell is not protected.
    Of a table made elsewhere the suppressed values may not be known; then the audit lists which are disclosed exactly.
    """
    from cellguard.faces.cli.auditing import run_audit

    with progress(as_json or quiet, threads=options.pop("threads")) as within:
        attacked = run_audit(path, within=within, **options)
    if as_json:
        click.echo(json.dumps(attacked.summary, indent=2))
    elif not quiet:
        from cellguard.methods.suppress.screen import audit_words

        show_screen(audit_words(attacked.summary, attacked.written, cured=attacked.safe))
    sys.exit(0 if attacked.safe else 1)


@click.command()
@click.argument("certificate", type=PATH)
@click.option("--release", type=PATH, help="The release folder, if it is not beside internal/.")
@click.option("--internal", type=PATH, help="The internal folder, if not the certificate's own.")
@click.option("--job", type=PATH, help="Also read this job's inputs again, and compare.")
@SET
@AS_JSON
@QUIET
def verify(
    certificate: Path,
    release: Path | None,
    internal: Path | None,
    job: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Check a CERTIFICATE (or an output folder) in exact arithmetic, without a solver.

    Ten checks with code of their own: cells, relations, published values, needs and witnesses are all worked out again
    from the stored files, and public files are compared byte for byte with what is written from the released rows. It
    is a checksum of a proof, not a signature. Exit status 1 if any check fails.

    The folder alone cannot tell whether its facts are those of the data. With --job the inputs are read and the facts
    worked out again, and job, digests of the inputs and facts are compared with the stored ones.
    """
    from dataclasses import replace

    from cellguard.pipeline import verify, verify_inputs
    from cellguard.verifier.verify import INPUTS, LABELS

    if settings and not job:
        raise click.UsageError("--set goes with --job")
    refuse_no_certificate(certificate)
    path = certificate_of(certificate)
    # Methods without a certificate may check their folders themselves.
    found = verify(path if path.is_file() else path.parent.parent, release=release, internal=internal)
    if job:
        from cellguard.job.jobfile import Job

        with progress(as_json or quiet) as within:
            more = verify_inputs(internal or path.absolute().parent, Job.load(job, settings=settings), within=within)
        left = tuple(name for name in found.not_checked if name not in {INPUTS, LABELS})
        found = replace(found, checks=found.checks + more, not_checked=left)
    if as_json:
        checks = [{"number": c.number, "name": c.name, "passed": c.passed, "detail": c.detail} for c in found.checks]
        summary = {"valid": found.valid, "checks": checks, "warnings": found.warnings, "trusted": found.trusted}
        summary |= {"said": dict(found.said), "not_checked": found.not_checked, "claims": found.claims}
        click.echo(json.dumps(summary, indent=2))
    elif not quiet:
        show_verification(found)
    sys.exit(0 if found.valid else 1)
