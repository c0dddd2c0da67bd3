"""What a user gets without an option must end: sets of the shape of office files, from job to pages."""

from __future__ import annotations

import itertools
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from instances import tree

_FIRMS = 110_000
_ACTIVITIES, _REGIONS = (10, 21, 88), (8, 22, 96)
_PEOPLE = 15_000
_CUBES = (("region", "age", "sex"), ("region", "edu", "sex"), ("region", "status", "sex"), ("region", "age", "nat"))


def _chain(sizes: tuple[int, ...], prefix: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the codes of all levels of each leaf, coarsest first."""
    above = tree(sizes, prefix, rng)[1]
    return [np.array([f"{prefix}{level}_{i:02d}" for i in column]) for level, column in enumerate(above)]


def ready_made(folder: Path, seed: int, cost: str) -> Job:
    """Write four tables of turnover to four decimals, by activity or region and size or legal form, and their job.

    Values go over eight orders of magnitude, and are to be published to two decimals.
    """
    rng = np.random.default_rng([2036, seed])
    axes = {"ACT": _chain(_ACTIVITIES, "A", rng), "NUTS": _chain(_REGIONS, "R", rng)}
    leaf = {"ACT": rng.choice(88, _FIRMS, p=rng.dirichlet(np.full(88, 0.25)))}
    leaf["NUTS"] = rng.choice(96, _FIRMS, p=rng.dirichlet(np.full(96, 0.5)))
    other = {
        "SIZE": rng.choice(3, _FIRMS, p=[0.93, 0.065, 0.005]),
        "FORM": rng.choice(3, _FIRMS, p=[0.6, 0.396, 0.004]),
    }
    grains = np.rint(1e4 * np.exp(rng.normal(3.5, 2.1, _FIRMS) + 1.2 * other["SIZE"])).astype(np.int64)
    job = {"version": 1, "dimensions": {}, "tables": []}
    for axis, levels in axes.items():
        lines = [",".join(f"L{i}" for i in range(len(levels))), *(",".join(row) for row in zip(*levels, strict=True))]
        (folder / f"{axis}.csv").write_text("\n".join(lines))
        job["dimensions"][axis] = {"levels": f"{axis}.csv"}
    for axis, by in itertools.product(axes, other):
        name = f"{axis}_{by}".lower()
        rows = [f"{axis},{by},N_OBS,TOT,MAX"]
        sides = [np.full(_FIRMS, "Total")], [np.full(_FIRMS, "Total")]
        sides[0].extend(level[leaf[axis]] for level in axes[axis])
        sides[1].append(np.array([f"{by}{i}" for i in range(3)])[other[by]])
        for left, right in itertools.product(*sides):
            codes, at = np.unique(np.stack([left, right]), axis=1, return_inverse=True)
            many, total, most = np.bincount(at), np.zeros(codes.shape[1], np.int64), np.zeros(codes.shape[1], np.int64)
            np.add.at(total, at, grains)
            np.maximum.at(most, at, grains)
            rows += [
                f"{a},{b},{n},{_decimal(t)},{_decimal(m)}"
                for a, b, n, t, m in zip(*codes, many, total, most, strict=True)
            ]
        (folder / f"{name}.csv").write_text("\n".join(rows))
        cells = {"source": f"{name}.csv", "count": "N_OBS", "top": ["MAX"]}
        rules = [{"min_frequency": 3}, {"dominance": {"n": 1, "k": 85}}]
        table = {"name": name, "by": [axis, by], "value": "TOT", "cells": cells, "rules": rules}
        job["tables"].append(table | {"protect": {"method": "suppress", "cost": cost}})
    return Job.parse(json.loads(json.dumps(job)), folder=folder)


def _decimal(grains: int) -> str:
    return f"{grains // 10_000}.{grains % 10_000:04d}"


def cubes(folder: Path) -> Job:
    """Write records of people and a job of four linked cubes of counts."""
    rng = np.random.default_rng(5)
    land, region = _chain((9, 28), "R", rng)
    place = rng.choice(28, _PEOPLE, p=rng.dirichlet(np.ones(28)))
    sizes = {"age": (13, 3.0), "sex": (2, 9.0), "edu": (8, 2.0), "status": (7, 1.5), "nat": (5, 0.7)}
    data = {"land": land[place], "region": region[place]}
    for name, (codes, evenly) in sizes.items():
        share = rng.dirichlet(np.full(codes, evenly))
        data[name] = np.array([f"{name}{i:02d}" for i in range(codes)])[rng.choice(codes, _PEOPLE, p=share)]
    pa_csv.write_csv(pa.table(data), folder / "people.csv")
    dimensions = {"region": {"levels": ["land", "region"]}} | {name: {} for name in sizes}
    rules = [{"min_frequency": 3}]
    tables = [{"name": "_".join(by), "by": by, "value": "count", "zeros": "possible", "rules": rules} for by in _CUBES]
    job = {"version": 1, "microdata": {"source": "people.csv"}, "dimensions": dimensions, "tables": tables}
    return Job.parse(json.loads(json.dumps(job | {"attack": {"insiders": False}})), folder=folder)


def ends(make: Callable[[Path], Job], bar: str) -> Callable[[], Iterator[str]]:
    """Protect a job with nothing said that has a default, and write its pages."""

    def measure() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as place:
            job = make(Path(place))
            start = time.process_time()
            outcome = run(job)
            seconds = time.process_time() - start
            OutputFolder(Path(place, "out")).write(outcome, force=True)
            writing = time.process_time() - start - seconds
        summary, memory = outcome.summary.plain(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        both = summary["set"]
        yield f"{both['cells']:,} cells, {both['primary']:,} primary, {both['secondary']:,} secondary"
        yield f"{outcome.verdict.kind}, gap {summary['gap']:.1%}, {memory:.2f} GiB"
        yield f"{seconds:.1f} CPU s with the proof, {writing:.1f} for files and pages (bar {bar})"

    return measure


BENCHMARKS = {
    **{
        f"ready-made-4-{cost}-{seed}": ends(lambda place, seed=seed, cost=cost: ready_made(place, seed, cost), "60")
        for seed in (1, 2)
        for cost in ("value", "constant")
    },
    "linked-counts-4": ends(cubes, "3 in all"),
}
