"""`cellguard audit`: which kind of thing is it, and what is written where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cellguard.errors import InputError
from cellguard.io.write import check_file, check_folder, csv_text, write_text
from cellguard.run_context import Run


@dataclass(frozen=True)
class Attacked:
    """What to show, whether all is safe, and which files were written."""

    summary: dict[str, Any]
    safe: bool
    written: tuple[str, ...]


def run_audit(
    path: Path | None,
    *,
    within: Run,
    out: Path | None,
    intervals: Path | None,
    force: bool,
    accept_no_rules: bool = False,
    others: Sequence[Path] = (),
    **foreign: Any,  # noqa: ANN401
) -> Attacked:
    """Audit a folder, a job or tables made elsewhere."""
    if (path is None) == (not foreign["tables"]):
        raise InputError("give either an output folder or a job, or --table files made elsewhere")
    if others and (path is None or not path.is_dir()):
        raise InputError("--with goes with an output folder; a job names earlier releases with `previous`")
    if intervals:
        check_file(intervals, force=force)
    if path is None:
        return _foreign(within, intervals, force, out, foreign)
    if not path.exists():
        raise InputError(f"no file or folder {str(path)!r}")
    if path.is_file() and path.suffix.lower() in (".csv", ".parquet", ".xlsx"):
        raise InputError(f"{path.name} is a table; name it and its dimensions, as --table {path.name} --dim region")
    return _own(path, within, out, intervals, others=others, force=force, accept_no_rules=accept_no_rules)


def _own(
    path: Path,
    within: Run,
    out: Path | None,
    intervals: Path | None,
    *,
    others: Sequence[Path],
    force: bool,
    accept_no_rules: bool,
) -> Attacked:
    from cellguard.io.folder import OutputFolder
    from cellguard.job.jobfile import Job
    from cellguard.pipeline import audit_folder, audit_job

    exact = intervals is not None
    if path.is_dir():
        if out:
            raise InputError("--out goes with a job; an output folder is written already")
        if not all(OutputFolder(other).has_internal() for other in others):
            return _released(path, others, intervals, within, force=force)
        outcome = audit_folder(path, others=others, intervals=exact, within=within)
    else:
        if out:
            check_folder(out, force=force)
        outcome = audit_job(Job.load(path), intervals=exact, accept_no_rules=accept_no_rules, within=within)
    outcome = replace(outcome, protected=replace(outcome.protected, accept_no_rules=accept_no_rules))
    written = list(_write_intervals(intervals, outcome.protected.audit.intervals(), force))
    safe = outcome.release is not None
    if out and safe:
        for note in OutputFolder(out).write(outcome, force=force):
            click.echo(note, err=True)
        written.append(f"release and certificate: {out}")
    return Attacked(outcome.summary.plain(), safe, tuple(written))


def _released(path: Path, others: Sequence[Path], intervals: Path | None, within: Run, *, force: bool) -> Attacked:
    """Attack several releases, some of which come without their true values."""
    from cellguard.pipeline import infer_releases, inferred_summary

    summary = inferred_summary(infer_releases(path, others, within=within))
    return Attacked(
        summary, summary["verdict"] == "not exactly disclosed", _write_intervals(intervals, _listed(summary), force)
    )


def _foreign(within: Run, intervals: Path | None, force: bool, out: Path | None, given: dict[str, Any]) -> Attacked:
    from cellguard.inputs.third_party_tables import ThirdParty
    from cellguard.pipeline import audit_third_party

    if out:
        raise InputError("--out goes with a job")
    summary = audit_third_party(ThirdParty(**given), within=within)
    safe = summary["verdict"] in {"safe", "not exactly disclosed"}
    return Attacked(summary, safe, _write_intervals(intervals, _listed(summary), force))


def _listed(summary: dict[str, Any]) -> list[tuple[str, float | None, float | None]]:
    return [(one["cell"], one["lower"], one["upper"]) for one in summary["intervals"]]


def _write_intervals(
    path: Path | None, ends: Sequence[tuple[str, float | None, float | None]], force: bool
) -> tuple[str, ...]:
    """Write the interval of each cell, if they are asked for; say so."""
    if path is None:
        return ()
    rows = [(cell, _end(lower), _end(upper)) for cell, lower, upper in ends]
    write_text(path, csv_text(("cell", "lower", "upper"), rows), force=force, confidential=True)
    return (f"intervals: {path} (confidential)",)


def _end(number: float | None) -> str:
    return "" if number is None else f"{number:.12g}"
