"""`init`, `schema` and `demo`: the first steps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cellguard.errors import InputError
from cellguard.faces.cli.options import AS_JSON, FILE, FORCE, PATH, QUIET
from cellguard.faces.cli.progress import progress
from cellguard.faces.cli.show import show_notes, show_screen, show_verification


@click.command()
@click.argument("data", type=PATH, required=False)
@click.option("--tables", type=PATH, help="A list of tables, one row each, as CSV or Excel: its job instead.")
@click.option("--out", default="job.yaml", show_default=True, type=PATH, help="The job file.")
@click.option("--rda", type=FILE, help="Metadata of τ-ARGUS, if they are not called like DATA.")
@click.option("--structure", type=FILE, help="SDMX structure message of DATA, if it does not lie beside it.")
@FORCE
@QUIET
def init(
    data: Path | None,
    tables: Path | None,
    out: Path,
    rda: Path | None,
    structure: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Write a commented job file for the records or the ready-made table in DATA.

    DATA is CSV, Parquet, Excel, SPSS, Stata, SAS, PX, SDMX-CSV, or the text or .rda file of τ-ARGUS. Of records,
    columns with few different entries become dimensions, and columns that nest become the levels of one; numbers
    become values; respondent, group and weight are told by name and content. A file with a code such as Total is a
    table: its hierarchies are looked for beside it. Each guess is explained in the job: read it and correct it.

    With --tables the job has the tables of a list (table_name, spanning_1, hrc_spanning_1, ..., indicator,
    hrc_indicator, field), made from the records in DATA; without DATA their cells are in files of their names beside
    the list.
    """
    if tables is not None:
        _init_from_list(tables, data, out, force=force, quiet=quiet)
        return
    if data is None:
        raise InputError("name the DATA to look at, as cellguard init firms.csv, or a list of tables with --tables")
    from cellguard.io.write import write_text
    from cellguard.suggest.init import suggest_job

    suggested = suggest_job(data, out.parent, rda=rda, structure=structure)
    for name, text in suggested.files.items():
        write_text(out.parent / name, text, force=force)
    write_text(out, suggested.text, force=force)
    name, text = suggested.schema
    write_text(out.parent / name, text, force=True)
    if not quiet:
        click.echo(f"Wrote {out}. Read it, correct its guesses, then run: cellguard protect {out} --out out")


def _init_from_list(tables: Path, data: Path | None, out: Path, *, force: bool, quiet: bool) -> None:
    """Write the job of a list of tables, and say which of them share cells."""
    from cellguard.io.write import write_text
    from cellguard.suggest.table_list import job_of_list

    made = job_of_list(tables, out.parent, data)
    write_text(out, made.text, force=force)
    for note in made.notes:
        click.echo(f"note: {note}", err=True)
    if not quiet:
        click.echo(
            f"Wrote {out} with {sum(map(len, made.groups))} tables in {len(made.groups)} groups that share cells:"
        )
        for group in made.groups:
            click.echo(f"  {', '.join(group)}")
        click.echo(f"Read it, correct its guesses, then run: cellguard protect {out} --out out")


@click.command()
def schema() -> None:
    """Print the JSON schema of the job file, for editors that complete and check YAML."""
    from cellguard.job.jobfile import job_schema

    click.echo(json.dumps(job_schema(), indent=2))


@click.command()
@click.option(
    "--out",
    default="cellguard-demo",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the demo's records, jobs and results.",
)
@click.option(
    "--rows",
    default=20_000,
    show_default=True,
    type=click.IntRange(100, 100_000_000),
    help="How many firms, and how many people.",
)
@FORCE
@AS_JSON
@QUIET
def demo(out: Path, rows: int, force: bool, as_json: bool, quiet: bool) -> None:
    """Protect a made-up business survey and a made-up population register, from records to verified release.

    Writes the records, their hierarchies and two jobs: job.yaml (turnover by industry, region and size of firm, with
    groups of firms and survey weights) and register.yaml (counts of people by region, age, sex and status).
    """
    from cellguard.faces.cli.demo import write_demo
    from cellguard.io.folder import OutputFolder
    from cellguard.job.jobfile import Job
    from cellguard.pipeline import run, verify

    summaries = {}
    for job, folder in write_demo(out, rows=rows, force=force).items():
        with progress(as_json or quiet) as within:
            outcome = run(Job.load(job), within=within)
            notes = OutputFolder(folder).write(outcome, force=True, run=within)
        found = verify(folder / "internal" / "certificate.json")
        summaries[job.stem] = outcome.summary.plain() | {"valid": found.valid}
        if not (as_json or quiet):
            click.echo(f"{job}:")
            show_screen(outcome.method.screen(outcome, folder))
            show_notes(notes, folder)
            click.echo("The certificate, checked without a solver:")
            show_verification(found)
            click.echo()
    if as_json:
        click.echo(json.dumps(summaries["job"] | {"register": summaries["register"]}, indent=2))
    elif not quiet:
        click.echo(f"Change a job in {out} and run: cellguard protect {out / 'job.yaml'} --out DIR")
    sys.exit(0 if all(summary["valid"] for summary in summaries.values()) else 1)
