"""Latent cells: those that no table lists, but that lie behind several tables of one response.

Tables by a x b, a x c and b x c share one crossing table by a x b x c. Nobody publishes it, yet what is published may
determine some of its cells, or nearly so. From records its facts are known: it joins the set as a table that is not
released, so that rules, engine, audit and certificate treat its cells like listed ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.populations import extent_of, response_key_of, rules_of, selected
from cellguard.inputs.records import column_of
from cellguard.job.jobfile import Job
from cellguard.job.specs import TableSpec
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.table.populations import Extent, crossing
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, cells_at_most

MOST = 200_000  # cells of a crossing table up to which it is judged
_NAME = "latent"


def with_latent(job: Job, dimensions: Mapping[str, Dimension], grouped: Grouped) -> Job:
    """Return the job with the crossing table of each response whose tables have one; too large ones are left out.

    It is there once for each kind of contributions that rules see (`survey`, `negative`).

    What is left out shows in the headline: see `uncrossed` of `cellguard.table.populations`.
    """
    if job.attack.crossing != "checked":
        return job
    tables = list(job.tables)
    response_keys = dict.fromkeys(response_key_of(spec) for spec in job.tables if spec.cells is None)
    for response_key in response_keys:
        made = [spec for spec in job.tables if spec.cells is None and response_key_of(spec) == response_key]
        extents = [extent_of(spec, dimensions) for spec in made]
        extent = crossing(extents)
        if any(own.covers(extent) for own in extents):
            continue
        for alike in _seen_alike(made):
            spec = _latent(alike, extent, [spec.name for spec in tables])
            if cells_at_most(grouped, _wanted(job, spec, dimensions, grouped), MOST):
                tables.append(spec)
    return job if len(tables) == len(job.tables) else job.model_copy(update={"tables": tables})


def _seen_alike(made: Sequence[TableSpec]) -> list[list[TableSpec]]:
    """Return tables in groups whose rules see the same contributions: no others could judge the crossing table."""
    alike: dict[str, list[TableSpec]] = {}
    for spec in made:
        alike.setdefault(repr((spec.survey, spec.negative)), []).append(spec)
    judging = [group for group in alike.values() if any(rule.can_fire for spec in group for rule in spec.rules)]
    return judging or [list(made)]


def _latent(made: Sequence[TableSpec], extent: Extent, taken: Sequence[str]) -> TableSpec:
    name = next(n for i in range(1, len(taken) + 2) if (n := _NAME if i == 1 else f"{_NAME}{i}") not in taken)
    said = {
        "name": name,
        "by": list(extent.by),
        "where": {column: codes for column, codes in (made[0].where or {}).items() if column in extent.where} or None,
        "publish": "latent",
        "apriori": None,
        "impossible": None,
        "rules": rules_of(extent, made),
    }
    return made[0].model_copy(update=said)


def _wanted(job: Job, spec: TableSpec, dimensions: Mapping[str, Dimension], grouped: Grouped) -> Wanted:
    zeros = spec.zeros or ("possible" if spec.value == COUNT and not grouped.has_weights else "known")
    return Wanted(
        by={column_of(job, name): dimensions[name] for name in spec.by},
        value=spec.value,
        about=About(zeros=zeros),
        where={column_of(job, n): (dimensions[n], held) for n, held in selected(spec, dimensions).items()},
    )
