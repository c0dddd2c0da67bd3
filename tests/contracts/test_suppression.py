"""What every suppression engine must do, judged by brute force on tiny tables and by the audit on larger ones."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import NotProtected, Stopped
from cellguard.methods.suppress.engines.catalogue import ENGINES as NAMED
from cellguard.methods.suppress.engines.catalogue import engine_named
from cellguard.methods.suppress.engines.effort import BEST, NORMAL, QUICK
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs.problem import grains_of, pose
from cellguard.run_context import Run
from cellguard.table.apriori import State

from attack_oracle import FAR, ends_by_vertices

ENGINES = [engine_named(name) for name in NAMED]
CLASSICAL = {"modular", "hypercube"}  # safe after repair, at a cost that nobody promises
EFFORTS = [QUICK, NORMAL, BEST]


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


def tiny_counts(seed):
    """A 2 x 3 frequency table with totals and small counts; two-way tables move by whole numbers at their vertices."""
    inner = np.random.default_rng(seed).integers(0, 8, (2, 3))
    full = np.pad(inner, ((0, 1), (0, 1)))
    full[-1] = full.sum(axis=0)
    full[:, -1] = full.sum(axis=1)
    codes = list(itertools.product(["a", "b", "Total"], ["x", "y", "z", "Total"]))
    data = {"r": [c[0] for c in codes], "s": [c[1] for c in codes], "n": full.ravel().tolist()}
    table = cg.cells(data, by=["r", "s"], value="n", count="n", about=cg.About(is_count=True))
    return cg.require(cg.assess(table, [cg.MinFrequency(3)]))


def is_safe(needs, hidden):
    """Tell by enumerating all vertices whether every need is reached."""
    if not hidden.any():
        return True
    problem = pose(needs, hidden, grains_of(needs.world))
    matrix = problem.matrix.toarray()
    down, up = (np.minimum(bound, FAR * 1000) for bound in (problem.down, problem.up))
    low, high = ends_by_vertices(matrix, down, up)
    return bool(
        ((high >= problem.levels.up) & (-low >= problem.levels.down) & (high - low >= problem.levels.width)).all()
    )


def cost_of(needs, *, flat=False):
    return np.ones(len(needs.tables)) if flat else np.maximum(needs.tables.value, 1.0)


@functools.cache
def cheapest(draw, seed, *, flat=False):
    """Return the cost of the cheapest safe pattern, by trying them in order of cost; the same for all engines."""
    needs = draw(seed)
    cost = cost_of(needs, flat=flat)
    free = np.flatnonzero(~needs.primary)
    sets = [s for size in range(5) for s in itertools.combinations(free, size)]
    for chosen in sorted(sets, key=lambda s: cost[list(s)].sum()):
        hidden = needs.primary.copy()
        hidden[list(chosen)] = True
        if is_safe(needs, hidden):
            return cost[list(chosen)].sum()
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("draw", [tiny, tiny_counts])
@pytest.mark.parametrize("seed", range(12))
def test_tiny_tables_are_safe_at_the_least_cost(engine, draw, seed):
    needs = draw(seed)
    flat = seed % 2 == 0
    cost, least = cost_of(needs, flat=flat), cheapest(draw, seed, flat=flat)
    try:
        found = suppress(needs, cost, engine=engine)
    except NotProtected:
        assert least is None
        return
    assert is_safe(needs, found.pattern.unknown)
    assert audit(needs, found.pattern).verdict == "safe"
    if least is not None:
        promised = least if engine.__name__ not in CLASSICAL else max(found.cost, least)
        assert found.cost == pytest.approx(promised)
        assert found.bound <= least * (1 + 1e-6)


def business(seed, firms=1500):
    """A random business table with a hierarchy, by industry and region."""
    rng = np.random.default_rng(seed)
    industry = cg.Hierarchy.from_levels([(f"S{i // 3}", f"d{i}") for i in range(12)])
    region = cg.Hierarchy.from_levels([(f"R{i // 2}", f"m{i}") for i in range(6)])
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
@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("draw", [tiny, tiny_counts])
@pytest.mark.parametrize("seed", [20, 21, 22, *(pytest.param(seed, marks=pytest.mark.long) for seed in (23, 24, 25))])
def test_every_effort_is_safe_and_more_of_it_costs_no_more(engine, effort, draw, seed):
    needs = draw(seed)
    cost = cost_of(needs)
    try:
        suppressed = suppress(needs, cost, engine=engine, effort=effort)
    except NotProtected:
        assert cheapest(draw, seed) is None
        return
    assert is_safe(needs, suppressed.pattern.unknown)
    assert suppressed.cost >= suppress(needs, cost, engine=engine, effort=BEST).cost - 1e-6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_gives_the_same_pattern_every_time(engine, effort):
    needs = cg.require(cg.assess(business(4, 500), [cg.MinFrequency(3), cg.PPercent(10)]))
    cost = np.maximum(needs.tables.value, 1.0)
    one, two = (suppress(needs, cost, engine=engine, effort=effort) for _ in range(2))
    assert audit(needs, one.pattern).verdict == "safe"
    assert (one.pattern.secondary == two.pattern.secondary).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("firms", [150, 400, pytest.param(1500, marks=pytest.mark.long)])
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
    words = "N cannot be protected while these cells must be published: table: Total, table: S. The cheapest way out is"
    with pytest.raises(NotProtected, match=words + " to take must_publish away from table: S"):
        suppress(needs, needs.tables.value, engine=engine)


def said(table, **states):
    """The table with states of cells by name."""
    state = table.apriori.state.copy()
    for name, one in states.items():
        state[table.find(name)] = one
    return replace(table, apriori=replace(table.apriori, state=state))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unsafe_cell_that_equals_a_published_one_is_said_with_the_way_out(engine):
    """N has one part, N1, so hiding N while N1 must be published protects nothing."""
    region = cg.Hierarchy.from_parents([("Total", ""), ("N", "Total"), ("S", "Total"), ("W", "Total"), ("N1", "N")])
    data = {"r": ["Total", "N", "S", "W", "N1"], "x": [100, 20, 50, 30, 20], "n": [19, 9, 1, 9, 9]}
    table = cg.cells(data, by={"r": region}, value="x", count="n")
    table = said(table, N=State.must_suppress, N1=State.must_publish)
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    words = "table: N cannot be protected while these cells must be published: table: N1. The cheapest way out is"
    with pytest.raises(NotProtected, match=words + " to take must_publish away from table: N1$"):
        suppress(needs, needs.tables.value, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cell_that_must_be_published_is_although_it_equals_a_secondary(engine):
    region = cg.Hierarchy.from_parents([("Total", ""), ("N", "Total"), ("S", "Total"), ("W", "Total"), ("N1", "N")])
    data = {"r": ["Total", "N", "S", "W", "N1"], "x": [100, 20, 50, 30, 20], "n": [19, 9, 1, 9, 9]}
    table = cg.cells(data, by={"r": region}, value="x", count="n")
    table = said(table, N=State.secondary, N1=State.must_publish)
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    found = suppress(needs, needs.tables.value, engine=engine)
    names = [table.cell_name(int(c)) for c in np.flatnonzero(found.pattern.hidden)]
    # The hypercube method makes a cell with a single respondent a corner of two hypercubes.
    assert names == (["Total", "N", "S", "W"] if engine.__name__ == "hypercube" else ["N", "S", "W"])
    assert audit(needs, found.pattern).verdict == "safe"


@pytest.mark.parametrize("engine", ENGINES)
def test_only_cells_that_stand_in_the_way_are_named(engine):
    data = {
        "r": ["Total", "N", "S", "N", "S", "Total", "Total", "N", "S"],
        "s": ["Total", "Total", "Total", "a", "a", "a", "b", "b", "b"],
        "x": [100, 30, 70, 10, 40, 50, 50, 20, 30],
        "n": [30, 9, 21, 1, 9, 10, 20, 8, 12],
    }
    table = cg.cells(data, by=["r", "s"], value="x", count="n")
    state = np.where(table.facts.count == 1, State.none, State.must_publish).astype(np.int8)
    table = replace(table, apriori=replace(table.apriori, state=state))
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    with pytest.raises(NotProtected) as caught:
        suppress(needs, needs.tables.value, engine=engine)
    said = str(caught.value).split("published: ")[1].split(". The")[0].split(", ")
    assert len(said) == 2  # the cell's own row or column, its total and its one other part


def named_in(text, table):
    """Return the positions of the cells that the message says are in the way, and of those to give up."""
    in_the_way, give_up = text.split("published: ")[1].split(
        ". The cheapest way out is to take must_publish away from "
    )
    return [[table.find(name.removeprefix("table: ")) for name in part.split(", ")] for part in (in_the_way, give_up)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [3, 5, *(pytest.param(seed, marks=pytest.mark.endless) for seed in (0, 1, 2, 4))])
def test_no_smaller_set_of_cells_stands_in_the_way(engine, seed):
    rng = np.random.default_rng(seed)
    data, by = random_cube(seed + 20, (3, 3))
    plain = cg.cells(data, by, value="x", count="n", about=cg.About(zeros="possible"))
    secret = int(np.flatnonzero(plain.value > 0)[0])
    publish = np.flatnonzero((rng.random(len(plain)) < 0.8) & (np.arange(len(plain)) != secret))

    def needs_of(kept):
        state = np.zeros(len(plain), np.int8)
        state[list(kept)] = State.must_publish
        state[secret] = State.must_suppress
        table = replace(plain, apriori=replace(plain.apriori, state=state))
        return cg.require(cg.assess(table, [cg.MinFrequency(1)]))

    def blocked(kept):
        try:
            suppress(needs_of(kept), np.ones(len(plain)), engine=engine)
        except NotProtected as error:
            return str(error)
        return None

    words = blocked(publish)
    if words is None:
        return
    said, given_up = named_in(words, plain)
    assert blocked(said)
    assert not blocked(sorted(set(publish) - set(given_up)))
    fewer = itertools.chain.from_iterable(itertools.combinations(publish, n) for n in range(min(len(said), 3)))
    assert not any(blocked(kept) for kept in fewer)


def random_cube(seed, shape=(4, 3, 3), count=False):
    """A random table over flat dimensions with totals; half of its inner cells are empty."""
    rng = np.random.default_rng(seed)
    inner = np.where(rng.random(shape) < 0.5, 0, rng.integers(1, 6 if count else 200, shape))
    full, many = inner, np.minimum(inner, rng.integers(1, 9, shape))
    for axis in range(len(shape)):
        full, many = (np.concatenate([part, part.sum(axis=axis, keepdims=True)], axis=axis) for part in (full, many))
    codes = [[f"{name}{i}" for i in range(n)] + ["Total"] for name, n in zip("abc", shape, strict=False)]
    grid = list(itertools.product(*codes))
    data = {name: [g[i] for g in grid] for i, name in enumerate("abc"[: len(shape)])}
    data["x"] = full.ravel().tolist()
    data["n"] = data["x"] if count else many.ravel().tolist()
    return data, list("abc"[: len(shape)])


def judged(needs, engine):
    found = suppress(needs, np.maximum(needs.tables.value, 1.0), engine=engine)
    return audit(needs, found.pattern).verdict


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_three_dimensions(engine, seed):
    data, by = random_cube(seed)
    needs = cg.require(cg.assess(cg.cells(data, by, value="x", count="n"), [cg.MinFrequency(3)]))
    assert needs.primary.any() and judged(needs, engine) == "safe"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("knowledge", [cg.Knowledge(percent=60), cg.Knowledge(-np.inf), cg.Knowledge(0, 1e7)])
def test_other_bounds(engine, knowledge):
    needs = cg.require(cg.assess(business(3, 600), [cg.MinFrequency(3)]), knowledge)
    assert needs.primary.any() and judged(needs, engine) == "safe"


@pytest.mark.parametrize("engine", ENGINES)
def test_linked_tables_share_their_secondaries(engine):
    whole = business(5, 500)
    rows = np.flatnonzero(whole.codes[1] == 0)
    margin = {
        "industry": [whole.dimensions[0].codes[whole.codes[0][i]] for i in rows],
        "turnover": whole.value[rows],
        "firms": whole.facts.count[rows].astype(int),
    }
    second = cg.cells(margin, by=[whole.dimensions[0]], value="turnover", count="firms", name="margin")
    needs = cg.require(cg.assess(cg.link([whole, second]), [cg.MinFrequency(4)]))
    found = suppress(needs, np.maximum(needs.tables.value, 1.0), engine=engine)
    assert audit(needs, found.pattern).verdict == "safe"
    shared = found.pattern.hidden[needs.tables.cells_of[1]]
    assert (shared == found.pattern.hidden[needs.tables.cells_of[0]][rows]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_that_are_not_shown_cost_nothing_and_protect_too(engine):
    shown = replace(business(9, 500), levels={"industry": [0, 1], "region": [0, 1, 2]})
    needs = cg.require(cg.assess(shown, [cg.MinFrequency(3), cg.PPercent(10)]))
    found = suppress(needs, np.maximum(needs.tables.value, 1.0), engine=engine)
    assert audit(needs, found.pattern).verdict == "safe"
    assert not (found.pattern.secondary & found.pattern.unpublished).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unsafe_zero_gets_an_interval_of_one_unit(engine):
    data = {"r": ["Total", "a", "b", "c"], "x": [30, 0, 10, 20], "n": [9, 2, 4, 3]}
    needs = cg.require(cg.assess(cg.cells(data, ["r"], value="x", count="n"), [cg.MinFrequency(3)]))
    assert needs.sliding.tolist() == [0, 1, 0, 0]
    assert judged(needs, engine) == "safe"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_counts_are_protected_by_whole_moves(engine, seed):
    data, by = random_cube(seed, (4, 4), count=True)
    needs = cg.require(cg.assess(cg.cells(data, by, value="x", count="x"), [cg.MinFrequency(3)]))
    assert needs.primary.any() and judged(needs, engine) == "safe"


class Ending(Run):
    """A run that counts how often it is looked at, and ends at one of these looks."""

    def check(self):
        ENDING["looks"] += 1
        if ENDING["looks"] > ENDING["end"]:
            raise ENDING["reason"]("stopped")


ENDING = {"looks": 0, "end": 0, "reason": Stopped}


def stopped_after(looks, reason, needs, cost, **how):
    """Suppress, and stop at that look; return the result and how many looks there were."""
    ENDING.update(looks=0, end=looks, reason=reason)
    return suppress(needs, cost, run=Ending(), **how)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("moments", [15, pytest.param(50, marks=pytest.mark.endless)])
def test_stopped_at_any_moment_the_pattern_is_safe_or_there_is_none(engine, moments):
    """At random moments: what is returned is safe, and never cheaper than what the whole search finds."""
    needs = cg.require(cg.assess(business(11, 900), [cg.MinFrequency(3), cg.PPercent(10)]))
    cost = np.maximum(needs.tables.value, 1.0)
    whole = stopped_after(10**9, Stopped, needs, cost, engine=engine)
    assert whole.finished
    looks, rng, returned = ENDING["looks"], np.random.default_rng(5), 0
    for number, end in enumerate(rng.integers(0, looks, moments).tolist()):
        try:
            early = stopped_after(end, (KeyboardInterrupt, Stopped)[number % 2], needs, cost, engine=engine)
        except (KeyboardInterrupt, Stopped):
            continue
        returned += 1
        assert not early.finished and early.cost >= whole.cost - 1e-6 and early.bound <= whole.cost * (1 + 1e-6)
        assert audit(needs, early.pattern).verdict == "safe"
    assert returned > moments // 5 or engine.__name__ in CLASSICAL  # which have no safe pattern before the end


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failure_inside_the_search_gives_the_best_safe_pattern_so_far(engine):
    needs = cg.require(cg.assess(business(11, 900), [cg.MinFrequency(3), cg.PPercent(10)]))
    cost = np.maximum(needs.tables.value, 1.0)
    whole = stopped_after(10**9, Stopped, needs, cost, engine=engine)
    try:
        early = stopped_after(ENDING["looks"] - 1, ZeroDivisionError, needs, cost, engine=engine)
    except ZeroDivisionError:
        assert engine.__name__ in CLASSICAL
        return
    assert not early.finished and early.cost >= whole.cost - 1e-6
    assert audit(needs, early.pattern).verdict == "safe"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_whose_time_is_over_says_that_it_has_no_pattern(engine):
    needs = cg.require(cg.assess(business(11, 900), [cg.MinFrequency(3), cg.PPercent(10)]))
    with pytest.raises(Stopped, match="the time allowed is over, and no safe pattern was found yet"):
        suppress(needs, np.maximum(needs.tables.value, 1.0), engine=engine, run=Run.within(0))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_width_may_need_both_sides(engine):
    data = {"r": ["Total", "N", "S", "W"], "x": [103, 3, 50, 50], "n": [21, 1, 10, 10]}
    table = cg.cells(data, ["r"], value="x", count="n")
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]), cg.Knowledge(percent=20))
    assert needs.sliding.tolist() == [0, 1, 0, 0]  # within 20 % of 3 there is room for 0.6 either way
    assert judged(needs, engine) == "safe"
