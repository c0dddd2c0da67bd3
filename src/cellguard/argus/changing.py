"""``RND``, ``CTA`` and ``CKM``: the tables become a job whose method changes figures, and get what it publishes.

What the methods do is their own affair: a batch says only which tables, and a few options. As with any job nothing is
published that was not proven, unless the batch says ``<CELLGUARD> UNPROVEN accept``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.argus import commands as c
from cellguard.argus.batch_methods import METHODS
from cellguard.argus.blocks import Settings
from cellguard.argus.own_table import SAFE, ArgusTable, keys_of
from cellguard.errors import InputError, NotProtected, listing
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.run_context import Run
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import ReleasedTable

_FIRST = (1, 2)  # stopping rules of RND that take the first rounding


@dataclass(frozen=True, eq=False)
class Changed:
    """Tables with published figures in place of the true ones, and the outcome of the run."""

    tables: tuple[ArgusTable, ...]
    outcome: Outcome[Any]


def changing(commands: Sequence[c.Suppress]) -> str:
    """Return the method of a job that all commands ask for, '' for suppression; tables are published together."""
    found = {METHODS[command.method].changes for command in commands}
    if len(found) == 1:
        return min(found)
    names = sorted({command.method for command in commands})
    raise InputError(
        f"tables that are published together are all protected by {listing(names)}, which do not go together: true "
        "figures of one would tell those of another. Use one of them, put them between <CLEAR>, or say <CELLGUARD> "
        "TABLES alternatives if only one is published"
    )


def said_of(
    commands: Sequence[c.Suppress], settings: Settings, tell: Callable[[str], None]
) -> dict[int, dict[str, Any]]:
    """Return what a job's tables say under ``protect``, by their numbers; of two commands for one the last counts."""
    return {command.table: _options_of(command, settings, tell) for command in commands}


def _options_of(command: c.Suppress, settings: Settings, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return what a table says.

    RND(t, base, steps, minutes, partition, stop, unit cost): stop 1 and 2 take the first rounding that adds up.
    """
    method, args = METHODS[command.method], command.args
    said: dict[str, Any] = {"method": method.changes}
    if method.changes == "round":
        if not args or args[0] < 2:
            raise InputError("RND needs a base of 2 or more, as RND(1,5)")
        steps, stop = (int(args[place]) if len(args) > place else default for place, default in ((1, 0), (4, 3)))
        if len(args) > 3 and args[3]:
            tell("RND: the table is rounded as a whole, whatever the partition")
        said |= {"kind": "controlled", "base": args[0], "steps": steps, "search": "first" if stop in _FIRST else "best"}
    if method.changes == "adjust" and settings.unproven:
        said["unproven"] = "accept"
    return said


def change(tables: Sequence[ArgusTable], job: Path, *, within: Run, tell: Callable[[str], None]) -> Changed:
    """Run a job that changes figures; write its results beside it, and return the tables as published."""
    outcome: Outcome[Any] = run(Job.load(job), within=within)
    if outcome.release is None:
        raise NotProtected(f"{outcome.verdict.text}; {_CURES[outcome.job.method]}")
    for note in OutputFolder(job.parent / "results").write(outcome, force=True, run=within):
        tell(note)
    release = outcome.release
    return Changed(tuple(_published(table, release[table.name]) for table in tables), outcome)


_CURES: Mapping[str, str] = {
    "round": "take a larger base",
    "adjust": "say <CELLGUARD> UNPROVEN accept to answer for it",
    "cell_key": "take a table with more variance; <CELLGUARD> UNPROVEN accept answers for what is only not proven",
}


def _published(table: ArgusTable, released: ReleasedTable) -> ArgusTable:
    """Return a table with the published values; nothing of it is suppressed, and no status tells what was unsafe."""
    positions = [
        np.array([spanning.tree.position[code] for code in column.tolist()], np.int32)
        for spanning, column in zip(table.spanning, released.codes, strict=True)
    ]
    place = {int(key): row for row, key in enumerate(keys_of(np.stack(positions, axis=1), table.shape).tolist())}
    units = [released.units[place[int(key)]] for key in table.keys.tolist()]
    if any(unit is None for unit in units):
        raise NotProtected("a cell has no published figure")
    value = np.array(units, float) / 10.0**released.decimals
    return replace(
        table,
        value=value,
        status=np.full(len(table), SAFE, np.int8),
        declared=released.decimals,
        original=table.value,
    )
