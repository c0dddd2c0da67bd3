"""The safe room: outputs together, attacked by subtraction; models, figures; the folder of the output checker."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations

import matplotlib.figure
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm

import cellguard as cg

FEW = 10


def grants():
    """918 grants of six years, of whose fourth type each year has eight: the margins of ACRO's own example."""
    kinds = np.tile(np.repeat(["G", "N", "R", "R/G"], [15, 59, 71, 8]), 6)
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {"year": np.repeat(np.arange(2010, 2016), 153), "kind": kinds, "income": draw.lognormal(10, 0.8, 918).round()}
    )


def people(rows=400, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": draw.choice(list("NSWE"), rows, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": draw.choice(["f", "m"], rows),
            "age": draw.integers(16, 90, rows),
            "income": draw.lognormal(7, 0.7, rows).round(),
        }
    )


def test_the_cells_below_the_threshold_are_those_of_acro_and_margins_give_none_back():
    frame = grants()
    without = cg.Session(frame).crosstab(frame.year, frame.kind)
    assert without.crosstab()["R/G"].isna().sum() == 6 and without.suppressed().to_numpy().sum() == 6
    whole = cg.Session(frame).crosstab(frame.year, frame.kind, margins=True)
    assert whole.crosstab().loc["All", "All"] == 918 and whole.crosstab()["R/G"].iloc[:6].isna().all()
    assert (whole.suppressed().sum(axis=1).iloc[:6] >= 2).all()  # else the year less the other kinds


def test_margins_asked_for_later_do_not_give_suppressed_cells_back():
    frame = grants()
    session = cg.Session(frame)
    session.crosstab("year", "kind")
    later = session.table(["year"])
    assert later.crosstab()["count"].iloc[:6].isna().all()
    assert session.crosstab("year", "kind").crosstab()["G"].tolist() == [15] * 6


def test_two_outputs_that_differ_by_one_person_are_never_both_shown():
    frame = people()
    for one in (0, 17, 399):
        session = cg.Session(frame)
        session.crosstab(frame.region, frame.sex)
        rest = frame.drop(index=one)
        with pytest.raises(cg.CellguardError, match="all records of output_0 but 1 respondent"):
            session.crosstab(rest.region, rest.sex)
        with pytest.raises(cg.CellguardError, match=r"session\.remove\('output_0'\)"):
            session.table(["region"], where=frame.index != one)
        session.remove("output_0")
        assert session.crosstab(rest.region, rest.sex).release is not None


def test_persons_with_several_records_count_once():
    frame = people(300)
    frame["who"] = np.arange(300) // 6
    session = cg.Session(frame, respondent="who", rules=cg.MinFrequency(5))
    session.table(["sex"])
    with pytest.raises(cg.CellguardError, match="but 2 respondents"):
        session.table(["sex"], where=frame.who > 1)  # 12 records


def test_a_threshold_that_moves_by_a_few_people_gives_none_of_them_away():
    frame = people(500)
    frame.loc[:2, "age"] = 40  # nobody else is 40
    frame.loc[frame.index[3:], "age"] = frame.age[3:].where(frame.age[3:] != 40, 41)
    session = cg.Session(frame)
    first = session.crosstab(frame.region, (frame.age < 40).rename("young"))
    second = session.crosstab(frame.region, (frame.age <= 40).rename("young or forty"))
    a, b = (o.crosstab(mark="c") for o in (first, second))
    moved = frame[frame.age == 40].region.value_counts()
    for region in moved.index:
        for ours, theirs in ((True, True), (False, False)):
            assert "c" in (a.loc[region, ours], b.loc[region, theirs])


def sets_shown(session):
    """Return every sum that somebody sees: of which output and population, by which bands of age, and its records."""
    found = []
    for output in session.outputs.values():
        for shown in output.shown:
            for cell in np.flatnonzero(shown.status == "published"):
                codes = [c[cell] for c in shown.table.codes]
                inside, bands = shown.members.copy(), set()
                for d, code in zip(shown.table.dimensions, codes, strict=True):
                    column = shown.columns[d.name]
                    inside &= column == code if code else column > 0
                    bands |= {d.name} if code and d.name.startswith("age") else set()
                if inside.any():
                    found.append((output.uid, shown.population, bands, inside))
    return found


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (0, *range(2, 12)))])
def test_no_two_sums_of_different_outputs_differ_by_a_few(seed):
    frame = people(260, seed)
    draw = np.random.default_rng(seed)
    session, refused = cg.Session(frame), 0
    for _ in range(8):
        try:
            edge = int(draw.integers(20, 60))
            band = pd.cut(frame.age, [15, edge, 90]).rename("age")
            low = int(draw.integers(16, 80))
            keep = None if draw.random() < 0.4 else ~frame.age.between(low, low + int(draw.integers(4)))
            rows = [band, "region"][draw.integers(2)]
            session.crosstab(rows, "sex", where=keep, margins=bool(draw.random() < 0.5))
        except cg.NotProtected:
            refused += 1
    seen = sets_shown(session)
    checked = 0
    for (a, whom, one, first), (b, other_whom, other, second) in combinations(seen, 2):
        if a != b and (whom != other_whom or (one and other and one != other)):
            apart = int((first ^ second).sum())
            checked += 1
            assert apart == 0 or apart >= FEW, (a, b, apart)
    assert checked > 5


def test_an_index_made_anew_is_noticed():
    frame = people()
    session = cg.Session(frame)
    men = frame[frame.sex == "m"].reset_index(drop=True)
    with pytest.raises(cg.InputError, match="is not that of the session's data, nor a recoding"):
        session.crosstab(men.region, men.age)
    derived = (men.income > 1000).rename("rich")
    with pytest.raises(cg.InputError, match="looks as if its index was made anew"):
        session.crosstab(derived, [])
    assert session.crosstab(frame.region[frame.sex == "m"], []).release is not None


def test_weights_and_means_are_taken():
    frame = people()
    frame["w"] = 1.0 + np.arange(400) % 3
    session = cg.Session(frame, weight="w")
    mean = session.pivot_table("income", "region", aggfunc="mean")
    wanted = np.average(frame.income[frame.region == "N"], weights=frame.w[frame.region == "N"])
    assert mean.crosstab().loc["N", "income"] == pytest.approx(wanted, abs=0.01)


def test_pivot_tables_are_asked_for_as_in_pandas_and_acro():
    frame = people()
    session = cg.Session(frame)
    plain = session.pivot_table(values="income", index="region", columns="sex", aggfunc="sum").crosstab()
    for ask in (
        lambda: session.pivot_table(frame, values="income", index="region", columns="sex", aggfunc="sum"),
        lambda: session.pivot_table(frame, "income", "region", columns="sex", aggfunc="sum"),
        lambda: session.pivot_table("income", "region", "sex", "sum"),
    ):
        assert ask().crosstab().equals(plain)
    with pytest.raises(cg.InputError, match=r"not the frame of the session: leave it out, .* say `where=`"):
        session.pivot_table(frame[frame.age > 30], index="region", values="income")
    with pytest.raises(cg.InputError, match="`index` is given twice: 'region' and 'sex'"):
        session.pivot_table(frame, "income", "region", index="sex")
    with pytest.raises(cg.InputError, match="may be given without names; write margins=True"):
        session.pivot_table("income", "region", "sex", "sum", True)


def test_what_keeps_a_model_from_passing_is_said_before_a_reason_is_asked_for(tmp_path):
    frame = people()
    session = cg.Session(frame)
    session.regression(sm.OLS(frame.income, sm.add_constant(frame[["age"]])).fit())
    part = frame.iloc[1:]
    session.regression(sm.OLS(part.income, sm.add_constant(part[["age"]])).fit())
    with pytest.raises(cg.InputError, match=r"output_1 fails \(.*records.*\) and has no reason"):
        session.finalise(tmp_path / "out")


def test_frames_of_polars_are_asked_by_name():
    session = cg.Session(pl.from_pandas(people()))
    shown = session.crosstab("region", "sex", where={"sex": ["f", "m"]}).crosstab()
    assert isinstance(shown, pl.DataFrame) and shown.columns == ["region", "f", "m"]


def test_records_without_a_code_or_a_value_are_no_part_of_an_output():
    frame = people()
    frame.loc[:19, "region"] = None
    frame.loc[15:39, "income"] = np.nan
    session = cg.Session(frame)
    asked = [
        session.crosstab(frame.sex, frame.age >= 60, margins=True),
        session.crosstab(frame.region, frame.sex, margins=True),
        session.pivot_table("income", "sex", aggfunc="sum", margins=True),
        session.crosstab("region", "sex", margins=True, dropna=False),
    ]
    assert [one.shown[0].members.sum() for one in session.outputs.values()] == [400, 380, 375, 400]
    assert asked[1].crosstab().loc["All", "All"] == 380 and asked[2].crosstab().iloc[-1, 0] > 0


def test_records_left_out_for_a_missing_code_are_not_given_away():
    frame = people()
    frame.loc[:2, "region"] = None
    session = cg.Session(frame)
    session.table(["sex"])
    with pytest.raises(cg.NotProtected, match=r"but 3 respondents: .*dropna=False"):
        session.crosstab(frame.region, frame.sex)
    kept = session.crosstab(frame.region, frame.sex, dropna=False).crosstab(mark="c")
    assert "3" not in kept.to_numpy().ravel().tolist()


def test_missing_codes_as_a_category_are_part_of_the_proof(tmp_path):
    frame = people()
    frame.loc[:24, "region"] = None
    session = cg.Session(frame)
    session.crosstab("region", "sex", margins=True, dropna=False)
    session.table(["sex"])
    folder = session.finalise(tmp_path / "out")
    assert cg.verify(folder / "proof" / "all").valid
    assert "nan" in (folder / "output_0_0.csv").read_text().lower()


def test_axes_of_a_plot_are_a_figure(tmp_path):
    session = cg.Session(people())
    plot = matplotlib.figure.Figure().subplots()
    session.figure(plot, counts=[200, 200])
    assert (session.finalise(tmp_path / "out") / "output_0.png").exists()


def test_models_are_checked_for_freedom_counts_and_earlier_ones():
    frame = people()
    design = sm.add_constant(pd.DataFrame({"age": frame.age, "north": (frame.region == "N").astype(float)}))
    session = cg.Session(frame)
    table = session.regression(sm.OLS(frame.income, design).fit())
    assert list(table.columns) == ["coef", "std err", "t", "p"] and session.outputs["output_0"].status == "pass"
    session.regression(sm.OLS(frame.income[:-3], design[:-3]).fit())
    session.regression(sm.OLS(frame.income[:12], design[:12]).fit())
    rare = design.assign(rare=(np.arange(400) < 4).astype(float))
    session.regression(sm.OLS(frame.income, rare).fit())
    words = [" ".join(o.checked.words) for o in session.outputs.values()]
    assert "3 records more or fewer than an earlier model" in words[1]
    assert "9 residual degrees of freedom, fewer than 10" in words[2]
    assert "rare is 1, or 0, of 4 records only" in words[3]
    with pytest.raises(cg.InputError, match=r"call \.fit\(\) first"):
        session.regression(sm.OLS(frame.income, design))


def test_the_folder_has_what_the_viewer_reads_and_a_proof_that_verifies(tmp_path):
    from matplotlib.figure import Figure

    frame = grants()
    session = cg.Session(frame)
    session.crosstab("year", "kind", margins=True, comment="of all grants")
    session.pivot_table("income", "kind", aggfunc=["mean", "sum"])
    session.figure(Figure(), comment="a sketch")
    with pytest.raises(cg.InputError, match=r"output_2 is for review .* session\.exception\('output_2'"):
        session.finalise(tmp_path / "out")
    session.exception("output_2", "it shows no data")
    session.rename("output_0", "by_year")
    folder = session.finalise(tmp_path / "out")
    said = json.loads((folder / "results.json").read_text())
    assert said["version"].split(".")[:2] >= ["0", "4"] and list(said["results"]) == ["by_year", "output_1", "output_2"]
    keys = {"uid", "status", "type", "properties", "files", "outcome", "command", "summary", "timestamp", "comments"}
    for result in said["results"].values():
        assert keys < set(result) and result["files"] and result["status"] in {"pass", "fail", "review"}
        for file in result["files"]:
            text = (folder / "checksums" / f"{file['name']}.txt").read_text()
            assert text == hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
    first = said["results"]["by_year"]
    assert first["comments"] == ["of all grants"] and "session.crosstab" in first["command"]
    lines = [line.split(",") for line in (folder / first["files"][0]["name"]).read_text().splitlines()]
    for row, column in first["files"][0]["sdc"]["cells"]["suppressed"]:
        assert lines[row + 1][column + 1] == "c" and list(first["outcome"].values())[column][lines[row + 1][0]] != "ok"
    assert "it shows no data" in (folder / "report.html").read_text()
    assert cg.verify(folder / "proof" / "all").valid
    with pytest.raises(cg.InputError, match="force=True"):
        session.finalise(folder)
    assert session.finalise(folder, force=True) == folder


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s, f: s.crosstab("regoin", "sex"), "no column 'regoin'; did you mean 'region'?"),
        (lambda s, f: s.crosstab(5, "sex"), "must be a column of the session's data, or its name"),
        (lambda s, f: s.crosstab("region", "region"), "'region' is asked for twice"),
        (lambda s, f: s.crosstab("region", "sex", where={"sex": "x"}), "no record has 'x' in 'sex'"),
        (lambda s, f: s.crosstab("region", "sex", where=[True]), "must be 400 booleans"),
        (lambda s, f: s.crosstab("region", "sex", where="sex == 'f'"), "a column of booleans or a mapping"),
        (lambda s, f: s.crosstab(f.region[f.sex == "f"], f.age[f.sex == "m"]), "about different records"),
        (lambda s, f: s.table("region"), "give ['region']"),
        (lambda s, f: s.exception("output_9", "why"), "no output 'output_9'"),
        (lambda s, f: s.figure("nowhere.png"), "there is no figure 'nowhere.png'"),
        (lambda s, f: s.figure(object()), "one of matplotlib"),
        (lambda s, f: s.finalise("out"), "no outputs yet"),
        (lambda s, f: cg.Session(f, weight="wgt"), "no column 'wgt'"),
        (lambda s, f: cg.Session(pd.concat([f, f])), "the same index"),
        (lambda s, f: cg.Session("f.csv"), "one frame or mapping of columns, not str"),
    ],
)
def test_mistakes_are_answered(ask, words):
    frame = people()
    with pytest.raises(cg.CellguardError) as caught:
        ask(cg.Session(frame), frame)
    assert words in str(caught.value)
