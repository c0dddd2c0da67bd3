"""The verifier's own formulas, on cells whose answers are worked out by hand."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cellguard.verifier.facts import Facts
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import unknown_names
from cellguard.verifier.stages import Refused
from unit.verifier import folders
from unit.verifier.folders import failed, row, write


def facts(*cells, count=None, frequency=False, marks=None):
    """Facts of cells, each given by all its contributions, largest first."""
    total = np.array([float(sum(c)) for c in cells])
    tops = tuple(np.array([float(c[i]) if i < len(c) else 0.0 for c in cells]) for i in range(3))
    counts = np.array([float(len(c)) for c in cells]) if count is None else np.array(count)
    nothing = np.full(total.size, np.nan)
    none = pa.nulls(total.size, pa.string())
    state = np.full(total.size, -1)
    return Facts(frequency, total, counts, tops, marks or {}, state, none, none, nothing, nothing)


def judged(rule, *cells, **more):
    found = parse_rule(rule).judge(facts(*cells, **more))
    return found.unsafe.tolist(), found.upper.round(6).tolist()


PIANO, EVEN = (81, 5, 2, 2, 2), (10, 10, 10, 10, 10)


def test_dominance_example_of_the_documentation():
    unsafe, upper = judged({"dominance": {"n": 2, "k": 85}}, PIANO, EVEN)
    assert unsafe == [True, False] and upper[0] == pytest.approx(9.176471)


@pytest.mark.parametrize(
    ("rule", "unsafe", "upper"),
    [
        ({"p_percent": 10}, True, 2.1),
        ({"p_percent": {"p": 10, "coalition": 2}}, True, 4.1),
        ({"p_percent": 7}, False, 0),
        ({"prior_posterior": {"p": 10, "q": 100}}, True, 2.1),
        ({"prior_posterior": {"p": 10, "q": 50}}, True, 10.2),
        ({"max_share": 80}, True, 9.2),
        ({"max_share": {"k": 80, "protection_percent": 20}}, True, 18.4),
        ({"max_share": 90}, False, 9.2),
        ({"min_frequency": 6}, True, 9.2),
        ({"min_frequency": 5}, False, 9.2),
        ({"min_frequency": {"n": 5, "inclusive": True, "protection_percent": 50}}, True, 46),
        ({"linear": {"weights": [0.1, 0], "rest": -1}}, True, 2.1),
        ({"linear": {"weights": [0.1, 0], "rest": -0.5}}, True, 10.2),
        ({"linear": {"weights": [1], "rest": 0}}, True, 9.2),
        ({"all": [{"p_percent": 10}, {"min_frequency": 6}]}, True, 9.2),
        ({"all": [{"p_percent": 10}, {"min_frequency": 5}]}, False, 9.2),
    ],
)
def test_rules_on_one_cell(rule, unsafe, upper):
    assert judged(rule, PIANO) == ([unsafe], [pytest.approx(upper)])


def test_ties():
    tie = (60, 25, 15)
    assert judged({"dominance": {"n": 2, "k": 85}}, tie)[0] == [False]
    assert judged({"dominance": {"n": 2, "k": 85, "inclusive": True}}, tie) == ([True], [0])
    assert judged({"p_percent": 25}, tie)[0] == [False]
    assert judged({"p_percent": {"p": 25, "inclusive": True}}, tie) == ([True], [0])


def test_zeros_and_cells_without_respondents():
    assert judged({"p_percent": {"p": 10, "inclusive": True}}, (0,))[0] == [False]
    assert judged({"p_percent": {"p": 10, "zero_unsafe": True}}, (0,), ())[0] == [True, False]
    assert judged({"p_percent": {"p": 10, "zero_unsafe": True}}, (), count=[np.nan])[0] == [True]
    assert judged({"min_frequency": 3}, ())[0] == [False]


def test_marks_and_frequencies():
    marks = {"secret": np.array([1.0, 0.0])}
    assert judged({"given": "secret"}, PIANO, EVEN, marks=marks) == ([True, False], [9.2, 5])
    assert judged({"given": "secret"}, PIANO, EVEN, marks=marks, frequency=True) == ([True, False], [0, 0])


def test_missing_facts_are_named():
    found = facts(PIANO, count=[np.nan])
    assert parse_rule({"min_frequency": 3}).judge(found).missing.tolist() == [True]
    gap = replace(found, tops=(found.tops[0], np.array([np.nan])))
    assert parse_rule({"p_percent": 10}).judge(gap).missing.tolist() == [True]
    alone = replace(gap, count=np.array([1.0]))
    assert parse_rule({"p_percent": 10}).judge(alone).missing.tolist() == [False]


def test_negative_and_rising_contributions_are_refused():
    for cell in ((-5,), (1, 5), (5, -1)):
        with pytest.raises(Refused):
            judged({"p_percent": 10}, cell)


def test_unknown_rules_are_found_inside_others():
    rules = [parse_rule({"all": [{"of_our_own": 1}, {"p_percent": 5}]}), parse_rule({"min_frequency": 3})]
    assert unknown_names(rules) == {"of_our_own"}
    assert judged({"all": [{"of_our_own": 1}, {"p_percent": 10}]}, PIANO)[0] == [False]


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"a": 1, "b": 2},
        {"p_percent": "10"},
        {"p_percent": {"p": -1}},
        {"p_percent": {"p": 10, "coalition": 1.5}},
        {"dominance": {"n": 0, "k": 75}},
        {"dominance": 2},
        {"linear": {"weights": [], "rest": -1}},
        {"linear": {"weights": ["x"], "rest": -1}},
        {"given": 3},
        {"min_frequency": {"n": 3, "inclusive": 1}},
        {"max_share": {"k": 80, "zero_unsafe": True}},
        {"min_frequency": {"n": 3, "protection_percent": -1}},
    ],
)
def test_rules_that_are_none(rule):
    with pytest.raises(Refused):
        parse_rule(rule)


# What the job states of single cells.


def one(tmp_path, needs, **said):
    """A folder whose only primary, of value 20, has these needs stored and these facts."""
    content = folders.square()
    rows = content["tables"][0][1]
    rows[5] = row("A N", "20", "primary", needs, **said)
    if "count" not in said:
        rows[5]["facts"] |= {"top1": 3, "top2": 3}
    content["witnesses"] = [(1, [(t, r, 10 * m) for t, r, m in moves]) for _, moves in content["witnesses"]]
    return failed(write(tmp_path, content))


@pytest.mark.parametrize(
    ("said", "exact"),
    [
        ({"state": "must_suppress"}, (2, 2, 0)),
        ({"state": "must_suppress", "need_upper": 5.0}, (5, 5, 0)),
        ({"state": "must_suppress", "need_lower": 5.0}, (5, 2, 0)),
        ({"state": "must_suppress", "need_lower": 0.2, "need_upper": 7.01}, (1, 8, 0)),
        ({"state": "must_suppress", "need_upper": 50.0, "upper": 40.0}, (20, 20, 0)),
        ({"state": "must_suppress", "need_upper": 0.0}, (0, 0, 1)),
        ({"state": "must_suppress", "need_upper": 5.0} | folders.UNSAFE, (5, 5, 0)),
        (folders.UNSAFE, (2, 2, 0)),
        ({"state": "secondary"} | folders.UNSAFE, (2, 2, 0)),
    ],
)
def test_what_is_said_replaces_what_the_rules_ask(tmp_path, said, exact):
    assert one(tmp_path / "enough", [str(n) for n in exact], **said) == []
    for i in range(3):
        if exact[i]:
            less = [str(n - (i == j)) for j, n in enumerate(exact)]
            assert one(tmp_path / f"less{i}", less, **said) == [5]


def test_waived_cells_may_be_published(tmp_path):
    content = folders.square()
    rows = content["tables"][0][1]
    rows[5] = row("A N", "20", **folders.UNSAFE)
    for i in (6, 9, 10):
        rows[i]["status"] = "published"
    content["witnesses"] = []
    assert failed(write(tmp_path / "a", content)) == [5]
    rows[5]["facts"]["state"] = "waived"
    assert failed(write(tmp_path / "b", content)) == []


def test_waived_in_one_table_only(tmp_path):
    content = folders.linked()
    content["tables"][0][1][1]["facts"]["state"] = "waived"
    assert failed(write(tmp_path / "a", content)) == []
    for table, at in ((0, 1), (1, 3)):
        content["tables"][table][1][at]["needs"] = ("1", "1", "0")
    assert failed(write(tmp_path / "b", content)) == [5]
