"""`cellguard`: the commands. Heavy modules load inside a command, so that --help answers at once."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from cellguard.cli.progress import progress
from cellguard.errors import CellguardError, NotProtected, Stopped

if TYPE_CHECKING:
    from cellguard.files.jobfile import Job
    from cellguard.results import Assessment

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else.")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
_FILE = click.Path(path_type=Path, dir_okay=False)
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_ACCEPT = click.option(
    "--accept-no-rules",
    is_flag=True,
    help="Accept tables to which no rule is applied; nothing is called safe all the same.",
)
_CURE = "Give every table `rules`, or accept this with --accept-no-rules."
_FORCE = click.option("--force", is_flag=True, help="Replace what is there already.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cellguard")
def cli() -> None:
    """Find the cells of a table that would disclose a person or a company, and prove what is left safe.

    \b
    Start here:
      cellguard demo                 see it work on a made-up survey and register
      cellguard init data.csv        write a commented job for your own table or records
      cellguard assess job.yaml      find the unsafe cells, with reasons
      cellguard protect job.yaml --out out    hide as little as possible, and prove the rest safe
      cellguard audit out/           attack a release as an outsider would
      cellguard show out/ TABLE      look at a table on the terminal
      cellguard verify out/          check its certificate without a solver

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
@_ACCEPT
@_FORCE
@_AS_JSON
@_QUIET
def assess(job: Path, listed: Path | None, accept_no_rules: bool, force: bool, as_json: bool, quiet: bool) -> None:
    """Find the unsafe cells of the tables in JOB, and why they are unsafe.

    Reads the tables, checks that they add up and agree with each other, applies each table's rules and works out how
    far each unsafe cell must be protected. Exits with 0 when done, however many cells are unsafe, but with 1 if no rule
    was applied to some table.
    """
    if listed:
        from cellguard.files.write import check_file

        check_file(listed, force=force)
    found = _assess(job, as_json or quiet)
    accepted = accept_no_rules or not found.findings.without_rules
    _report(found, listed=listed, force=force, as_json=as_json, quiet=quiet, cure="" if accepted else _CURE)
    sys.exit(0 if accepted else 1)


@cli.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The output folder (default: the job's `output: folder`).")
@click.option("--dry-run", is_flag=True, help="Only assess: how many cells are unsafe, and how long it may take.")
@click.option("--warm", type=click.Path(path_type=Path), help="Start from the pattern of this earlier output folder.")
@click.option("--time-limit", type=float, help="Search for so many seconds, and take the best safe pattern found.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 64), help="Solve in so many threads.")
@_ACCEPT
@_FORCE
@_AS_JSON
@_QUIET
def protect(
    job: Path,
    out: Path | None,
    dry_run: bool,
    warm: Path | None,
    time_limit: float | None,
    threads: int,
    accept_no_rules: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Hide as little as possible of the tables in JOB, prove that the rest is safe, and write it.

    DIR/release may be published: suppressed cells are empty and flagged c. DIR/internal is confidential: every cell
    with its status and reasons, and the certificate that `cellguard verify` checks. A result that is not proven safe is
    not written, and the exit status is 1. Ctrl-C ends the search and takes the best safe pattern so far, if there is
    one.
    """
    from cellguard.cli.show import show_audit, show_notes
    from cellguard.files.jobfile import Job
    from cellguard.files.write import check_folder
    from cellguard.job import check_formats, protect_job, release_job

    if time_limit is not None and not time_limit > 0:
        raise click.UsageError("--time-limit must be a number of seconds above 0")
    if dry_run and (spec := Job.load(job)).is_perturbed:
        from cellguard.cli.perturb import run_dry, show_dry

        with progress(as_json or quiet) as tell:
            found = run_dry(spec, tell=tell)
        if as_json:
            click.echo(json.dumps(found, indent=2))
        elif not quiet:
            show_dry(found)
        return
    if dry_run:
        assessment = _assess(job, as_json or quiet)
        accepted = accept_no_rules or not assessment.findings.without_rules
        _report(assessment, listed=None, force=False, as_json=as_json, quiet=quiet, cure="" if accepted else _CURE)
        if not (as_json or quiet):
            click.echo(
                f"Protecting them may take some {assessment.expected_seconds():,.0f} s; --time-limit ends it earlier."
            )
        sys.exit(0 if accepted else 1)
    spec = Job.load(job)
    if spec.is_perturbed:
        if warm or time_limit is not None:
            raise click.UsageError("--warm and --time-limit are for suppression; these tables are perturbed")
        _perturb(spec, as_json, quiet, out=out, force=force)
    named = spec.output.folder if spec.output else None
    if out is None and named is None:
        raise click.UsageError("say where the results go: --out DIR, or `output: {folder: DIR}` in the job")
    check_formats(spec)
    folder = out or spec.path(named or "")
    check_folder(folder, force=force)
    with progress(as_json or quiet) as tell:
        done = protect_job(spec, folder=folder, warm=warm, seconds_allowed=time_limit, threads=threads, tell=tell)
        safe = done.may_be_released(accept_no_rules=accept_no_rules)
        notes = []
        if safe:
            notes = release_job(done, folder, force=force, accept_no_rules=accept_no_rules, tell=tell)
    if as_json:
        click.echo(json.dumps(done.summary(), indent=2))
    elif not quiet:
        allowed = "no rule was applied" if done.findings.without_rules else "may be published"
        written = [f"{folder}/release ({allowed}), {folder}/internal (confidential)"] if safe else []
        show_audit(done.summary(), written, cure=_CURE if done.headline.kind == "no rule" and not safe else "")
        show_notes(notes, folder)
    sys.exit(0 if safe else 1)


@cli.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The output folder (default: the job's `output: folder`).")
@click.option("--multipliers", type=_FILE, help="Make later tables from the multipliers that this file saved.")
@click.option("--no-check", is_flag=True, help="With --multipliers: leave the checks out; every table then says so.")
@_FORCE
@_AS_JSON
@_QUIET
def perturb(
    job: Path, out: Path | None, multipliers: Path | None, no_check: bool, force: bool, as_json: bool, quiet: bool
) -> None:
    """Perturb the tables in JOB: one random multiplier a respondent, shared by all tables, and checks before release.

    DIR/release may be published: perturbed values that add up. DIR/internal is confidential: true values, noise,
    findings (report.html), and multipliers.parquet, from which --multipliers makes later tables that are consistent
    with all earlier ones. If the checks find unsafe cells that the job does not accept, or cannot look at everything,
    there is no release, and the exit status is 1.
    """
    from cellguard.files.jobfile import Job

    if no_check and not multipliers:
        raise click.UsageError("--no-check goes with --multipliers; new multipliers are always checked")
    _perturb(Job.load(job), as_json, quiet, out=out, multipliers=multipliers, checked=not no_check, force=force)


def _perturb(job: Job, as_json: bool, quiet: bool, **options: Any) -> NoReturn:  # noqa: ANN401
    from cellguard.cli.perturb import run_perturb, show_perturbed

    with progress(as_json or quiet) as tell:
        outcome = run_perturb(job, tell=tell, **options)
    if as_json:
        click.echo(json.dumps(outcome.summary, indent=2))
    elif not quiet:
        show_perturbed(outcome)
    sys.exit(0 if outcome.safe else 1)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("cell")
@click.option("--table", help="The table that the cell is in, if several have a cell of that name.")
def explain(folder: Path, cell: str, table: str | None) -> None:
    """Say why a CELL (codes joined by /) of the output FOLDER is hidden, and what it protects or is protected by."""
    from cellguard.job import explain_cell

    for line in explain_cell(folder, cell, table=table):
        click.echo(line)


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("table", required=False)
@click.option("--internal", is_flag=True, help="Show hidden values, and which cells are primary. Confidential.")
@click.option("--where", multiple=True, metavar="DIMENSION=CODE", help="Show the part with this code. Repeatable.")
@click.option("--depth", type=click.IntRange(0), help="Show levels down to this one (0 is the total).")
def show(folder: Path, table: str | None, internal: bool, where: tuple[str, ...], depth: int | None) -> None:
    """Show a TABLE of the output FOLDER on the terminal, as published: c marks suppressed cells.

    Rows are the first dimension as a tree, columns the second; other dimensions stand at their total. Dimensions that
    --where names make room for the others: --where region=North shows the rest of the table for North.
    """
    from cellguard.cli.table_view import parse_where, print_view, read_view

    print_view(read_view(folder, table, internal=internal), parse_where(where), depth=depth)


@cli.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@_AS_JSON
def diff(first: Path, second: Path, as_json: bool) -> None:
    """Compare the patterns of two output folders: which cells changed their status."""
    from cellguard.cli.show import nothing_shared, show_table
    from cellguard.cli.words import counted
    from cellguard.job import diff_folders

    found = diff_folders(first, second)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    rows = [[table, cell, old, new] for table, cells in found.items() for cell, old, new in cells]
    click.echo(f"{counted(len(rows), 'cell')} {'differs' if len(rows) == 1 else 'differ'}.")
    if nothing_shared(found):
        click.echo("The folders have no table in common: every cell is absent from one of them.")
    if rows:
        show_table(["table", "cell", "first", "second"], rows)


@cli.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--table", "tables", multiple=True, type=_FILE, help="A table made elsewhere (CSV or Parquet); repeatable."
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
@click.option("--flag", help="A column of --table that is not blank for suppressed cells; else values such as x or ..")
@click.option(
    "--true", help="A column of --table with the true values: then protection is judged, not only disclosure."
)
@click.option(
    "--primary", multiple=True, help="With --true: a value of --flag that means primary (default: all of them)."
)
@click.option("--percent", default=10.0, show_default=True, help="With --true: the protection that a primary needs.")
@click.option("--count", is_flag=True, help="The values of --table are counts, which are whole numbers.")
@click.option("--known", type=_FILE, help="Totals that an attacker has from elsewhere: dimension columns and value.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Lower bound of the cells of --table.")
@click.option("--upper", type=float, default=float("inf"), help="Upper bound of the cells of --table.")
@click.option("--intervals", type=_FILE, help="Write the exact interval of each suppressed cell to this CSV file.")
@click.option("--out", type=click.Path(path_type=Path), help="With a job: if safe, write release and certificate here.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 64), help="Solve in so many threads.")
@_ACCEPT
@_FORCE
@_AS_JSON
@_QUIET
def audit(path: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: ANN401
    """Attack tables as an outsider would: PATH is an output folder or a job; or give --table files made elsewhere.

    \b
      cellguard audit out/                         an output folder, from its stored facts
      cellguard audit job.yaml                     unsafe cells and those said to be secondary are hidden
      cellguard audit --table t.csv --dim region:parents=region.csv --dim size --value turnover

    The attacker knows every published cell, all relations and the bounds. Exit status 1 if a cell is not protected.
    Of a table made elsewhere the hidden values may not be known; then the audit tells which are disclosed exactly.
    """
    from cellguard.cli.audit import run_audit

    with progress(as_json or quiet) as tell:
        outcome = run_audit(path, tell=tell, **options)
    if as_json:
        click.echo(json.dumps(outcome.summary, indent=2))
    elif not quiet:
        from cellguard.cli.show import show_audit

        no_rule = outcome.summary["verdict"] == "no rule"
        show_audit(outcome.summary, outcome.written, cure=_CURE if no_rule and not outcome.safe else "")
    sys.exit(0 if outcome.safe else 1)


@cli.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--release", type=click.Path(path_type=Path), help="The release folder, if it is not beside internal/.")
@click.option("--internal", type=click.Path(path_type=Path), help="The internal folder, if not the certificate's own.")
@click.option("--job", type=click.Path(path_type=Path), help="Also read this job's inputs again, and compare.")
@_AS_JSON
@_QUIET
def verify(
    certificate: Path, release: Path | None, internal: Path | None, job: Path | None, as_json: bool, quiet: bool
) -> None:
    """Check a CERTIFICATE (or an output folder) in exact arithmetic, without a solver.

    Ten checks with code of their own: cells, relations, published values, needs and witnesses are all worked out again
    from the stored files. It is a checksum of a proof, not a signature. Exit status 1 if any check fails.

    The folder alone cannot tell whether its facts are those of the data. With --job the inputs are read and the facts
    worked out again, and job, digests of the inputs and facts are compared with the stored ones.
    """
    from dataclasses import replace

    from cellguard.cli.show import show_verification
    from cellguard.verify.verify import verify as check

    path = certificate / "internal" / "certificate.json" if certificate.is_dir() else certificate
    if not path.is_file():
        from cellguard.files.folder import refuse_perturbed

        refuse_perturbed(path.parent.parent)
    found = check(path, release=release, internal=internal)
    if job:
        from cellguard.files.jobfile import Job
        from cellguard.job import verify_inputs

        with progress(as_json or quiet) as tell:
            more = verify_inputs(internal or path.resolve().parent, Job.load(job), tell=tell)
        found = replace(found, checks=found.checks + more)
    if as_json:
        checks = [{"number": c.number, "name": c.name, "passed": c.passed, "detail": c.detail} for c in found.checks]
        summary = {"valid": found.valid, "checks": checks, "warnings": found.warnings, "trusted": found.trusted}
        summary["said"] = dict(found.said)
        click.echo(json.dumps(summary, indent=2))
    elif not quiet:
        show_verification(found)
    sys.exit(0 if found.valid else 1)


@cli.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", default="job.yaml", show_default=True, type=click.Path(path_type=Path), help="The job file.")
@_FORCE
@_QUIET
def init(data: Path, out: Path, force: bool, quiet: bool) -> None:
    """Write a commented job file for the ready-made table or the records in DATA (CSV or Parquet).

    Of a table, columns that hold a code such as Total become dimensions; numbers become the value, the count of
    respondents and the largest contributions, guessed by their names. A file without such a code holds records: columns
    with few different entries become dimensions, numbers values, and respondent, group and weight are guessed by name.
    Read the file and correct it.
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
    help="The folder for the demo's records, jobs and results.",
)
@click.option(
    "--rows",
    default=20_000,
    show_default=True,
    type=click.IntRange(100, 100_000_000),
    help="How many firms, and how many people.",
)
@_FORCE
@_AS_JSON
@_QUIET
def demo(out: Path, rows: int, force: bool, as_json: bool, quiet: bool) -> None:
    """Protect a made-up business survey and a made-up population register, from records to verified release.

    Writes the records, their hierarchies and two jobs: job.yaml (turnover by industry, region and size of firm, with
    groups of firms and survey weights) and register.yaml (counts of people by region, age, sex and status).
    """
    from cellguard.cli.demo import write_demo
    from cellguard.cli.show import show_audit, show_notes, show_verification
    from cellguard.files.jobfile import Job
    from cellguard.job import protect_job, release_job
    from cellguard.verify.verify import verify as check

    summaries = {}
    for job, folder in write_demo(out, rows=rows, force=force).items():
        with progress(as_json or quiet) as tell:
            done = protect_job(Job.load(job), tell=tell)
            notes = release_job(done, folder, force=True)
        found = check(folder / "internal" / "certificate.json")
        summaries[job.stem] = done.summary() | {"valid": found.valid}
        if not (as_json or quiet):
            click.echo(f"{job}:")
            show_audit(done.summary(), [f"{folder}/release (may be published), {folder}/internal (confidential)"])
            show_notes(notes, folder)
            click.echo("The certificate, checked without a solver:")
            show_verification(found)
            click.echo()
    if as_json:
        click.echo(json.dumps(summaries["job"] | {"register": summaries["register"]}, indent=2))
    elif not quiet:
        click.echo(f"Change a job in {out} and run: cellguard protect {out / 'job.yaml'} --out DIR")
    sys.exit(0 if all(summary["valid"] for summary in summaries.values()) else 1)


def _assess(job: Path, silent: bool) -> Assessment:
    from cellguard.files.jobfile import Job
    from cellguard.job import assess_job

    with progress(silent) as tell:
        return assess_job(Job.load(job), tell=tell)


def _report(assessment: Assessment, *, listed: Path | None, force: bool, as_json: bool, quiet: bool, cure: str) -> None:
    from cellguard.cli.show import show_assessment
    from cellguard.files.findings import findings_csv
    from cellguard.files.write import write_text

    if listed:
        write_text(listed, findings_csv(assessment.findings, assessment.needs), force=force, confidential=True)
    if as_json:
        click.echo(json.dumps(assessment.summary(), indent=2))
    elif not quiet:
        show_assessment(assessment.summary(), cure=cure)
        if listed:
            click.echo(f"Unsafe cells with reasons: {listed} (confidential)")


def main() -> None:
    """Run the command line; errors become one plain message and an exit status."""
    stopped = _end_by_signals()
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.Abort:
        _fail("interrupted; nothing was released", 1)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (NotProtected, Stopped) as error:
        _fail(f"{error}. Nothing was released", 1)
    except CellguardError as error:
        _fail(str(error), 2)
    except Exception as error:
        if stopped:  # what a library made of the signal
            sys.exit(128 + stopped[0])
        if os.environ.get("CELLGUARD_DEBUG"):
            raise
        # A library's message may quote the data, so only the kind of the error and its place are told.
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno})" if trace else ""
        _fail(f"internal error: {type(error).__name__}{place}. Please report it; nothing was released", 1)


def _end_by_signals() -> list[int]:
    """Let the signals that ask a process to end do so in order, so that temporary files vanish; return those that came.

    Ctrl-C is not among them: it ends the search with the best result so far.
    """
    came: list[int] = []

    def end(number: int, _: object) -> NoReturn:
        came.append(number)
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in _ENDING:
        with suppress(ValueError):  # a thread other than the main one cannot do so
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, end)
    return came


def _fail(message: str, status: int) -> None:
    click.echo(f"cellguard: {message}", err=True)
    sys.exit(status)
