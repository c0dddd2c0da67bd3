import numpy as np
import pytest

from cellguard.errors import InputError, UnknownCode
from cellguard.hierarchy.build import flat, from_levels, from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import cut, merge
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import Respondents, on_grid, respondents
from cellguard.microdata.record_keys import RecordKeys

from perturb_data import RULE, brute_cells, grid_table

INDUSTRY = Dimension("industry", from_levels([("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2"), ("C", "")]))
COAST = from_parents([("Total", ""), ("sea", "Total"), ("land", "Total"), ("n", "sea"), ("s", "land"), ("w", "sea")])
REGION = Dimension("region", flat(["n", "s", "w"]), COAST)


def firms(n=200, seed=1, holdings=40, weight=False, missing=0.05):
    rng = np.random.default_rng(seed)
    value = np.round(rng.lognormal(3, 1.5, n), 1)
    value[rng.random(n) < missing] = np.nan
    return respondents(
        {"industry": rng.choice(["A1", "A2", "B1", "B2", "C"], n), "region": rng.choice(["n", "s", "w"], n)},
        {"x": value},
        weight=rng.uniform(1, 5, n) if weight else None,
        unit=[f"u{i}" for i in rng.integers(0, holdings, n)],
    )


def name_cells(table):
    return [table.table.cell_name(i) for i in range(len(table))]


@pytest.mark.parametrize("weight", [False, True])
def test_cells_members_totals_and_largest_agree_with_brute_force(weight):
    records = firms(weight=weight)
    table = calibration_table(records, [INDUSTRY, REGION], "x", rule=RULE)
    wanted = brute_cells(records, [INDUSTRY, REGION], "x")
    names = name_cells(table)
    assert sorted(names) == sorted(wanted)
    x, w = records.values["x"], np.ones(len(records)) if records.weight is None else records.weight
    for i, name in enumerate(names):
        inside = wanted[name]
        assert table.membership.matrix[[i]].indices.tolist() == inside
        assert table.total[i] == pytest.approx((x * w)[inside].sum())
        sums = np.bincount(records.unit[inside], x[inside])
        held = np.unique(records.unit[inside])
        expected = np.sort(sums[held])[::-1]
        assert table.largest.count[i] == len(held)
        assert table.largest.value[i] == pytest.approx(np.pad(expected, (0, 3))[:3])
        assert sums[table.largest.unit[i, 0]] == pytest.approx(expected[0])
    who = table.units_in(np.arange(len(table)))
    for i, name in enumerate(names):
        units, values = who.of(i)
        sums = np.bincount(records.unit[wanted[name]], x[wanted[name]], minlength=records.units)
        assert sorted(units.tolist()) == np.unique(records.unit[wanted[name]]).tolist()
        assert values == pytest.approx(sums[units]) and (np.diff(np.abs(values)) <= 0).all()


def test_interior_cells_have_no_cell_below_them():
    table = calibration_table(firms(), [INDUSTRY, REGION], "x")
    for name, inside in zip(name_cells(table), table.interior, strict=True):
        industry, region = name.split("/")
        assert inside == (industry in INDUSTRY.main.leaves and region in REGION.main.leaves), name


def test_a_table_may_show_some_levels_only():
    table = calibration_table(firms(), [INDUSTRY, REGION], "x", levels={"industry": [0, 1], "region": [0]})
    assert name_cells(table) == ["Total/Total", "A/Total", "B/Total", "C/Total"]
    assert table.interior.tolist() == [False, True, True, True]
    assert table.total[0] == pytest.approx(table.total[1:].sum())


def test_recodings_reach_the_records():
    recoded = Dimension("industry", merge(cut(INDUSTRY.main, ["A"]), {"B1-2": ["B1", "B2"]}))
    fine = calibration_table(firms(), [INDUSTRY], "x")
    coarse = calibration_table(firms(), [recoded], "x")
    value = dict(zip(name_cells(fine), fine.total, strict=True))
    found = dict(zip(name_cells(coarse), coarse.total, strict=True))
    assert found["A"] == value["A"] and found["B1-2"] == value["B"] and "A1" not in found


def test_a_mapping_names_the_columns_of_the_records():
    by = {"region": Dimension("seat", flat(["n", "s", "w"]))}
    assert calibration_table(firms(), by, "x").table.dimensions[0].name == "seat"


def test_many_sparse_combinations_are_found_without_a_dense_array():
    rng = np.random.default_rng(3)
    names = [f"c{i:04d}" for i in range(2000)]
    codes = {d: rng.choice(names, 50) for d in ("a", "b")}
    records = respondents(codes, {"x": np.arange(50.0)})
    table = calibration_table(records, [Dimension(d, flat(names)) for d in codes], "x")
    assert int(table.interior.sum()) == len(set(zip(codes["a"], codes["b"], strict=True)))
    assert table.total[0] == np.arange(50).sum()


def test_records_must_have_finest_codes_that_exist():
    records = respondents({"industry": ["A1", "A"]}, {"x": [1, 2]})
    with pytest.raises(InputError, match=r"column 'industry': 'A' is a subtotal of dimension 'industry'"):
        calibration_table(records, [INDUSTRY], "x")
    records = respondents({"industry": ["A1", "A9"]}, {"x": [1, 2]})
    with pytest.raises(UnknownCode, match=r"column 'industry': 'A9' is not in dimension 'industry'; did you mean"):
        calibration_table(records, [INDUSTRY], "x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": []}, "at least one dimension"),
        ({"by": [Dimension("zone", flat(["n"]))]}, "no column 'zone'"),
        ({"response": "y"}, "no response 'y'"),
        ({"levels": {"region": [7]}}, "none of the levels"),
    ],
)
def test_wrong_tables_are_refused(change, message):
    given = {"by": [REGION], "response": "x", "levels": None, **change}
    with pytest.raises(InputError, match=message):
        calibration_table(firms(), given["by"], given["response"], levels=given["levels"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": {"x": np.array([1.0])}}, "column 'x' has 1 records, but there are 2"),
        ({"values": {"x": np.array([1.0, np.inf])}}, "1 values are infinite"),
        ({"weight": np.array([1.0, -1.0])}, "the weight of 1 records is missing, infinite or below 0"),
        ({"weight": np.array([1.0, np.nan])}, "the weight of 1 records"),
        ({"codes": {"region": np.array([0, -1])}}, "column 'region': a code has no label"),
        ({"codes": {"region": np.array([0, 1])}}, "column 'region': a code has no label"),
        ({"labels": {}}, "column 'region': a code has no label"),
    ],
)
def test_wrong_records_are_refused(change, message):
    good = {
        "codes": {"region": np.zeros(2, np.int32)},
        "labels": {"region": ("n",)},
        "values": {"x": np.array([1.0, 2.0])},
        "weight": None,
        "owners": RecordKeys.of(["a", "b"]),
    }
    Respondents(**good)
    with pytest.raises(InputError, match=message):
        Respondents(**{**good, **change})


def test_the_grid_makes_sums_exact_in_any_order():
    rng = np.random.default_rng(0)
    values = on_grid(rng.normal(0, 1, 10_000) * 10.0 ** rng.integers(-6, 6, 10_000))
    assert values.sum() == values[::-1].sum() == values[rng.permutation(10_000)].sum() == np.cumsum(values)[-1]


@pytest.mark.parametrize("total", [1.0, 1024.0, 0.1, 3e300, 1e-300])
def test_the_grid_is_fine_and_keeps_whole_numbers(total):
    values = np.array([total / 3, total / 3, total / 3])
    assert on_grid(values) == pytest.approx(values, rel=1e-15, abs=0)
    assert on_grid(np.array([1.0, 2.0, 2.0**50])).tolist() == [1.0, 2.0, 2.0**50]
    assert on_grid(np.zeros(2)).tolist() == [0.0, 0.0]


def test_values_whose_sum_is_beyond_all_numbers_are_refused():
    with pytest.raises(InputError, match="too large to be added up"):
        on_grid(np.array([1e308, 1e308]))


def test_an_empty_response_gives_a_table_without_cells():
    records = respondents({"row": ["A"]}, {"x": [np.nan]})
    assert len(calibration_table(records, [Dimension("row", flat(["A"]))], "x")) == 0


def test_holdings_in_several_cells_count_once_in_the_margin():
    table = grid_table({("A", "X"): [5, 1], ("A", "Y"): [4]}, unit=["h", "i", "h"])
    at = table.table.find("A/Total")
    assert table.largest.value[at].tolist() == [9, 1, 0] and table.largest.count[at] == 2
