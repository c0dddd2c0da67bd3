"""``<SUPPRESS>``: the tables become a job, the one pipeline runs it, and its pattern goes back into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.argus.job_files import Asked, write_job
from cellguard.argus.own_table import EMPTY_POSSIBLE, SAFE, SECONDARY, UNSAFE, ArgusTable, keys_of
from cellguard.arrays import FloatArray
from cellguard.errors import NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.pipeline import audit_job, run
from cellguard.run_context import Run
from cellguard.seam.outcome import Outcome
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Protected:
    """Tables with their pattern, the outcome of the run, and the folder that has the proof."""

    tables: tuple[ArgusTable, ...]
    outcome: Outcome[SuppressionResult]
    folder: Path


def protect(
    tables: Sequence[ArgusTable],
    asked: Asked,
    folder: Path,
    *,
    within: Run,
    intervals: bool = False,
    fixed: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> Protected:
    """Protect tables as one linked set, or judge them as they are (``fixed``); write job and results to a folder."""
    job = Job.load(write_job(tables, asked, folder))
    work: Callable[..., Outcome[Any]] = audit_job if fixed else run
    outcome = work(job, within=within, intervals=intervals)
    if outcome.release is None:
        raise NotProtected(f"{outcome.verdict.text}")
    for note in OutputFolder(folder / "results").write(outcome, force=True, run=within):
        tell(note)
    found = tuple(_with_pattern(table, outcome, number, intervals) for number, table in enumerate(tables))
    return Protected(found, outcome, folder / "results")


def _with_pattern(table: ArgusTable, outcome: Outcome[SuppressionResult], number: int, intervals: bool) -> ArgusTable:
    """Return a table with the secondaries of a result, and with the cells that were added as possible zeros."""
    audit = outcome.protected.audit
    made = audit.pattern.tables.tables[number]
    keys = keys_of(_codes(made, table), table.shape)
    place = {int(key): row for row, key in enumerate(keys.tolist())}
    rows = np.array([place[int(key)] for key in table.keys.tolist()])
    hidden = np.isin(audit.pattern.status(number), ["primary", "secondary"])
    status = table.status.copy()
    status[hidden[rows] & ~np.isin(status, [*UNSAFE, 11, 12])] = SECONDARY
    status[~hidden[rows] & np.isin(status, [11, 12])] = SAFE
    new = table.with_status(status)
    ends = _ends(outcome, number, rows) if intervals else None
    new = replace(new, realized=ends)
    added = np.setdiff1d(np.arange(len(keys)), rows)
    return _with_zeros(new, made, added, hidden) if len(added) else new


def _codes(made: Table, table: ArgusTable) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the codes of the cells of a table of the job as positions in the trees of the batch."""
    columns = []
    for spanning, dimension, column in zip(table.spanning, made.dimensions, made.codes, strict=True):
        own = np.array([spanning.tree.position.get(code, -1) for code in dimension.codes], np.int32)
        columns.append(own[column])
    return np.stack(columns, axis=1)


def _ends(outcome: Outcome[SuppressionResult], number: int, rows: Any) -> tuple[FloatArray, FloatArray]:  # noqa: ANN401
    """Return the ends of the attacker's interval of each cell of a table."""
    audit = outcome.protected.audit
    cells = audit.pattern.tables.cells_of[number][rows]
    return audit.lower[cells], audit.upper[cells]


def _with_zeros(table: ArgusTable, made: Table, added: Any, hidden: Any) -> ArgusTable:  # noqa: ANN401
    """Return a table with its empty cells that may be suppressed."""
    codes = _codes(made, table)[added]
    kept = (codes >= 0).all(axis=1)
    codes, added = codes[kept], added[kept]
    n = len(added)
    zero = np.zeros(n)
    status = np.where(hidden[added], SECONDARY, EMPTY_POSSIBLE).astype(np.int8)

    def longer(name: str) -> FloatArray:
        return np.concatenate([getattr(table, name), zero])

    grown = replace(
        table,
        codes=np.concatenate([table.codes, codes]),
        status=np.concatenate([table.status, status]),
        tops=np.concatenate([table.tops, np.zeros((n, table.tops.shape[1]))]),
        value=longer("value"),
        freq=longer("freq"),
        holdings=longer("holdings"),
        shadow=longer("shadow"),
        cost=longer("cost"),
        lower=longer("lower"),
        upper=longer("upper"),
    )
    if table.realized is None:
        return grown
    return replace(
        grown, realized=(np.concatenate([table.realized[0], zero]), np.concatenate([table.realized[1], zero]))
    )
