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
from cellguard.methods.keys.method import CellKeys
from cellguard.methods.keys.posterior import infer
from cellguard.run_context import Run

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


def bench(records: int = RECORDS) -> Iterator[str]:
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
