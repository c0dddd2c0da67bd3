"""Elimination, judged by enumerating all whole tables that a reader of the released cells may think of."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import InputError, NotProtected
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.engines import oracle
from cellguard.methods.suppress.engines.count_repair import on_circuits, with_circuits
from cellguard.methods.suppress.engines.effort import QUICK
from cellguard.methods.suppress.engines.elimination import eliminated
from cellguard.methods.suppress.engines.gauss import gauss, usual_engine
from cellguard.methods.suppress.engines.packing import packed_bound
from cellguard.methods.suppress.engines.policy import USUAL, Policy
from cellguard.methods.suppress.engines.repair import Repairer
from cellguard.methods.suppress.engines.system import build_system
from cellguard.methods.suppress.suppress import suppress
from cellguard.pipeline import run
from cellguard.proofs import short
from cellguard.run_context import UNWATCHED
from cellguard.table.apriori import State
from cellguard.table.source import open_source
from engine_policies import with_policy

ENGINES = ("gauss", "witness")


def counts(inner, zeros, *, states=(), impossible=()):
    """A frequency table with totals; empty cells are not listed with zeros known, nor if they are ``impossible``."""
    full = inner
    for axis in range(inner.ndim):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    codes = [[*(f"{name}{i}" for i in range(n)), "Total"] for name, n in zip("abc", inner.shape, strict=False)]
    rows = [
        (key, int(n))
        for key, n in zip(itertools.product(*codes), full.ravel(), strict=True)
        if n or (zeros == "possible" and key not in impossible)
    ]
    data = {name: [key[i] for key, _ in rows] for i, name in enumerate("abc"[: inner.ndim])}
    data["n"] = [n for _, n in rows]
    names = list("abc"[: inner.ndim])
    said = open_source({name: [key[i] for key in impossible] for i, name in enumerate(names)}) if impossible else None
    about = cg.About(is_count=True, zeros=zeros, impossible=said)
    table = cg.cells(data, by=names, value="n", count="n", about=about)
    state = table.apriori.state.copy()
    for position, said in dict(states).items():
        if said is not State.must_publish or table.value[position % len(table)] != 1:  # which is unsafe: an error
            state[position % len(table)] = said
    return replace(table, apriori=replace(table.apriori, state=state))


@cache
def worlds(shape, most):
    """All whole tables of this shape with inner cells of up to so many, with their totals."""
    inner = np.array(list(itertools.product(range(most + 1), repeat=int(np.prod(shape)))), np.int16)
    full = inner.reshape(-1, *shape)
    for axis in range(1, len(shape) + 1):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True, dtype=np.int16)], axis=axis)
    return full


def told_exactly(table, hidden, shape, most):
    """Return the hidden cells that have one value in all whole tables that agree with what is released.

    A combination that is not listed is known to be empty: nobody is there, or nobody can be.
    """
    place = [
        {c: int(c[1:]) if c != "Total" else n for c in d.codes} for d, n in zip(table.dimensions, shape, strict=True)
    ]
    spots = [
        tuple(p[d.codes[c[i]]] for p, d, c in zip(place, table.dimensions, table.codes, strict=True))
        for i in range(len(table))
    ]
    full = worlds(shape, most)
    for spot in set(itertools.product(*(range(n) for n in shape))) - set(spots):
        full = full[full[(slice(None), *spot)] == 0]
    for i, spot in sorted(enumerate(spots), key=lambda place: hidden[place[0]]):
        column = full[(slice(None), *spot)]
        full = full[(column >= (table.zeros == "known")) if hidden[i] else (column == table.value[i])]
    assert len(full)
    return [i for i in np.flatnonzero(hidden) if len(np.unique(full[(slice(None), *spots[i])])) == 1]


def judge(inner, zeros, engines=ENGINES, effort=QUICK, **said):
    """Suppress under min_frequency 2 and return, engine by engine, the primaries that a reader works out.

    None stands for a table of which the engine says that it cannot be safe.
    """
    table = counts(inner, zeros, **said)
    needs = cg.require(cg.assess(table, [cg.MinFrequency(2)]))
    told = []
    for engine in engines:
        try:
            pattern = None if needs.unprotectable.any() else suppress(needs, engine=engine, effort=effort).pattern
        except NotProtected:
            pattern = None
        if pattern is None:
            told.append(None)
            continue
        assert not (pattern.hidden & table.apriori.has(State.must_publish)).any()
        told.append([i for i in told_exactly(table, pattern.hidden, inner.shape, 4) if needs.primary[i]])
    return told


def draw(seed):
    rng = np.random.default_rng(seed)
    shape = [(2, 3), (3, 2), (2, 2), (2, 2, 2)][seed % 4] if seed % 20 == 3 else [(2, 3), (3, 2), (2, 2)][seed % 3]
    inner = rng.integers(0, 4, shape)
    inner.flat[0] += not inner.any()  # a table without anybody has no cells
    return inner, ["known", "possible"][int(rng.integers(2))]


MARKS = {100: pytest.mark.long}
LONG = [pytest.param(k, marks=MARKS.get(k, pytest.mark.endless)) for k in range(100, 10_000, 700)]


@pytest.mark.parametrize("first", [0, 20, *LONG])
def test_no_whole_table_tells_a_primary_exactly(first):
    """Of 10,000 tables, each protected by both engines, and before a release by `optimal` too."""
    engines = (*ENGINES, "optimal") if first > 800 else ENGINES
    verdicts = [judge(*draw(seed), engines) for seed in range(first, first + (20 if first < 100 else 700))]
    for engine in zip(*verdicts, strict=True):
        assert not any(engine)
        assert sum(told is not None for told in engine) >= len(engine) // 2


STATES = st.dictionaries(
    st.integers(0, 11), st.sampled_from([State.must_suppress, State.must_publish, State.secondary]), max_size=3
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["known", "possible", "impossible"]), STATES)
def test_zeros_are_primaries_candidates_or_never_hidden(seed, zeros, states):
    """States fall on empty cells too: must_suppress makes a 0 primary, must_publish keeps it from being hidden.

    Where zeros are possible, some of the empty cells may be impossible: not listed, and known to be empty.
    """
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 3, (2, 3))
    if not inner.any():
        return
    empty = [(f"a{i}", f"b{j}") for i, j in zip(*np.nonzero(inner == 0), strict=True)]
    some = [spot for spot in empty if rng.random() < 0.5] if zeros == "impossible" else []
    told = judge(inner, "known" if zeros == "known" else "possible", states=states, impossible=some)
    assert not any(told)
    assert (told[0] is None) == (told[1] is None)  # what one engine can protect, the other can


def test_zeros_do_not_hide_each_other():
    """0 = x + x: elimination lets both x move, and no table does; the repair hides a row that can."""
    table = counts(
        np.array([[0, 0, 5], [4, 6, 8]]), "possible", states={0: State.must_suppress, 1: State.must_suppress}
    )
    needs = cg.require(cg.assess(table, [cg.MinFrequency(1)]))
    pattern = suppress(needs, engine="gauss", effort=QUICK).pattern
    assert not told_exactly(table, pattern.hidden, (2, 3), 8)


def large(seed, shape, zeros, mean=4.0):
    inner = np.random.default_rng(seed).poisson(np.random.default_rng(seed + 1).gamma(1.0, mean, shape))
    return cg.require(cg.assess(counts(inner, zeros), [cg.MinFrequency(3)]))


@pytest.mark.parametrize("zeros", ["known", "possible"])
@pytest.mark.parametrize("shape", [(60, 40), (12, 10, 8)])
def test_blocks_cost_at_most_two_percent_more_cells(shape, zeros):
    needs = large(3, shape, zeros, mean=40.0)
    system = build_system(needs, np.maximum(needs.tables.value, 1.0))
    whole, blocked = (eliminated(system, run=UNWATCHED, refresh=refresh) for refresh in (np.inf, 0.05))
    many = [int((hidden & ~system.hidden).sum()) for hidden in (whole, blocked)]
    assert many[0] > 20 and many[1] <= 1.02 * many[0]


@pytest.mark.parametrize("zeros", ["known", "possible"])
def test_large_counts_are_proven_safe_the_same_way_every_time(zeros):
    needs = large(5, (70, 40), zeros)
    one, two = (suppress(needs) for _ in range(2))
    assert one.engine == "gauss" and (one.pattern.hidden == two.pattern.hidden).all()
    assert cg.audit(needs, one.pattern).verdict == "safe"


def test_circuits_prove_most_counts_in_three_dimensions_without_integer_programs(monkeypatch):
    left, solve = [], short._short
    monkeypatch.setattr(short, "_short", lambda *a, **how: left.append(how["whole"] * len(a[2])) or solve(*a, **how))
    needs = large(1, (14, 12, 10), "possible")
    assert cg.audit(needs, suppress(needs).pattern).verdict == "safe"
    assert sum(left) < 60


def test_the_needs_decide_the_engine():
    inner = np.array([[1, 5, 7], [4, 6, 8]])
    table = counts(inner, "possible")
    assert usual_engine(cg.require(cg.assess(table, [cg.MinFrequency(3)]))) == "gauss"
    assert usual_engine(cg.require(cg.assess(table, [cg.MinFrequency(3, hide="small")]))) == "witness"
    sums = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 1, 8]}, by=["r"], value="x", count="n")
    needs = cg.require(cg.assess(sums, [cg.MinFrequency(3)]))
    assert usual_engine(needs) == "witness" and suppress(needs, engine="gauss").engine == "gauss"
    with pytest.raises(InputError, match="unknown engine 'gaus'; did you mean 'gauss'"):
        suppress(needs, engine="gaus")


JOB = """\
version: 1
dimensions: {r: {}}
tables:
  - {name: one, by: [r], value: count, cells: {source: one.csv, count: n}, rules: [{min_frequency: 3}], PROTECT}
  - {name: two, by: [r], value: x, cells: {source: one.csv, count: n}, rules: [{min_frequency: 3}],
     protect: {engine: gauss}}
"""


def test_a_job_names_the_engine_and_its_tables_share_it(tmp_path):
    (tmp_path / "one.csv").write_text("r,n,x\nTotal,21,70\na,1,10\nb,8,20\nc,12,40\n")
    job = tmp_path / "job.yaml"
    job.write_text(JOB.replace(", PROTECT", ""))
    assert run(Job.load(job)).summary["engine"] == "gauss"
    job.write_text(JOB.replace("PROTECT", "protect: {engine: witness}"))
    with pytest.raises(InputError, match="share the engine; they ask for one: witness, two: gauss"):
        run(Job.load(job))
    job.write_text(JOB.replace("PROTECT", "protect: {engine: simplex}"))
    with pytest.raises(InputError, match="unknown engine 'simplex'"):
        Job.load(job)


@pytest.mark.parametrize("first", [0, pytest.param(100, marks=pytest.mark.long)])
def test_the_bound_of_single_relations_is_below_the_optimum(first):
    bounded = 0
    for seed in range(first, first + (15 if first == 0 else 150)):
        needs = cg.require(cg.assess(counts(*draw(seed)), [cg.MinFrequency(2)]))
        if needs.unprotectable.any() or not needs.primary.any():
            continue
        best = suppress(needs, effort="best")
        bound = packed_bound(build_system(needs, best.costs))
        assert best.gap == 0 and bound <= best.cost + 1e-9
        bounded += bound > 0
    assert bounded > 3


def test_short_circuits_of_cheap_cells_help_where_long_ones_of_hidden_cells_do_not_fit():
    rng = np.random.default_rng(6)
    table = counts(rng.poisson(np.exp(rng.normal(2.5, 2.5, (20, 14, 8)))), "possible")
    system = build_system(cg.require(cg.assess(table, [cg.MinFrequency(3)])), np.ones(len(table)))
    unsafe = np.flatnonzero(system.needy)
    hidden = eliminated(system, run=UNWATCHED)
    left = unsafe[~on_circuits(system, hidden, unsafe, only=True, run=UNWATCHED)[unsafe]]
    assert len(left) > 0.3 * len(unsafe)
    assert on_circuits(system, hidden, left, run=UNWATCHED)[left].mean() < 0.1
    short = on_circuits(system, hidden, left, loyal=False, run=UNWATCHED)
    assert short[left].mean() > 0.3
    assert (with_circuits(system, hidden, left, run=UNWATCHED) == short).all()
    room = np.minimum(system.up, system.down)
    assert (room[hidden & ~system.hidden] >= 1).all()  # of cells that cost the same, those that go both ways


@pytest.mark.parametrize(("seed", "shape", "spread"), [(1, (10, 8, 6), (0.6, 0.7)), (2, (12, 9, 7), (1.0, 1.2))])
def test_counts_taken_for_vast_end_safe(seed, shape, spread, monkeypatch):
    """Short moves of hidden cells prove, and short flows repair, where programs of all of them would take minutes."""
    monkeypatch.setattr(oracle, "is_vast", lambda matrix: True)
    ladders, short_ = [], Repairer.short

    def watched(self, target, hidden, guide, allowed, ladder, *, whole):
        flow = short_(self, target, hidden, guide, allowed, ladder, whole=whole)
        ladders.append((ladder, flow is not None))
        return flow

    monkeypatch.setattr(Repairer, "short", watched)
    rng = np.random.default_rng(seed)
    table = counts(rng.poisson(np.exp(rng.normal(*spread, shape))), "known")
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    chosen = suppress(needs, effort="quick", engine=with_policy(Policy(whole_flows=0), gauss))
    assert {(USUAL.nearby, True), (USUAL.nearby, False), (USUAL.narrow, True)} <= set(ladders)
    assert audit(needs, chosen.pattern).verdict == "safe"
