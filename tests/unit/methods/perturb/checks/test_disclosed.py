"""The linear system of published cells: multipliers, groups, coalitions and bounds that it gives away."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.alike import families
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.checks.disclosed import disclosed
from cellguard.methods.perturb.checks.listed import few_contributors, together
from cellguard.methods.perturb.checks.unknowns import unknowns_of
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.rules.limits import NoiseRule
from unit.linalg.linear_oracle import rank


def tables_of(codes, values, *, unit=None, rule=None, weight=None):
    """One table a code column, of every response."""
    records = respondents(codes, values, unit=unit, weight=weight)
    by = {name: Dimension(name, flat(sorted(set(column)))) for name, column in codes.items()}
    rule = rule or NoiseRule(3, 70)
    return [
        calibration_table(records, [by[name]], response, name=f"{response}-{name}", rule=rule)
        for response in values
        for name in by
    ]


def cuppen():
    """Cells {A, B}, {A, C}, {B, C} of Cuppen 2000, section 6.2; the other code of each column holds far more firms."""
    many = [f"z{i}" for i in range(10)]
    units = ["A", "B", "C", *many]
    codes = {
        "one": ["in" if u in "AB" else "out" for u in units],
        "two": ["in" if u in "AC" else "out" for u in units],
        "three": ["in" if u in "BC" else "out" for u in units],
    }
    values = [240.0, 240.0, 120.0, *range(100, 110)]
    multipliers = np.array([0.5] * 3 + [1.0] * 10)
    tables = tables_of(codes, {"x": values}, unit=units)
    return tables, np.array(values) * multipliers


def test_three_overlapping_cells_give_three_multipliers_away():
    tables, added = cuppen()
    found = disclosed(unknowns_of(tables, {"x": added}))
    single = {f.units[0]: f for f in found.findings if f.kind == "disclosed" and len(f.units) == 1}
    assert {key: f.figures["perturbed"] for key, f in single.items()} == {"A": 120, "B": 120, "C": 60}
    assert single["C"].figures["deviation"] == pytest.approx(0.5)
    assert sorted(map(str, single["C"].coefficients)) == ["-1/2", "1/2", "1/2"]
    assert {str(cell) for cell in single["C"].cells} == {"x-one: in", "x-two: in", "x-three: in"}
    assert single["C"].blocks
    totals = {str(found.unknowns.name(row)): found.unknowns.totals[row] for row in range(len(found.unknowns.totals))}
    assert [totals[f"x-{name}: in"] for name in ("one", "two", "three")] == [240, 180, 180]
    value = sum(
        float(c) * totals[str(cell)] for cell, c in zip(single["C"].cells, single["C"].coefficients, strict=True)
    )
    assert value == pytest.approx(60)


def test_what_is_not_published_gives_nothing_away():
    tables, added = cuppen()
    found = disclosed(unknowns_of(tables[:2], {"x": added}))
    assert not [f for f in found.findings if f.kind == "disclosed" and len(f.units) == 1]
    # Two cells that share A: whoever of the pair B, C is in one cell with A knows the rest of it.
    assert {f.units for f in found.findings if f.kind == "coalition"} == {("A", "B"), ("A", "C")}


def test_a_small_group_that_always_comes_together_is_found_as_a_sum():
    units = ["a", "b", "c", "d", "e", "f"]
    tables = tables_of({"region": ["N", "N", "S", "S", "S", "S"]}, {"x": [5, 7, 1, 2, 3, 4]}, unit=units)
    found = disclosed(unknowns_of(tables, {"x": np.array([5.5, 7.7, 1, 2, 3, 4])}))
    groups = {f.units: f.figures["perturbed"] for f in found.findings if f.kind == "disclosed"}
    assert groups == {("a", "b"): pytest.approx(13.2)}
    assert [f.cells[0].cell for f in found.findings if f.kind == "few"] == ["N"]


def test_records_of_one_holding_are_one_contributor():
    tables = tables_of({"region": ["N"] * 5 + ["S"] * 5}, {"x": [1.0] * 10}, unit=list("aaaaabcdef"))
    found = disclosed(unknowns_of(tables, {"x": np.full(10, 1.1)}))
    assert [f.units for f in found.findings if f.kind == "disclosed"] == [("a",)]


def test_a_contribution_of_zero_is_no_unknown():
    tables = tables_of({"region": ["N"] * 4}, {"x": [9.0, 0.0, 0.0, 0.0]}, unit=list("abcd"))
    found = disclosed(unknowns_of(tables, {"x": np.array([9.9, 0, 0, 0])}))
    assert {f.units for f in found.findings if f.kind == "disclosed"} == {("a",)}


def test_definitions_make_one_system():
    units = [f"u{i}" for i in range(8)]
    codes = {"region": list("NNNNSSSS"), "size": list("abbbaaab")}
    values = {"X": [10.0] * 8, "Y": [5.0] * 8, "Z": [15.0] * 8}
    tables = tables_of(codes, values, unit=units)
    chosen = [t for t in tables if t.name in {"X-region", "Y-size", "Z-region"}]
    parts = {"Z": {"X": 1, "Y": 1}}
    assert [len(f) for f in families(chosen, parts)] == [3]
    assert [len(f) for f in families(chosen, {})] == [1, 1, 1]
    system = unknowns_of(chosen, {"X": np.full(8, 11.0), "Y": np.full(8, 5.5)}, parts)
    assert set(system.leaves) == {("X",), ("Y",)}
    assert system.totals.tolist() == (system.members @ system.perturbed).tolist()


def test_a_dominating_contribution_is_bounded_by_what_others_can_be():
    # u_0 + u_1 = 100 with u_1 at most 4, since it is in a cell of 4 too.
    codes = {"one": ["P", "P", "Q", "Q", "Q", "Q"], "two": ["R", "S", "S", "R", "R", "R"]}
    tables = tables_of(codes, {"x": [96.0, 2.0, 2.0, 50, 60, 70]}, unit=list("abcdef"), rule=NoiseRule(1, 70))
    found = disclosed(unknowns_of(tables, {"x": np.array([96.0, 2, 2, 50, 60, 70])}))
    bounds = {f.units: (f.figures["lower"], f.figures["upper"]) for f in found.findings if f.kind == "interval"}
    assert bounds[("a",)] == (pytest.approx(94), pytest.approx(98))
    assert ("b",) not in bounds
    without = disclosed(unknowns_of(tables, {"x": np.array([96.0, 2, 2, 50, 60, 70])}), Watch(programs=0))
    assert any("not worked out" in limit for limit in without.limits)


def test_a_response_that_may_be_negative_bounds_nobody():
    codes = {"one": ["P", "P", "Q", "Q", "Q", "Q"], "two": ["R", "S", "S", "R", "R", "R"]}
    for last, bounded in ((70.0, True), (-70.0, False)):
        values = np.array([96.0, 2, 2, 50, 60, last])
        tables = tables_of(codes, {"x": values}, unit=list("abcdef"), rule=NoiseRule(1, 70))
        found = disclosed(unknowns_of(tables, {"x": values}))
        assert any(f.kind == "interval" for f in found.findings) == bounded
        assert not found.limits


def test_pairs_in_several_sparse_cells_are_listed():
    codes = {"one": list("PPQQQ"), "two": list("RRRSS"), "three": list("TTTTU")}
    tables = tables_of(codes, {"x": [1.0] * 5}, unit=list("abcde"))
    system = unknowns_of(tables, {"x": np.ones(5)})
    pairs = {f.units: len(f.cells) for f in together(system, Watch())}
    assert pairs[("a", "b")] == 3
    assert pairs[("a", "c")] == 2
    assert ("a", "e") not in pairs
    assert [f.units for f in together(system, Watch(most=1))] == [("a", "b")]


def test_few_is_a_parameter():
    tables = tables_of({"region": list("NNSSSS")}, {"x": [1.0] * 6})
    system = unknowns_of(tables, {"x": np.ones(6)})
    assert [len(f.cells) for f in few_contributors(system, Watch(few=3))] == [1]
    assert [len(f.cells) for f in few_contributors(system, Watch(few=5))] == [2]
    with pytest.raises(InputError, match="few must be at least 1"):
        Watch(few=0)


def test_a_system_that_is_too_large_is_cut_down_and_says_so():
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 6, 300).astype(str).tolist() for name in "abcde"}
    tables = tables_of(codes, {"x": rng.uniform(1, 9, 300)})
    found = disclosed(unknowns_of(tables, {"x": rng.uniform(1, 9, 300)}), Watch(core=3))
    assert any("only cells with at most" in limit for limit in found.limits)


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=80, deadline=None)
def test_coalitions_are_those_that_brute_force_finds(seed, limit):
    """Every set of up to n units of which all but one learn that one, by deleting columns and ranks in fractions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    codes = {name: rng.integers(0, 3, n).astype(str).tolist() for name in "ab"}
    units = [f"u{i}" for i in range(n)]
    tables = tables_of(codes, {"x": rng.uniform(1, 9, n)}, unit=units, rule=NoiseRule(limit, 70))
    system = unknowns_of(tables, {"x": rng.uniform(1, 9, n)})
    found = disclosed(system, Watch(programs=0))
    members = system.members.toarray().tolist()

    def in_row_space(support):
        """Whether a combination of cells holds exactly these unknowns, and no fewer do."""
        outside = [c for c in range(len(members[0])) if c not in support]
        left = rank([[row[c] for c in outside] for row in members]) if outside else 0
        return rank(members) > left and rank([[row[c] for c in outside] for row in members]) == rank(members) - 1

    wanted = set()
    for size in range(1, limit + 1):
        for support in itertools.combinations(range(len(members[0])), size):
            smaller = any(set(s) < set(support) for s in wanted)
            if system.sizes[list(support)].sum() <= limit and not smaller and in_row_space(support):
                wanted.add(support)
    told = {tuple(sorted(u)) for u in found.told}
    assert told <= wanted
    # Of a class of unknowns that tell each other only the pairs with the first are listed, and triples with it.
    assert {s for s in wanted if len(s) == 1} == {s for s in told if len(s) == 1}
    first = {}
    for one, other in (s for s in found.told if len(s) == 2):
        first[other] = one
    for support in wanted:
        if len(support) == 2:
            one, other = support
            assert first.get(one, one) == first.get(other, other)
        if len(support) > 2 and not set(support) & first.keys() and any(_near(members, u, support) for u in support):
            assert any(len(set(s) & set(support)) >= len(support) - 1 for s in told if len(s) > 1)


def test_a_holding_in_several_places_takes_itself_out_of_a_sum():
    # The holding h is alone in P, Q and R, and with a in the region N: it knows itself, so it learns a.
    codes = {"region": list("NNNNSSSSSS"), "place": list("PQRTTTTTPQ"), "size": list("1234567899")}
    units = ["h", "h", "h", "a", "b", "c", "d", "e", "f", "g"]
    tables = [
        t
        for t in tables_of(codes, {"x": np.arange(1.0, 11)}, unit=units, rule=NoiseRule(2, 70))
        if "size" not in t.name
    ]
    found = disclosed(unknowns_of(tables, {"x": np.arange(1.0, 11) * 1.1}))
    assert ("a", "h") in {f.units for f in found.findings if f.kind == "coalition"}


def _near(members, unknown, support):
    """Whether an unknown shares a cell with each of the others."""
    cells = [row for row in members if row[unknown]]
    return all(any(row[other] for row in cells) for other in support)
