"""What stays inside of counts with noise: true counts, keys, posteriors, the perturbation table, and the secret."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text, write_text
from cellguard.methods.keys.files.perturbation_files import table_text
from cellguard.methods.keys.result import KeysResult
from cellguard.table.columns import all_headed

SECRET, TABLE = "record_keys.json", "perturbation_table.csv"
_COLUMNS = ("value", "perturbed", "noise", "cell_key", "posterior", "exact", "status")

_UNPUBLISHED = {"perturbed": "", "noise": "", "posterior": "0.000000", "exact": "yes", "status": "unpublished"}


def write_keyed(inside: Path, done: KeysResult) -> None:
    """Write each table's cells and the perturbation table; the secret only if there is a release."""
    linked, status = done.cells.tables, statuses(done)
    noise = done.counts - done.cells.count
    posterior = np.array([f"{x:.6f}" for x in done.largest.tolist()])
    exact = np.where(done.posterior.exact, "yes", "no")
    every = (done.cells.count, done.counts, noise, done.cells.key, posterior, exact, status)
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        columns = dict(zip(_COLUMNS, (column[cells].tolist() for column in every), strict=True))
        for row in np.flatnonzero(table.unpublished).tolist():
            for name, said in _UNPUBLISHED.items():
                columns[name][row] = said
        codes = [np.array(d.codes, object)[c].tolist() for d, c in zip(table.dimensions, table.codes, strict=True)]
        names = [*all_headed([d.name for d in table.dimensions], columns), *columns]
        rows = zip(*codes, *columns.values(), strict=True)
        (inside / f"{table.name}.csv").write_text(csv_text(names, rows), encoding="utf-8")
    (inside / TABLE).write_text(table_text(done.table), encoding="utf-8")
    if done.release is not None:
        write_text(inside / SECRET, done.secret.text(), confidential=True)


def statuses(done: KeysResult) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return the status of each distinct cell, as tables that publish it say."""
    status = np.where(done.cells.small, "sensitive", "safe")
    return np.where(done.over, "unsafe", status)
