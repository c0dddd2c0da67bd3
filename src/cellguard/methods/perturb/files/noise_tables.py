"""What stays inside of a perturbed set: true values, noise, needs and findings, and the multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text, write_json
from cellguard.methods.perturb.draw.replicate import Replication
from cellguard.methods.perturb.draw.saved import write_saved
from cellguard.methods.perturb.draw.variance import published_variance
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.methods.perturb.workflow import Check, Perturbed
from cellguard.table.columns import all_headed
from cellguard.table.facts import FloatArray

MULTIPLIERS = "multipliers.parquet"
_INTERNAL = ("value", "perturbed", "noise", "noise_percent", "count", "need", "S_N", "status")
_SURVEYED = ("sampling_variance", "published_variance")
_STUDIED = ("mean_ratio", "cv", "mean_noise_percent", "unsafe_share")


def write_noise(inside: Path, noisy: PerturbationResult) -> None:
    """Write each table's cells and the findings; the multipliers only if there is a release."""
    for number, here in enumerate(noisy.check.tables):
        columns = {**_cells(here, noisy.check), **_surveyed(here), **_studied(noisy.study, number)}
        names = [*all_headed([d.name for d in here.table.table.dimensions], columns), *columns]
        rows = zip(*_codes(here), *columns.values(), strict=True)
        (inside / f"{here.table.name}.csv").write_text(csv_text(names, rows), encoding="utf-8")
    write_json(inside / "findings.json", [f.record() for f in noisy.check.findings])
    if noisy.release is not None:
        write_saved(inside / MULTIPLIERS, noisy.saved)


def _codes(here: Perturbed) -> list[list[str]]:
    table = here.table.table
    return [column.tolist() for column in table.code_texts()]


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


def _surveyed(here: Perturbed) -> dict[str, Sequence[object]]:
    """Return of a survey the estimated variance of each cell: that of the sample, and with the noise added."""
    sample = here.sampling_variance
    if sample is None:
        return {}
    return dict(zip(_SURVEYED, map(_numbers, (sample, published_variance(sample, here.noise))), strict=True))


def _studied(study: Replication | None, number: int) -> dict[str, Sequence[object]]:
    """Return what a replication study says of each cell of a table; blank where the true total is 0."""
    if study is None:
        return {}
    at = study.of(number)
    figures = (study.mean_ratio, study.cv, study.noise.percent, study.unsafe)
    return {name: _numbers(figure[at]) for name, figure in zip(_STUDIED, figures, strict=True)}


def _numbers(column: FloatArray) -> list[str]:
    return ["" if np.isnan(x) else f"{x:.10g}" for x in (column + 0.0).tolist()]
