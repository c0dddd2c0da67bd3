"""Small tables with their contributors, made to be seen through or drawn by chance, for tests of insiders."""

from __future__ import annotations

import numpy as np

import cellguard as cg
import insider_oracle
from cellguard.attack.audit import audit
from cellguard.hierarchy.build import flat, from_parents
from cellguard.methods.suppress.suppress import suppress
from cellguard.table.contributions import contributions_of
from cellguard.table.fact import Holdings
from cellguard.table.pattern import Pattern
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables

RULES = (
    (cg.MinFrequency(3),),
    (cg.PPercent(10),),
    (cg.MinFrequency(3), cg.PPercent(10)),
    (cg.PPercent(25),),
    (cg.MinFrequency(2),),
)


def assessed(records, by, rules, *, value="x", weight=None, survey=None, lower=0.0):
    """The needs of tables made from records with their contributors; ``by`` gives each table its trees."""
    columns = list(dict.fromkeys(c for trees in by for c in trees))
    grouped = cg.records(records, by=columns, values=[] if value == "count" else [value], holding="g", weight=weight)
    facts = (*dict.fromkeys(f for rule in rules for f in rule.facts), Holdings())
    wanted = [Wanted(trees, value, About(f"t{i}"), facts, survey) for i, trees in enumerate(by)]
    return cg.require(cg.assess(cg.link(make_tables(grouped, wanted)), rules), cg.Knowledge(lower=lower))


def hiding(needs, *names):
    """The pattern that hides the unsafe cells and those named."""
    tables = needs.tables
    chosen = [any(tables.cell_name(c).endswith(f": {name}") for name in names) for c in range(len(tables))]
    return Pattern(tables, needs.primary, np.array(chosen) & ~needs.primary)


def rows(*entries):
    """Records from (holding, region, amount)."""
    return {"g": [g for g, _, _ in entries], "r": [r for _, r, _ in entries], "x": [x for _, _, x in entries]}


REGION = {"r": flat(["A", "B", "C", "D"])}
MANY = [(10 + i, "D", 20) for i in range(6)]


def draw(seed):
    """A small table by chance: its records, trees and rules."""
    rng = np.random.default_rng(seed)
    dimensions = int(rng.integers(1, 4))
    records = int(rng.integers(4, 16 if dimensions < 3 else 12))
    columns = ["a", "b", "c"][:dimensions]
    most = 3 if dimensions == 3 else 5
    data = {c: [f"{c}{i}" for i in rng.integers(0, int(rng.integers(2, most + 1)), records)] for c in columns}
    data["x"] = rng.integers(0, 60, records).tolist()
    data["g"] = rng.integers(0, max(2, int(records * rng.uniform(0.5, 1.5))), records).tolist()
    trees = {}
    for column in columns:
        codes = sorted(set(data[column]))
        halves = [(code, "GH"[i % 2]) for i, code in enumerate(codes)]
        nested = len(codes) > 3 and rng.random() < 0.6
        trees[column] = (
            from_parents([("Total", ""), ("G", "Total"), ("H", "Total"), *halves]) if nested else flat(codes)
        )
    return data, trees, RULES[int(rng.integers(0, len(RULES)))], rng


def some_pattern(needs, rng):
    """A pattern by chance, most often one that is safe against outsiders."""
    n = len(needs.tables)
    if rng.random() < 0.6:
        chosen = suppress(needs, effort="quick").pattern
        more = rng.random(n) < 0.3 if rng.random() < 0.5 else np.zeros(n, bool)
        return Pattern(needs.tables, needs.primary, (chosen.secondary | more) & ~needs.primary)
    return Pattern(needs.tables, needs.primary, (rng.random(n) < 0.5) & ~needs.primary)


def brute(needs, pattern, data, trees, rules):
    parts = insider_oracle.contributions(needs.tables.tables[0], data, list(trees), "x", "g")
    numbers = sorted(set(data["g"]))
    accuracy = max(rule.accuracy for rule in rules)
    failing = insider_oracle.failing(needs, pattern.unknown, parts, accuracy)
    return {(numbers.index(who[0]), cell) for who, cell in failing}


def against_brute_force(seed):
    """Compare one table; tell whether it came to that."""
    data, trees, rules, rng = draw(seed)
    needs = assessed(data, [trees], rules)
    if not needs.primary.any() or needs.unprotectable.any():
        return False
    try:
        pattern = some_pattern(needs, rng)
        mended = suppress(needs, insiders=contributions_of(needs.tables), effort="quick").pattern
    except cg.NotProtected:
        return False
    judged = audit(needs, pattern, insiders=contributions_of(needs.tables))
    if judged.inside is not None:
        found = {(pair.insider, int(judged.problem.cells[pair.cell])) for pair in judged.inside.failing}
        general = {cell for who, cell in found if who < 0}
        wanted = brute(needs, pattern, data, trees, rules)
        assert {p for p in wanted if p[1] not in general} == {p for p in found if p[0] >= 0 and p[1] not in general}
        assert not judged.inside.undecided
    again = audit(needs, mended, insiders=contributions_of(needs.tables))
    assert not again.failing.any()
    if again.verdict == "safe":
        assert brute(needs, mended, data, trees, rules) == set()
    else:
        everything = Pattern(needs.tables, needs.primary, ~needs.primary)
        assert audit(needs, everything, insiders=contributions_of(needs.tables)).verdict == "unsafe"
    return judged.inside is not None
