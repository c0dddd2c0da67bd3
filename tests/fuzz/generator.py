"""From a plan to a case: the job as data, and all its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

from fuzz.cases import RECORDS, Case, Records, csv_text
from fuzz.hostile import draw_hostile
from fuzz.judge import amounts, cells_of, is_grouped, members, unsafe_cells
from fuzz.plans import COLUMNS, Plan, TablePlan, draw_plan
from fuzz.public import Axis, columns, read_axes, selects
from fuzz.rules import People
from fuzz.trees import Dim

TRIES = 4
Plans = Callable[[int, int], Plan]


def draw_case(seed: int, plans: Plans = draw_plan) -> Case:
    """The case of a seed: the first of a few draws in which something is unsafe."""
    for attempt in range(TRIES):
        plan = plans(seed, attempt)
        case = _build(plan, plan.records, Random(f"rows {seed}"), said=True)
        if unsafe_cells(case):
            break
    return case


def draw_any(seed: int, attempt: int = 0) -> Plan:
    """The plan of a seed in a campaign: every second one is of the kind that a hostile reader would choose."""
    return draw_hostile(seed, attempt) if seed % 2 else draw_plan(seed, attempt)


def draw_twin(case: Case, plans: Plans = draw_plan) -> Case:
    """The same job about other records with the same codes, and with all rows in another order.

    Each column is shuffled by itself. What a released file lists may differ then, but not the order in which it lists
    what both have.
    """
    plan = plans(case.seed, case.attempt)
    rng = Random(f"twin {case.seed}")
    codes = {name: rng.sample(list(column), len(column)) for name, column in plan.records.codes.items()}
    values = {name: rng.sample(list(column), len(column)) for name, column in plan.records.values.items()}
    return _build(plan, replace(plan.records, codes=codes, values=values), rng, said=False)


def _build(plan: Plan, records: Records, rng: Random, *, said: bool) -> Case:
    used = {name for table in plan.tables for name in columns(table.spec)}
    dims = [dim for dim in plan.dims.values() if dim.name in used]
    job: dict[str, Any] = {"version": 1}
    if any("cells" not in table.spec for table in plan.tables):
        job["microdata"] = {"source": RECORDS, "respondent": "id"} | {name: name for name in plan.records.roles}
    entries = {dim.name: _dimension(dim) for dim in dims}
    job["dimensions"] = {name: entry for name, entry in entries.items() if entry}
    job["tables"] = [dict(table.spec) for table in plan.tables]
    job |= plan.more
    job["output"] = {"formats": ["csv"]}
    files = {name: text for dim in dims for name, text in _hierarchies(dim).items()}
    files[RECORDS] = records.text()
    case = Case(job, files, records, plan.features, plan.seed, plan.attempt)
    axes = read_axes(case)
    for table, spec in zip(plan.tables, job["tables"], strict=True):
        own = [axes[name] for name in columns(spec)]
        if table.codes is not None:
            files[f"{spec['name']}.csv"] = _ready_made(table, own, case, rng)
        if table.said and said:
            files[f"{spec['name']}_said.csv"] = _statements(spec, own, case, rng)
            spec["apriori"] = f"{spec['name']}_said.csv"
    return case


def _dimension(dim: Dim) -> dict[str, Any]:
    entry: dict[str, Any] = {} if dim.name in COLUMNS else {"column": dim.column}
    names = list(_hierarchies(dim))
    if names:
        entry["parents"] = names[0]
    if len(names) > 1:
        entry["also"] = [{"name": "other", "parents": names[1]}]
    return entry


def _hierarchies(dim: Dim) -> dict[str, str]:
    names = [f"{dim.name}_codes.csv", f"{dim.name}_other.csv"]
    return {name: csv_text(["code", "parent"], tree.items()) for name, tree in zip(names, dim.trees, strict=False)}


def _ready_made(table: TablePlan, axes: Sequence[Axis], case: Case, rng: Random) -> str:
    """The rows of a ready-made table, in any order; empty ones only where zeros are possible, if at all."""
    spec = table.spec
    empty_too = (
        table.zero_rows and (spec.get("zeros") or ("possible" if spec["value"] == "count" else "")) == "possible"
    )
    rows = []
    by = axes[: len(spec["by"])]
    for each in product(*(table.codes[axis.name] for axis in by)):
        codes = (*each, *selects(spec))
        inside = members(case.records, axes, codes)
        if not inside and not empty_too:
            continue
        value = spec["value"] if spec["value"] != "count" else "x"
        worth = amounts(case.records, value)
        x = People(case, value, grouped=is_grouped(spec, case)).crowd(inside).sizes
        top = [*x, 0, 0][:2]
        rows.append([*each, sum(worth[i] for i in inside), len(inside), len(x), *top])
    rng.shuffle(rows)
    value = "x" if spec["value"] == "count" else spec["value"]
    return csv_text([*(axis.column for axis in by), value, "n", "m", "x1", "x2"], rows)


def _statements(spec: dict[str, Any], axes: Sequence[Axis], case: Case, rng: Random) -> str:
    """What is said beforehand of a few cells."""
    rows = []
    cells = cells_of(spec, axes, case)
    for codes in rng.sample(cells, min(len(cells), rng.randint(1, 3))):
        worth = amounts(case.records, spec["value"])
        value = sum(worth[i] for i in members(case.records, axes, codes))
        status = rng.choice(["", "", "must_suppress", "waived", "must_publish", "secondary"])
        bounds = [value - rng.randint(0, 5), value + rng.randint(0, 9)] if rng.random() < 0.4 else ["", ""]
        if bounds[0] != "":
            bounds[0] = max(0, bounds[0])
        needs = [rng.randint(0, 3), rng.randint(1, 5)] if rng.random() < 0.2 and spec["value"] != "count" else ["", ""]
        rows.append([*codes[: len(spec["by"])], status, rng.choice(["", 1, 100]), *bounds, *needs])
    return csv_text([*spec["by"], "status", "cost", "lower", "upper", "need_lower", "need_upper"], rows)
