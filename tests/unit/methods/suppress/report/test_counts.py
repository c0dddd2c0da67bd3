"""What the officer's page says of hidden counts, against all tables of counts that fit the release."""

import itertools

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.report.counts import counts
from cellguard.methods.suppress.report.page import internal_page
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.words import promise_of_counts, told_count
from cellguard.rules.rows import MinOthers
from unit.methods.suppress.report import cases

ROWS, CODES = ("A", "B", "Total"), ("x", "y", "z", "Total")


def with_totals(inner):
    wide = np.concatenate([inner, inner.sum(axis=-1, keepdims=True)], axis=-1)
    return np.concatenate([wide, wide.sum(axis=-2, keepdims=True)], axis=-2)


def outcome(inner, rules):
    places = list(itertools.product(ROWS, CODES))
    data = {
        "r": [r for r, _ in places],
        "d": [d for _, d in places],
        "n": with_totals(np.array(inner)).ravel().tolist(),
    }
    table = cg.cells(data, by=["r", "d"], value="n", count="n", about=cg.About(is_count=True, zeros="possible"))
    findings, audit = cases.protect(table, rules)
    return cases.Told(SuppressionResult(findings, audit), {})


MOST = 6
WORLDS = with_totals(np.array(list(itertools.product(range(MOST + 1), repeat=6)), np.int16).reshape(-1, 2, 3))


@pytest.mark.parametrize("inner", [[[1, 2, 3], [4, 1, 6]], [[1, 0, 2], [1, 1, 0]], [[2, 1, 0], [0, 5, 1]]])
def test_it_is_what_all_worlds_that_fit_have_in_common(inner):
    done = outcome(inner, [cg.MinFrequency(2)])
    released = done.protected.audit.release()["table"]
    shown = [(ROWS.index(r), CODES.index(d), v) for r, d, v in zip(*released.codes, released.value, strict=True) if v]
    fits = WORLDS[np.logical_and.reduce([WORLDS[:, r, c] == int(v) for r, c, v in shown])]
    rows = counts(done).data["rows"]
    assert len(rows) == released.hidden
    for row in rows:
        r, c = row["codes"].split(" / ")
        values = fits[:, ROWS.index(r), CODES.index(c)]
        assert row["told"] == told_count(float(values.min()), float(values.max())), row
        assert row["told"].startswith("exactly") is (len(np.unique(values)) == 1)


def test_the_page_shows_it_for_counts_only():
    page = internal_page(outcome([[1, 2, 3], [4, 1, 6]], [cg.MinFrequency(2)]))
    assert "What can be concluded of suppressed counts" in page and "at most" in page
    assert counts(cases.case()) is None
    assert "What can be concluded of suppressed counts" not in internal_page(cases.case())


def test_the_others_of_a_row_are_among_them():
    done = outcome([[5, 1, 1], [3, 4, 5]], [MinOthers("d", ("x",))])
    (others,) = [row for row in counts(done).data["rows"] if row["codes"] == "A / not x"]
    assert others["value"] == "2" and others["told"] != "exactly 2"
    promise = promise_of_counts(done.protected.findings.by_table[0].rules)
    assert promise.endswith("; an attacker cannot conclude that the others in an unsafe row are as few as they are")


def test_too_many_to_work_out_are_said_to_be():
    done = outcome([[1, 2, 3], [4, 1, 6]], [cg.MinFrequency(2)])
    done.protected.__dict__["intervals"] = None
    assert counts(done).data == {"exact": False}
    assert "too many suppressed cells" in internal_page(done)
