"""Tables from records: worked examples, recoded and empty codes, several tables at once, large random sets."""

from __future__ import annotations

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import InputError, UnknownCode
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import cut, merge
from cellguard.rules.assess import assess
from cellguard.rules.linear import PPercent
from cellguard.rules.simple import MinFrequency
from cellguard.table import gather
from cellguard.table.fact import Count, Records, Requested, Signs, Top, Total, Unwaived
from cellguard.table.read import About
from cellguard.table.tableset import link
from cellguard.table.tabulate import Wanted, make_tables
from cellguard.table.unit_grid import Grid, grid_of
from unit.table.tabulate_oracle import found_cells, make_units, sql_cells

from grouped_units import group_units

ALL = (Count(), Records(), Top(3), Signs(), Unwaived(1), Requested())


def records(cells):
    """Records from {code: [(holding, value), ...]} by one column."""
    rows = [(code, name, value) for code, parts in cells.items() for name, value in parts]
    codes, names, values = zip(*rows, strict=True)
    return group_units(make_units({"shop": list(codes)}, {"x": values}, list(names)))


def only(grouped, dimension, *facts, **more):
    (table,) = make_tables(grouped, [Wanted({"shop": dimension}, "x", facts=facts, **more)])
    return table


VIOLINS = {
    "A": [("H", 600), ("b", 10), ("c", 10)],
    "B": [("H", 90), ("d", 60), ("e", 10)],
    "C": [("f", 10), ("g", 10), ("h", 10)],
}


def test_a_holding_is_one_contributor_in_a_margin():
    # Lecture "Problems and criteria", violins: 600 and 90 of one holding make the margin unsafe at 10 %.
    shop = Dimension("shop", flat(["A", "B", "C", "D"]))
    table = only(records(VIOLINS), shop, Top(2), Count())
    found = assess(table, [PPercent(10)])["table"]
    names = [table.cell_name(i) for i in range(len(table))]
    assert dict(zip(names, found.primary.tolist(), strict=True)) == {"Total": True, "A": True, "B": False, "C": False}
    ratio = PPercent(10).measure(table.facts)
    assert dict(zip(names, ratio.round(5).tolist(), strict=True)) == {
        "Total": 8.69565, "A": 1.66667, "B": 11.11111, "C": 100.0
    }  # fmt: skip
    assert table.value[0] == 810 and table.facts.count.tolist() == [8, 3, 3, 3]
    apart = {code: [(f"{code}{name}", x) for name, x in parts] for code, parts in VIOLINS.items()}
    table = only(records(apart), shop, Top(2), Count())
    assert PPercent(10).measure(table.facts)[0] == pytest.approx(20)
    assert not assess(table, [PPercent(10)])["table"].primary[0]


def test_the_instruments_have_two_cells_with_too_few_companies():
    # Lecture "Problems and criteria": harps in B (2 companies) and pianos in D (1).
    values = {"Harps": [58, 47, 36, 89], "Organs": [71, 124, 24, 31], "Pianos": [92, 157, 59, 28]}
    values["Other"] = [800, 934, 651, 742]
    firms = {"Harps": [151, 2, 98, 23], "Organs": [16, 21, 9, 8], "Pianos": [5, 12, 7, 1]}
    firms["Other"] = [302, 362, 287, 227]
    codes = {"kind": [], "shop": []}
    sums = []
    for kind, line in firms.items():
        for shop, many, value in zip("ABCD", line, values[kind], strict=True):
            codes["kind"] += [kind] * many
            codes["shop"] += [shop] * many
            sums += [value] + [0] * (many - 1)
    units = make_units(codes, {"x": sums}, [f"{i:05}" for i in range(len(sums))])
    by = {"kind": Dimension("kind", flat(list(firms))), "shop": Dimension("shop", flat("ABCD"))}
    (table,) = make_tables(group_units(units), [Wanted(by, "x")])
    found = assess(table, [MinFrequency(3)])["table"]
    assert [table.cell_name(i) for i in np.flatnonzero(found.primary)] == ["Harps/B", "Pianos/D"]
    at = table.find("Total/Total")
    assert (table.value[at], table.facts.count[at]) == (3943, 1531)


def test_only_wanted_facts_are_gathered():
    shop = Dimension("shop", flat(["A", "B", "C"]))
    bare = only(records(VIOLINS), shop).facts
    assert set(bare) == {Total()}
    some = only(records(VIOLINS), shop, Top(1)).facts
    assert set(some) == {Total(), Count(), Top(1)} and some.count.tolist() == [8, 3, 3, 3]


def test_concentration_rules_refuse_a_negative_contribution_that_no_ranking_shows():
    cells = {"A": [("a", 9), ("b", 8), ("c", 7), ("d", -1)], "B": [("a", 5)]}
    table = only(records(cells), Dimension("shop", flat("AB")), *PPercent(10).facts)
    with pytest.raises(InputError, match="the cell Total has a negative value or contribution"):
        assess(table, [PPercent(10)])
    assert not assess(table, [MinFrequency(1)]).primary.any()


def test_signed_sums_are_told_apart():
    parts = [("a", -4), ("b", 2), ("c", 1), ("d", 1), ("e", 0)]
    facts = only(records({"A": parts}), Dimension("shop", flat(["A"])), Signs()).facts
    assert facts[Signs()].tolist() == [[4, -4], [4, -4]]


def test_records_follow_a_recoding():
    tree = from_levels([("N", "n1"), ("N", "n2"), ("S", "s1"), ("S", "s2"), ("S", "s3")])
    recoded = cut(merge(tree, {"s12": ["s1", "s2"]}), ["N"])
    cells = {"n1": [("h", 1)], "n2": [("h", 2), ("i", 4)], "s1": [("h", 8)], "s2": [("h", 16)], "s3": [("k", 32)]}
    table = only(records(cells), Dimension("shop", recoded), Top(2), Count())
    names = [table.cell_name(i) for i in range(len(table))]
    assert dict(zip(names, table.value.tolist(), strict=True)) == {"Total": 63, "N": 7, "S": 56, "s12": 24, "s3": 32}
    assert dict(zip(names, table.facts.tops.tolist(), strict=True)) == {
        "Total": [32, 27], "N": [4, 3], "S": [32, 24], "s12": [24, 0], "s3": [32, 0]
    }  # fmt: skip
    link(table)


def test_codes_that_records_must_not_have():
    cells = {"n1": [("h", 73519)], "N": [("h", 2)]}
    tree = from_levels([("N", "n1"), ("N", "n2")])
    with pytest.raises(InputError, match=r"column 'shop': 'N' is a subtotal of dimension 'area'"):
        only(records(cells), Dimension("area", tree))
    with pytest.raises(UnknownCode, match=r"column 'shop': 'n1' is not in dimension 'area'; did you mean 'n10'"):
        only(records({"n1": [("h", 73519)]}), Dimension("area", flat(["n10"])))
    with pytest.raises(InputError, match="no response 'y'"):
        make_tables(records(VIOLINS), [Wanted({"shop": Dimension("shop", flat("ABC"))}, "y")])
    with pytest.raises(InputError, match="were not read by column 'shops'; did you mean 'shop'"):
        make_tables(records(VIOLINS), [Wanted({"shops": Dimension("shop", flat("ABC"))}, "x")])
    with pytest.raises(InputError, match="needs at least one dimension"):
        Wanted({}, "x")


def test_counts_have_possible_zeros_and_count_holdings_for_the_rules():
    units = make_units({"r": ["a", "a", "b"], "s": ["u", "u", "v"]}, {}, ["h", "h", "k"])
    by = {name: Dimension(name, flat(codes)) for name, codes in (("r", "abc"), ("s", "uv"))}
    (table,) = make_tables(group_units(units), [Wanted(by, "count")])
    assert table.is_count and table.zeros == "possible" and len(table) == 9 and table.response == "count"
    assert table.value[table.find("a/Total")] == 2 and table.facts.count[table.find("a/Total")] == 1
    assert table.value[table.find("a/v")] == 0 and table.facts.count[table.find("a/v")] == 0
    link(table)
    (known,) = make_tables(group_units(units), [Wanted(by, "count", About(zeros="known", publish={"r": [0, 1]}))])
    assert len(known) == 7 and known.levels == {"r": [0, 1]}


def test_decimals_add_up_exactly_and_others_within_the_tolerance():
    rng = np.random.default_rng(3)
    for values in (rng.integers(-100, 100, 500) / 100, rng.normal(0, 1e6, 500), rng.normal(0, 1, 500) * 1e-7):
        units = make_units(
            {"r": rng.choice(list("abcd"), 500).tolist()}, {"x": values}, [f"h{i % 90}" for i in range(500)]
        )
        (table,) = make_tables(group_units(units), [Wanted({"r": Dimension("r", flat("abcd"))}, "x")])
        link(table)
        assert table.value[0] == pytest.approx(values.sum(), rel=1e-9)


def test_grids_are_exact_on_decimals_and_fine_on_the_rest():
    assert grid_of(np.array([3.0, -2.0])) == Grid(0) and grid_of(np.array([0.1, 2.25])) == Grid(2)
    assert grid_of(np.zeros(0)) == Grid(0) and grid_of(np.array([1e-6])) == Grid(6)
    values = np.random.default_rng(1).normal(0, 1000, 1000)
    grid = grid_of(values)
    assert np.abs(grid.floats(grid.wholes(values)) - values).max() <= np.abs(values).sum() * 2.0**-61
    tenths = np.arange(10_000) / 10
    assert np.array_equal(grid_of(tenths).floats(grid_of(tenths).wholes(tenths)), tenths)
    large = np.array([1e18, 1e18, 0.5])
    assert np.abs(grid_of(large).floats(grid_of(large).wholes(large)) - large).max() <= 3e18 * 2.0**-61


def test_no_records_make_no_cells():
    units = make_units({"r": []}, {"x": []}, [])
    (table,) = make_tables(group_units(units), [Wanted({"r": Dimension("r", flat("ab"))}, "x", facts=ALL)])
    assert len(table) == 0


def large_set(seed, many=100_000):
    """Records over two trees with a second grouping, a tenth of them in holdings that sit in several cells."""
    rng = np.random.default_rng(seed)
    industry = from_levels([(f"{a}", f"{a}{b}", f"{a}{b}{c}") for a in "ABC" for b in range(3) for c in range(4)])
    region = from_levels([(f"{a}", f"{a}{b}") for a in "NS" for b in range(4)])
    coast = from_levels([("sea" if int(leaf[1]) % 2 else "land", leaf) for leaf in region.leaves])
    by = {"industry": Dimension("industry", industry), "region": Dimension("region", region, coast)}
    codes = {name: rng.choice(d.main.leaves, many) for name, d in by.items()}
    holding = np.where(rng.random(many) < 0.1, rng.integers(0, many // 40, many), many + np.arange(many))
    values = {"x": rng.integers(-50, 1000, many) / 10, "y": rng.integers(0, 5, many)}
    units = make_units(
        {name: column.tolist() for name, column in codes.items()},
        values,
        holding.tolist(),
        waived=rng.random(many) < 0.3,
        requested=rng.random(many) < 0.1,
    )
    return units, by


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.endless) for seed in range(2, 10))])
def test_large_random_sets_are_those_of_plain_sql(seed, monkeypatch):
    units, by = large_set(seed)
    monkeypatch.setattr(gather, "FEW", 0)
    response, scale = ("x", 10) if seed % 2 else ("y", 1)
    (table,) = make_tables(group_units(units), [Wanted(by, response, facts=ALL)])
    assert found_cells(table, scale=scale) == sql_cells(units, by, response, top=3, scale=scale, threads=1 + seed % 2)


def test_results_do_not_depend_on_threads(monkeypatch):
    units, by = large_set(11)
    grouped = group_units(units)
    found = []
    monkeypatch.setattr(gather, "FEW", 0)
    for threads in (1, 2, 5):
        monkeypatch.setattr(gather, "THREADS", threads)
        (table,) = make_tables(grouped, [Wanted(by, "x", facts=ALL)])
        found.append(table.facts)
    for facts in found[1:]:
        assert set(facts) == {Total(), *ALL}
        for fact, column in facts.items():
            assert np.array_equal(column, found[0][fact], equal_nan=fact == Unwaived(1))


def test_many_dimensions_need_no_dense_cube():
    rng = np.random.default_rng(5)
    tree = from_levels([(f"{a}", f"{a}{b}") for a in "ABCDEFGH" for b in range(10)])
    by = {f"d{i}": Dimension(f"d{i}", tree) for i in range(12)}  # 89^12 possible cells
    units = make_units({name: rng.choice(tree.leaves, 3).tolist() for name in by}, {"x": [1, 2, 4]}, ["h", "i", "j"])
    dims = dict(list(by.items())[:6])
    (small,) = make_tables(group_units(units), [Wanted(dims, "x", facts=ALL)])
    assert found_cells(small) == sql_cells(units, dims, "x", top=3)
    deep = {name: Dimension(name, flat(tree.leaves)) for name in by}
    (wide,) = make_tables(group_units(units), [Wanted(deep, "x", facts=ALL)])
    assert found_cells(wide) == sql_cells(units, deep, "x", top=3)


def test_a_hierarchy_does_for_a_dimension_and_one_table_for_a_list():
    grouped = records({"A": [("h", 5), ("k", 2)], "B": [("h", 1)]})
    column = grouped.columns[0]
    (plain,) = make_tables(grouped, [Wanted({column: Dimension(column, flat(["A", "B"]))}, "x")])
    (short,) = make_tables(grouped, [Wanted({column: flat(["A", "B"])}, "x")])
    assert short.dimensions[0].name == column and short.value.tolist() == plain.value.tolist()


@pytest.mark.parametrize("by", [["shop"], "shop", {"shop": None}, {"shop": ["A", "B"]}])
def test_columns_without_a_hierarchy_are_refused(by):
    with pytest.raises(InputError, match="`by` must give"):
        Wanted(by, "x")


FIRMS = {"region": ["N", "N", "S"], "size": ["9", "10", "9"], "x": [5, 2, 7]}


def test_tabulate_gathers_what_its_rules_ask_for():
    firms = cg.records(FIRMS, by=["region", "size"], values=["x"])
    table = cg.tabulate(firms, by=["size", "region"], value="x", rules=[cg.Dominance(3, 75), cg.PPercent(10)], name="t")
    assert table.name == "t" and table.facts.known_tops == 3
    assert table.dimensions[0].codes == ("Total", "9", "10")  # natural order, whatever that of the records
    assert cg.tabulate(firms, by=["region"], value="x", rules=[]).facts.count.tolist() == [3, 2, 1]
    counts = cg.tabulate(firms, by={"region": cg.Hierarchy.flat("NS")}, value="count", rules=cg.MinFrequency(3))
    assert counts.is_count and counts.value.tolist() == [3, 2, 1]


def test_tabulate_refuses_in_plain_words():
    firms = cg.records(FIRMS, by=["region", "size"], values=["x"])
    with pytest.raises(InputError, match=r"`by` must be a list of names; give \['region'\]"):
        cg.tabulate(firms, by="region", value="x", rules=[])
    with pytest.raises(InputError, match="rules must be values such as"):
        cg.tabulate(firms, by=["region"], value="x", rules=cg.PPercent)
    with pytest.raises(InputError, match="no response 'y'"):
        cg.tabulate(firms, by=["region"], value="y", rules=[])
    with pytest.raises(InputError, match="not read by column 'regoin'"):
        cg.tabulate(firms, by=["regoin"], value="x", rules=[])


def test_cells_whose_keys_do_not_fit_are_found_by_their_codes(monkeypatch):
    """So many dimensions that their codes make no number of 64 bits: the same cells and facts, on another way."""
    rng = np.random.default_rng(3)
    rows = {name: rng.choice(["p", "q", "r"], 400).tolist() for name in "abc"}
    rows |= {"g": rng.integers(0, 60, 400).tolist(), "x": rng.integers(0, 9, 400).tolist()}
    firms = cg.records(rows, by=["a", "b", "c"], values=["x"], holding="g")
    plain = cg.tabulate(firms, by=["a", "b", "c"], value="x", rules=cg.PPercent(10))
    monkeypatch.setattr("cellguard.table.keyed_cells._MOST_KEYS", 1)
    other = cg.tabulate(firms, by=["a", "b", "c"], value="x", rules=cg.PPercent(10))
    assert [codes.tolist() for codes in plain.codes] == [codes.tolist() for codes in other.codes]
    assert all(np.array_equal(plain.facts[fact], other.facts[fact]) for fact in other.facts)
