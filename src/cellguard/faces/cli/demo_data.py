"""The demo's records: a made-up business survey and a made-up population register, of any size, drawn in chunks."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

CHUNK = 250_000
LARGEST_CSV = 1_000_000
_SEED = 20_260_101
_SIZES = ("1-9", "10-49", "50-249", "250+")
_AGES = ("0-14", "15-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")
_STATUSES = ("employed", "unemployed", "student", "retired", "other")
Make = Callable[[np.random.Generator, int, int, int], pa.Table]


def write_records(path: Path, rows: int, make: Make) -> Path:
    """Write so many records chunk by chunk, as CSV or, from a million rows on, as Parquet; return the path."""
    path = path.with_suffix(".csv" if rows < LARGEST_CSV else ".parquet")
    writer: pa_csv.CSVWriter | pq.ParquetWriter | None = None
    for start in range(0, rows, CHUNK):
        random = np.random.default_rng([_SEED, start])
        chunk = make(random, start, min(CHUNK, rows - start), rows)
        if writer is None:
            writer = _writer(path, chunk.schema)
        writer.write_table(chunk)
    if writer is not None:
        writer.close()
    return path


def _writer(path: Path, schema: pa.Schema) -> pa_csv.CSVWriter | pq.ParquetWriter:
    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    return pa_csv.CSVWriter(path, schema, write_options=pa_csv.WriteOptions(quoting_style="none"))


def firms(random: np.random.Generator, start: int, many: int, rows: int) -> pa.Table:
    """Return a chunk of the survey: few firms are large, and these are all in the sample (weight 1)."""
    industries, regions = _leaves("industry_levels.csv", -1), _leaves("region_parents.csv", 0)
    size = random.choice(len(_SIZES), many, p=[0.68, 0.22, 0.08, 0.02])
    turnover = np.round(random.lognormal(4.0 + 1.9 * size, 1.1, many) + 1).astype(np.int64)
    weight = np.round(np.where(size < 2, 1 + random.gamma(2.0, 3.0 / (1 + size), many), 1.0), 1)
    grouped = random.random(many) < np.array([0.05, 0.15, 0.4, 0.7])[size]
    group = np.char.add("G", random.integers(0, max(rows // 25, 1), many).astype(str))
    return pa.table(
        {
            "firm": np.char.add("F", np.arange(start, start + many).astype(str)),
            "group": np.where(grouped, group, ""),
            "industry": np.array(industries)[random.choice(len(industries), many, p=_skewed(len(industries), 1.1))],
            "region": np.array(regions)[random.choice(len(regions), many, p=_skewed(len(regions), 0.8))],
            "size": np.array(_SIZES)[size],
            "turnover": turnover,
            "weight": weight,
        }
    )


def people(random: np.random.Generator, start: int, many: int, rows: int) -> pa.Table:
    """Return a chunk of the register: what people do depends on their age."""
    regions = _leaves("region_parents.csv", 0)
    age = random.choice(len(_AGES), many, p=[0.15, 0.12, 0.13, 0.13, 0.14, 0.14, 0.11, 0.08])
    chances = np.array(
        [
            [0.0, 0.0, 0.97, 0.0, 0.03],
            [0.38, 0.05, 0.55, 0.0, 0.02],
            [0.8, 0.06, 0.1, 0.001, 0.039],
            [0.85, 0.05, 0.02, 0.005, 0.075],
            [0.85, 0.05, 0.004, 0.01, 0.086],
            [0.68, 0.05, 0.001, 0.2, 0.069],
            [0.1, 0.003, 0.0005, 0.87, 0.0265],
            [0.01, 0.0, 0.0003, 0.98, 0.0097],
        ]
    )
    status = (random.random(many)[:, None] > chances.cumsum(axis=1)[age][:, :-1]).sum(axis=1)
    return pa.table(
        {
            "person": np.char.add("P", np.arange(start, start + many).astype(str)),
            "region": np.array(regions)[random.choice(len(regions), many, p=_skewed(len(regions), 0.8))],
            "age": np.array(_AGES)[age],
            "sex": np.where(random.random(many) < 0.5, "female", "male"),
            "status": np.array(_STATUSES)[status],
        }
    )


def _leaves(name: str, column: int) -> list[str]:
    """Return the codes in a hierarchy file of the demo that have none below them."""
    text = files("cellguard.faces.cli").joinpath("demo_files", name).read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))[1:]
    above = {row[1] for row in rows} if column == 0 else set()
    return [row[column] for row in rows if row[column] not in above]


def _skewed(many: int, power: float) -> npt.NDArray[np.float64]:
    """Return chances that fall with the rank, mixed up so that neighbours differ."""
    chances = 1.0 / np.arange(1, many + 1) ** power
    chances = np.random.default_rng(_SEED).permutation(chances)
    return np.asarray(chances / chances.sum(), float)
