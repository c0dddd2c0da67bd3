"""Jobs of ready-made tables of counts that form a cycle, judged by all cells of the table behind them.

Nobody has records of these tables, but the oracle has: it draws people, counts them, and asks of the released rows
alone how few and how many may be in each combination of codes, in whole numbers, by integer programs. What is the same
in all worlds that fit is told; it must not be a count that the rules call too small, nor say that a row has no others.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import yaml
from scipy.optimize import Bounds, LinearConstraint, milp

from cellguard.errors import InputError, NotProtected
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.table.pattern import Release

FAR = 1_000
SHAPES = ["ab ac bc"] * 6 + ["ab bc cd ad"] * 2 + ["ab ac bc cd", "abc ad bd cd", "ab bc"]
Person = tuple[str, ...]


@dataclass(frozen=True)
class ReadyCase:
    """A job as data, the people that its tables count, and the group that each leaf of column a lies in, if any."""

    job: dict[str, Any]
    columns: Sequence[str]
    people: list[Person]
    group: dict[str, str]

    def holds(self, code: str, leaf: str) -> bool:
        """Whether a leaf lies below a code."""
        return code in {"Total", leaf, self.group.get(leaf)}

    def codes(self, column: str) -> list[str]:
        """All codes of a column that occur: the total, groups, and leaves."""
        leaves = self.leaves(column)
        return ["Total", *sorted({self.group[leaf] for leaf in leaves if leaf in self.group}), *leaves]

    def leaves(self, column: str) -> list[str]:
        """The most detailed codes of a column that occur."""
        return sorted({person[self.columns.index(column)] for person in self.people})

    def count(self, by: Sequence[str], codes: Sequence[str]) -> int:
        """How many people a cell has."""
        places = [self.columns.index(name) for name in by]
        return sum(
            all(self.holds(code, person[at]) for code, at in zip(codes, places, strict=True)) for person in self.people
        )

    def write(self, folder: Path, report: str = "") -> None:
        """Write a folder with the job and its tables, and what came of it."""
        folder.mkdir(parents=True, exist_ok=True)
        for spec in self.job["tables"]:
            rows = [",".join([*spec["by"], "n"])]
            for codes in product(*(self.codes(name) for name in spec["by"])):
                n = self.count(spec["by"], codes)
                if n or spec.get("zeros") != "known":
                    rows.append(",".join([*codes, str(n)]))
            (folder / f"{spec['name']}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        if self.group:
            tree = [f"{leaf},{group}" for leaf, group in self.group.items()]
            tree += [f"{group},Total" for group in dict.fromkeys(self.group.values())]
            (folder / "a.csv").write_text("\n".join(["code,parent", "Total,", *tree]) + "\n", encoding="utf-8")
        (folder / "job.yaml").write_text(yaml.safe_dump(self.job, sort_keys=False), encoding="utf-8")
        if report:
            (folder / "report.txt").write_text(report, encoding="utf-8")


def draw_ready(seed: int) -> ReadyCase:
    """The case of a seed: people by three or four columns, and counts of them by some of these at a time."""
    rng = Random(f"ready {seed}")
    shape = rng.choice(SHAPES).split()
    columns = "abcd" if "d" in "".join(shape) else "abc"
    sizes = [rng.choice([2, 2, 3, 3 if len(columns) == 3 else 2]) for _ in columns]
    codes = [[f"{name}{i}" for i in range(size)] for name, size in zip(columns, sizes, strict=True)]
    people = _people(rng, codes)
    grouped = len(codes[0]) > 2 and rng.random() < 0.4
    group = {code: f"A{min(i, 1)}" for i, code in enumerate(codes[0])} if grouped else {}
    rules = [_rules(rng, columns, people) for _ in range(2)]
    tables = []
    for name in shape:
        own = rules[0] if rng.random() < 0.7 else rules[1]
        own = [rule for rule in own if rule.get("group_disclosure", {}).get("by", name[0]) in name] or rules[0][:1]
        protect = {"cost": rng.choice(["value", "constant"]), "effort": "quick"}
        spec = {"name": name, "by": list(name), "value": "count", "rules": own, "protect": protect}
        spec |= {"cells": {"source": f"{name}.csv", "count": "n"}, "zeros": rng.choice(["possible", "known"])}
        tables.append(spec)
    job: dict[str, Any] = {"version": 1, "tables": tables, "output": {"formats": ["csv"]}}
    if group:
        job["dimensions"] = {"a": {"parents": "a.csv"}}
        if rng.random() < 0.4:
            job["tables"][0]["publish"] = {"a": rng.choice([[0, 1], [0, 2], [1]])}
    return ReadyCase(job, columns, people, group)


def _people(rng: Random, codes: Sequence[Sequence[str]]) -> list[Person]:
    """People in some combinations only, in others many: then tables tell more."""
    every = list(product(*codes))
    people: list[Person] = []
    for one in rng.sample(every, k=max(2, int(len(every) * rng.uniform(0.4, 1)))):
        people += [one] * rng.choice([1, 1, 2, 3, 4, 6, 9])
    return people


def _rules(rng: Random, columns: str, people: Sequence[Person]) -> list[dict[str, Any]]:
    frequency: dict[str, Any] = {"n": rng.choice([2, 3, 3, 4])}
    frequency |= {"hide": "small"} if rng.random() < 0.2 else {}
    frequency |= {"inclusive": True} if rng.random() < 0.2 else {}
    rules: list[dict[str, Any]] = [{"min_frequency": frequency}]
    if rng.random() < 0.3:
        by = columns[-1]
        found = sorted({person[-1] for person in people})
        rules.append({"group_disclosure": {"by": by, "sensitive": [rng.choice(found)]}})
    return rules


class Worlds:
    """All whole numbers of people over the leaves that fit the released tables."""

    def __init__(self, case: ReadyCase, release: Release) -> None:
        self.case = case
        self.leaves = list(product(*(case.leaves(name) for name in case.columns)))
        rows, low, high = [], [], []
        for spec, table in zip(case.job["tables"], release.tables, strict=True):
            shown = {tuple(codes): value for *codes, value in zip(*table.codes, table.value, strict=True)}
            for codes in product(*(sorted({own[i] for own in shown}) for i in range(len(spec["by"])))):
                value = shown.get(codes, "0")  # not listed: nobody is there
                rows.append(self.inside(spec["by"], codes))
                low.append(float(value) if value else float(spec.get("zeros") == "known"))
                high.append(float(value) if value else np.inf)
        self._limits = LinearConstraint(np.array(rows, float), np.array(low), np.array(high))

    def inside(self, by: Sequence[str], codes: Sequence[str]) -> Any:
        """Which leaves a cell holds."""
        places = [self.case.columns.index(name) for name in by]
        return np.array(
            [all(self.case.holds(c, leaf[at]) for c, at in zip(codes, places, strict=True)) for leaf in self.leaves]
        )

    def ends(self, cell: Any) -> tuple[int, int]:
        """How few and how many people may be in a cell."""
        n, found = len(self.leaves), []
        for sign in (1.0, -1.0):
            done = milp(sign * cell, integrality=np.ones(n), bounds=Bounds(0, FAR), constraints=self._limits)
            assert done.status == 0, done.message
            found.append(round(float(cell @ done.x)))
        return found[0], found[1]


def told_cells(case: ReadyCase, release: Release) -> tuple[int, list[str]]:
    """Return how many cells that no table lists the rules call unsafe, and which of these a reader can be sure of."""
    worlds, told, unsafe = Worlds(case, release), [], 0
    rules = {str(rule): rule for spec in case.job["tables"] for rule in spec["rules"]}.values()
    for codes in _latent(case):
        cell = worlds.inside(case.columns, codes)
        count = case.count(case.columns, codes)
        for said in (rule["min_frequency"] for rule in rules if "min_frequency" in rule):
            given = said if isinstance(said, dict) else {"n": said}
            enough = given["n"] + given.get("inclusive", False)
            if 0 < count < enough:
                unsafe += 1
                least, most = worlds.ends(cell)
                # Of a count that may be 0 nobody knows that it is small: whoever made the tables does not, either.
                if most - least < 1 or (given.get("hide") == "small" and least > 0 and most < enough):
                    told.append(f"{'/'.join(codes)} = {count}: {least} to {most}")
    for given in (rule["group_disclosure"] for rule in rules if "group_disclosure" in rule):
        for codes, rest in _rows_without_others(case, given):
            unsafe += 1
            others = sum(worlds.inside(case.columns, one) for one in rest)
            if worlds.ends(others)[1] < 1:
                told.append(f"{'/'.join(codes)}: nobody else")
    return unsafe, told


def _latent(case: ReadyCase) -> Iterator[tuple[str, ...]]:
    """The cells, at all levels, that no table lists."""
    for codes in product(*(case.codes(name) for name in case.columns)):
        inner = {name for name, code in zip(case.columns, codes, strict=True) if code != "Total"}
        if not any(inner <= set(spec["by"]) for spec in case.job["tables"]):
            yield codes


def _rows_without_others(case: ReadyCase, given: dict[str, Any]) -> Iterator[tuple[Person, list[Person]]]:
    """The rows in which everybody is sensitive, with the cells of the others, none of which some table lists."""
    at = case.columns.index(given["by"])
    others = [code for code in case.leaves(given["by"]) if code not in given["sensitive"]]
    latent = set(_latent(case))
    for codes in product(*(case.codes(name) for name in case.columns)):
        if codes[at] != "Total" or not case.count(case.columns, codes):
            continue
        rest = [(*codes[:at], code, *codes[at + 1 :]) for code in others]
        if latent.issuperset(rest) and rest and not sum(case.count(case.columns, one) for one in rest):
            yield codes, rest


def judge_ready(seed: int) -> str:
    """Run one case; return refused, not safe, named, nothing (no latent cell is unsafe), safe, or what is told."""
    case = draw_ready(seed)
    with tempfile.TemporaryDirectory() as here:
        case.write(Path(here))
        try:
            outcome = run(Job.parse(case.job, folder=here))
        except (InputError, NotProtected) as error:
            return f"refused: {error}"
    if outcome.release is None:
        return "not safe"
    unsafe, told = told_cells(case, outcome.release)
    named = "latent" in {attack.key for attack in outcome.verdict.not_checked}
    if told and named:
        return "named"
    return f"told: {', '.join(told)}" if told else "safe" if unsafe else "nothing"


def tally(seeds: Sequence[int]) -> Counter[str]:
    """Count what came of some seeds."""
    return Counter(judge_ready(seed).partition(":")[0] for seed in seeds)
