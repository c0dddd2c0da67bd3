"""Tables from records: every cell of a 3-D cube with all facts that roll up, against DuckDB's own grouping.

`python benchmarks/bench_tabulate.py PATH TIMES` measures one file of records in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.microdata.records import records
from cellguard.table.fact import Count, Records, Requested, Signs, Top, Unwaived
from cellguard.table.tabulate import Wanted, make_tables

FACTS = (Count(), Records(), Top(3), Signs(), Unwaived(1), Requested())
GROUPING = "select industry, region, size, holding, count(*), sum(turnover) from '{}' group by all"
CHUNK = 1_000_000
_BARS = {1: 6}  # times DuckDB's own grouping, by millions of records; 4.5 otherwise


def tree(rng: np.random.Generator, *widths: int) -> list[tuple[str, ...]]:
    """Return the code paths of a tree with so many codes a level; every code has at least one child."""
    paths: list[tuple[str, ...]] = [()]
    for width in widths:
        spare = rng.multinomial(width - len(paths), rng.dirichlet(np.full(len(paths), 2.0)))
        paths = [
            (*path, f"{path[-1] if path else ''}{chr(65 + i // 26)}{chr(65 + i % 26)}")
            for path, more in zip(paths, spare, strict=True)
            for i in range(more + 1)
        ]
    return paths


def dimensions() -> dict[str, Dimension]:
    """Return industry (615 leaves, 5 levels with the total), region (400, 4 levels) and size (5)."""
    rng = np.random.default_rng(7)
    trees = {"industry": from_levels(tree(rng, 20, 88, 272, 615)), "region": from_levels(tree(rng, 12, 60, 400))}
    trees["size"] = flat("12345")
    return {name: Dimension(name, h) for name, h in trees.items()}


def chunk(rng: np.random.Generator, first: int, rows: int, whole: int) -> pa.Table:
    """Return records of a business survey: skewed codes and turnovers, 7 % of the units in holdings of 3.5 each.

    Six units of ten of a holding stay in its industry.
    """
    shares = np.random.default_rng(8)
    skewed, places = shares.lognormal(0, 1, 615), 1 / (10 + shares.permutation(400))
    industry = rng.choice(615, rows, p=skewed / skewed.sum())
    holding = first + np.arange(rows)
    members = np.flatnonzero(rng.random(rows) < 0.07)
    holding[members] = whole + rng.integers(0, max(1, whole // 50), len(members))
    stay = members[rng.random(len(members)) < 0.6]
    industry[stay] = holding[stay] * 7919 % 615
    turnover = np.maximum(1, np.rint(rng.lognormal(6, 2, rows)))
    codes = {
        "industry": industry,
        "region": rng.choice(400, rows, p=places / places.sum()),
        "size": np.searchsorted([100, 300, 800, 3000], turnover),
    }
    leaves = {name: pa.array(d.main.leaves) for name, d in dimensions().items()}
    columns = {n: pa.DictionaryArray.from_arrays(pa.array(c.astype(np.int32)), leaves[n]) for n, c in codes.items()}
    more = {"waived": pa.array(rng.random(rows) < 0.01), "requested": pa.array(rng.random(rows) < 0.05)}
    return pa.table(columns | {"holding": pa.array(holding), "turnover": pa.array(turnover.astype(np.int64))} | more)


def write_records(path: Path, rows: int) -> None:
    """Write so many records, chunk by chunk."""
    rng = np.random.default_rng(rows)
    writer = None
    for first in range(0, rows, CHUNK):
        part = chunk(rng, first, min(CHUNK, rows - first), rows)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer:
        writer.close()


def timed(action: Callable[[], object]) -> tuple[float, float, object]:
    """Return seconds on the clock and of the CPUs, and what the action returns."""
    clock, cpu = time.perf_counter(), time.process_time()
    found = action()
    return time.perf_counter() - clock, time.process_time() - cpu, found


def measure(path: str, times: int) -> None:
    """Print the medians, the number of cells and the peak memory of this process, before DuckDB groups in it alone."""
    by = dimensions()
    wanted = [Wanted(by, "turnover", facts=FACTS)]
    read = partial(records, path, list(by), ["turnover"], holding="holding", waiver="waived", request="requested")
    connection = duckdb.connect()
    connection.execute("set threads = 2")
    grouping, reading, making, cells, pairs, peak = [], [], [], 0, 0, 0.0
    for _ in range(times):
        *seconds, grouped = timed(read)
        reading.append(seconds)
        *seconds, tables = timed(lambda grouped=grouped: make_tables(grouped, wanted))
        making.append(seconds)
        cells, pairs = len(tables[0]), len(grouped)
        del grouped, tables
        peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        grouping.append(timed(connection.sql(GROUPING.format(path)).to_arrow_table)[:2])
    middle = {
        name: np.median(s, axis=0).tolist() for name, s in (("group", grouping), ("read", reading), ("make", making))
    }
    ratio = median((r[0] + m[0]) / g[0] for g, r, m in zip(grouping, reading, making, strict=True))
    used = median((r[1] + m[1]) / g[1] for g, r, m in zip(grouping, reading, making, strict=True))
    print(json.dumps({**middle, "ratio": ratio, "cpu": used, "cells": cells, "pairs": pairs, "peak": peak}))


def cube(millions: int, times: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        write_records(path, millions * 1_000_000)
        done = subprocess.run([sys.executable, __file__, path, str(times)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    whole = found["read"][0] + found["make"][0]
    yield (
        f"{millions} million records, {found['cells']:,} cells: {whole:.1f} s (reading {found['read'][0]:.1f}, tables "
        f"{found['make'][0]:.1f}), {found['ratio']:.1f} times DuckDB's grouping of {found['group'][0]:.1f} s "
        f"(bar {_BARS.get(millions, 4.5)}, goal 3; in CPU time {found['cpu']:.1f}); peak {found['peak']:.1f} GiB "
        "(bar 4)"
    )


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "tabulate-1m": partial(cube, 1, 5),
    "tabulate-10m": partial(cube, 10, 5),
    "tabulate-50m": partial(cube, 50, 1),
    "tabulate-100m": partial(cube, 100, 1),
}

if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]))
