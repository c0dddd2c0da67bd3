"""Jobs with rules about rows, judged from their released rows alone.

A row has s respondents of some categories and o others. The promise is that some world that fits everything released
refutes the statement that makes the row unsafe, so that nobody can be sure of it. Worlds are whole numbers of people
over the leaves; the statements are linear in them, so that an integer program finds such a world or shows that there is
none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
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
# For each rule whether a row is unsafe, and (a, b, c) such that a s' + b o' >= c refutes it of another world's s', o'.
RULES: dict[str, tuple[Callable[..., bool], Callable[..., tuple[float, float, float]]]] = {
    "group_disclosure": (lambda s, o, g: s > 0 == o and (not g.get("below") or s < g["below"]), lambda g: (0, 1, 1)),
    "max_fraction": (lambda s, o, g: s > 0 and 100 * s >= g["p"] * (s + o), lambda g: (g["p"] - 100, g["p"], 1)),
    "spread": (lambda s, o, g: s > 0 and 100 * s >= g["p"] * (s + o), lambda g: (g["p"] - 100, g["p"], 1)),
    "min_others": (lambda s, o, g: s > 0 and o < g["n"], lambda g: (0, 1, g["n"])),
    "attribute_disclosure": (lambda s, o, g: s > 0 == o, lambda g: (0, 1, 1)),
    "lone_other": (lambda s, o, g: s > 0 and o == 1, lambda g: (0, 1, 2)),
    "k_disclosure": (lambda s, o, g: s > 0 and o <= g["k"], lambda g: (0, 1, g["k"] + 1)),
}
MARKED = {"group_disclosure", "max_fraction", "spread", "min_others"}
TOGETHER = {"group_disclosure", "max_fraction", "min_others"}


@dataclass(frozen=True)
class RowCase:
    """A job as data, its records, and the rule about rows of its first table."""

    job: dict[str, Any]
    people: list[tuple[str, ...]]
    rule: str
    given: dict[str, Any]

    @property
    def text(self) -> str:
        """The records as a file."""
        return "\n".join(["a,b,d", *(",".join(person) for person in self.people)])

    def write(self, folder: Path, report: str) -> None:
        """Write a folder with the job, its records and what came of it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "people.csv").write_text(self.text, encoding="utf-8")
        (folder / "job.yaml").write_text(yaml.safe_dump(self.job, sort_keys=False), encoding="utf-8")
        (folder / "report.txt").write_text(report, encoding="utf-8")


def draw_rows(seed: int) -> RowCase:
    """The case of a seed: people by a, b and d, and tables of them, the first with a rule about the categories d."""
    rng = Random(f"rows {seed}")
    sizes = rng.choice([(2, 1, 2), (3, 1, 2), (2, 1, 3), (3, 1, 3), (2, 2, 2), (2, 2, 3), (4, 1, 3)])
    codes = [[f"{name}{i}" for i in range(size)] for name, size in zip("abd", sizes, strict=True)]
    weights = [[rng.choice([1, 2, 6]) for _ in column] for column in codes]
    many = rng.choice([rng.randint(3, 9), rng.randint(6, 20), rng.randint(15, 40)])
    people = [tuple(rng.choices(c, w)[0] for c, w in zip(codes, weights, strict=True)) for _ in range(many)]
    if rng.random() < 0.5:  # everybody of one group has one category, but perhaps for one
        group, category = rng.choice(codes[0]), rng.choice(codes[2])
        people = [(a, b, category if a == group else d) for a, b, d in people]
        people += [(group, rng.choice(codes[1]), rng.choice(codes[2]))] * (rng.random() < 0.5)
    rule = rng.choice(sorted(RULES))
    given = _parameters(rng, rule, sorted({d for *_, d in people}))
    by = rng.choice([["a", "d"], ["d", "a"]]) if sizes[1] == 1 else rng.choice([["a", "d"], ["a", "b", "d"]])
    tables = [_table(rng, "t0", by, [{rule: {"by": "d"} | given}])]
    for name, other in (("t1", ["d"]), ("t2", ["a"]), ("t3", ["a", "b"])):
        if rng.random() < 0.25:
            tables.append(_table(rng, name, other, [{"min_frequency": rng.choice([1, 2])}]))
    if rng.random() < 0.4:
        tables[0]["protect"]["engine"] = rng.choice(["gauss", "witness"])
    job = {"version": 1, "microdata": {"source": "people.csv"}, "tables": tables, "output": {"formats": ["csv"]}}
    return RowCase(job, people, rule, given)


def _table(rng: Random, name: str, by: list[str], rules: list[dict[str, Any]]) -> dict[str, Any]:
    zeros = rng.choice([None, "possible", "possible", "known"])
    protect = {"cost": rng.choice(["value", "constant"]), "effort": "quick"}
    spec = {"name": name, "by": by, "value": "count", "rules": rules, "protect": protect}
    return spec | ({"zeros": zeros} if zeros else {})


def _parameters(rng: Random, rule: str, categories: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if rule in MARKED or rng.random() < 0.3:
        given["sensitive"] = sorted(rng.sample(categories, rng.randint(1, max(1, len(categories) - 1))))
    if rule == "group_disclosure" and rng.random() < 0.5:
        given["below"] = rng.randint(2, 12)
    if rule in {"max_fraction", "spread"}:
        given["p"] = rng.choice([40, 50, 60, 75, 90, 100])
    if rule == "min_others":
        given["n"] = rng.randint(1, 4)
    if rule == "k_disclosure":
        given["k"] = rng.randint(0, 2)
    return given


def told_rows(case: RowCase, release: Release) -> tuple[int, list[str]]:
    """Return how many rows are unsafe, and of which of them a reader of the release can be sure that they are."""
    columns = sorted({name for table in release.tables for name in table.by})
    places = ["abd".index(name) for name in columns]
    leaves = sorted(product(*({person[i] for person in case.people} for i in places)))
    worlds = Worlds(columns, leaves, case, release)
    told, unsafe = [], 0
    identifying = [name for name in case.job["tables"][0]["by"] if name != "d"]
    for spec, row, chosen, rest in unsafe_rows(case, columns, leaves):
        unsafe += 1
        a, b, c = RULES[case.rule][1](case.given)
        if not worlds.fit(a * chosen + b * rest, c):
            told.append(f"{spec}: {'/'.join(row)}")
        others = {leaf[columns.index("d")] for leaf, there in zip(leaves, rest, strict=True) if there}
        alone = [members(case, identifying, row)]  # whoever is, knows the row, or what else there is if that is a cell
        alone += [[person for person in alone[0] if person[2] in others]] if len(others) == 1 else []
        for person in sorted(set(case.people)):
            if [person] not in alone and not worlds.fit(a * chosen + b * rest, c, person):
                told.append(f"{spec}: {'/'.join(row)} to {'/'.join(person)}")
    return unsafe, told


def members(case: RowCase, names: Sequence[str], codes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the people of a cell."""
    wanted = [("abd".index(name), code) for name, code in zip(names, codes, strict=True)]
    return [person for person in case.people if all(code in ("Total", person[i]) for i, code in wanted)]


def unsafe_rows(
    case: RowCase, columns: Sequence[str], leaves: Sequence[tuple[str, ...]]
) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Go through the rows that the rule calls unsafe, with the leaves of the categories and those of the others."""
    spec, categories = case.job["tables"][0], sorted({person[2] for person in case.people})
    sensitive = case.given.get("sensitive") or categories
    sets = [{code} for code in sensitive]
    sets += [set(sensitive)] if case.rule in TOGETHER and "sensitive" in case.given and len(sensitive) > 1 else []
    held = np.array([sum(all(p["abd".index(c)] == x for c, x in zip(columns, leaf, strict=True)) for p in case.people)
                     for leaf in leaves])  # fmt: skip
    identifying = [name for name in spec["by"] if name != "d"]
    codes = [["Total", *sorted({p["abd".index(name)] for p in case.people})] for name in identifying]
    for row in product(*codes):
        inside = np.array([
            all(code in ("Total", leaf[columns.index(name)]) for name, code in zip(identifying, row, strict=True))
            for leaf in leaves
        ])  # fmt: skip
        for chosen in sets:
            if chosen >= set(categories):
                continue
            own = inside & np.array([leaf[columns.index("d")] in chosen for leaf in leaves])
            rest = inside & ~own
            if RULES[case.rule][0](int(held[own].sum()), int(held[rest].sum()), case.given):
                yield spec["name"], row, own.astype(float), rest.astype(float)


class Worlds:
    """All whole numbers of people over the leaves that fit the released tables, and what one of them knows by itself.

    A person is in its own cells, and knows those that nobody else is in.
    """

    def __init__(
        self, columns: Sequence[str], leaves: Sequence[tuple[str, ...]], case: RowCase, release: Release
    ) -> None:
        rows, low, high = [], [], []
        self._people: list[list[tuple[str, ...]]] = []
        for spec, table in zip(case.job["tables"], release.tables, strict=True):
            known = spec.get("zeros") == "known"
            shown = {tuple(codes): value for *codes, value in zip(*table.codes, table.value, strict=True)}
            named = [sorted({codes[i] for codes in shown}) for i in range(len(table.by))]
            for codes in product(*named):
                pairs = [(columns.index(name), code) for name, code in zip(table.by, codes, strict=True)]
                inside = [all(code in ("Total", leaf[i]) for i, code in pairs) for leaf in leaves]
                value = shown.get(codes, "0")  # not listed: nobody is there
                # Tables are made from records: a code is listed if somebody has it, and so is a row of known zeros.
                somebody = known or sum(code != "Total" for code in codes) <= 1
                rows.append(np.array(inside, float))
                low.append(float(value) if value else float(somebody and codes in shown))
                high.append(float(value) if value else np.inf)
                self._people.append(members(case, table.by, codes))
        self._matrix, self._low, self._high = np.array(rows), np.array(low), np.array(high)

    def fit(self, weights: Any, least: float, person: tuple[str, ...] | None = None) -> bool:
        """Tell whether a world, as far as a person knows, has a weighted sum of at least so much."""
        matrix = np.vstack([self._matrix, weights])
        own = np.array([person in people for people in self._people])
        alone = np.array([people == [person] for people in self._people])
        low, high = np.maximum(self._low, own), np.where(alone, 1.0, self._high)
        limits = LinearConstraint(matrix, np.append(low, least), np.append(high, np.inf))
        n = matrix.shape[1]
        done = milp(np.zeros(n), integrality=np.ones(n), bounds=Bounds(0, FAR), constraints=limits)
        assert done.status in (0, 2), done.message
        return done.status == 0


def judge_rows(seed: int) -> str:
    """Run one case; return refused, nothing (no row is unsafe), safe, or what is told."""
    case = draw_rows(seed)
    with tempfile.TemporaryDirectory() as here:
        Path(here, "people.csv").write_text(case.text)
        try:
            # `min_frequency: 1` can never fire, and counts as no rule: tables with it stand for those without any.
            outcome = run(Job.parse(case.job, folder=here), accept_no_rules=True)
        except (InputError, NotProtected):
            return "refused"
    if outcome.release is None:
        return "not safe"
    unsafe, told = told_rows(case, outcome.release)
    return f"told: {', '.join(told)}" if told else "safe" if unsafe else "nothing"
