"""Verdicts and intervals of patterns that a person can check by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.attack.audit import audit
from cellguard.attack.external_totals import read_external_totals
from cellguard.attack.intervals import exact_moves
from cellguard.attack.witnesses import witnesses
from cellguard.errors import Stopped
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.proofs.levels import Levels
from cellguard.proofs.problem import Problem
from cellguard.proofs.scale import UNLIMITED
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.knowledge import Knowledge

SQUARE = ((20, 50, 10, 80), (8, 19, 22, 49), (17, 32, 12, 61), (45, 101, 44, 190))


def square(values=SQUARE, **about):
    """The classic table of three rows I, II, III and three columns A, B, C."""
    data = {
        "row": [r for r in ("I", "II", "III", "Total") for _ in range(4)],
        "column": ["A", "B", "C", "Total"] * 4,
        "x": [x for line in values for x in line],
    }
    return cells(data, ["row", "column"], value="x", about=About("t", **about))


def line(values, **about):
    codes = ["Total", *"abcdefgh"[: len(values) - 1]]
    return cells({"r": codes, "x": values}, ["r"], value="x", about=About("t", **about))


def attack(table, primary, secondary=(), *, need=None, knowledge=None, **options):
    """Audit a table, or a linked set, whose cells are named as 'II/C' in the first table that shows them."""
    linked = link(table)
    names = [linked.cell_name(c).split(": ", 1)[1] for c in range(len(linked))]
    missing = {*primary, *secondary} - set(names)
    assert not missing
    tables = []
    for one, at in zip(linked.tables, linked.cells_of, strict=True):
        chosen = np.isin(np.array(names)[at], list(primary))
        state = np.where(chosen, State.must_suppress, one.apriori.state).astype(np.int8)
        said = replace(one.apriori, state=state)
        if need is not None:
            said = replace(said, need_upper=np.where(chosen, float(need), np.nan))
        tables.append(replace(one, apriori=said))
    needs = require(assess(link(tables, linked.equations), []), knowledge)
    pattern = Pattern(needs.tables, needs.primary, np.isin(names, list(secondary)))
    return audit(needs, pattern, **{"intervals": True, **options})


def ends(found, name):
    names = [found.needs.tables.cell_name(c).split(": ", 1)[1] for c in range(len(found.needs.tables))]
    at = names.index(name)
    return found.lower[at], found.upper[at]


def test_a_lone_primary_is_known_exactly():
    found = attack(square(), ["II/C"])
    assert found.verdict == "unsafe" and found.failing.sum() == 1
    assert ends(found, "II/C") == (22, 22)


def test_a_published_primary_is_disclosed():
    table = link(square())
    needs = require(assess(square(), []), None)
    needs = replace(needs, primary=np.arange(len(table)) == 5, sliding=np.where(np.arange(len(table)) == 5, 1.0, 0.0))
    none = np.zeros(len(table), bool)
    assert audit(needs, Pattern(needs.tables, none, none)).verdict == "unsafe"


def test_four_corners_protect_each_other():
    """II/C goes up by 8, where II/A has nothing left to give, and down by 20, where I/A has nothing left."""
    found = attack(square(), ["II/C"], ["II/A", "I/A", "I/C"], need=8)
    assert found.verdict == "safe"
    assert ends(found, "II/C") == (2, 30)
    assert attack(square(), ["II/C"], ["II/A", "I/A", "I/C"], need=9).verdict == "unsafe"


KNOWLEDGE = {
    "not negative": (Knowledge(), (2, 30)),
    "unbounded": (Knowledge(-np.inf, np.inf), (-np.inf, np.inf)),
    "a floor below 0": (Knowledge(-5), (-3, 35)),
    "a ceiling": (Knowledge(0, 200), (2, 30)),
    "25 percent": (Knowledge(percent=25), (20, 24)),
    "25 percent, signed": (Knowledge(-np.inf, percent=25), (20, 24)),
}


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_the_interval_depends_on_what_is_known_beforehand(name):
    knowledge, expected = KNOWLEDGE[name]
    found = attack(square(), ["II/C"], ["II/A", "I/A", "I/C"], need=1, knowledge=knowledge)
    assert ends(found, "II/C") == pytest.approx(expected)


def test_bounds_of_single_cells_replace_the_general_ones():
    table = square()
    lower, upper = np.full(16, np.nan), np.full(16, np.nan)
    lower[table.find("I/A")], upper[table.find("I/A")] = 17, 21.5
    found = attack(
        replace(table, apriori=replace(table.apriori, lower=lower, upper=upper)), ["II/C"], ["II/A", "I/A", "I/C"]
    )
    assert ends(found, "II/C") == (19, 23.5)


def test_signed_values_move_both_ways():
    signed = ((-20, 50, 10, 40), (8, -19, 22, 11), (17, 32, -12, 37), (5, 63, 20, 88))
    found = attack(square(signed), ["II/C"], ["II/A", "I/A", "I/C"], need=11, knowledge=Knowledge(-30, 100))
    assert ends(found, "II/C") == (12, 60)
    assert found.verdict == "unsafe"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("end", [1000, 10**9, 10**15])
def test_free_cells_beside_a_bounded_one(end, whole):
    """d0 and d1 go on for ever, one against the other; d2 equals d3, which has ends."""
    matrix = sp.csr_array([[1, 1, 1, 0], [1, 1, 0, 1]])
    room = np.array([UNLIMITED, UNLIMITED, UNLIMITED, end])
    problem = Problem(np.arange(4), matrix, room, room, Levels.none(4), np.full(4, whole))
    low, high = exact_moves(problem, run=UNWATCHED)
    assert low.tolist() == [-np.inf, -np.inf, -end, -end]
    assert high.tolist() == [np.inf, np.inf, end, end]


def test_people_by_the_million_have_intervals_as_wide():
    table = square(tuple(tuple(1_000_000 * x for x in line) for line in SQUARE), is_count=True)
    found = attack(table, ["II/C"], ["II/A", "I/A", "I/C"])
    assert ends(found, "II/C") == (2_000_000, 30_000_000)


def test_people_cannot_be_split():
    """Either 0 or 1 person more is outside the bounds, half a person would not be."""
    table = line([4, 1, 1, 2], is_count=True)
    assert attack(table, ["a"], ["b"]).verdict == "safe"
    found = attack(table, ["a"], ["b"], knowledge=Knowledge(0.5, 4.5))
    assert found.verdict == "unsafe" and ends(found, "a") == (1, 1)


# Zeros.


def test_a_bound_of_its_own_holds_although_it_is_close_to_the_percentage():
    """a is a count of 3 with upper bound 3: a percentage of 50 would let it move up by 1, its own bound does not."""
    table = line([14, 3, 11], is_count=True)
    bound = np.array([np.nan, 3, np.nan])
    table = replace(table, apriori=replace(table.apriori, upper=bound))
    found = attack(table, ["a"], ["b"], knowledge=Knowledge(percent=50))
    assert found.problem.up.tolist() == [0, 5] and found.problem.down.tolist() == [1, 5]
    assert ends(found, "a") == (2, 3)


def test_a_zero_can_be_protected_by_one_unit():
    found = attack(line([30, 0, 10, 20]), ["a"], ["b"])
    assert found.verdict == "safe"
    assert found.problem.levels.width.tolist() == [1000, 0]
    assert ends(found, "a") == (0, 10)


def test_a_zero_beside_a_zero_is_not_protected():
    found = attack(line([20, 0, 0, 20], zeros="possible"), ["a"], ["b"])
    assert found.verdict == "unsafe" and ends(found, "a") == (0, 0)
    assert not found.needs.unprotectable.any()


def test_a_zero_that_the_attacker_knows_is_unprotectable():
    found = attack(line([20, 0, 20]), ["a"], ["b", "Total"], knowledge=Knowledge(percent=50))
    assert found.verdict == "unsafe" and found.needs.unprotectable.sum() == 1


@pytest.mark.parametrize(("zeros", "verdict"), [("possible", "safe"), ("known", "unsafe")])
def test_a_hidden_zero_that_a_linked_table_leaves_out_is_known(zeros, verdict):
    """a/y is 0 and hidden; the finer table has the codes a and y, but no row for them together."""
    values = {("a", "z"): 10, ("b", "y"): 20, ("b", "z"): 30, ("Total", "y"): 20, ("Total", "z"): 40}
    values |= {("a", "Total"): 10, ("b", "Total"): 50, ("Total", "Total"): 60}

    def table(name, found, kinds, zeros):
        data = {"r": [r for r, _ in found for _ in kinds], "s": [s for _, s in found for _ in kinds]}
        data |= {"k": kinds * len(found), "x": [x for x in found.values() for _ in kinds]}
        by = [Dimension("r", flat("ab")), Dimension("s", flat("yz")), *(["k"] if len(kinds) > 1 else [])]
        return cells(data, by, value="x", about=About(name, zeros=zeros))

    coarse = table("coarse", {("a", "y"): 0, **values}, ["Total"], "possible")
    fine = table("fine", values, ["Total", "p"], zeros)
    hidden = ["a/z", "b/y", "b/z", *(f"{cell}/p" for cell in ("a/z", "b/y", "b/z"))]
    hidden += ["a/y/p"] if zeros == "possible" else []
    found = attack([coarse, fine], ["a/y"], hidden)
    assert found.verdict == verdict


# Cells made equal, and what is known from elsewhere.


def test_cells_that_one_relation_makes_equal_are_one():
    """B has one division only, so B and b1 are equal: hiding one of them hides nothing."""
    tree = Dimension("r", from_levels([("A", "a1"), ("A", "a2"), ("B", "b1")]))
    data = {"r": ["Total", "A", "B", "a1", "a2", "b1"], "x": [60, 30, 30, 10, 20, 30]}
    table = cells(data, [tree], value="x", about=About("t"))
    assert attack(table, ["b1"], ["a1"]).verdict == "unsafe"
    assert attack(table, ["b1"], ["B"]).verdict == "unsafe"
    found = attack(table, ["b1"], ["B", "A", "a1"])
    assert found.verdict == "safe"
    assert ends(found, "b1") == ends(found, "B") == (0, 40)
    moves = witnesses(found)
    names = [found.needs.tables.cell_name(c) for c in moves.cell[moves.witness == 0]]
    assert {"t: B", "t: b1"} <= set(names)


def test_a_total_known_from_elsewhere():
    """The sum of two hidden cells is no row of the table, but the attacker has it."""
    table = cells({"r": list("abcd"), "x": [10, 20, 30, 40]}, [Dimension("r", _pairs())], value="x")
    linked = link(table)
    assert attack(table, ["a"], ["b"]).verdict == "safe"
    known = read_external_totals({"r": ["P"]}, linked)
    assert attack(table, ["a"], ["b"], known=known.sums).verdict == "safe"
    assert ends(attack(table, ["a"], ["b"], known=known.sums), "a") == (0, 30)
    both = read_external_totals({"r": ["P", "b"]}, linked)
    assert attack(table, ["a"], ["b"], known=both.sums).verdict == "unsafe"


def _pairs():
    return from_levels([("P", "a"), ("P", "b"), ("Q", "c"), ("Q", "d")])


# Threads and magnitudes.


def random_table(shape, seed, power=0, decimals=0):
    """A random table with random hidden cells and needs, all values times a power of ten."""
    rng = np.random.default_rng(seed)
    full = rng.integers(0, 100, shape)
    for axis in range(len(shape)):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    codes = np.meshgrid(*[[*map(str, range(n)), "Total"] for n in shape], indexing="ij")
    data = {f"d{k}": c.ravel().tolist() for k, c in enumerate(codes)}
    data["x"] = [float(f"{x}e{power}") for x in full.ravel()]
    table = cells(data, [f"d{k}" for k in range(len(shape))], value="x", about=About("t", decimals=decimals))
    hidden = rng.random(len(table)) < 0.4
    primary = hidden & (rng.random(len(table)) < 0.5)
    need = np.where(rng.random(len(table)) < 0.5, rng.integers(1, 30, len(table)), np.nan) * 10.0**power
    state = np.where(primary, State.must_suppress, State.none).astype(np.int8)
    return replace(table, apriori=replace(table.apriori, state=state, need_upper=need)), hidden


def random_audit(shape, seed, power=0, decimals=0, *, knowledge=None, **options):
    table, hidden = random_table(shape, seed, power, decimals)
    needs = require(assess(link(table), []), knowledge)
    return audit(needs, Pattern(needs.tables, needs.primary, hidden & ~needs.primary), intervals=True, **options)


@pytest.mark.parametrize("shape", [(14, 15), (6, 6, 5)])
@pytest.mark.parametrize("lower", [0, -np.inf])
def test_threads_do_not_change_anything(shape, lower):
    one, two = (random_audit(shape, 1, knowledge=Knowledge(lower), run=Run(threads=n)) for n in (1, 2))
    assert np.array_equal(one.lower, two.lower) and np.array_equal(one.upper, two.upper)
    assert np.array_equal(one.failing, two.failing)
    first, second = witnesses(one), witnesses(two)
    assert first.n > 1
    for name in ("witness", "cell", "move", "denominator"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


BOUNDS = {
    "not negative": lambda unit: Knowledge(),
    "percent": lambda unit: Knowledge(percent=300),
    "box": lambda unit: Knowledge(-50 * unit, 30_000 * unit),
    "unbounded": lambda unit: Knowledge(-np.inf, np.inf),
}


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(("power", "decimals"), [(-2, 2), (-2, 4), (6, 0), (11, 0)])
@pytest.mark.parametrize("shape", [(4, 5), (3, 3, 2)])
def test_magnitudes_do_not_change_verdicts(shape, power, decimals, bounds):
    """The same table in hundredths and in 10^11."""
    verdicts = set()
    for seed in range(8):
        usual = random_audit(shape, seed, knowledge=BOUNDS[bounds](1))
        scaled = random_audit(shape, seed, power, decimals, knowledge=BOUNDS[bounds](10.0**power))
        # A value of 0 needs one unit of the last decimal, which does not grow with the values.
        nonzero = usual.needs.tables.value != 0
        assert np.array_equal(scaled.failing[nonzero], usual.failing[nonzero])
        assert not scaled.undecided.any()
        for name in ("lower", "upper"):
            assert np.allclose(getattr(scaled, name) / 10.0**power, getattr(usual, name), rtol=1e-9, atol=1e-6)
        verdicts.add(bool(usual.failing.any()))
    assert True in verdicts


@pytest.mark.parametrize("dimensions", [2, 3])
def test_values_of_a_million_billions(dimensions):
    """A total of 10^15; all inner cells are hidden, and one of them needs a tenth, or one unit more than there is."""
    part = 10**15 // 2**dimensions
    codes = np.meshgrid(*[["a", "b", "Total"]] * dimensions, indexing="ij")
    data = {f"d{k}": c.ravel().tolist() for k, c in enumerate(codes)}
    totals = sum((c == "Total").astype(int) for c in codes).ravel()
    data["x"] = [float(part * 2**t) for t in totals]
    table = cells(data, list(data)[:-1], value="x")
    first, *others = ["/".join(c) for c in itertools.product("ab", repeat=dimensions)]
    found = attack(table, [first], others, need=part)
    assert found.verdict == "safe" and ends(found, first) == (0, 2 * part)
    assert attack(table, [first], others, need=part + 1).verdict == "unsafe"


@pytest.mark.parametrize("percent", [7.0, 0.33, 12.5])
@pytest.mark.parametrize("power", [0, 6, 12])
def test_a_percentage_is_exact_in_grains(power, percent):
    """Room is rounded down, never up, however large the value."""
    values = [x * 10**power + 1 for x in (123, 39, 42)]
    found = attack(line([sum(values), *values]), ["a"], ["b", "c"], knowledge=Knowledge(percent=percent), need=1)
    value = found.grains.value[found.problem.cells]
    share = round(percent * 100)
    assert found.problem.down.tolist() == [v * share // 10_000 for v in value.tolist()]
    assert found.problem.up.tolist() == found.problem.down.tolist()


def test_an_audit_tells_what_it_does_and_ends_when_its_time_is_over():
    told = []
    found = attack(
        square(),
        ["II/C"],
        ["II/B", "III/B", "III/C"],
        need=1,
        run=Run(lambda event: told.append(event.text)),
        intervals=True,
    )
    assert found.verdict == "safe"
    assert told[0] == "1 cells left to prove" and told[-1].endswith("chunks of intervals")
    with pytest.raises(Stopped, match="the time allowed is over"):
        attack(square(), ["II/C"], ["II/B", "III/B", "III/C"], need=1, run=Run.within(0))
