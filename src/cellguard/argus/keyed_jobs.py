"""``CKM``: the records of a batch as a job of counts with cell keys."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from cellguard.argus.blocks import Settings
from cellguard.argus.job_files import write_tree
from cellguard.argus.own_table import ArgusTable
from cellguard.argus.tabulating import Records
from cellguard.errors import InputError

KEY = "record_key"
_TABLE = "perturbation_table.csv"


def write_keyed_job(
    tables: Sequence[ArgusTable], records: Records | None, file: Path | None, settings: Settings, folder: Path
) -> Path:
    """Write the job of some tables of counts and the files that it names into a folder; return its path.

    ``file`` is the perturbation table; without it one is designed for the smallest count that is safe.
    """
    if records is None:
        raise InputError("CKM needs records, whose keys give a cell its key; a ready-made table has none")
    for table in tables:
        _refuse(table)
    names = list(dict.fromkeys(spanning.name for table in tables for spanning in table.spanning))
    called = {name: f"b{number}" for number, name in enumerate(names)}
    columns = {short: records.columns.column(name) for name, short in called.items()}
    microdata: dict[str, Any] = {"source": "records.parquet"}
    if KEY in records.roles:
        columns[KEY] = records.columns.column(records.roles[KEY])
        microdata["record_key"] = KEY
    pq.write_table(pa.table(columns), folder / "records.parquet")
    dimensions = {}
    for name, short in called.items():
        write_tree(records.spanning[name].tree, folder / f"{short}.csv")
        dimensions[short] = {"parents": f"{short}.csv", "total": records.spanning[name].tree.total}
    keyed: dict[str, Any] = {"lookup": "plain" if settings.plain_keys else "hashed"}
    if file is not None:
        shutil.copyfile(file, folder / _TABLE)
        keyed["table"] = _TABLE
    if settings.unproven:
        keyed["unproven"] = "accept"
    said = [
        {
            "name": table.name,
            "by": [called[spanning.name] for spanning in table.spanning],
            "value": "count",
            "rules": [{"min_frequency": _fewest(table)}],
            "protect": {"method": "cell_key"},
        }
        for table in tables
    ]
    job = {"version": 1, "microdata": microdata, "dimensions": dimensions, "cell_key": keyed, "tables": said}
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def _refuse(table: ArgusTable) -> None:
    if not table.is_count:
        raise InputError(
            f"table {table.number}: CKM of sums is not run from a batch; write a job with `protect: {{method: "
            "magnitude_key}}`, or specify a table of <freq>"
        )
    if table.rule.weighted:
        raise InputError(f"table {table.number}: cell keys perturb numbers of records; leave WGT(1) out")
    if _fewest(table) < 2:
        raise InputError(f"table {table.number}: CKM changes small counts; say which, as FREQ(3,10)")


def _fewest(table: ArgusTable) -> int:
    frequent = table.rule.respondents.frequent
    return 0 if frequent is None else int(frequent.n)
