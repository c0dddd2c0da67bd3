"""A source that is asked from Python: answers, refusals, repeated questions, and the register."""

import sqlite3

import pytest
import yaml

import cellguard as cg

from source_folders import make_source, make_two_groupings


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def firms(made):
    opened = cg.source(made)
    yield opened
    opened.close()


@pytest.fixture
def groupings(tmp_path):
    return make_two_groupings(tmp_path)


def change(home, **more):
    spec = yaml.safe_load((home / "source.yaml").read_text())
    (home / "source.yaml").write_text(yaml.safe_dump(spec | more))


def test_a_table_is_answered_with_all_its_levels(firms):
    answer = firms.table(["region"], value="staff")
    table = answer.to_arrow().to_pydict()
    assert answer and table["region"][0] == "Total" and set(table["region"]) > {"North", "N1", "South"}
    shown = dict(zip(table["region"], table["value"], strict=True))
    assert shown["North"] == shown["N1"] + shown["N2"], "perturbed values add up"
    assert len(answer.to_pandas()) == 8


def test_the_same_question_has_the_same_answer_at_no_cost(firms):
    first = firms.table(["size", "branch"], value="turnover")
    told = dict(firms.exposure)
    again = firms.table(["branch", "size"], value="turnover")
    assert again.repeated and again.to_arrow().equals(first.to_arrow()) and dict(firms.exposure) == told


def test_what_follows_from_answers_costs_nothing(firms):
    firms.table(["size", "branch"], value="turnover")
    told = dict(firms.exposure)
    answer = firms.table(["branch"], value="turnover", where={"size": "small"})
    assert answer and answer.new_cells == 0 and dict(firms.exposure) == told


def test_a_filter_by_a_code_above_is_the_sum_of_what_is_below(firms):
    north = firms.table(["size"], value="staff", where={"region": "North"}).to_arrow().to_pydict()
    both = firms.table(["size"], value="staff", where={"region": ["N1", "N2"]}).to_arrow().to_pydict()
    assert north == both


def test_levels_are_those_that_were_asked_for(firms):
    table = firms.table(["region"], value="staff", levels={"region": 1}).to_arrow().to_pydict()
    assert table["region"] == ["North", "South"]


@pytest.mark.parametrize(
    ("by", "more", "words"),
    [
        (["regoin"], {}, "did you mean 'region'"),
        (["region"], {"value": "profit"}, "no value 'profit'"),
        (["region"], {"where": {"size": "huge"}}, "no code 'huge'"),
        (["region"], {"levels": {"region": 9}}, "levels 0 to 2"),
        (["region", "region"], {}, "twice"),
        ([], {}, "1 to 6 variables"),
        ("region", {}, "a list"),
        (["region"], {"where": {"size": ["x"] * 1_000}}, "at most"),
        (["region"], {"where": {"size; drop table answers": "small"}}, "no variable"),
    ],
)
def test_wrong_questions_are_told_so(firms, by, more, words):
    with pytest.raises(cg.InputError, match=words):
        firms.table(by, **{"value": "turnover"} | more)


def test_two_answers_that_disclose_a_firm_are_not_both_given_whole(groupings):
    source = cg.source(groupings)
    assert source.table(["z1"], value="y").to_arrow()["flag"].to_pylist() == ["", "", ""]
    second = source.table(["z2"], value="y")
    assert "too few are determined" in second.reason and second.to_arrow()["flag"].to_pylist().count("x") == 2


def test_a_source_that_is_opened_again_knows_what_was_answered(groupings):
    source = cg.source(groupings)
    first = source.table(["z1"], value="y").to_arrow()
    source.close()
    again = cg.source(groupings)
    assert again.table(["z1"], value="y").to_arrow().equals(first)
    assert "x" in again.table(["z2"], value="y").to_arrow()["flag"].to_pylist()


def test_two_workers_share_what_was_answered(groupings):
    one, two = cg.source(groupings), cg.source(groupings)
    one.table(["z1"], value="y")
    assert "x" in two.table(["z2"], value="y").to_arrow()["flag"].to_pylist(), "two knows what one answered"
    assert one.table(["z2"], value="y").repeated


def test_a_register_that_was_changed_is_refused(groupings):
    cg.source(groupings).table(["z1"], value="y")
    with sqlite3.connect(groupings / "answers.db") as database:
        database.execute("update answers set about = 'nothing'")
    with pytest.raises(cg.InputError, match="entry 1 was changed"):
        cg.source(groupings)


def test_a_register_of_other_multipliers_is_refused(groupings, tmp_path):
    cg.source(groupings).table(["z1"], value="y")
    job = yaml.safe_load((groupings / "job.yaml").read_text())
    (groupings / "job.yaml").write_text(yaml.safe_dump(job | {"tables": [job["tables"][0] | {"by": ["size", "z1"]}]}))
    with pytest.raises(cg.InputError, match="which the job of the source does not have"):
        cg.source(groupings)
    table = job["tables"][0]
    more = [table, table | {"name": "more", "by": ["z2"], "value": "y"}]
    (groupings / "job.yaml").write_text(yaml.safe_dump(job | {"tables": more}))
    with pytest.raises(cg.InputError, match="belongs to other planned tables"):
        cg.source(groupings)


def test_limits_are_kept(groupings):
    change(groupings, limits={"answers": 1, "new_cells": 2, "cells": 5})
    source = cg.source(groupings)
    with pytest.raises(cg.InputError, match="at most 5"):
        source.table(["size", "z1"], value="y")
    assert source.table(["z1"], value="y", who="a")
    assert "as many answers" in source.table(["size"], value="y", who="a").reason
    assert source.table(["z1"], value="y", who="a").repeated
    assert source.table(["size"], value="y", who="b")


def test_when_nothing_more_can_be_told_the_source_says_so(groupings):
    change(groupings, limits={"exposure": 0.05})
    source = cg.source(groupings)
    assert source.table(["size"], value="y")
    assert "nothing more can be told safely" in source.table(["size", "z1"], value="y").reason


def test_a_refusal_offers_what_would_be_answered(made):
    source = cg.source(made)
    no = source.table(
        ["region"], value="staff", where={"size": "large", "branch": "A", "legal": "plc"}, levels={"region": 2}
    )
    assert not no and "too few contributors" in no.reason and "No: " in repr(no)
    with pytest.raises(cg.InputError, match="no table"):
        no.to_arrow()


def test_the_register_holds_no_value(groupings):
    source = cg.source(groupings)
    values = [str(v) for v in source.table(["z1"], value="y").to_arrow()["value"].to_pylist()]
    source.close()
    held = (groupings / "answers.db").read_bytes()
    assert not any(value.encode() in held for value in values)
    assert (groupings / "answers.db").stat().st_mode & 0o077 == 0


def test_growth_is_kept_by_steps_or_refused(groupings):
    job = yaml.safe_load((groupings / "job.yaml").read_text())
    for trends, words in (({"dimension": "size"}, "not kept"), ({"values": [["x", "y"]]}, "drawn anew|draw them anew")):
        (groupings / "job.yaml").write_text(yaml.safe_dump(job | {"perturb": {**job["perturb"], "trends": trends}}))
        with pytest.raises(cg.InputError, match=words):
            cg.source(groupings)
