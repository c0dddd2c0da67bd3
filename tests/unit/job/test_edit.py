"""Edits of a job's text: one value changes, and all else stays."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InternalError, JobError
from cellguard.job.edit import set_key, table_place

JOB = """# about the job
version: 1
tables:
  - name: t      # the first
    by: [a, b]
    rules:
      - {min_frequency: 3}   # few
      - {p_percent: 10}
    value: x
  - {name: u, by: [a], value: x, rules: []}

# the end
"""


def plain(text):
    return yaml.safe_load(text)


@pytest.mark.parametrize("table", [0, 1])
@pytest.mark.parametrize(
    "key, value", [("rules", [{"p_percent": 5}]), ("rules", []), ("value", "no"), ("apriori", "f.csv")]
)
def test_a_key_is_set_or_added_and_comments_stay(table, key, value):
    text = set_key(JOB, ["tables", table, key], value)
    wanted = plain(JOB)
    wanted["tables"][table][key] = value
    assert plain(text) == wanted
    for comment in ("# about the job", "# the first", "# the end"):
        assert comment in text


@pytest.mark.parametrize(
    "place", [["tables", 0, "rules"], ["tables", 0, "value"], ["tables", 1, "rules"], ["tables", 1, "name"]]
)
def test_a_key_is_taken_away(place):
    wanted = plain(JOB)
    del wanted["tables"][place[1]][place[2]]
    assert plain(set_key(JOB, place, None)) == wanted


def test_what_is_not_there_is_no_place():
    with pytest.raises(JobError, match=r"no place tables\.7\.rules"):
        set_key(JOB, ["tables", 7, "rules"], [])
    with pytest.raises(JobError, match="no table 'v'"):
        table_place(JOB, "v")
    assert table_place(JOB, "u") == ("tables", 1)


def test_an_anchor_that_others_use_is_not_cut_away():
    text = "a: &x [1, 2]\nb: *x\n"
    with pytest.raises((InternalError, JobError)):
        set_key(text, ["a"], [3])


names = st.sampled_from(["a", "b", "c"])
values = st.one_of(st.integers(0, 9), st.text("xy: #'\"é\n-", max_size=5), st.lists(st.integers(0, 3), max_size=3))
trees = st.dictionaries(names, st.one_of(values, st.dictionaries(names, values, max_size=3)), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(trees, names, names, values, st.booleans(), st.booleans())
def test_whatever_the_layout_the_result_says_just_that(tree, first, second, value, flow, comments):
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    text = "# top\n" + text + ("# end\n" if comments else "")
    path = [first, second] if isinstance(tree.get(first), dict) else [first]
    wanted = plain(text)
    here = wanted
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    assert plain(set_key(text, path, value)) == wanted
