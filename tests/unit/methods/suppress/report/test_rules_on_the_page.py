"""What the officer's page says of rules that are no shares: Statisticon and signed."""

import re

import pytest

import cellguard as cg
from cellguard.methods.suppress.report.page import internal_page
from cellguard.pipeline import run


def page_of(tmp_path, rows, rules, **more):
    text = "\n".join(["r,x", *(f"{cell},{x}" for cell, values in rows.items() for x in values)])
    (tmp_path / "r.csv").write_text(text)
    table = {"name": "t", "by": ["r"], "value": "x", "rules": rules} | more.pop("table", {})
    job = cg.Job.parse({"version": 1, "microdata": {"source": "r.csv"}, "tables": [table], **more}, folder=tmp_path)
    outcome = run(job)
    whole = internal_page(outcome)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", whole))


@pytest.fixture
def interval_page(tmp_path):
    cells = {"A": (59, 40, 1), "B": (41, 40, 19), "C": (90, 10, 0), "D": (50, 30, 10, 9), "E": (70, 12, 11, 9, 8)}
    return page_of(tmp_path, cells, [{"statisticon": 25}])


def test_the_interval_of_the_runner_up_is_told_before_and_after(interval_page):
    assert (
        "the runner-up knows the largest to be between 40 and 60, after suppression between 40 and 260" in interval_page
    )


def test_what_if_varies_the_parameter_of_statisticon(interval_page):
    assert re.search(r"statisticon 25 s s = 12.5: 1 s = 25: 3 s = 37.5: 4 s = 50: 5", interval_page)


def test_a_protection_level_of_nothing_has_no_sign(interval_page):
    assert "-0" not in interval_page and "− 0, + 5" in interval_page


def test_what_if_varies_the_limits_of_signed(tmp_path):
    cells = {"A": (100, 98, -12), "B": (10, -12, 14, 3, -4), "C": (9, 8, -7, 2)}
    rules = [{"signed": {"usual": {"dominance": {"n": 2, "k": 90}}}}]
    page = page_of(tmp_path, cells, rules, table={"negative": "absolute"}, attack={"lower": "unbounded"})
    for name in ("sign_ratio", "limit"):
        assert f"{name} {name} = 0.025: " in page and f"{name} = 0.1: " in page
    assert "T_R = 0.061" in page
