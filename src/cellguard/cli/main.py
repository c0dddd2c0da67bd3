"""`cellguard`: the commands. Heavy modules load inside a command, so that --help answers at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cellguard.errors import CellguardError

if TYPE_CHECKING:
    from cellguard.job import Assessment, Tell

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else.")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
_FORCE = click.option("--force", is_flag=True, help="Replace what is there already.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cellguard")
def cli() -> None:
    """Find the cells of a table that would disclose a person or a company.

    \b
    Start here:
      cellguard demo                 see it work on built-in business tables
      cellguard init cells.csv       write a commented job for your own table
      cellguard assess job.yaml      find the unsafe cells, with reasons

    Exit status: 0 done; 1 not proven safe; 2 bad input or options.
    """


@cli.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option(
    "--list",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write each unsafe cell with its reasons and protection levels to this CSV file. Confidential.",
)
@_FORCE
@_AS_JSON
@_QUIET
def assess(job: Path, listed: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Find the unsafe cells of the tables in JOB, and why they are unsafe.

    Reads the tables, checks that they add up and agree with each other, applies each table's rules and works out how
    far each unsafe cell must be protected. Exits with 0 when done, however many cells are unsafe.
    """
    _report(_assess(job, as_json or quiet), listed=listed, force=force, as_json=as_json, quiet=quiet)


@cli.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", default="job.yaml", show_default=True, type=click.Path(path_type=Path), help="The job file.")
@_FORCE
@_QUIET
def init(data: Path, out: Path, force: bool, quiet: bool) -> None:
    """Write a commented job file for the ready-made table in DATA (CSV or Parquet).

    Columns that hold a code such as Total become dimensions; numbers become the value, the count of respondents and
    the largest contributions, guessed by their names. Read the file and correct it.
    """
    from cellguard.cli.init import draft_job
    from cellguard.files.write import write_text

    write_text(out, draft_job(data, out.parent), force=force)
    if not quiet:
        click.echo(f"Wrote {out}. Read it, correct it, then run: cellguard assess {out}")


@cli.command()
def schema() -> None:
    """Print the JSON schema of the job file, for editors that complete and check YAML."""
    from cellguard.files.jobfile import job_schema

    click.echo(json.dumps(job_schema(), indent=2))


@cli.command()
@click.option(
    "--out",
    default="cellguard-demo",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the demo's tables and job.",
)
@_FORCE
@_AS_JSON
@_QUIET
def demo(out: Path, force: bool, as_json: bool, quiet: bool) -> None:
    """Assess a built-in set of business tables: turnover by industry, region and size of firm (all made up)."""
    from cellguard.cli.demo import write_demo

    job = write_demo(out, force=force)
    assessment = _assess(job, as_json or quiet)
    _report(assessment, listed=out / "unsafe_cells.csv", force=True, as_json=as_json, quiet=quiet)
    if not (as_json or quiet):
        click.echo(f"\nThe tables and the job are in {out}. Change {job} and run: cellguard assess {job}")


def _assess(job: Path, silent: bool) -> Assessment:
    from cellguard.files.jobfile import Job
    from cellguard.job import assess_job

    with _progress(silent) as tell:
        return assess_job(Job.load(job), tell=tell)


def _report(assessment: Assessment, *, listed: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    from cellguard.cli.show import show_assessment
    from cellguard.files.findings import findings_csv
    from cellguard.files.write import write_text

    if listed:
        write_text(listed, findings_csv(assessment.findings, assessment.needs), force=force, confidential=True)
    if as_json:
        click.echo(json.dumps(assessment.summary(), indent=2))
    elif not quiet:
        show_assessment(assessment.summary())
        if listed:
            click.echo(f"Unsafe cells with reasons: {listed} (confidential)")


class _progress:  # noqa: N801
    """Show the present step on the terminal; nothing when asked to be silent or when nobody watches."""

    def __init__(self, silent: bool) -> None:
        self.status = None
        if not silent and sys.stderr.isatty():
            from rich.console import Console

            self.status = Console(stderr=True).status("starting")

    def __enter__(self) -> Tell:
        if self.status:
            self.status.start()
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self.status:
            self.status.stop()

    def _tell(self, step: str) -> None:
        if self.status:
            self.status.update(step)


def main() -> None:
    """Run the command line; errors become one plain message and an exit status."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.Abort:
        _fail("interrupted; nothing was released", 1)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except CellguardError as error:
        _fail(str(error), 2)
    except Exception as error:
        if os.environ.get("CELLGUARD_DEBUG"):
            raise
        # A library's message may quote the data, so only the kind of the error and its place are told.
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno})" if trace else ""
        _fail(f"internal error: {type(error).__name__}{place}. Please report it; nothing was released", 1)


def _fail(message: str, status: int) -> None:
    click.echo(f"cellguard: {message}", err=True)
    sys.exit(status)
