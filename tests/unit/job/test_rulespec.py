"""Rules as a job file writes them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.job.rulespec import dump_rule, parse_rule, rule_schema
from cellguard.rules.all_of import All
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.rules.rule import RULES
from cellguard.rules.simple import Given, MaxShare, MinFrequency


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ({"min_frequency": 3}, MinFrequency(3)),
        ({"min_frequency": {"n": 3, "inclusive": True}}, MinFrequency(3, inclusive=True)),
        ({"p_percent": 10}, PPercent(10)),
        ({"p_percent": {"p": 12.5, "coalition": 2}}, PPercent(12.5, coalition=2)),
        ({"dominance": {"n": 2, "k": 85}}, Dominance(2, 85)),
        ({"prior_posterior": {"p": 10, "q": 50}}, PriorPosterior(10, 50)),
        ({"max_share": 60}, MaxShare(60)),
        ({"linear": {"weights": [1, 0.5], "rest": -1}}, Linear((1.0, 0.5), -1.0)),
        ({"given": "secret"}, Given("secret")),
        ({"given": {"column": "secret", "protection_percent": 15}}, Given("secret", 15)),
        ({"all": [{"min_frequency": 3}, {"p_percent": 10}]}, All((MinFrequency(3), PPercent(10)))),
    ],
)
def test_a_rule_as_written(written, rule):
    assert parse_rule(written) == rule


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"p_persent": 10}, "unknown rule 'p_persent'; did you mean 'p_percent'"),
        ({"signed": {"usual": {"p_persent": 10}}}, "unknown rule 'p_persent'; did you mean 'p_percent'"),
        (
            {"signed": {"usual": {"spread": {"by": "x", "sensitive": ["y"]}}}},
            "a rule about the contributions of one cell",
        ),
        ({"dominance": {"n": 2, "kk": 85}}, "dominance has no parameter 'kk'; did you mean 'k'"),
        ({"dominance": {"n": 2}}, "dominance needs the parameter 'k'"),
        ({"dominance": 85}, r"dominance needs n, k: write \{dominance: \{n: ..., k: ...\}\}"),
        ({"linear": [1, 0]}, "linear needs weights, rest"),
        ({"min_frequency": 2.5}, "min_frequency: n must be a whole number"),
        ({"min_frequency": True}, "min_frequency: n must be a whole number"),
        ({"min_frequency": "3"}, "min_frequency: n must be a whole number"),
        ({"p_percent": "ten"}, "p_percent: p must be a number"),
        ({"p_percent": None}, "p_percent: p must be a number"),
        ({"p_percent": {"p": 10, "inclusive": 1}}, "p_percent: inclusive must be true or false"),
        ({"given": 1}, "given: column must be text"),
        ({"linear": {"weights": 1, "rest": 0}}, "linear: weights must be a list of numbers"),
        ({"linear": {"weights": ["a"], "rest": 0}}, "linear: weights must be a number"),
        ({"linear": {"weights": [], "rest": 0}}, "at least one weight"),
        ({"p_percent": -1}, "p must be above 0"),
        ({"all": {"p_percent": 10}}, "`all` takes a list of rules"),
        ({"all": [{"p_percent": 10}]}, "at least two rules"),
        ({"all": [{"p_percent": 10}, {"max_shar": 9}]}, "unknown rule 'max_shar'; did you mean 'max_share'"),
        ({"p_percent": 10, "max_share": 60}, "one name with its parameters"),
        ({}, "one name with its parameters"),
        ("p_percent", "one name with its parameters"),
        (10, "one name with its parameters"),
    ],
)
def test_faults_are_told_in_plain_words(written, said):
    with pytest.raises(InputError, match=said):
        parse_rule(written)


yes_no = st.booleans()
some = st.integers(1, 20)
percents = st.floats(0.001, 99.9)
simple_rules = st.one_of(
    st.builds(MinFrequency, some, yes_no, percents),
    st.builds(MaxShare, percents, yes_no, percents),
    st.builds(Given, st.text(min_size=1), percents),
    st.builds(Dominance, some, percents, yes_no, yes_no),
    st.builds(PPercent, st.floats(0.001, 1e6), some, yes_no, yes_no),
    st.builds(lambda p, q, m: PriorPosterior(min(p, q) / 2, max(p, q), m), percents, percents, some),
    st.builds(lambda w, r: Linear(tuple(w), r), st.lists(st.floats(-9, 9), min_size=1, max_size=4), st.floats(-9, 9)),
)
rules = st.recursive(
    simple_rules, lambda inner: st.lists(inner, min_size=2, max_size=3).map(lambda r: All(tuple(r))), max_leaves=5
)


@settings(max_examples=150, deadline=None)
@given(rules)
def test_a_rule_survives_being_written_and_read(rule):
    assert parse_rule(json.loads(json.dumps(dump_rule(rule)))) == rule


def test_the_schema_names_every_rule_and_all():
    names = {name for choice in rule_schema()["oneOf"] for name in choice["properties"]}
    assert names == {*RULES, "all"}


def test_the_schema_describes_every_rule():
    for choice in rule_schema()["oneOf"]:
        for name, schema in choice["properties"].items():
            assert name == "all" or schema["description"]
