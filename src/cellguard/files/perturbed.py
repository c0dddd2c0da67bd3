"""The output folder of a perturbed set: tables that may be published, and what stays inside.

``release`` is there only if the checks allow it. ``internal`` holds the true values, the noise, what each cell needs,
the findings, and the multipliers that later tables come from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cellguard.files import layout
from cellguard.files.formats import write_formats
from cellguard.files.guard import written_codes
from cellguard.files.jobfile import Job
from cellguard.files.names import check_names
from cellguard.files.write import csv_text, whole_folder
from cellguard.protect.perturb.draw.replicate import Replication
from cellguard.protect.perturb.draw.saved import Saved, write_saved
from cellguard.protect.perturb.workflow import Check, Perturbed
from cellguard.table.columns import all_headed
from cellguard.table.facts import FloatArray
from cellguard.table.pattern import Release, ReleasedTable

MULTIPLIERS = "multipliers.parquet"
_INTERNAL = ("value", "perturbed", "noise", "noise_percent", "count", "need", "S_N", "status")
_STUDIED = ("mean_ratio", "cv", "mean_noise_percent", "unsafe_share")


@dataclass(frozen=True, eq=False)
class Perturbation:
    """What a run leaves: the check, what is to be saved, a summary, and for each table its flag and its decimals.

    ``study`` is a replication study; ``pages`` are reports by their path in the folder.
    """

    job: Job
    check: Check
    saved: Saved
    summary: Mapping[str, Any]
    flags: Mapping[str, str]
    decimals: Mapping[str, int]
    study: Replication | None = None
    pages: Mapping[str, str] = field(default_factory=dict)


def write_perturbed(folder: str | Path, outcome: Perturbation, *, force: bool = False) -> None:
    """Write the folder, all or nothing; without a release and without multipliers if the check forbids it."""
    check_names(here.table.table for here in outcome.check.tables)
    with whole_folder(folder, force=force) as made:
        if outcome.check.released:
            _write_release(made / "release", outcome)
        _write_internal(made / "internal", outcome)
        for name, text in outcome.pages.items():
            (made / name).write_text(text, encoding="utf-8")


def release_of(outcome: Perturbation) -> Release:
    """Return the tables as published: perturbed values only, nothing suppressed."""
    return Release(tuple(_released(here, outcome.decimals[here.table.name]) for here in outcome.check.tables))


def _released(here: Perturbed, decimals: int) -> ReleasedTable:
    table = here.table.table
    rows = np.flatnonzero(~table.unpublished)
    codes = tuple(np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True))
    names = tuple(d.name for d in table.dimensions)
    text = [_fixed(value, decimals) for value in here.total[rows].tolist()]
    hidden = np.zeros(len(rows), bool)
    return ReleasedTable(table.name, names, codes, text, hidden, table.response, table.population, decimals)


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _write_release(folder: Path, outcome: Perturbation) -> None:
    folder.mkdir()
    published, about = release_of(outcome), {}
    for table in published.tables:
        codes, guarded = written_codes(table, raw=outcome.job.raw_codes)
        rows = zip(*codes, table.value, [""] * len(table), strict=True)
        (folder / f"{table.name}.csv").write_text(csv_text(layout.released(table.by), rows), encoding="utf-8")
        about[table.name] = {
            "by": list(table.by),
            "response": table.response,
            "population": table.population,
            "decimals": table.decimals,
            "cells": len(table),
            "suppressed": 0,
            "method": "perturb",
            "calibration": outcome.flags[table.name],
            **({"guarded": guarded} if guarded else {}),
        }
    write_formats(folder, published, outcome.job.formats - {"html"})
    _write_json(folder / "metadata.json", {"method": "perturb", "tables": about})


def _write_internal(folder: Path, outcome: Perturbation) -> None:
    folder.mkdir(mode=0o700)
    for number, here in enumerate(outcome.check.tables):
        columns = {**_cells(here, outcome.check), **_studied(outcome.study, number)}
        names = [*all_headed([d.name for d in here.table.table.dimensions], columns), *columns]
        rows = zip(*_codes(here), *columns.values(), strict=True)
        (folder / f"{here.table.name}.csv").write_text(csv_text(names, rows), encoding="utf-8")
    resolved = yaml.safe_dump(outcome.job.model_dump(), sort_keys=False, allow_unicode=True)
    (folder / "job.yaml").write_text(resolved, encoding="utf-8")
    _write_json(folder / "summary.json", outcome.summary)
    _write_json(folder / "findings.json", [f.record() for f in outcome.check.findings])
    if outcome.check.released:
        write_saved(folder / MULTIPLIERS, outcome.saved)


def _codes(here: Perturbed) -> list[list[str]]:
    table = here.table.table
    return [np.array(d.codes, object)[c].tolist() for d, c in zip(table.dimensions, table.codes, strict=True)]


def _cells(here: Perturbed, check: Check) -> dict[str, Sequence[object]]:
    table = here.table.table
    open_ = {cell for f in check.open for cell in f.cells}
    accepted = {cell for f in check.findings if f.blocks and check.is_accepted(f) for cell in f.cells}
    names = [here.name(i) for i in range(len(table))]
    usual = "not checked" if not check.checked else "not proven" if check.limits else "safe"
    status = ["unsafe" if n in open_ else "accepted" if n in accepted else usual for n in names]
    count = [""] * len(table) if table.facts.count is None else [f"{n:.0f}" for n in table.facts.count.tolist()]
    percent = np.divide(100 * here.noise, here.table.total, out=np.zeros(len(table)), where=here.table.total != 0)
    numbers: list[FloatArray] = [here.table.total, here.total, here.noise, percent]
    columns = [*map(_numbers, numbers), count, _numbers(here.needs.need), _numbers(here.s_n), status]
    return dict(zip(_INTERNAL, columns, strict=True))


def _studied(study: Replication | None, number: int) -> dict[str, Sequence[object]]:
    """Return what a replication study says of each cell of a table; blank where the true total is 0."""
    if study is None:
        return {}
    at = study.of(number)
    figures = (study.mean_ratio, study.cv, study.noise.percent, study.unsafe)
    return {name: _numbers(figure[at]) for name, figure in zip(_STUDIED, figures, strict=True)}


def _numbers(column: FloatArray) -> list[str]:
    return ["" if np.isnan(x) else f"{x:.10g}" for x in (column + 0.0).tolist()]


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
