"""No false safe and no false unsafe: verdicts and intervals of 10,000 random small tables, judged by brute force."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cellguard.attack import counting, deciding
from cellguard.attack.audit import audit
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.suppress.suppress import suppress
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.rules.simple import MinFrequency
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.knowledge import Knowledge

from attack_oracle import FAR, ends_by_enumeration, ends_by_vertices, kernel, solved

SHAPES = [
    [flat("abc"), flat("xy")],
    [flat("abc"), flat("xyz")],
    [from_levels([("A", "a"), ("A", "b"), ("c",)]), flat("xy")],
    [from_levels([("A", "a"), ("A", "b"), ("B", "c"), ("B", "d")])],
    [flat("ab"), flat("xy"), flat("pq")],
    [flat("abc"), flat("xy"), flat("pq")],
]


def random_set(rng, count):
    """A random table, or two linked ones, with whole values from 0 to 9."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    dimensions = [Dimension(name, h) for name, h in zip("rst", shape, strict=False)]
    leaves = {leaf: int(rng.integers(0, 3 if count else 10)) for leaf in itertools.product(*(h.leaves for h in shape))}
    tables = [table(dimensions, shape, leaves, count, "t")]
    if len(dimensions) > 1 and rng.random() < 0.3:
        margin = {}
        for leaf, value in leaves.items():
            margin[leaf[:1]] = margin.get(leaf[:1], 0) + value
        tables.append(table(dimensions[:1], shape[:1], margin, count, "margin"))
    return link(tables)


def table(dimensions, shape, leaves, count, name):
    above = [{leaf: ancestors(h, leaf) for leaf in h.leaves} for h in shape]
    totals = {}
    for leaf, value in leaves.items():
        for cell in itertools.product(*(up[code] for up, code in zip(above, leaf, strict=True))):
            totals[cell] = totals.get(cell, 0) + value
    data = {d.name: [cell[i] for cell in totals] for i, d in enumerate(dimensions)}
    data["x"] = list(totals.values())
    about = About(name, response="x", is_count=count)
    return cells(data, dimensions, value="x", count="x" if count else None, about=about)


def ancestors(hierarchy, code):
    found = [code]
    while (above := hierarchy.parent_of(found[-1])) is not None:
        found.append(above)
    return found


def random_block(rng, linked):
    """Cells of some codes in each dimension of a table: within such a block something can move."""
    number = rng.integers(len(linked.tables))
    table = linked.tables[number]
    inside = np.ones(len(table), bool)
    for dimension, codes in zip(table.dimensions, table.codes, strict=True):
        size = min(len(dimension.codes), int(rng.integers(2, 4)))
        inside &= np.isin(codes, rng.choice(len(dimension.codes), size, replace=False))
    return np.isin(np.arange(len(linked)), linked.cells_of[number][inside])


def random_attack(seed, count):
    """Random hidden cells, some of them primary with random needs, and random knowledge of the attacker."""
    rng = np.random.default_rng([seed, count])
    linked = random_set(rng, count)
    hidden = random_block(rng, linked)
    hidden[rng.choice(len(linked), min(len(linked), int(rng.integers(0, 5))), replace=False)] = True
    if not count and linked.value.max() > 0 and rng.random() < 0.3:
        knowledge = Knowledge(-np.inf, np.inf, float(rng.choice([20, 50, 100])))
    else:
        knowledge = Knowledge(float(rng.choice([0, 0, -5])), float(rng.choice([np.inf, np.inf, 500])))
    state = np.where(hidden & (rng.random(len(linked)) < 0.6), State.must_suppress, State.none)
    tables = []
    for table, at in zip(linked.tables, linked.cells_of, strict=True):
        said = replace(table.apriori, state=state[at].astype(np.int8))
        if not count:
            need = np.where(rng.random(len(table)) < 0.7, rng.integers(0, 6, len(table)), np.nan)
            said = replace(said, need_upper=need, need_lower=np.where(rng.random(len(table)) < 0.5, np.nan, 1.0))
        tables.append(replace(table, apriori=said))
    findings = assess(link(tables), [])
    needs = require(findings, knowledge)
    return needs, Pattern(needs.tables, needs.primary, hidden & ~needs.primary)


def check(seed, count):
    needs, pattern = random_attack(seed, count)
    found = audit(needs, pattern, intervals=True)
    problem = found.problem
    matrix = problem.matrix.toarray()
    grain = 1 if count else 1000
    assert (problem.down % grain == 0).all() or needs.world.upper.max() != np.inf
    down, up = (np.minimum(bound, FAR * grain) for bound in (problem.down, problem.up))
    if count:
        up = np.minimum(up, 6)
        free = solved(matrix)[1]
        if np.prod((down + up + 1)[free].astype(float)) > 30_000:
            return False
        low, high = ends_by_enumeration(matrix, down, up)
    else:
        if len(kernel(matrix)) > 3:
            return False
        low, high = ends_by_vertices(matrix, down, up)
    reaches = (high >= problem.levels.up) & (-low >= problem.levels.down) & (high - low >= problem.levels.width)
    wrong = (problem.levels.down + problem.levels.up + problem.levels.width > 0) & ~reaches
    assert found.verdict == ("unsafe" if (wrong.any() or (needs.primary & ~pattern.unknown).any()) else "safe"), seed
    assert (found.failing[problem.cells] == wrong).all(), seed
    if not count:
        size = found.grains.size()[problem.cells]
        value = needs.tables.value[problem.cells]
        far = high >= FAR * grain / 2
        assert np.allclose(found.lower[problem.cells], value + low * size, atol=1e-6), seed
        assert np.allclose(found.upper[problem.cells][~far], (value + high * size)[~far], atol=1e-6), seed
        assert np.isinf(found.upper[problem.cells][far]).all(), seed
    return len(kernel(matrix)) > 0


ENDS = [0, 120, 500, 1000, 2000, 3000, 4000, 5000]
MARKS = [[], [pytest.mark.long], *[[pytest.mark.endless]] * 5]
PARTS = [pytest.param(*ends, marks=marks) for ends, marks in zip(itertools.pairwise(ENDS), MARKS, strict=True)]


@pytest.mark.parametrize(("first", "end"), PARTS)
@pytest.mark.parametrize("count", [False, True], ids=["magnitudes", "counts"])
def test_verdicts_and_intervals_are_those_of_brute_force(first, end, count):
    """More than half of the attacks are small enough to be tried out, and have something that can move."""
    assert sum(check(seed, count) for seed in range(first, end)) > (end - first) / 2


def test_whole_witnesses_alone_give_the_same_verdicts(monkeypatch):
    """Without pooled programs, circuits, short moves and neighbourhoods have to prove what brute force finds."""
    monkeypatch.setattr(deciding, "pool", lambda ledger, run: None)
    monkeypatch.setattr(counting, "_LEAST", 1)
    assert sum(check(seed, count=True) for seed in range(120)) > 60


def test_integer_programs_of_blocks_give_the_same_verdicts(monkeypatch):
    """Without circuits, pooled programs and short moves, what blocks prove must not contradict brute force."""
    monkeypatch.setattr(deciding, "pool", lambda ledger, run: None)
    monkeypatch.setattr(deciding, "circle_counts", lambda ledger, run: None)
    monkeypatch.setattr(counting, "_by_short_moves", lambda ledger, run: None)
    monkeypatch.setattr(counting, "_RELATIONS", (3, 100))
    monkeypatch.setattr(counting, "_WORTH", 1)
    assert sum(check(seed, count=True) for seed in range(250, 330)) > 40


@pytest.mark.parametrize("zeros", ["possible", "known"])
def test_counts_in_three_dimensions_are_proven_by_whole_moves(zeros):
    rng = np.random.default_rng(3)
    shape = [flat([f"{name}{i}" for i in range(size)]) for name, size in (("a", 12), ("b", 10), ("c", 7))]
    counted = {leaf: int(rng.poisson(3)) for leaf in itertools.product(*(h.leaves for h in shape))}
    if zeros == "known":
        counted = {leaf: count for leaf, count in counted.items() if count}
    dimensions = [Dimension(name, h) for name, h in zip("rst", shape, strict=True)]
    needs = require(assess(table(dimensions, shape, counted, True, "t"), [MinFrequency(3)]))
    audited = audit(needs, suppress(needs, "constant", effort="quick").pattern)
    assert audited.verdict == "safe"
    assert all(move.denominator == 1 for move in audited.decided.moves)
    assert len(audited.decided.moves) < needs.primary.sum() / 2  # most witnesses are shared
