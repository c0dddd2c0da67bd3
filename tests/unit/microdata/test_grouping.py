"""Sums by leaf codes and holding, judged by plain Python over exact fractions."""

import subprocess
import sys
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.microdata.checked import check_records
from cellguard.microdata.grouped import Grouped
from cellguard.microdata.query import group_records, read_units
from cellguard.microdata.records import records
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records

from grouped_units import group_units


def oracle(rows, *, holding, weight):
    """Sum rows (dicts) in exact arithmetic; a holding is numbered by its place among the sorted ones."""
    names = {r["group"] for r in rows}
    named = {h: i for i, h in enumerate(sorted(names, key=int if all(map(str.isdigit, names)) else None))}
    found = defaultdict(lambda: [0, Fraction(0), Fraction(0)])
    for number, row in enumerate(rows):
        key = (named[row["group"]] if holding else number, row["region"], row["size"])
        w = Fraction(str(row["w"])) if weight else 1
        found[key][0] += 1
        found[key][1] += Fraction(str(row["x"]))
        found[key][2] += w * Fraction(str(row["x"]))
    return [(*key, *found[key]) for key in sorted(found)]


def essence(grouped):
    names = [[grouped.labels[d][c] for c in grouped.codes[d]] for d in range(2)]
    total, weighted = (sums["x"].tolist() for sums in (grouped.total, grouped.weighted))
    return list(zip(grouped.holding.tolist(), *names, grouped.records.tolist(), total, weighted, strict=True))


def as_floats(rows):
    return [(*row[:-2], float(row[-2]), float(row[-1])) for row in rows]


ROW = st.fixed_dictionaries(
    {
        "region": st.sampled_from(["N", "S", "é", "10", "2"]),
        "size": st.sampled_from(["a", "b"]),
        "group": st.sampled_from(["g", "h", "10", "9", "Z", "ä"]),
        "x": st.decimals(-1000, 1000, places=3).map(float),
        "w": st.decimals(1, 50, places=2).map(float),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=40), st.booleans(), st.booleans())
def test_sums_are_exact(rows, holding, weight):
    data = {name: [row[name] for row in rows] for name in rows[0]}
    roles = {"holding": "group" if holding else None, "weight": "w" if weight else None}
    grouped = records(data, ["region", "size"], ["x"], **roles)
    assert essence(grouped) == as_floats(oracle(rows, holding=holding, weight=weight))
    assert (grouped.weighted["x"] is grouped.total["x"]) == (not weight)


@settings(max_examples=30, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=30), st.booleans())
def test_units_are_the_records_and_pairs_lead_to_their_rows(rows, holding):
    data = {name: [row[name] for row in rows] for name in rows[0]}
    grouped = records(data, ["region", "size"], ["x"], weight="w", holding="group" if holding else None)
    units = grouped.units()
    assert units.values["x"].tolist() == data["x"] and units.weight.tolist() == data["w"]
    assert [units.labels[0][c] for c in units.codes[0]] == data["region"]
    pairs = grouped.pairs("x")
    assert [grouped.labels[1][grouped.codes[1][r]] for r in pairs.row] == data["size"]
    assert grouped.holding[pairs.row].tolist() == units.holding.tolist()
    assert np.allclose(np.bincount(pairs.row, pairs.value * pairs.weight, len(grouped)), grouped.weighted["x"])
    assert grouped.pairs("count").value.tolist() == [1.0] * len(rows)
    again = group_units(units)
    assert again.holding.tolist() == grouped.holding.tolist() and again.records.tolist() == grouped.records.tolist()
    assert [c.tolist() for c in again.codes] == [c.tolist() for c in grouped.codes]
    assert np.allclose(again.total["x"], grouped.total["x"])


def big(rows=200_000, seed=3):
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "region": random.integers(0, 30, rows).astype(str),
            "size": random.integers(0, 4, rows).astype(str),
            "group": np.char.add("g", random.integers(0, rows // 3, rows).astype(str)),
            "x": random.lognormal(3, 2, rows),
            "w": random.uniform(1, 20, rows),
        }
    )


@pytest.mark.parametrize("holding", ["group", None])
def test_the_result_does_not_depend_on_threads(holding):
    found = []
    for threads in (1, 2, 4):
        opened = open_records(big())
        opened.engine.connection.execute(f"SET threads = {threads}")
        found.append(group_records(check_records(opened, Roles(("region", "size"), ("x",), "w", None, holding))))
    for other in found[1:]:
        assert essence(other) == essence(found[0])


def test_a_wide_range_of_values_is_summed_exactly():
    data = {"region": ["N"] * 4, "group": ["g"] * 4, "x": [1e12, 0.125, -1e12, 1.0]}
    assert records(data, ["region"], ["x"], holding="group").total["x"].tolist() == [1.125]
    for huge in ([1e40, 1.0, -1e40], [1e308, 1e308, 1.0], [1e15, 9e15, 1.0]):
        data = {"region": ["N"] * 3, "group": ["g"] * 3, "x": huge}
        with pytest.raises(InputError, match="column 'x': the values add up to more than can be exact"):
            records(data, ["region"], ["x"], holding="group")


def test_long_fractions_are_read_to_six_decimals_and_that_is_said():
    found = records({"r": ["N", "N"], "g": ["a", "a"], "x": [1 / 3, 2 / 3]}, ["r"], ["x"], holding="g", name="firms")
    assert found.total["x"].tolist() == [1.0]
    assert found.notes == ("firms: the values of 'x' have more decimals than can be summed exactly; 6 are read",)
    assert found.units().values["x"].tolist() == [0.333333, 0.666667]


@pytest.mark.parametrize("ids", [["10", "9", "10"], [10, 9, 10]])
def test_whole_numbers_as_names_are_ordered_as_numbers(ids):
    found = records({"r": ["N", "N", "N"], "g": ids, "x": [1, 2, 4]}, ["r"], ["x"], holding="g")
    assert found.total["x"].tolist() == [2, 5]
    assert found.units().holding.tolist() == [1, 0, 1]


def test_names_with_leading_zeros_stay_text():
    found = records({"r": ["N", "N"], "g": ["01", "1"], "x": [1, 2]}, ["r"], ["x"], holding="g")
    assert found.holdings == 2


def test_the_respondent_stands_in_for_the_holding_and_repeats_are_told():
    found = records(
        {"r": ["N", "S", "N"], "id": ["a", "b", "a"], "x": [1, 2, 4]}, ["r"], ["x"], respondent="id", name="f"
    )
    assert found.total["x"].tolist() == [5, 2]
    assert found.notes == ("f: 1 respondent has several records; in each cell it counts once, with the sum of its own",)


def test_repeats_are_told_beside_holdings_too():
    data = {"r": ["N", "S", "N"], "id": ["a", "b", "a"], "g": ["h", "h", "h"], "x": [1, 2, 4]}
    found = records(data, ["r"], ["x"], respondent="id", holding="g")
    assert "1 respondent has several records" in found.notes[0]


def test_marks_hold_for_the_whole_holding():
    data = {
        "r": ["N", "S", "N", "S"],
        "g": ["a", "a", "b", "b"],
        "x": [1, 2, 3, 4],
        "waives": ["yes", "yes", "yes", "no"],
        "asks": ["", "no", "1", ""],
    }
    found = records(data, ["r"], ["x"], holding="g", waiver="waives", request="asks")
    assert found.waived.tolist() == [True, True, False, False]
    assert found.requested.tolist() == [False, False, True, True]
    assert found.units().requested.tolist() == [False, False, True, False]


def test_a_request_may_be_told_by_codes():
    opened = open_records({"r": ["N", "N"], "q": ["2", "0"], "x": [1, 2]})
    roles = Roles(("r",), ("x",), request="q", request_codes=("1", "2"))
    assert group_records(check_records(opened, roles)).requested.tolist() == [True, False]


GAPS = {
    "r": ["N", None, "S", "N"],
    "id": ["a", "b", "c", "d"],
    "g": ["h", "h", None, "c"],
    "x": [1.0, 2.0, None, 4.0],
    "w": [1.0, 1.0, 1.0, 0.0],
}


def gaps(**policy):
    return records(GAPS, ["r"], ["x"], respondent="id", holding="g", missing=Missing(**policy), name="f")


def test_missing_codes_and_values_may_be_dropped_and_are_counted():
    found = gaps(code="drop", value="drop", holding="own")
    assert essence_1(found) == [("N", "h", 1.0), ("N", "c", 4.0)]
    assert found.notes == (
        "f: 1 record with no code in 'r': left out",
        "f: 1 record with no value in 'x': left out",
        "f: 1 record with no holding in 'g', taken as holdings of their own",
    )


def test_missing_codes_may_be_a_category_and_missing_values_zero():
    found = gaps(code="category", value="zero", holding="own")
    assert found.labels == (("Missing", "N", "S"),)
    assert sorted(found.total["x"].tolist()) == [0.0, 1.0, 2.0, 4.0]
    assert "f: 1 record with no value in 'x', taken as 0" in found.notes


def test_a_respondent_that_is_its_own_holding_is_no_holding_of_that_name():
    found = gaps(code="category", value="zero", holding="own")
    assert found.holdings == 3  # h, c, and the respondent c for itself


def essence_1(found):
    """Rows in words, holdings by their names."""
    names = ["c", "h"]
    return sorted(
        (
            (found.labels[0][c], names[h], x)
            for c, h, x in zip(found.codes[0], found.holding, found.total["x"], strict=True)
        ),
        key=lambda row: row[2],
    )


def test_a_weight_of_zero_is_not_part_of_the_survey():
    found = records(GAPS, ["r"], ["x"], weight="w", missing=Missing(code="drop", value="drop"), name="f")
    assert found.records.sum() == 1 and found.total["x"].tolist() == [1.0]
    assert "f: 1 record with a weight of 0 in 'w': left out" in found.notes


def test_when_every_record_is_dropped_nothing_is_left():
    data = {"r": ["N", "S"], "x": ["", None], "g": ["a", "b"]}
    for holding in ("g", None):
        with pytest.raises(InputError, match="the records: no record is left: 2 records with no value in 'x'"):
            records(data, ["r"], ["x"], holding=holding, missing=Missing(value="drop"))
        checked = check_records(
            open_records(data), Roles(("r",), ("x",), holding=holding, missing=Missing("drop", "drop"))
        )
        with pytest.raises(InputError, match="no record is left"):
            read_units(checked)


def test_units_of_whole_number_weights_and_marks():
    data = {"r": ["N", "S"], "x": [1, 2], "w": [3, 4], "waived": [True, False], "id": ["b", "a"]}
    units = records(data, ["r"], ["x"], weight="w", waiver="waived", respondent="id").units()
    assert units.weight.tolist() == [3.0, 4.0] and units.waived.tolist() == [True, False]
    assert units.respondent.tolist() == units.holding.tolist() == [1, 0] and units.weight.dtype == float


def test_files_are_read_without_pandas(tmp_path):
    path = tmp_path / "firms.csv"
    path.write_text("r,x,g\nN,1.5,a\n")
    code = (
        "import sys; from cellguard.microdata.records import records; "
        f"records({str(path)!r}, ['r'], ['x'], holding='g').units(); "
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_counts_need_no_response():
    found = records({"r": ["N", "S", "N"]}, ["r"])
    assert found.records.tolist() == [1, 1, 1] and found.weighted == {}


def test_unknown_columns_and_responses():
    found = records({"r": ["N"], "x": [1]}, ["r"], ["x"])
    with pytest.raises(InputError, match="not read by column 'region'"):
        found.column("region")
    with pytest.raises(InputError, match="no response 'y'"):
        found.pairs("y")
    bare = Grouped((), (), (), *(np.zeros(0, np.int64),) * 2, {}, {}, *(np.zeros(0, bool),) * 2)
    with pytest.raises(InputError, match="are not known"):
        bare.units()


def test_read_units_follows_the_source_order():
    checked = check_records(open_records(big(50_000)), Roles(("region",), ("x",), None, None, "group"))
    units = read_units(checked)
    assert [units.labels[0][c] for c in units.codes[0][:100]] == big(50_000).column("region").to_pylist()[:100]
    assert len(units) == 50_000
