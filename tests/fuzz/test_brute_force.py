"""The attack against brute force: the same intervals on tiny jobs, whatever is hidden in them."""

from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest

from fuzz.brute import FAR, Brute, TooMany
from fuzz.cases import csv_text
from fuzz.generator import draw_case
from fuzz.judge import Unsafe, amounts, cells_of, make_attack, members
from fuzz.public import columns, read_axes, read_shown, read_zeros

CHUNK, LEAST = 90, 8  # so many of the draws must be tiny, so that the test does not pass by looking at nothing


def publish(case, folder, rng):
    """Release all tables of a case with some rows suppressed at random."""
    axes = read_axes(case)
    chance = rng.choice([0.2, 0.5, 0.8])
    for spec in case.job["tables"]:
        own = [axes[name] for name in columns(spec)]
        publish = spec.get("publish", {})
        rows = [c for c in cells_of(spec, own, case) if _is_shown(own, c, publish)]
        if read_zeros(spec) == "possible":
            rows = list(product(*({row[i]: None for row in rows} for i in range(len(own)))))
        worth = amounts(case.records, spec["value"])
        lines = []
        for codes in rows:
            value = sum(worth[i] for i in members(case.records, own, codes))
            lines.append([*codes, "", "c"] if rng.random() < chance else [*codes, value, ""])
        (folder / f"{spec['name']}.csv").write_text(csv_text([*columns(spec), "value", "flag"], lines))


def _is_shown(axes, codes, publish):
    return all(a.name not in publish or a.level[c] in publish[a.name] for a, c in zip(axes, codes, strict=True))


def compare(seed, folder):
    """Compare all intervals of a case; False if it is not tiny."""
    case = draw_case(seed)
    if len(case.records) > 9:
        return False
    publish(case, folder, Random(seed))
    tables = read_shown(case, folder)
    cells = [
        Unsafe(spec, table.axes, codes, 0)
        for spec, table in zip(case.job["tables"], tables, strict=True)
        for codes in table.rows
    ]
    attack, goals = make_attack(case, tables, cells)
    try:
        brute = Brute(case, tables, most=len(case.records) + 2)
        wanted = {f"{c.table}: {'/'.join(c.codes)}": c for c in cells}
        inside = {name: {z for z in brute.all if brute.inside(c.axes, c.codes, z)} for name, c in wanted.items()}
        sums = draw_sums(Random(seed), goals, inside)
        inside |= {goal.name: inside[one] | inside[two] for goal, one, two in sums}
        goals += [goal for goal, _, _ in sums]
        expected = brute.intervals({goal.name: (goal.response, inside[goal.name]) for goal in goals})
    except TooMany:
        return False
    for goal in goals:
        least, most = attack.interval(goal)
        low, high = expected[goal.name]
        assert least == pytest.approx(low, abs=1e-5), (seed, goal.name)
        endless = high >= FAR if goal.response != "count" else not _is_bounded(tables)
        assert endless or most == pytest.approx(high, abs=1e-5), (seed, goal.name)
        assert most >= min(high, 1000) - 1e-5, (seed, goal.name)
    return True


def draw_sums(rng, goals, inside, most=6):
    """Sums of two cells of one response that have nothing in common, with the names of both."""
    pairs = [
        (replace(one, name=f"{one.name} + {two.name}", cell=one.cell + two.cell), one.name, two.name)
        for one, two in combinations(goals, 2)
        if one.response == two.response and not inside[one.name] & inside[two.name]
    ]
    return rng.sample(pairs, min(most, len(pairs)))


def _is_bounded(tables):
    """Whether the number of all records is published, so that brute force went through all of them."""
    return any(t.response_key.is_count and t.rows.get(tuple("Total" for _ in t.axes)) is not None for t in tables)


OFTEN = [[]] * 5 + [pytest.mark.long] * 2 + [pytest.mark.endless] * 3
STARTS = [pytest.param(k * CHUNK, marks=marks) for k, marks in enumerate(OFTEN)]


@pytest.mark.parametrize("start", STARTS)
def test_intervals_are_those_of_brute_force(start, tmp_path):
    assert sum(compare(seed, tmp_path) for seed in range(start, start + CHUNK)) >= LEAST
