"""`assess`, `protect` and `perturb`: from a job to findings, and to what may be published."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from cellguard.faces.cli.options import ACCEPT, AS_JSON, FILE, FORCE, OUT, PATH, QUIET, SET, THREADS
from cellguard.faces.cli.progress import progress
from cellguard.faces.cli.show import show_notes, show_screen

if TYPE_CHECKING:
    from cellguard.job.jobfile import Job
    from cellguard.seam.method import Method


@click.command()
@click.argument("job", type=PATH)
@click.option(
    "--list",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write each unsafe cell with its reasons and protection levels to this CSV file. Confidential.",
)
@SET
@ACCEPT
@FORCE
@AS_JSON
@QUIET
def assess(
    job: Path,
    listed: Path | None,
    settings: tuple[str, ...],
    accept_no_rules: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find the unsafe cells of the tables in JOB, and why they are unsafe.

    Reads the tables, checks that they add up and agree with each other, applies each table's rules and works out how
    far each unsafe cell must be protected. Exits with 0 when done, however many cells are unsafe, but with 1 if no rule
    was applied to some table.

    \b
    Parameters of one rule from those of another:
      safe under dominance (2, k): safe under p_percent 100 (100 - k) / k
      safe under dominance (n, k): safe under p_percent 100 (100 - k) / k with coalition n - 1
      prior_posterior (p, q) is p_percent 100 p / q
    """
    from cellguard.inputs.assessed_screen import assessed_words
    from cellguard.io.write import check_file, write_text
    from cellguard.job.jobfile import Job
    from cellguard.methods.suppress.files.findings import findings_csv
    from cellguard.pipeline import assess_job

    if listed:
        check_file(listed, force=force)
    with progress(as_json or quiet) as within:
        assessment = assess_job(Job.load(job, settings=settings), within=within)
    accepted = accept_no_rules or not assessment.findings.without_rules
    if listed:
        write_text(listed, findings_csv(assessment.findings, assessment.needs), force=force, confidential=True)
    if as_json:
        click.echo(json.dumps(assessment.summary(), indent=2))
    elif not quiet:
        show_screen(assessed_words(assessment.summary(), cured=accepted))
        if listed:
            click.echo(f"Unsafe cells with reasons: {listed} (confidential)")
    sys.exit(0 if accepted else 1)


@click.command()
@click.argument("job", type=PATH)
@OUT
@SET
@click.option("--dry-run", is_flag=True, help="Only assess: how many cells are unsafe, and how long it may take.")
@click.option("--compare", type=PATH, help="Say on the officer's page what changed since this earlier output folder.")
@click.option("--warm", type=PATH, help="Start from the pattern of this earlier output folder.")
@click.option(
    "--seed-from",
    type=PATH,
    help="Take the secret seed of random costs or of rounding from this earlier output folder.",
)
@click.option(
    "--effort", type=click.Choice(["quick", "normal", "best"]), help="How long to look for a cheaper pattern."
)
@click.option("--time-limit", type=float, help="Search for so many seconds, then prove the best safe pattern.")
@THREADS
@ACCEPT
@FORCE
@AS_JSON
@QUIET
def protect(
    job: Path,
    out: Path | None,
    settings: tuple[str, ...],
    dry_run: bool,
    compare: Path | None,
    warm: Path | None,
    seed_from: Path | None,
    effort: str | None,
    time_limit: float | None,
    threads: int,
    accept_no_rules: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Suppress as little as possible of the tables in JOB, prove that the rest is safe, and write it.

    DIR/release may be published: suppressed cells are empty and flagged c. DIR/internal is confidential: every cell
    with its status and reasons, and the certificate that `cellguard verify` checks. A result that is not proven safe is
    not written, and the exit status is 1. Ctrl-C ends the search and takes the best safe pattern so far, if there is
    one.
    """
    from cellguard.job.jobfile import Job

    if time_limit is not None and not time_limit > 0:
        raise click.UsageError("--time-limit must be a number of seconds above 0")
    spec = Job.load(job, settings=settings)
    if dry_run:
        _run_dry(spec, {"accept_no_rules": accept_no_rules}, as_json=as_json, quiet=quiet)
    asked = {"warm": warm, "compare": compare, "effort": effort, "accept_no_rules": accept_no_rules}
    asked |= {"seed_from": seed_from}
    _run(spec, asked, out=out, force=force, as_json=as_json, quiet=quiet, time_limit=time_limit, threads=threads)


@click.command()
@click.argument("job", type=PATH)
@OUT
@SET
@click.option("--multipliers", type=FILE, help="Make later tables from the multipliers that this file saved.")
@click.option("--no-check", is_flag=True, help="With --multipliers: leave the checks out; every table then says so.")
@FORCE
@AS_JSON
@QUIET
def perturb(
    job: Path,
    out: Path | None,
    settings: tuple[str, ...],
    multipliers: Path | None,
    no_check: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Perturb the tables in JOB: one random multiplier per respondent, shared by all tables, and checks before release.

    DIR/release may be published: perturbed values that add up. DIR/internal is confidential: true values, noise,
    findings (report.html), and multipliers.parquet, from which --multipliers makes later tables that are consistent
    with all earlier ones. If the checks find unsafe cells that the job does not accept, or cannot look at everything,
    there is no release, and the exit status is 1.
    """
    from cellguard.errors import JobError
    from cellguard.job.jobfile import Job

    if no_check and not multipliers:
        raise click.UsageError("--no-check goes with --multipliers; new multipliers are always checked")
    spec = Job.load(job, settings=settings)
    if spec.method != "perturb":
        raise JobError("`cellguard perturb` is for tables with `protect: {method: perturb}`; use `cellguard protect`")
    asked = {"multipliers": multipliers, "checked": not no_check}
    _run(spec, asked, out=out, force=force, as_json=as_json, quiet=quiet)


@click.command("map")
@click.argument("job", type=PATH)
@OUT
@SET
@click.option("--dry-run", is_flag=True, help="Only assess: how many cells have too few records.")
@FORCE
@AS_JSON
@QUIET
def map_(
    job: Path,
    out: Path | None,
    settings: tuple[str, ...],
    dry_run: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a confidential map of the points in JOB, by its method.

    Cells with too few records are filled up from cells nearby (redistribute), made larger (merge), or blurred (smooth).
    DIR/release may be published: the map after (CSV, GeoJSON, report.html). DIR/internal is confidential: the map
    before and after (report.html), what was moved or merged, and measures of risk and utility. If the map may not be
    published there is no release, and the exit status is 1.
    """
    from cellguard.errors import JobError
    from cellguard.job.jobfile import Job
    from cellguard.job.registry import declared

    spec = Job.load(job, settings=settings)
    if declared(spec.method).tabular:
        raise JobError(
            "`cellguard map` is for maps, as `protect: {method: redistribute}`, or merge or smooth; for tables use "
            "`cellguard protect`"
        )
    if dry_run:
        _run_dry(spec, {"accept_no_rules": False}, as_json=as_json, quiet=quiet)
    _run(spec, {}, out=out, force=force, as_json=as_json, quiet=quiet)


def _run(
    job: Job,
    asked: Mapping[str, Any],
    *,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    time_limit: float | None = None,
    threads: int = 1,
) -> NoReturn:
    """Run a job, write the folder and show what came of it; the exit status is 1 if nothing may be published."""
    from cellguard.io.folder import OutputFolder
    from cellguard.io.write import check_folder
    from cellguard.job.formats import check_formats
    from cellguard.pipeline import run

    method = _method(job)
    if time_limit is not None and not method.ends_early:
        raise click.UsageError(f"--time-limit does not go with tables that are {method.participle}")
    named = job.output.folder if job.output else None
    if out is None and named is None:
        raise click.UsageError("name the folder of the results: --out DIR, or `output: {folder: DIR}` in the job")
    check_formats(job.formats)
    folder = out or job.path(named or "")
    check_folder(folder, force=force)
    with _stoppable(folder):
        with progress(as_json or quiet, seconds=time_limit, threads=threads) as within:
            outcome = run(job, folder=folder, within=within, **asked)
            written = outcome.release is not None or method.keeps_internal
            # Before anything is written: whatever fails here, nothing was released.
            screen = () if as_json or quiet else outcome.method.screen(outcome, folder if written else None)
            summary = json.dumps(outcome.summary.plain(), indent=2) if as_json else ""
            notes = OutputFolder(folder).write(outcome, force=force, run=within) if written else []
        if as_json:
            click.echo(summary)
        elif not quiet:
            show_screen(screen)
            show_notes(notes, folder)
    sys.exit(0 if outcome.release is not None else 1)


@contextmanager
def _stoppable(folder: Path) -> Iterator[None]:
    """Say so if Ctrl-C comes when the folder has already taken its place."""

    def stands() -> tuple[int, int] | None:
        return (folder.stat().st_dev, folder.stat().st_ino) if folder.exists() else None

    before = stands()
    try:
        yield
    except KeyboardInterrupt:
        if stands() == before:
            raise
        click.echo(f"cellguard: interrupted when all was written; {folder} is whole", err=True)
        sys.exit(0 if (folder / "release").is_dir() else 1)


def _run_dry(job: Job, asked: Mapping[str, Any], *, as_json: bool, quiet: bool) -> NoReturn:
    """Only assess, as the job's method does."""
    method = _method(job).of(job, asked)
    with progress(as_json or quiet) as within:
        assessed = method.assess(within, {})
    if as_json:
        click.echo(json.dumps(method.assessed_summary(assessed), indent=2))
    elif not quiet:
        show_screen(method.assessed_screen(assessed))
    ruled = all(any(rule.can_fire for rule in table.rules) for table in job.tables)
    accepted = asked["accept_no_rules"] or ruled
    sys.exit(0 if accepted else 1)


def _method(job: Job) -> type[Method[Any, Any]]:
    from cellguard.job.registry import find_method

    return cast("type[Method[Any, Any]]", find_method(job.method))
