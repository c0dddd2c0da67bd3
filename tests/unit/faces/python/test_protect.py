"""Frames of any kind go in, the same table comes out, and what is wrong is said as jobs say it."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import cellguard as cg
from cellguard.faces.python.protect import protect

RULES = [cg.MinFrequency(3), cg.PPercent(10)]


def firms(rows=90):
    return {
        "A10": [f"S{i % 6 // 2}" for i in range(rows)],
        "A21": [f"D{i % 6}" for i in range(rows)],
        "region": [("N", "S", "W")[i % 7 % 3] for i in range(rows)],
        "year": [2023 + i % 2 for i in range(rows)],
        "turnover": [5000 if i in (12, 31) else 10 + i for i in range(rows)],
        "group": [f"g{i // 2}" for i in range(rows)],
        "w": [1.0 + i % 2 for i in range(rows)],
    }


@pytest.fixture(scope="module")
def done():
    return protect(
        pd.DataFrame(firms()), ["activity", "region"], "turnover", rules=RULES, hierarchies={"activity": ["A10", "A21"]}
    )


def test_a_protected_frame_is_of_the_kind_that_came_in_and_hides_the_same_cells(done):
    data = pa.table(firms())
    relation = duckdb.from_arrow(data)
    kinds = {
        pd.DataFrame: pd.DataFrame(firms()),
        pl.DataFrame: pl.DataFrame(firms()),
        pa.Table: data,
        type(relation): relation,
    }
    tables = []
    for kind, frame in kinds.items():
        outcome = protect(frame, by=["region"], value="turnover", rules=RULES)
        assert isinstance(outcome, cg.Outcome) and isinstance(outcome.table, kind)
        shown = outcome.table
        tables.append(pa.table(shown.to_arrow_table() if kind is type(relation) else shown).to_pydict())
    assert all(table == tables[0] for table in tables)
    assert list(tables[0]) == ["region", "value", "flag"]
    assert [v is None for v in tables[0]["value"]] == [f == "c" for f in tables[0]["flag"]]


def test_nested_columns_are_one_dimension_and_the_table_can_be_wide(done):
    assert done.verdict.kind == "safe" and done.audit.verdict == "safe"
    wide = done.crosstab()
    assert list(wide.index) == ["S0", "D0", "D1", "S1", "D2", "D3", "S2", "D4", "D5", "Total"]
    assert list(wide.columns) == ["N", "S", "W", "Total"] and wide.columns.name == "region"
    assert wide.isna().sum().sum() == int(pa.table(done.release).to_pandas()["flag"].eq("c").sum()) > 0


def test_a_notebook_shows_nothing_that_is_hidden(done):
    page = done._repr_html_()
    values, gone = done.audit.needs.tables.value, done.audit.pattern.hidden
    only_hidden = set(values[gone].tolist()) - set(values[~gone].tolist())
    assert page.count(">c</td>") == gone.sum() > 0 and only_hidden
    assert not any(f">{value:,.0f}<" in page for value in only_hidden)


def test_why_tells_value_respondents_rules_and_accepts_the_page_s_spelling(done):
    name = next(done.audit.needs.tables.cell_name(int(c)) for c in done.audit.pattern.primary.nonzero()[0])
    said = done.why(name)
    assert said == done.why(name.replace("/", " / "))
    assert "respondents." in said[0] and any("p_percent 10" in line and "unsafe" in line for line in said[1:3])
    assert any(line.startswith(f"{name.removeprefix('table: ')} is primary") for line in said)
    assert done.why("Total/Total")[-1] == "Total/Total is published."


def test_the_folder_is_that_of_the_command_line_and_verifies(done, tmp_path):
    folder = done.write(tmp_path / "out")
    assert cg.verify(folder).valid
    assert (folder / "release" / "table.csv").is_file() and (folder / "internal" / "report.html").is_file()
    assert done.report().startswith("<!") and "Confidential" in done.report()
    with pytest.raises(cg.InputError, match="exists already"):
        done.write(tmp_path / "out")


def test_several_tables_are_one_linked_set():
    outcome = protect(firms(), {"a": ["A21", "region"], "b": ["A21"]}, "turnover", rules=RULES, holding="group")
    listed = [table.name for table in outcome.audit.needs.tables.tables if table.release == "here"]
    assert set(outcome.tables) == {"a", "b"} and listed == ["a", "b"]
    with pytest.raises(cg.InputError, match=r"there are several tables; say which of 'a', 'b'"):
        _ = outcome.table


def test_hierarchies_may_be_objects_or_files(tmp_path):
    tree = cg.Hierarchy.from_levels([(f"S{i // 2}", f"D{i}") for i in range(6)])
    (tmp_path / "h.csv").write_text("a,b\n" + "\n".join(f"S{i // 2},D{i}" for i in range(6)))
    found = [
        protect(firms(), ["A21"], "turnover", rules=RULES, hierarchies={"A21": given}, weight="w").table.to_pydict()
        for given in (tree, str(tmp_path / "h.csv"), tmp_path / "h.csv")
    ]
    assert found[0] == found[1] == found[2] and len(found[0]["value"]) == 10


def test_a_path_is_read_as_a_job_reads_it(tmp_path):
    pd.DataFrame(firms()).to_csv(tmp_path / "d.csv", sep=";", decimal=",", index=False)
    outcome = protect(str(tmp_path / "d.csv"), ["region"], "turnover", rules=RULES)
    assert outcome.table.equals(protect(pd.DataFrame(firms()), ["region"], "turnover", rules=RULES).table)


def test_whole_numbers_with_gaps_are_codes_of_pandas_too():
    frame = pd.DataFrame(firms())
    assert protect(frame, ["year"], "turnover", rules=RULES).table["year"].tolist() == ["Total", "2023", "2024"]
    frame["year"] = frame["year"].astype("category")
    assert len(protect(frame, ["year"], rules=cg.MinFrequency(3)).table) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": ["regoin"]}, "did you mean 'region'"),
        ({"by": "region"}, "`by` must be a list of columns; give ['region']"),
        ({"value": "turnovr"}, "no column 'turnovr'; did you mean 'turnover'?"),
        ({"rules": ["p_percent"]}, "a rule is an object such as cg.PPercent(10)"),
        ({"rules": [{"p_percent": "10"}]}, "p_percent: p must be a number"),
        ({"rules": [{"p_prcent": 10}]}, "did you mean 'p_percent'"),
        ({"rules": []}, "No rule was applied"),
        ({"cost": "vlaue"}, "did you mean 'value'"),
        ({"weight": "wgt"}, "no column 'wgt'"),
        ({"hierarchies": {"region": 5}}, "must be a Hierarchy, a path, or a list of columns"),
        ({"options": {"decimls": 1}}, "did you mean 'decimals'"),
        ({"data": 5}, "cannot read int; give a pandas, polars or Arrow frame"),
        ({"rules": cg.PPercent(0.1)}, "confirm it: {'p_percent': {'p': 0.1, 'confirmed': True}}"),
        ({"rules": []}, "give `rules`, for instance cg.MinFrequency(3)"),
        ({"rules": [{"p_percent": 10, "x": 1}]}, "rules[0]"),
        ({"options": {"decimls": 1}}, "options['decimls']"),
        ({"attack": {"lowr": 0}}, "did you mean 'lower'"),
        ({"missing": "skip"}, "missing must be 'error', 'drop', or a mapping"),
        ({"method": "supress"}, "no method 'supress'; did you mean 'suppress'?"),
        ({"method": {"perturb": {"muu": 1}}}, "did you mean 'mu'"),
        ({"freq": "year", "weight": "w"}, "with `freq` each row is a cell of several respondents"),
        ({"data": firms() | {"turnover": [-5] * 90}}, "options={'negative': 'absolute'}"),
    ],
)
def test_what_is_wrong_is_said_with_its_cure(change, words):
    call = {"data": firms(), "by": ["region"], "value": "turnover", "rules": RULES} | change
    with pytest.raises(cg.CellguardError) as caught:
        _ = protect(**call).table
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "make", [lambda: cg.PPercent("10"), lambda: cg.Dominance("1", 85), lambda: cg.MinFrequency("3")]
)
def test_parameters_of_rules_that_are_text_are_refused_in_words(make):
    with pytest.raises(cg.InputError, match="must be"):
        make()


def test_crosstab_counts_and_sums_with_margins():
    frame = pd.DataFrame(firms(300))
    counted = cg.crosstab(frame.region, frame.A21, margins=True)
    assert counted.crosstab().loc["All", "All"] == 300 and list(counted.crosstab().index.names) == ["region"]
    summed = cg.crosstab(frame.region, [frame.A10, frame.year], values=frame.turnover, aggfunc="sum")
    assert summed.release["sum"].by == ("region", "A10", "year")
    for wrong, words in (
        ({"aggfunc": "std"}, "aggfunc must be 'count', 'sum' or 'mean', or a list of them, not 'std'"),
        ({}, "give aggfunc='sum', 'mean' or 'count' together with `values`"),
        ({"aggfunc": "mean", "rules": cg.PPercent(10)}, "means and counts need a rule for the number of records too"),
        ({"aggfunc": "mean", "wieght": "w"}, "no argument 'wieght'; did you mean 'weight'"),
    ):
        with pytest.raises(cg.InputError, match=re.escape(words)):
            cg.crosstab(frame.region, frame.A10, values=frame.turnover, **wrong)


def attacked(table):
    """Return, of each hidden cell of a released table by r and k, what its margins leave: the least and the most."""
    shown = {(r, k): v for r, k, v, _ in table.astype({"value": float}).itertuples(index=False)}
    cells = list(shown)
    rows = {code: [c for c in cells if c[0] == code and c[1] != "Total"] for code, _ in cells}
    columns = {code: [c for c in cells if c[1] == code and c[0] != "Total"] for _, code in cells}
    sums = [((r, "Total"), parts) for r, parts in rows.items()] + [
        (("Total", k), parts) for k, parts in columns.items()
    ]
    matrix, bounds = np.zeros((len(sums), len(cells))), []
    for line, (whole, parts) in enumerate(sums):
        matrix[line, cells.index(whole)] = 1
        matrix[line, [cells.index(part) for part in parts]] = -1
    bounds = [(0, None) if np.isnan(shown[c]) else (shown[c], shown[c]) for c in cells]
    ends = {}
    for at, cell in enumerate(cells):
        if np.isnan(shown[cell]):
            aims = [np.eye(len(cells))[at] * sign for sign in (1, -1)]
            found = [linprog(aim, A_eq=matrix, b_eq=np.zeros(len(sums)), bounds=bounds) for aim in aims]
            ends[cell] = tuple(np.inf if one.status == 3 else abs(one.fun) for one in found)
    return ends


def test_means_are_shown_where_sums_and_counts_are_and_neither_can_be_worked_out(tmp_path):
    hidden = 0
    for seed in range(4):
        draw = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {"r": draw.choice(list("abcd"), 150, p=[0.4, 0.3, 0.2, 0.1]), "k": draw.choice(list("xyz"), 150)}
        )
        frame["v"] = draw.lognormal(3, 1.5, 150).round()
        outcome = cg.crosstab(frame.r, frame.k, frame.v, aggfunc="mean", margins=True, margins_name="Total")
        tables = outcome.tables
        gone = {name: table["value"].isna().tolist() for name, table in tables.items()}
        assert gone["mean"] == gone["sum"] == gone["count"]
        hidden += sum(gone["mean"])
        true = pd.crosstab(frame.r, frame.k, values=frame.v, aggfunc="mean", margins=True, margins_name="Total")
        shown = outcome.crosstab().reindex_like(true)
        assert np.allclose(shown.to_numpy()[shown.notna()], true.to_numpy()[shown.notna()], atol=0.006)
        sizes = frame.groupby(["r", "k"]).v.agg(["sum", "count"])
        reach = {name: attacked(tables[name]) for name in ("sum", "count")}
        for cell in sizes.index[sizes["count"] < 10]:
            low, high = reach["sum"][cell]
            assert low <= 0.9 * sizes["sum"][cell] + 1e-6 and high >= 1.1 * sizes["sum"][cell] - 1e-6
            low, high = reach["count"][cell]
            assert high - low >= 1 - 1e-6
    assert hidden > 20
    assert cg.verify(outcome.write(tmp_path / "out")).valid
    assert "cells suppressed (c)" in outcome._repr_html_() and "in table 'sum'" in outcome.why("a/x")[0]


def test_means_of_weighted_records_are_weighted_and_weights_are_columns():
    frame = pd.DataFrame({"r": ["a"] * 40 + ["b"] * 40, "k": list("xy") * 40, "v": [float(i) for i in range(80)]})
    weight = pd.Series([1.0 + i % 3 for i in range(80)])
    outcome = cg.crosstab(
        frame.r, frame.k, values=frame.v, aggfunc="mean", rules=cg.MinFrequency(3), weight=weight, margins=True
    )
    wanted = np.average(frame.v[:40], weights=weight[:40])
    assert outcome.crosstab().loc["a", "All"] == pytest.approx(wanted, abs=0.006)


def test_no_single_hidden_cell_of_a_crosstab_follows_from_its_margins():
    frame = pd.DataFrame({"r": list("ab") * 40 + ["c"] * 15, "k": list("xyz") * 31 + ["x", "y"]})
    wide = cg.crosstab(frame.r, frame.k, rules=cg.MinFrequency(7), margins=True).crosstab()
    gaps = wide.isna()
    assert gaps.to_numpy().any() and not (gaps.sum() == 1).any() and not (gaps.sum(axis=1) == 1).any()


def test_intervals_and_booleans_of_pandas_are_codes_that_where_finds():
    frame = pd.DataFrame({"age": pd.cut(range(60), [0, 30, 60], right=False), "old": [i % 3 > 0 for i in range(60)]})
    outcome = cg.protect(frame, by=["age", "old"], rules=cg.MinFrequency(3))
    assert outcome.crosstab().index.tolist() == ["[0, 30)", "[30, 60)", "Total"]
    assert outcome.crosstab(where={"old": True})["count"].tolist() == [20, 20, 40]


def test_inner_cells_with_a_frequency_are_cells_and_no_respondents():
    cells = {"region": list("NNSSWW"), "sex": list("fm") * 3, "n": [40, 2, 30, 25, 18, 11], "income": [9.0] * 6}
    counted = protect(cells, ["region", "sex"], rules=cg.MinFrequency(5), freq="n")
    shown = {tuple(row[:2]): row[2] for row in zip(*counted.table.to_pydict().values(), strict=True)}
    assert shown["Total", "Total"] == 126 and shown["N", "m"] is None and shown["W", "m"] in {11, None}
    summed = protect(cells, ["region", "sex"], "income", rules=cg.MinFrequency(5), freq="n")
    assert summed.table.to_pydict()["value"][0] == 54.0
    assert protect(cells, ["region", "sex"], rules=cg.MinFrequency(2)).table.num_rows > 6  # six respondents, one each


def test_attack_and_missing_and_method_are_those_of_a_job():
    frame = pd.DataFrame(firms())
    frame["profit"] = frame.turnover - 60.0
    rules = [cg.MinFrequency(3), cg.Signed(cg.PPercent(10))]
    how = {"attack": {"lower": -np.inf, "insiders": False}, "options": {"negative": "absolute"}}
    assert protect(frame, ["region"], "profit", rules=rules, **how).verdict.allows_release
    gaps = frame.assign(turnover=frame.turnover.where(frame.year > 2023))
    assert protect(gaps, ["region"], rules=RULES[:1], missing="drop").table["value"].iloc[0] == 90
    whole = protect(gaps, ["region"], "turnover", rules=RULES, missing={"value": "drop"})
    assert whole.table["value"].iloc[0] == gaps.turnover.sum()
    noisy = protect(frame, ["A21"], "turnover", rules=cg.PPercent(10), method={"perturb": {"seed": 1}})
    with pytest.raises(cg.InputError, match="these tables are perturbed"):
        noisy.why("D0")
    if noisy.release is not None:
        assert len(noisy.crosstab()) == len(noisy.table)


def test_a_table_of_another_tool_is_attacked_in_one_call():
    table = pd.DataFrame({"r": ["Total", "N", "S", "W"] * 3, "k": ["Total"] * 4 + ["a"] * 4 + ["b"] * 4})
    table["truth"] = [100, 20, 50, 30, 50, 5, 25, 20, 50, 15, 25, 10]
    table["status"] = ["V"] * 5 + ["X", "D", "V", "V", "D", "D", "V"]
    table["value"] = table.truth.where(table.status == "V")
    seen = cg.audit_table(table, ["r", "k"])
    assert seen.is_safe and list(seen.intervals.columns) == ["cell", "lower", "upper"] and len(seen.intervals) == 4
    judged = cg.audit_table(table, ["r", "k"], flag="status", suppressed=["X", "D"], true="truth", primary=["X"])
    assert judged.is_safe and judged.verdict == "safe"
    table.loc[6, "value"] = 25
    broken = cg.audit_table(table, ["r", "k"])
    assert not broken.is_safe and set(broken.failing["cell"]) == {"the table: N/a", "the table: N/b", "the table: S/b"}
    tree = cg.Hierarchy.from_levels([("N",), ("S",), ("W",)])
    assert not cg.audit_table(table, {"r": tree, "k": cg.Hierarchy.from_levels([("a",), ("b",)])}).is_safe
    for wrong, words in (
        ({"by": "r"}, "give ['r']"),
        ({"by": ["q"]}, "no table has such a column"),
        ({"flag": "stat"}, "did you mean 'status'"),
        ({"value": "truth"}, "no cell of these tables is suppressed"),
        ({"attack": {"lowr": 0}}, "did you mean 'lower'"),
    ):
        with pytest.raises(cg.InputError, match=re.escape(words)):
            cg.audit_table(table, **({"by": ["r", "k"]} | wrong))


def test_what_is_not_proven_names_the_cure() -> None:
    frame = {"region": ["N"] * 2 + ["S"] * 9 + ["W"] * 9, "pay": [10] * 2 + [50] * 9 + [30] * 9}
    held = protect(frame, by=["region"], value="pay", rules=cg.MinFrequency(3), method=cg.TabularAdjustment())
    with pytest.raises(cg.NotProtected, match="unproven='accept'"):
        held.crosstab()
