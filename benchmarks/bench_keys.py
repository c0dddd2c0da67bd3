"""Cell keys: a million cells from records, the attack on them, and a perturbation table.

python benchmarks/bench_keys.py [RECORDS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.job.jobfile import Job
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.magnitudes.method import MagnitudeKeys
from cellguard.methods.keys.method import CellKeys
from cellguard.methods.keys.posterior import infer
from cellguard.run_context import Run

import business

T = TypeVar("T")
RECORDS = 1_000_000
SIZES = {"place": 250, "age": 100, "status": 40}  # 1,025,791 cells with their totals


def cpu(action: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    made = action()
    return time.process_time() - start, made


def people(folder: Path, records: int) -> None:
    rng = np.random.default_rng(1)
    columns = {name: pa.array(rng.integers(0, size, records).astype(str)) for name, size in SIZES.items()}
    pq.write_table(pa.table({**columns, "key": rng.integers(0, 2**32, records)}), folder / "people.parquet")


def job(folder: Path, by: list[str]) -> Job:
    table = {
        "name": "t",
        "by": by,
        "value": "count",
        "rules": [{"min_frequency": 3}],
        "protect": {"method": "cell_key"},
    }
    records = {"source": "people.parquet", "record_key": "key", "key_range": 2**32}
    said = {"version": 1, "microdata": records, "cell_key": {"seed": 1, "unproven": "accept"}, "tables": [table]}
    return Job.parse(said, folder=folder)


def sums(firms: int = 10_000) -> Iterator[str]:
    """Perturb and attack the turnovers of table B0, from records."""
    data, levels = business.records(firms), business.TABLES["B0"]
    columns = {name: [f"{name}{code}" for code in data[name].tolist()] for names in levels for name in names}
    held = pa.table({**columns, "turnover": data["turnover"], "firm": data["holding"]})
    table = {
        "name": "t",
        "by": [str(i) for i in range(len(levels))],
        "value": "turnover",
        "rules": [{"p_percent": 10}],
        "protect": {"method": "magnitude_key"},
    }
    trees = {str(i): {"levels": list(names)} for i, names in enumerate(levels)}
    said = {"version": 1, "dimensions": trees, "magnitude_key": {"seed": 1, "unproven": "accept"}, "tables": [table]}
    method, steps = (
        MagnitudeKeys(Job.parse(said | {"microdata": {"source": "firms", "respondent": "firm"}}, held={"firms": held})),
        dict[str, float](),
    )
    read, assessed = cpu(lambda: method.assess(Run(), steps))
    made, done = cpu(lambda: method.protect(assessed, Run(), steps))
    size = f"{len(assessed.tables):,} cells, {int(assessed.needs.primary.sum()):,} unsafe"
    yield f"sums of {firms:,} firms, {size}: read and tabulated {read:.2f}, noise and attack {made:.2f} CPU s"
    yield f"  {done.verdict.text}"


def bench(records: int = RECORDS) -> Iterator[str]:
    yield from sums()
    seconds, _ = cpu(lambda: Design(8, 8.0, 2).table())
    yield f"a designed table, deviation 8: {seconds:.2f} CPU s"
    with TemporaryDirectory() as name:
        folder = Path(name)
        people(folder, records)
        warm = CellKeys(job(folder, ["status"]))
        warm.protect(warm.assess(Run(), {}), Run(), {})
        for by in (["age", "status"], list(SIZES)):
            method, steps = CellKeys(job(folder, by)), dict[str, float]()
            read, keyed = cpu(lambda method=method, steps=steps: method.assess(Run(), steps))
            look, counts = cpu(lambda keyed=keyed: keyed.cells.published(keyed.table, keyed.secret))
            seen = keyed.cells.seen(counts, keyed.table, keyed.secret, np.ones(1))
            attack, found = cpu(lambda seen=seen: infer(seen))
            yield f"{records:,} records, {len(counts):,} cells: read and tabulated {read:.2f}, noise {look:.2f} CPU s"
            yield f"  attack {attack:.2f} CPU s, {found.long:,} relations left out"
            yield "  " + ", ".join(f"{step} {wall:.2f} s" for step, wall in steps.items())


if __name__ == "__main__":
    for line in bench(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS):
        print(line)
