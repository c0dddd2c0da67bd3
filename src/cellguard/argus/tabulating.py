"""Tables of records: the pipeline's own tabulation, asked for what the rules of a batch look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.argus.own_table import Codes, keys_of
from cellguard.argus.safety_rule import Level
from cellguard.argus.spanning import Spanning
from cellguard.arrays import FloatArray
from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job
from cellguard.run_context import Run
from cellguard.table.facts import Facts


@dataclass(frozen=True, eq=False)
class Records:
    """Records with the codes of their spanning variables, as texts, and numbers; ``roles`` are the columns of weights,
    holdings and requests.
    """

    columns: pa.Table
    spanning: Mapping[str, Spanning]
    roles: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The cells of a table that have records, in the order of their codes, and the facts of each."""

    codes: Codes
    facts: Facts

    def at(self, keys: np.ndarray[Any, Any], shape: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return the rows of some cells, by their numbers; -1 where there is none."""
        mine = keys_of(self.codes, shape)
        place = np.searchsorted(mine, keys)
        place[place == len(mine)] = 0
        return np.where(mine[place] == keys, place, -1) if len(mine) else np.full(len(keys), -1)


def tabulate(
    records: Records,
    by: Sequence[str],
    value: str,
    level: Level,
    *,
    weighted: bool = False,
    holdings: bool = False,
    requests: str = "",
    run: Run,
) -> Tabulated:
    """Make one table; ``value`` is a column or ``count``, ``requests`` a yes-or-no column of who asked."""
    called = {name: f"b{i}" for i, name in enumerate(by)}
    columns = {called[name]: records.columns.column(name) for name in called}
    source: dict[str, Any] = {"source": "records"}
    if value != "count":
        columns["value"] = records.columns.column(value)
    for role, wanted in (("weight", weighted), ("holding", holdings)):
        if wanted:
            columns[role] = records.columns.column(records.roles[role])
            source[role] = role
    if requests:
        columns["request"] = records.columns.column(requests)
        source["request"] = "request"
    held: dict[str, object] = {"records": pa.table(columns)}
    dimensions = {}
    for name, short in called.items():
        held[f"tree of {short}"] = records.spanning[name].tree
        dimensions[short] = {"parents": f"tree of {short}", "total": records.spanning[name].tree.total}
    table: dict[str, Any] = {
        "name": "t",
        "by": list(called.values()),
        "value": "count" if value == "count" else "value",
        "zeros": "known",
        "rules": rules_of(level, requests=bool(requests)) if value != "count" else [],
    }
    if value != "count" and not weighted and (columns["value"].to_numpy() < 0).any():
        table["negative"] = "absolute"
    job = Job.parse(
        {
            "version": 1,
            "microdata": source,
            "dimensions": dimensions,
            "tables": [table],
            "attack": {"insiders": False, "lower": "unbounded"},
        },
        held=held,
    )
    made = build_tables(job, run=run).tables[0]
    codes = np.stack(
        [
            np.array([s.tree.position[code] for code in d.codes], np.int32)[c]
            for s, d, c in zip((records.spanning[n] for n in by), made.dimensions, made.codes, strict=True)
        ],
        axis=1,
    )
    order = np.argsort(keys_of(codes, [len(records.spanning[n].tree.codes) for n in by]), kind="stable")
    return Tabulated(codes[order], made.facts.take(order))


def rules_of(level: Level, *, requests: bool = False) -> list[dict[str, Any]]:
    """Return the rules about contributions as a job writes them."""
    rules: list[dict[str, Any]] = [
        {"p_percent": {"p": 100 * p.p / p.q, "coalition": p.n, **_confirmed(100 * p.p / p.q)}} for p in level.percents
    ]
    rules += [{"dominance": {"n": d.n, "k": d.k, **_confirmed(d.k)}} for d in level.dominants if d.k < 100]
    if level.frequent and level.frequent.n > 1:
        percent = level.frequent.percent
        small = _confirmed(percent) if percent > 0 else {}
        rules.append({"min_frequency": {"n": level.frequent.n, "protection_percent": max(percent, 1e-6), **small}})
    if requests and level.requested:
        rules.append({"request": {"k": max(min(level.requested.first, 99.0), 1.0)}})
    return rules


def _confirmed(percent: float) -> dict[str, bool]:
    return {"confirmed": True} if percent < 1 else {}


def shares(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole in size, 0 where the whole is 0."""
    size = np.abs(whole)
    return np.divide(np.abs(part), size, out=np.zeros(len(size)), where=size > 0)
