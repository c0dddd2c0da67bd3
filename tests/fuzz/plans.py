"""Random plans: dimensions, records and tables, before any file is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from fuzz.cases import Records
from fuzz.public import TOTAL
from fuzz.trees import Dim, draw_codes, draw_dim

COLUMNS = "abcd"
LARGEST = 400
MOTIFS = [
    *["any"] * 4,
    "levels",  # codes of different levels in two tables
    "no total",  # a cross table without total rows beside a margin
    "groupings",  # two groupings, and mostly no leaves
    "column twice",  # one column of records under two names
    "value twice",  # one value column under two names
    *["cyclic"] * 2,  # tables by ab, ac and bc
    *["beside"] * 2,  # counts beside values, or the same table twice
    *["where"] * 2,  # tables about some of the respondents only
]
READY_MADE = {"where": 0.2, "levels": 1.0, "no total": 1.0, "groupings": 1.0, "column twice": 0.0, "value twice": 0.0}


@dataclass(frozen=True)
class TablePlan:
    """One table: its entry in the job, the codes that a ready-made file shows, and what else its files hold."""

    spec: Mapping[str, Any]
    codes: Mapping[str, Sequence[str]] | None = None
    zero_rows: bool = False
    said: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything that a job is built from."""

    seed: int
    attempt: int
    dims: Mapping[str, Dim]
    records: Records
    tables: Sequence[TablePlan]
    holding: bool
    features: tuple[str, ...] = field(default=())
    more: Mapping[str, Any] = field(default_factory=dict)  # what else the job says


def draw_plan(seed: int, attempt: int = 0) -> Plan:
    """The plan of a seed; the same numbers always give the same plan."""
    rng = Random(f"plan {seed} {attempt}")
    motif = rng.choice(MOTIFS)
    made = rng.random() >= READY_MADE.get(motif, 0.4)
    columns = COLUMNS[: _how_many_columns(rng, motif)]
    leaves = _draw_leaves(rng, columns, motif)
    dims = {c: draw_dim(rng, c, c, leaves[c], filed=not made or motif == "groupings") for c in columns}
    if motif == "column twice":
        column = rng.choice(columns)
        dims[f"{column}2"] = draw_dim(rng, f"{column}2", column, leaves[column], filed=rng.random() < 0.7)
    holding = rng.random() < 0.25
    records = draw_records(rng, leaves, holding)
    tables = _Tables(rng, motif, made, dims, records, holding).draw()
    if motif == "beside":
        tables = _tied(rng, tables)
    return Plan(seed, attempt, dims, records, tables, holding, (motif, "records" if made else "cells"))


def _tied(rng: Random, tables: list[TablePlan]) -> list[TablePlan]:
    """Tables of which the first has counts beside its values, or is hidden where the second is, or neither."""
    first, second = (table.spec for table in tables[:2])
    more: dict[str, Any] = {}
    if rng.random() < 0.5 and not tables[0].said:
        more["counts"] = rng.choice(["shown", "hidden_with_values"])
    elif rng.random() < 0.5 and first["value"] != second["value"]:
        more["protect"] = {**first.get("protect", {}), "hide_with": [second["value"]]}
    return [replace(tables[0], spec={**first, **more}), *tables[1:]]


def _how_many_columns(rng: Random, motif: str) -> int:
    if motif == "cyclic":
        return rng.choice([3, 3, 4])
    if motif in {"no total", "where"}:
        return rng.choice([2, 2, 3])
    return rng.choice([1, 2, 2, 2, 3, 3, 4])


def _draw_leaves(rng: Random, columns: str, motif: str) -> dict[str, list[str]]:
    most = {1: 7, 2: 6, 3: 4, 4: 3}[len(columns)] if motif != "cyclic" else rng.choice([2, 3])
    least = 2 if motif in {"levels", "groupings", "cyclic", "no total", "where"} else 1
    sizes = [rng.randint(least, most) for _ in columns]
    while _product(sizes) > LARGEST:
        sizes[sizes.index(max(sizes))] -= 1
    found = {}
    for column, size in zip(columns, sizes, strict=True):
        numbers = list(range(size))
        rng.shuffle(numbers)
        found[column] = [f"{column}{i}" for i in numbers]
    return found


def _product(numbers: Sequence[int]) -> int:
    whole = 1
    for number in numbers:
        whole *= number
    return whole


def draw_records(rng: Random, leaves: Mapping[str, Sequence[str]], holding: bool) -> Records:
    """Records that lie thick in some places and thin in others."""
    many = rng.choice([rng.randint(3, 12), rng.randint(8, 25), rng.randint(15, 40)])
    weights = {c: [rng.choice([1, 1, 3, 8]) for _ in codes] for c, codes in leaves.items()}
    codes = {c: rng.choices(leaves[c], weights[c], k=many) for c in leaves}
    if rng.random() < 0.4:
        _gather(rng, codes, many)
    largest = rng.choice([9, 30, 200])
    zeros = rng.choice([0, 0, 0.1, 0.3])
    values = {name: [0 if rng.random() < zeros else _skewed(rng, largest) for _ in range(many)] for name in ("x", "y")}
    groups = [f"h{rng.randint(0, many)}" for _ in range(many)]
    return Records(codes, values, groups if holding else None)


def _gather(rng: Random, codes: Mapping[str, list[str]], many: int) -> None:
    """Put most records where few others are, so that tables have large cells beside small ones."""
    places = [rng.randrange(many) for _ in range(rng.randint(1, 4))]
    for i in range(many):
        if rng.random() < 0.7:
            place = rng.choice(places)
            for column in codes.values():
                column[i] = column[place]


def _skewed(rng: Random, largest: int) -> int:
    return max(1, int(largest ** rng.uniform(0, 1)))


class _Tables:
    """Draws the tables of one job."""

    def __init__(self, rng, motif: str, made: bool, dims: Mapping[str, Dim], records: Records, holding: bool) -> None:
        self.rng, self.motif, self.made, self.dims, self.holding = rng, motif, made, dims, holding
        self.occupied = {name: set(records.codes[dim.column]) for name, dim in dims.items()}
        self.mixed = made and motif == "any" and rng.random() < 0.2
        self.counts = rng.choice([0.0, 0.3, 0.5, 1.0])
        self.second = rng.random() < 0.1

    def draw(self) -> list[TablePlan]:
        plans = self._sets()
        tables = [self._table(f"t{i}", by, **fixed) for i, (by, fixed) in enumerate(plans[:4])]
        if self.made and all("cells" in table.spec for table in tables):
            tables[0] = self._table("t0", plans[0][0], made=True)
        return tables

    def _sets(self) -> list[tuple[list[str], dict[str, Any]]]:
        """The dimensions of each table, and what is special about it."""
        rng, names = self.rng, list(self.dims)
        some = [self._some(names) for _ in range(rng.randint(1, 4))]
        if self.motif == "cyclic":
            value = "count" if rng.random() < 0.5 else self._value()
            found = [(pair, {"value": value}) for pair in self._ring(names)]
            return found + [(some[0], {})] * (rng.random() < 0.2)
        if self.motif == "column twice":
            twice = [name for name in names if name not in COLUMNS]
            rest = [name for name in names if name[0] != twice[0][0]]
            value = self._value()
            found = []
            for name in (twice[0], twice[0][0]):
                found.append((self._sorted([name, *self._some(rest, 0)]), {"value": value}))
            return found
        if self.motif == "value twice":
            by = some[0]
            value = self._value()
            same = by if rng.random() < 0.7 else self._some(names)
            other = {"population": "other"} if rng.random() < 0.2 else {"response": "another"}
            return [(by, {"value": value}), (same, {"value": value, **other})]
        if self.motif == "levels":
            by, value = some[0], self._value()
            return [(by, {"value": value, "way": way}) for way in rng.sample(["fine", "coarse", "any"], 2)]
        if self.motif == "no total":
            by = rng.sample(names, 2)
            value = self._value()
            return [(by[:1], {"value": value}), (self._sorted(by), {"value": value, "way": "no total"})]
        if self.motif == "where":
            return self._populations(names)
        if self.motif == "beside":
            by = some[0]
            other = by if rng.random() < 0.7 else self._some(names)
            return [(by, {"value": "x"}), (other, {"value": rng.choice(["count", "count", "count", "x", "y"])})]
        return [(by, {}) for by in some]

    def _populations(self, names: Sequence[str]) -> list[tuple[list[str], dict[str, Any]]]:
        """A table about all, and one or two about some, mostly by the same dimensions."""
        rng = self.rng
        column, *others = rng.sample(list(names), len(names))
        value, by = self._value(), self._some(others)
        plans: list[tuple[list[str], dict[str, Any]]] = [(by, {"value": value})]
        plans += [(by, {"value": self._value()})] * (rng.random() < 0.2)
        for _ in range(rng.choice([1, 1, 2])):
            codes = sorted(self.occupied[column])
            some = rng.sample(codes, rng.randint(1, max(1, len(codes) - 1)))
            where = {column: {"all_but": some} if rng.random() < 0.3 and len(some) < len(codes) else some}
            same = by if rng.random() < 0.7 else self._some(others)
            plans.append((same, {"value": value if rng.random() < 0.9 else self._value(), "where": where}))
        return plans

    def _ring(self, names: Sequence[str]) -> list[list[str]]:
        """Pairs of dimensions that form a ring of three or four."""
        size = min(len(names), self.rng.choice([3, 3, 4]))
        ring = self.rng.sample(list(names), size)
        return [self._sorted(pair) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)]

    def _some(self, names: Sequence[str], least: int = 1) -> list[str]:
        """Some dimensions, no column twice but now and then."""
        if not names:
            return []
        chosen = self.rng.sample(list(names), self.rng.randint(least, min(3, len(names))))
        if self.rng.random() < 0.95:
            chosen = list({name[0]: name for name in chosen}.values())
        return self._sorted(chosen)

    def _sorted(self, names: Sequence[str]) -> list[str]:
        return sorted(names) if self.rng.random() < 0.8 else list(names)

    def _value(self) -> str:
        if self.rng.random() < self.counts:
            return "count"
        return "y" if self.second and self.rng.random() < 0.3 else "x"

    def _table(self, name: str, by: list[str], *, value=None, way=None, made=None, **more: Any) -> TablePlan:
        rng = self.rng
        value = value or self._value()
        made = (self.made and not (self.mixed and rng.random() < 0.5)) if made is None else made
        spec: dict[str, Any] = {"name": name, "by": by, "value": value, **more}
        zeros = rng.choice([None, None, "known", "possible"])
        if zeros:
            spec["zeros"] = zeros
        spec["rules"] = self._rules(value)
        if rng.random() < 0.5:
            spec["protect"] = {"cost": rng.choice(["value", "constant", "log", "distance", "count"])}
        if rng.random() < 0.15:
            spec["publish"] = self._levels(by)
        said = rng.random() < 0.12
        if made:
            return TablePlan(spec, said=said)
        if any(name not in COLUMNS for name in by):
            by = spec["by"] = [name for name in by if name in COLUMNS] or ["a"]
            spec.pop("publish", None)
        codes = {n: self._codes(self.dims[n], way) for n in by}
        spec["cells"] = self._cells(name, value)
        return TablePlan(spec, codes, zero_rows=rng.random() < 0.3, said=said)

    def _codes(self, dim: Dim, way: str | None) -> list[str]:
        if not dim.trees:  # the total's row is needed, and nobody knows of codes without records
            return [TOTAL, *sorted(self.occupied[dim.name])]
        return draw_codes(self.rng, dim, self.occupied[dim.name], self._way(way))

    def _way(self, way: str | None) -> str:
        if way in {"no total", "fine", "coarse"} and self.rng.random() < 0.8:
            return way
        if self.motif == "groupings":
            return self.rng.choice(["coarse", "coarse", "all"])
        return self.rng.choice(["all", "all", "all", "any", "no total", "fine", "coarse"])

    def _rules(self, value: str) -> list[dict[str, Any]]:
        rng = self.rng
        frequency = {"min_frequency": rng.choice([2, 3])}
        if value == "count":
            return [frequency]
        shares = [
            {"p_percent": rng.choice([5, 10, 20, 50])},
            {"dominance": {"n": 1, "k": rng.choice([60, 75, 90])}},
            {"dominance": {"n": 2, "k": rng.choice([80, 95])}},
            {"statisticon": rng.choice([10, 30])},
        ]
        rules = [frequency] if rng.random() < 0.7 else []
        return [*rules, rng.choice(shares)] if not rules or rng.random() < 0.4 else rules

    def _levels(self, by: Sequence[str]) -> dict[str, list[int]]:
        name = self.rng.choice(by)
        levels = range(self.dims[name].deepest() + 1)
        return {name: [level for level in levels if self.rng.random() < 0.7] or [max(levels)]}

    def _cells(self, name: str, value: str) -> dict[str, Any]:
        cells: dict[str, Any] = {"source": f"{name}.csv", "count": "n"}
        if value != "count":
            if self.holding:
                cells["holdings"] = "m"
            cells["top"] = ["x1", "x2"]
        return cells
