"""Controlled rounding: it adds up, stays next to the true values, and leaves every additive rounding possible."""

import itertools

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import NotProtected
from cellguard.methods.rounding import controlled
from cellguard.methods.rounding.controlled import round_controlled
from cellguard.methods.rounding.plan import Plan
from cellguard.proofs.problem import listed_grains
from cellguard.run_context import UNWATCHED


def counted(inner, by):
    """A frequency table with all its margins from inner counts by codes."""
    cells = {}
    for summed in itertools.product([False, True], repeat=len(by)):
        for codes, n in inner.items():
            key = tuple("Total" if s else c for s, c in zip(summed, codes, strict=True))
            cells[key] = cells.get(key, 0) + n
    columns = {name: [key[d] for key in cells] for d, name in enumerate(by)}
    return cg.cells(columns | {"n": list(cells.values())}, by=by, value="n", about=cg.About(is_count=True))


def plan_of(table, base, *, steps=0, keep=()):
    linked = cg.link(table)
    n = len(linked)
    kept = np.isin([linked.cell_name(c).split(": ")[1] for c in range(n)], list(keep))
    fixed = np.full(n, base), np.zeros(n, np.int64), kept, np.ones(n, bool)
    return Plan("controlled", linked, listed_grains(linked), *fixed, steps)


def adds_up(plan, value):
    return not (plan.tables.relations @ value).any()


def test_every_additive_rounding_has_a_chance_and_no_other():
    inner = dict(zip(itertools.product("NS", "ab"), [1, 2, 4, 5], strict=True))
    plan = plan_of(counted(inner, ["r", "s"]), 3)
    value, base = plan.value, 3
    low = value // base * base
    off = [base if rest else 0 for rest in (value % base).tolist()]
    every = {
        tuple(low + up)
        for up in itertools.product(*([0, step] if step else [0] for step in off))
        if adds_up(plan, low + np.array(up))
    }
    found = {tuple(round_controlled(plan, seed, 0, first=False, run=UNWATCHED)[0]) for seed in range(400)}
    assert found == every and len(every) > 2


def test_random_tables_add_up_at_proven_gaps():
    rng = np.random.default_rng(4)
    for _ in range(12):
        sizes = rng.integers(2, 6, 2)
        codes = itertools.product(*([f"{d}{i}" for i in range(n)] for d, n in enumerate(sizes)))
        plan = plan_of(counted({c: int(rng.integers(0, 12)) for c in codes}, ["r", "s"]), int(rng.integers(2, 8)))
        value, search = round_controlled(plan, int(rng.integers(99)), 0, first=False, run=UNWATCHED)
        assert adds_up(plan, value) and (value % plan.base == 0).all()
        assert (np.abs(value - plan.value) < plan.base).all() and search.gap == 0
        quick, rough = round_controlled(plan, 5, 0, first=True, run=UNWATCHED)
        assert adds_up(plan, quick) and rough.bound <= rough.cost


def test_large_systems_are_improved_block_by_block(monkeypatch):
    rng = np.random.default_rng(4)
    codes = itertools.product("abcd", "abcd", "abcd")
    plan = plan_of(counted({c: int(rng.integers(0, 9)) for c in codes}, ["r", "s", "t"]), 3)
    monkeypatch.setattr(controlled, "_SMALL", 10)
    monkeypatch.setattr(controlled, "_BLOCK", 60)
    _, first = round_controlled(plan, 3, 0, first=True, run=UNWATCHED)
    value, best = round_controlled(plan, 3, 0, first=False, run=UNWATCHED)
    assert adds_up(plan, value) and best.cost <= first.cost and 0 <= best.gap < 1


def test_what_cannot_be_rounded_is_explained():
    rng = np.random.default_rng(0)
    for _ in range(300):
        inner = {c: int(rng.integers(0, 2)) for c in itertools.product("123", repeat=3)}
        plan = plan_of(counted(inner, ["r", "s", "t"]), 2)
        try:
            round_controlled(plan, 1, 0, first=True, run=UNWATCHED)
        except NotProtected as error:
            said = str(error)
            break
    else:
        pytest.fail("no table without a zero-restricted rounding was drawn")
    assert "`steps: 1`" in said and "go further" in said
    wider = plan_of(counted(inner, ["r", "s", "t"]), 2, steps=1)
    value, _ = round_controlled(wider, 1, 1, first=False, run=UNWATCHED)
    assert adds_up(wider, value) and (np.abs(value - wider.value) < 4).all()


def test_kept_totals_must_be_reachable():
    inner = dict(zip(itertools.product("NS"), [4, 8], strict=True))
    with pytest.raises(NotProtected, match="kept values are no multiples"):
        round_controlled(plan_of(counted(inner, ["r"]), 5, keep=["Total"]), 1, 0, first=False, run=UNWATCHED)
    plan = plan_of(counted({("N",): 4, ("S",): 6}, ["r"]), 5, keep=["Total"])
    value, _ = round_controlled(plan, 1, 0, first=False, run=UNWATCHED)
    assert adds_up(plan, value) and 10 in value
