"""The same data must not be perturbed in one table and protected otherwise in another."""

import pytest

from cellguard.methods.perturb.checks.conflicts import TableMethod, conflicts
from cellguard.methods.perturb.draw.attributes import define


@pytest.mark.parametrize(
    ("method", "many"), [("suppress", 1), ("round", 1), ("none", 1), ("recode", 0), ("perturb", 0)]
)
def test_methods(method, many):
    tables = [TableMethod("a", "turnover", "perturb"), TableMethod("b", "turnover", method)]
    found = conflicts(tables)
    assert len(found) == many
    assert all(f.blocks and f.kind == "conflict" and {c.table for c in f.cells} == {"a", "b"} for f in found)


def test_other_data_are_no_conflict():
    perturbed = TableMethod("a", "turnover", "perturb")
    assert conflicts([perturbed, TableMethod("b", "jobs", "suppress")]) == []
    assert conflicts([perturbed, TableMethod("b", "turnover", "suppress", population="large")]) == []
    assert conflicts([TableMethod("a", "x", "suppress"), TableMethod("b", "x", "suppress")]) == []


def test_responses_tied_by_a_definition_are_the_same_data():
    tables = [TableMethod("a", "turnover", "perturb"), TableMethod("b", "export", "suppress")]
    assert conflicts(tables) == []
    assert len(conflicts(tables, define(["turnover = home + export"]))) == 1


def test_where_the_other_table_is():
    other = TableMethod("b", "x", "suppress", where="last/release")
    assert "in last/release" in conflicts([TableMethod("a", "x", "perturb"), other])[0].text
