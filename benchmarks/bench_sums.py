"""Whole jobs: what it takes that sums of suppressed cells and latent cells are protected too."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cellguard as cg

from business import TABLES, records

RULES = [{"p_percent": 10}]


def sums(tables: Mapping[str, Sequence[Sequence[str]]], *, insiders: bool) -> Callable[[], Iterator[str]]:
    """Protect tables of turnover of 10,000 firms, each by some hierarchies, with what their records tell of sums."""

    def run() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder), sorted({name for levels in tables.values() for names in levels for name in names}))
            dimensions = {names[-1]: {"levels": list(names)} for levels in tables.values() for names in levels}
            job = {
                "version": 1,
                "microdata": {"source": "firms.csv", "respondent": "id", "holding": "holding"},
                "dimensions": {name: said for name, said in dimensions.items() if len(said["levels"]) > 1},
                "tables": [
                    {"name": name, "by": [names[-1] for names in levels], "value": "turnover", "rules": RULES}
                    for name, levels in tables.items()
                ],
                "attack": {"insiders": insiders},
            }
            start = time.process_time()
            outcome = cg.run(cg.Job.parse(job, folder=folder))
            spent = time.process_time() - start
        yield f"{_words(outcome.protected)}, {outcome.verdict.kind}, {spent:.1f} CPU s"

    return run


def _write(folder: Path, levels: Sequence[str]) -> None:
    data = records(10_000)
    columns = {"id": np.arange(len(data["turnover"])), "holding": data["holding"], "turnover": data["turnover"]}
    texts = {name: [f"{name}{code}" for code in data[name].tolist()] for name in levels}
    rows = zip(*(column.tolist() for column in columns.values()), *texts.values(), strict=True)
    lines = [",".join([*columns, *texts]), *(",".join(map(str, row)) for row in rows)]
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")


def ready(tables: Mapping[str, Sequence[str]]) -> Callable[[], Iterator[str]]:
    """Protect ready-made tables of counts of 10,000 firms, each by some columns, with the table behind them."""

    def run() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, by in tables.items():
                _write_counts(Path(folder), name, by)
            job = {
                "version": 1,
                "tables": [
                    {"name": name, "by": list(by), "value": "count", "rules": [{"min_frequency": 3}],
                     "cells": {"source": f"{name}.csv", "count": "n"}}
                    for name, by in tables.items()
                ],
            }  # fmt: skip
            start = time.process_time()
            outcome = cg.run(cg.Job.parse(job, folder=folder))
            spent = time.process_time() - start
        yield f"{_words(outcome.protected)}, {outcome.verdict.kind}, {spent:.1f} CPU s"

    return run


def _write_counts(folder: Path, name: str, by: Sequence[str]) -> None:
    data = records(10_000)
    columns = {column: [f"{column}{code}" for code in data[column].tolist()] for column in by}
    firms = cg.records(columns, by=list(by), values=[])
    table = cg.tabulate(firms, list(by), value="count", rules=[], name=name)
    codes = [np.array(d.codes, object)[c].tolist() for d, c in zip(table.dimensions, table.codes, strict=True)]
    rows = zip(*codes, table.value.astype(int).tolist(), strict=True)
    lines = [",".join([*by, "n"]), *(",".join(map(str, row)) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _words(proven: Any) -> str:
    pattern = proven.audit.pattern
    secondary = pattern.secondary & ~pattern.unpublished
    hidden = pattern.tables.value[secondary].sum()
    unsafe = int(proven.audit.needs.primary.sum())
    return f"{unsafe:,} unsafe cells, {int(secondary.sum()):,} secondary worth {hidden:,.0f}"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "sums-A": sums({"A": TABLES["A"]}, insiders=False),
    "sums-A-insiders": sums({"A": TABLES["A"]}, insiders=True),
    "sums-B0": sums({"B0": TABLES["B0"]}, insiders=False),
    "sums-B0-insiders": sums({"B0": TABLES["B0"]}, insiders=True),
    "latent-3": sums(
        {"ir": (("section", "division"), ("region",)), "is": (("section", "division"), ("size",)),
         "rs": (("region",), ("size",))},
        insiders=False,
    ),
    "ready-3": ready({"dr": ("division", "region"), "ds": ("division", "size"), "rs": ("region", "size")}),
    "latent-3-insiders": sums(
        {"ir": (("section", "division"), ("region",)), "is": (("section", "division"), ("size",)),
         "rs": (("region",), ("size",))},
        insiders=True,
    ),
}  # fmt: skip
