"""What a search promises, and what a terminal says where it ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.screen import audit_words
from cellguard.words.language import speaking
from cellguard.words.retell import retell

SUMMARY = {
    "verdict": "safe",
    "headline": "Safe",
    "gap": 0.077,
    "lower_bound": 216.0,
    "cost": 234.0,
    "set": {"cells": 9, "suppressed": 4, "disclosed": 0},
    "failing": [],
}


@pytest.fixture(scope="module")
def search():
    rng = np.random.default_rng(3)
    inner = rng.integers(1, 40, (5, 4))
    whole = np.block([[inner.sum(), inner.sum(axis=0)], [inner.sum(axis=1)[:, None], inner]])
    codes = [(r, s) for r in ("Total", *"ABCDE") for s in ("Total", *"abcd")]
    columns = {"r": [r for r, _ in codes], "s": [s for _, s in codes], "n": whole.ravel().tolist()}
    table = cg.cells(columns | {"x": columns["n"]}, by=["r", "s"], value="x", count="n")
    return cg.suppress(cg.require(cg.assess(table, cg.MinFrequency(5))))


def told(search):
    return [line for line in audit_words(SUMMARY, [], search=search) if "The search ended" in str(line)]


def test_a_small_set_goes_to_the_optimum_and_nothing_is_said(search):
    assert search.effort == "normal" and search.search_gap == search.gap == 0 and not told(search)


def test_a_terminal_says_with_which_work_a_search_ended(search):
    far = replace(search, search_gap=0.077)
    line = "The search ended with the work of effort normal, at most 7.7% above the optimum; effort best goes on."
    assert told(far) == [line]
    with speaking("de"):
        assert retell(line).startswith("Die Suche endete mit der Arbeit von effort normal, höchstens 7,7 %")


@pytest.mark.parametrize(
    "change",
    [{"search_gap": 0.009}, {"effort": "best"}, {"engine": "modular"}, {"seed": 5}, {"finished": False}],
)
def test_nothing_is_said_where_more_effort_is_no_promise(search, change):
    assert not told(replace(search, **({"search_gap": 0.077} | change)))
