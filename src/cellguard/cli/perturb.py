"""`cellguard perturb`: perturb the tables of a job, or make later tables from saved multipliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cellguard.cli.show import show_notes, show_table
from cellguard.errors import JobError
from cellguard.files.jobfile import Job
from cellguard.files.respondents import read_calibration
from cellguard.files.write import check_folder, check_room
from cellguard.perturbation import check_job, perturb_job, release_perturbed
from cellguard.protect.perturb.cells.sensitivity import needs_of, supersensitive

_VERDICTS = {
    "safe": "safe",
    "unsafe": "UNSAFE, nothing is released",
    "not proven": "NOT PROVEN, not everything was looked at",
    "safe by itself": "safe by itself, but NOT CHECKED together with earlier tables",
    "not checked": "NOT CHECKED, the checks before release were left out",
}
_RELEASE = {
    "safe": "may be published",
    "not proven": "NOT PROVEN; the job accepts that not everything was looked at",
    "safe by itself": "NOT CHECKED together with earlier tables; publish it only if these are not published",
    "not checked": "NOT CHECKED; do not publish it before somebody has looked at what it discloses",
}


@dataclass(frozen=True)
class Outcome:
    """The summary of a run, where it was written, whether it may be released, and notes about what was written."""

    summary: dict[str, Any]
    folder: Path
    safe: bool
    notes: tuple[str, ...] = ()


def run_perturb(
    job: Job,
    *,
    out: Path | None,
    multipliers: Path | None = None,
    checked: bool = True,
    force: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Perturb and check the tables of a job, and write the folder; a release only if the checks allow it."""
    if not job.is_perturbed:
        raise JobError("`cellguard perturb` is for tables with `protect: {method: perturb}`; use `cellguard protect`")
    named = job.output.folder if job.output else None
    if out is None and named is None:
        raise click.UsageError("say where the results go: --out DIR, or `output: {folder: DIR}` in the job")
    folder = out or job.path(named or "")
    check_folder(folder, force=force)
    check_room(folder, more=_size_of_records(job))
    done = perturb_job(job, multipliers=multipliers, checked=checked, tell=tell)
    tell("writing")
    notes = release_perturbed(done, folder, force=force)
    return Outcome(done.summary(), folder, done.safe, tuple(notes))


def _size_of_records(job: Job) -> int:
    """Return the size of the records' file in bytes; the file of multipliers is smaller than that."""
    path = job.path(job.microdata.source) if job.microdata else None
    return path.stat().st_size if path and path.is_file() else 0


def show_perturbed(outcome: Outcome) -> None:
    """Print verdict, tables, the first findings and what to do."""
    summary = outcome.summary
    rows = [
        [
            name,
            f"{t['cells']:,}",
            f"{t['sensitive']:,}",
            f"{t['still_sensitive']:,}",
            "not checked" if t["unsafe"] is None else f"{t['unsafe']:,}",
            t["calibration"],
        ]
        for name, t in summary["tables"].items()
    ]
    show_table(["table", "cells", "sensitive", "still sensitive", "unsafe", ""], rows, numbers=(1, 2, 3, 4))
    click.echo(f"Verdict: {_VERDICTS[summary['verdict']]} (method {summary['method']}, {_mu(summary)}).")
    for finding in summary["open"][:10]:
        cells = ", ".join(finding["cells"][:4]) + (" ..." if len(finding["cells"]) > 4 else "")
        click.echo(f"  {finding['kind']}: {cells}: {finding['text']}")
    if len(summary["open"]) > 10:
        click.echo(f"  and {len(summary['open']) - 10} more, see {outcome.folder}/internal/findings.json")
    for title, lines in (
        ("Not looked at", summary["not_looked_at"]),
        ("What to do", summary["advice"]),
        ("Warnings", summary["warnings"]),
    ):
        if lines:
            click.echo(f"{title}:")
        for line in lines:
            click.echo(f"  {line}")
    if outcome.safe:
        release = _RELEASE[summary["verdict"]]
        click.echo(f"Wrote {outcome.folder}/release ({release}), {outcome.folder}/internal (confidential)")
    else:
        click.echo(f"Nothing was released. {outcome.folder}/internal says more (confidential).")
    show_notes(outcome.notes, outcome.folder)


def _mu(summary: Mapping[str, Any]) -> str:
    """Say which mu the multipliers were drawn with, that of each class if there are strata."""
    if "strata" not in summary:
        return f"mu = {summary['mu']:.3g}"
    return ", ".join(f"mu = {mu:.3g} of {label}" for label, mu in summary["strata"]["mu"].items())


def run_dry(job: Job, *, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Tell how many cells of a job's tables need noise; nothing is drawn and nothing is written."""
    check_job(job)
    tell("reading the records")
    data = read_calibration(job, drawing=False)
    needs = {table.name: needs_of(table) for table in data.tables}
    tables = {
        name: {
            "cells": len(n.table),
            "sensitive": int(n.sensitive.sum()),
            "supersensitive": int(supersensitive(n).sum()),
            "rule": str(n.table.rule),
        }
        for name, n in needs.items()
    }
    return {"step": "assess", "method": "perturb", "tables": tables, "warnings": list(data.notes)}


def show_dry(summary: Mapping[str, Any]) -> None:
    """Print how many cells need noise, and how many of them more than there can be."""
    rows = [
        [name, f"{t['cells']:,}", f"{t['sensitive']:,}", f"{t['supersensitive']:,}", t["rule"]]
        for name, t in summary["tables"].items()
    ]
    show_table(["table", "cells", "sensitive", "supersensitive", "unsafe if"], rows, numbers=(1, 2, 3))
    for warning in summary["warnings"]:
        click.echo(f"Warning: {warning}")
    click.echo("Sensitive cells need noise; supersensitive ones more than is reasonable: recode them, or accept them.")
    click.echo("Nothing is perturbed or checked yet: these tables must not be published as they are.")
