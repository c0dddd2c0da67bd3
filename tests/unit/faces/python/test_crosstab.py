"""`crosstab` and `pivot_table` beside pandas' own: what is not suppressed is what pandas shows, in the same place."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellguard as cg

RULES = cg.MinFrequency(4)


def people(rows=160, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": draw.choice(["north", "south", "b10", "b2"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "year": draw.choice([2023, 2024], rows),
            "sex": draw.choice([True, False], rows),
            "age": draw.integers(16, 80, rows),
            "income": draw.lognormal(3, 0.6, rows).round(),
            "hours": draw.integers(1, 60, rows),
        }
    )


def same_where_shown(shown, hidden, wanted, within=0.0):
    """Compare frames: the same labels on the same axes, and the same values but for suppressed cells."""
    for ours, theirs in ((shown.index, wanted.index), (shown.columns, wanted.columns)):
        assert list(ours) == list(theirs) and list(ours.names) == list(theirs.names)
    ours = shown.astype(float).to_numpy(dtype=float, na_value=np.nan)
    theirs = wanted.astype(float).fillna(0.0).to_numpy()
    gone = hidden.to_numpy()
    assert np.isnan(ours[gone]).all()
    assert np.allclose(np.nan_to_num(ours[~gone]), theirs[~gone], atol=within)


@st.composite
def calls(draw):
    kinds = ["region", "year", "sex"]
    index = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2, unique=True))
    columns = draw(st.lists(st.sampled_from([k for k in kinds if k not in index]), min_size=1, max_size=2, unique=True))
    how = {"margins": draw(st.booleans()), "margins_name": draw(st.sampled_from(["All", "Total"]))}
    normalize = draw(st.sampled_from([False, False, True, "index", "columns"]))
    aggfunc = draw(st.sampled_from([None, "sum", "mean", "count", ["mean", "sum"], ["count", "mean"]]))
    if normalize and aggfunc is None and len(index) == len(columns) == 1:
        how["normalize"] = normalize
    return draw(st.integers(0, 5)), index, columns, aggfunc, how


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls())
def test_crosstab_is_that_of_pandas_where_nothing_is_suppressed(call):
    seed, index, columns, aggfunc, how = call
    frame = people(seed=seed)
    figures = {} if aggfunc is None else {"values": frame.income, "aggfunc": aggfunc}
    outcome = cg.crosstab([frame[n] for n in index], [frame[n] for n in columns], rules=RULES, **figures, **how)
    wanted = pd.crosstab([frame[n] for n in index], [frame[n] for n in columns], **figures, **how)
    same_where_shown(outcome.crosstab(), outcome.suppressed(), wanted, 0.0051 if "mean" in (aggfunc or ()) else 1e-9)


@settings(max_examples=7, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 5),
    st.sampled_from(["income", ["income"], ["income", "hours"]]),
    st.sampled_from([("region", None), ("region", "year"), (["region", "sex"], "year"), ("sex", ["year", "region"])]),
    st.sampled_from(["sum", "mean", ["sum", "mean"]]),
    st.booleans(),
)
def test_pivot_table_is_that_of_pandas_where_nothing_is_suppressed(seed, values, axes, aggfunc, margins):
    frame = people(seed=seed)
    if margins and isinstance(aggfunc, list) and axes[1] is None:
        margins = False  # pandas itself puts them elsewhere in each version
    if isinstance(values, list):
        values = sorted(values)
    asked = {"values": values, "index": axes[0], "columns": axes[1], "aggfunc": aggfunc, "margins": margins}
    outcome = cg.pivot_table(frame, rules=RULES, **asked)
    same_where_shown(outcome.crosstab(), outcome.suppressed(), pd.pivot_table(frame, **asked), 0.0051)


def test_each_column_may_have_a_function_of_its_own():
    frame = people()
    asked = {"income": "sum", "hours": np.mean}
    outcome = cg.pivot_table(frame, index="year", columns="sex", aggfunc=asked, margins=True, rules=RULES)
    wanted = pd.pivot_table(frame, index="year", columns="sex", aggfunc=asked, margins=True)
    same_where_shown(outcome.crosstab(), outcome.suppressed(), wanted, within=0.005)
    assert set(outcome.tables) == {"sum_1", "sum_2", "count", "mean_1"}
    counted = cg.pivot_table(frame, index="year", aggfunc={"income": "sum", "hours": "count"}, rules=RULES)
    assert {name for name in counted.tables if name.startswith("sum")} == {"sum_1"}


def test_intervals_and_ordered_categories_stand_in_their_order():
    frame = people()
    bands = pd.cut(frame.age, [15, 25, 45, 80])
    size = pd.Categorical(np.where(frame.hours > 40, "large", "small"), ["small", "large"], ordered=True)
    outcome = cg.crosstab(bands, pd.Series(size, name="size"), rules=RULES)
    wanted = pd.crosstab(bands, pd.Series(size, name="size"))
    assert list(outcome.crosstab().index) == list(wanted.index) and list(outcome.crosstab().columns) == [
        "small",
        "large",
    ]
    assert outcome.crosstab().loc[pd.Interval(25, 45), "small"] == wanted.loc[pd.Interval(25, 45), "small"]


def test_dates_booleans_and_numbers_come_back_as_what_they_were():
    frame = people()
    day = pd.Series([dt.date(2024, 1, 1 + i % 2) for i in range(len(frame))], name="day")
    shown = cg.crosstab(day, frame.sex, rules=RULES).crosstab()
    assert list(shown.index) == [dt.date(2024, 1, 1), dt.date(2024, 1, 2)] and list(shown.columns) == [False, True]
    stamps = pd.Series(pd.to_datetime(day), name="day")
    assert list(cg.crosstab(stamps, frame.year, rules=RULES).crosstab().index) == sorted(set(stamps))


def test_counts_are_integers_and_suppressed_cells_are_not_empty_ones():
    frame = pd.DataFrame({"r": ["a"] * 40 + ["b"] * 3 + ["c"] * 30, "k": ["x", "y"] * 20 + ["x"] * 3 + ["x"] * 30})
    outcome = cg.crosstab(frame.r, frame.k)
    shown, marked = outcome.crosstab(), outcome.crosstab(mark="c")
    assert str(shown.dtypes["x"]) == "Int64" and shown.loc["a", "y"] == 20
    assert shown.isna().loc["b", "x"] and shown.loc["b", "y"] == 0
    assert marked.loc["b", "x"] == "c" and outcome.suppressed().loc["b", "x"] and marked.loc["b", "y"] == "0"
    assert outcome.table["value"].dtype == "Int64"
    assert cg.crosstab(frame.r[:40], frame.k[:40]).crosstab().dtypes.tolist() == [np.dtype("int64")] * 2


def test_the_number_of_records_counts_as_known_where_no_margin_is_shown():
    frame = pd.DataFrame({"r": ["a"] * 40 + ["b"] * 3 + ["c"] * 30})
    shown = cg.crosstab(frame.r, [], rules=cg.MinFrequency(10)).crosstab()
    assert shown["count"].isna().sum() == 2  # b alone would be 73 less the others


def test_missing_codes_are_left_out_or_a_category_of_their_own():
    frame = people(300)
    frame.loc[frame.index[:30], "region"] = None
    left = cg.crosstab(frame.region, frame.sex, rules=RULES, margins=True).crosstab()
    assert left.loc["All", "All"] == 270 == pd.crosstab(frame.region, frame.sex, margins=True).loc["All", "All"]
    kept = cg.crosstab(frame.region, frame.sex, rules=RULES, margins=True, dropna=False).crosstab()
    assert kept.loc["All", "All"] == 300 and pd.isna(kept.index[-2])


def test_records_without_a_value_are_left_out_and_that_is_said():
    frame = people(200)
    frame.loc[frame.index[:5], "income"] = np.nan
    outcome = cg.crosstab(frame.region, frame.sex, frame.income, aggfunc="count", margins=True, rules=RULES)
    assert outcome.crosstab().loc["All", "All"] == 195
    assert any("5 records" in note for note in outcome.summary.plain()["warnings"])


def test_a_third_dimension_is_columns_or_said_with_where():
    frame = people(400)
    outcome = cg.protect(frame, ["region", "sex", "year"], rules=RULES)
    wide = outcome.crosstab()
    assert wide.columns.nlevels == 2 and wide.loc["north", ("false", "2024")] > 0
    cut = outcome.crosstab(where={"year": 2024})
    assert cut.loc["north", "false"] == wide.loc["north", ("false", "2024")]
    with pytest.raises(cg.InputError, match="no code 2025 in dimension 'year'"):
        outcome.crosstab(where={"year": 2025})


def test_frames_of_polars_come_back_as_polars_with_categories_in_their_order():
    frame = pl.from_pandas(people(200)).with_columns(pl.col("region").cast(pl.Enum(["b2", "b10", "south", "north"])))
    shown = cg.crosstab(frame["region"], frame["sex"], rules=RULES).crosstab()
    assert isinstance(shown, pl.DataFrame) and shown["region"].to_list() == ["b2", "b10", "south", "north"]
    pivot = cg.pivot_table(frame, "income", "region", "sex", aggfunc="sum", rules=RULES).crosstab()
    assert isinstance(pivot, pl.DataFrame) and pivot.columns == ["region", "False", "True"]


def test_shares_tell_nothing_that_published_cells_do_not():
    frame = pd.DataFrame({"r": ["a"] * 43 + ["b"] * 40 + ["c"] * 40, "k": ["x"] * 40 + ["y"] * 3 + ["x", "y"] * 40})
    outcome = cg.crosstab(frame.r, frame.k, normalize="index")
    shares, counts = outcome.crosstab(), outcome.tables["count"]
    assert (shares.loc["a"].isna().all() and shares.loc["c"].tolist() == [0.5, 0.5]) or shares.loc["b"].tolist() == [
        0.5,
        0.5,
    ]
    assert counts["value"].isna().sum() >= 4 and len(counts) == 12  # margins are in what was protected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: cg.crosstab("region", f.sex), "take cg.pivot_table(frame, index=..., columns=...)"),
        (lambda f: cg.crosstab(f.region, f.sex[:5]), "take all columns from one frame"),
        (lambda f: cg.crosstab(f.region, f.sex.sample(frac=1, random_state=1)), "different indexes"),
        (lambda f: cg.crosstab(f.region, f.income / 7), "group them first with pandas.cut"),
        (lambda f: cg.crosstab(f.region, f.sex, f.income, aggfunc="median"), "not 'median'"),
        (lambda f: cg.crosstab(f.region, f.sex, f.income, aggfunc=np.std), "not 'std'"),
        (lambda f: cg.crosstab(f.region, f.sex, aggfunc="sum"), "give `values` together"),
        (lambda f: cg.crosstab(f.region, f.sex, normalize="rows"), "normalize must be True, 'all', 'index'"),
        (lambda f: cg.crosstab(f.region, f.sex, margin=True), "did you mean"),
        (lambda f: cg.crosstab(f.region, f.sex, rownames=["a", "b"]), "`rownames` must be a list of 1"),
        (lambda f: cg.crosstab(f.region, f.sex, margins=True, margins_name="north"), "say margins_name='Total'"),
        (lambda f: cg.pivot_table(f, "incme", "region"), "no column 'incme'; did you mean 'income'?"),
        (lambda f: cg.pivot_table(f, "income", "region", fill_value=0), "fill_value would make suppressed cells"),
        (lambda f: cg.pivot_table(f, "income"), "give `index`, or `columns`, or both"),
        (lambda f: cg.pivot_table(f, index="region"), "give `values` together"),
        (lambda f: cg.pivot_table("f.csv", "income", "region"), "`data` must be a frame"),
        (lambda f: cg.pivot_table(f, "income", "sex", aggfunc={"hours": "sum"}), "in only one of `values` and"),
        (lambda f: cg.pivot_table(f, index="sex", aggfunc={"hours": ["sum"]}), "one function to each column"),
        (lambda f: cg.pivot_table(f, "income", "sex", sort=False), "make the column a pd.Categorical"),
        (lambda f: cg.pivot_table(f, "income", "sex", observed=False), "observed=False is not taken"),
    ],
)
def test_mistakes_are_answered_in_the_words_of_pandas(call, words):
    with pytest.raises(cg.InputError) as caught:
        call(people())
    assert words in str(caught.value)


def test_what_is_written_verifies(tmp_path):
    frame = people(300)
    for number, how in enumerate(({}, {"margins": True}, {"normalize": "index"})):
        outcome = cg.crosstab(frame.region, frame.sex, rules=cg.MinFrequency(12), **how)
        assert cg.verify(outcome.write(tmp_path / str(number))).valid
