"""What every suppression engine must do, judged by brute force on tiny tables and by the audit on larger ones."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.attack.problem import grains_of, pose
from cellguard.errors import NotProtected
from cellguard.protect.suppress.suppress import suppress
from cellguard.protect.suppress.witness import witness
from cellguard.table.apriori import State

from attack_oracle import FAR, ends_by_vertices

ENGINES = [witness]


def tiny(seed):
    """A 2 x 3 table with totals: whole values, one or two cells given as unsafe, needs of 10 to 60 %."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 30, (2, 3))
    full = np.pad(inner, ((0, 1), (0, 1)))
    full[-1] = full.sum(axis=0)
    full[:, -1] = full.sum(axis=1)
    codes = list(itertools.product(["a", "b", "Total"], ["x", "y", "z", "Total"]))
    secret = np.zeros(12, bool)
    secret[rng.choice(12, int(rng.integers(1, 3)), replace=False)] = True
    data = {
        "r": [c[0] for c in codes],
        "s": [c[1] for c in codes],
        "v": full.ravel().tolist(),
        "secret": secret.tolist(),
    }
    table = cg.cells(data, by=["r", "s"], value="v", marks=["secret"])
    return cg.require(cg.assess(table, [cg.Given("secret", float(rng.choice([10, 30, 60])))]))


def is_safe(needs, hidden):
    """Tell by enumerating all vertices whether every need is reached."""
    problem = pose(needs, hidden, grains_of(needs.tables))
    matrix = problem.matrix.toarray()
    down, up = (np.minimum(bound, FAR * 1000) for bound in (problem.down, problem.up))
    low, high = ends_by_vertices(matrix, down, up)
    return bool(((high >= problem.upper) & (-low >= problem.lower) & (high - low >= problem.sliding)).all())


def cheapest(needs, cost):
    """Return the cost of the cheapest safe pattern, by trying them in order of cost."""
    free = np.flatnonzero(~needs.primary)
    sets = [s for size in range(5) for s in itertools.combinations(free, size)]
    for chosen in sorted(sets, key=lambda s: cost[list(s)].sum()):
        hidden = needs.primary.copy()
        hidden[list(chosen)] = True
        if is_safe(needs, hidden):
            return cost[list(chosen)].sum()
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(12))
def test_tiny_tables_are_safe_at_the_least_cost(engine, seed):
    needs = tiny(seed)
    cost = np.maximum(needs.tables.value, 1.0) if seed % 2 else np.ones(len(needs.tables))
    least = cheapest(needs, cost)
    try:
        found = suppress(needs, cost, engine=engine)
    except NotProtected:
        assert least is None
        return
    assert is_safe(needs, found.pattern.unknown)
    assert audit(needs, found.pattern).verdict == "safe"
    if least is not None:
        assert found.cost == pytest.approx(least)
        assert found.bound <= least * (1 + 1e-6)


def business(seed, firms=1500):
    """A random business table with a hierarchy, by industry and region."""
    rng = np.random.default_rng(seed)
    industry = cg.from_levels([(f"S{i // 3}", f"d{i}") for i in range(12)])
    region = cg.from_levels([(f"R{i // 2}", f"m{i}") for i in range(6)])
    rows = {}
    for i, r, x in zip(rng.integers(0, 12, firms), rng.integers(0, 6, firms), rng.lognormal(5, 2, firms), strict=True):
        for a in (f"d{i}", f"S{i // 3}", "Total"):
            for b in (f"m{r}", f"R{r // 2}", "Total"):
                rows.setdefault((a, b), []).append(round(float(x)) + 1)
    tops = [[*sorted(v, reverse=True), 0] for v in rows.values()]
    data = {
        "industry": [a for a, _ in rows],
        "region": [b for _, b in rows],
        "turnover": [sum(v) for v in rows.values()],
        "firms": [len(v) for v in rows.values()],
        "x1": [t[0] for t in tops],
        "x2": [t[1] for t in tops],
    }
    by = {"industry": industry, "region": region}
    return cg.cells(data, by=by, value="turnover", count="firms", top=["x1", "x2"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("firms", [150, 400, 1500])
def test_business_tables_are_proven_safe_and_the_same_every_time(engine, firms):
    needs = cg.require(cg.assess(business(firms, firms), [cg.MinFrequency(3), cg.PPercent(10)]))
    cost = np.maximum(needs.tables.value, 1.0)
    one, two = (suppress(needs, cost, engine=engine) for _ in range(2))
    assert audit(needs, one.pattern).verdict == "safe"
    assert (one.pattern.secondary == two.pattern.secondary).all()
    assert one.bound <= one.cost * (1 + 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_manual_states_are_kept(engine):
    table = business(7, 400)
    findings = cg.assess(table, [cg.MinFrequency(3)])
    keep = np.flatnonzero(~findings.primary & (table.value > 0))[[0, 3]]
    state = np.zeros(len(table), np.int8)
    state[keep] = State.must_publish
    state[np.flatnonzero(~findings.primary)[-1]] = State.secondary
    table = replace(table, apriori=replace(table.apriori, state=state))
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    found = suppress(needs, np.maximum(needs.tables.value, 1.0), engine=engine)
    assert not found.pattern.hidden[keep].any()
    assert found.pattern.secondary[np.flatnonzero(~findings.primary)[-1]]
    assert audit(needs, found.pattern).verdict == "safe"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_protected_is_said_with_the_way_out(engine):
    data = {"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 1, 8]}
    table = cg.cells(data, by=["r"], value="x", count="n")
    state = np.array([State.must_publish, State.none, State.must_publish], np.int8)
    table = replace(table, apriori=replace(table.apriori, state=state))
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    with pytest.raises(NotProtected, match=r"N cannot be protected while these cells must be published: table: S"):
        suppress(needs, needs.tables.value, engine=engine)
