"""Batches with the results that another program published for them: both patterns, side by side, under our audit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellguard.argus import commands as c
from cellguard.argus.batch_parser import read_batch, without_interactive
from cellguard.argus.batch_run import BatchRun
from cellguard.argus.job_files import Asked, write_job
from cellguard.argus.logbook import Logbook
from cellguard.argus.own_table import SAFE, UNSAFE, ArgusTable
from cellguard.argus.places import steps
from cellguard.argus.readers import read_result
from cellguard.errors import CellguardError, InputError
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job
from cellguard.reading.encodings import read_text
from cellguard.run_context import Run

_HEAD = ("batch", "table", "by", "unsafe", "secondary", "secondary value", "CPU s", "what our audit says")


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    batch: str
    table: str
    who: str
    unsafe: str
    secondary: str
    value: str
    seconds: str
    verdict: str

    def cells(self) -> tuple[str, ...]:
        """Return what is printed."""
        return (
            self.batch,
            self.table,
            self.who,
            self.unsafe,
            self.secondary,
            self.value,
            self.seconds,
            self.verdict,
        )


def compare_batches(folder: Path, tell: Callable[[str], None]) -> int:
    """Run every batch in a folder on a copy, and print its figures beside those of results that lie there."""
    batches = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".arb")
    if not batches:
        raise InputError(f"{str(folder)!r} has no batches (.arb)")
    rows: list[Row] = []
    for batch in batches:
        with tempfile.TemporaryDirectory(prefix="cellguard-") as work:
            copy = Path(work, "batch")
            shutil.copytree(batch.parent, copy)
            rows += _of_batch(copy / batch.name, batch.parent, Path(work))
    widths = [max(map(len, column)) for column in zip(_HEAD, *(row.cells() for row in rows), strict=True)]
    for line in (_HEAD, *(row.cells() for row in rows)):
        tell("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _of_batch(path: Path, original: Path, work: Path) -> list[Row]:
    """Return the lines of one batch: ours of each table, and that of a published result if there is one."""
    said: list[str] = []
    logbook = Logbook(work / "log.txt")
    run = BatchRun(path, logbook, say=said.append)
    if run.run() == 2:
        return [Row(path.name, "", "", "", "", "", "", said[-2] if len(said) > 1 else "")]
    commands = without_interactive(read_batch(path)[0].commands)[0]
    rows = []
    for table in run.tables:
        verdict = run.verdicts.get(table.number)
        seconds = f"{run.seconds:.1f}" if verdict else ""
        said_of = (verdict or "not suppressed").partition(";")[0]
        rows.append(_row(path.name, table, "cellguard", seconds, said_of))
        theirs = _published(table, commands, original)
        if theirs is not None and verdict:
            rows.append(_row(path.name, theirs, "as published", "", _judged(theirs, work)))
    return rows


def _row(name: str, table: ArgusTable, who: str, seconds: str, verdict: str) -> Row:
    value = f"{table.value[table.secondary].sum():,.12g}"
    counts = f"{int(table.unsafe.sum()):,}", f"{int(table.secondary.sum()):,}"
    return Row(name, str(table.number), who, *counts, value, seconds, verdict)


def _published(table: ArgusTable, commands: Sequence[c.Command], folder: Path) -> ArgusTable | None:
    """Return a table with the statuses of a result that lies in a folder under the name that the batch gives it."""
    for command in commands:
        if not isinstance(command, c.WriteTable) or command.table != table.number:
            continue
        path = folder / steps(command.file)[-1]
        if path.is_file() and path.suffix != ".arb":
            result = read_result(table, read_text(path), command.kind)
            if result.found and (result.status != SAFE).any():
                return table.with_status(result.status)
    return None


def _judged(table: ArgusTable, work: Path) -> str:
    """Say what our audit finds of a pattern; cells are unsafe as the rules of the batch say."""
    unsafe = np.isin(table.status, UNSAFE)
    needs = [np.where(unsafe & (level == 0), np.abs(table.value) * 0.1, level) for level in (table.lower, table.upper)]
    table = replace(table, lower=needs[0], upper=needs[1])
    folder = work / "theirs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        outcome = audit_job(Job.load(write_job([table], Asked(), folder)), within=Run())
    except CellguardError as error:
        return str(error)
    failing = outcome.summary["set"]["failing"]
    return outcome.verdict.text.partition(";")[0] if not failing else f"UNSAFE: {failing} cells are not protected"
