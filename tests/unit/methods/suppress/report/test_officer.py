"""The parts of the officer's page to sign from: every hidden cell, what if, what changed, the block to sign."""

from __future__ import annotations

import hashlib

import pytest

import cellguard as cg
from cellguard.faces.python.protect import protect
from cellguard.methods.suppress.report.page import internal_page
from cellguard.methods.suppress.report.signing import Baseline, compared, signing
from cellguard.methods.suppress.report.unsafe import hidden_cells
from cellguard.methods.suppress.report.what_if import what_if


@pytest.fixture(scope="module")
def outcome():
    turnover = {
        ("N", "a"): [90, 8, 2],
        ("N", "b"): [30, 40, 35],
        ("S", "a"): [30, 20, 25, 9],
        ("S", "b"): [7, 8, 9, 10],
    }
    rows = [(r, s, x, f"firm {r}{s}{x}") for (r, s), values in turnover.items() for x in values]
    names = ("region", "size", "x", "who")
    frame = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    rules = [cg.MinFrequency(3), cg.PPercent(10)]
    return protect(frame, ["region", "size"], "x", rules=rules, respondent="who")


def test_each_hidden_cell_says_how_unsafe_it_is_and_never_who_is_in_it(outcome):
    rows = {row["codes"]: row for row in hidden_cells(outcome).data["rows"]}
    assert len(rows) == 4
    unsafe = rows["N / a"]
    assert (unsafe["status"], unsafe["count"], unsafe["shares"]) == ("primary", "3", "90 %, 8 %")
    assert unsafe["why"] == "p_percent 10: 2.2 %" and unsafe["need"] and " to " in unsafe["interval"]
    assert rows["S / b"]["status"] == "secondary" and rows["S / b"]["need"] == ""
    assert "firm" not in internal_page(outcome)


def test_what_if_counts_unsafe_cells_as_the_rules_would(outcome):
    rows = what_if(outcome).data["tables"][0]["rows"]
    told = {(row["parameter"], v["value"]): (v["unsafe"], v["chosen"]) for row in rows for v in row["variants"]}
    for p in (5, 10, 15, 20):
        findings = cg.assess(outcome.protected.tables[0], [cg.MinFrequency(3), cg.PPercent(p)])
        assert told["p", str(p)] == (str(int(findings.primary.sum())), p == 10)
    assert told["n", "3"] == told["p", "10"] and int(told["n", "5"][0]) > int(told["n", "3"][0])


def test_what_changed_since_an_earlier_run(outcome, tmp_path):
    cells = {"N/a": "primary", "N/b": "published", "gone": "primary"}
    part = compared(outcome, Baseline("old", {"set": {"primary": 1}, "cost": 5}, {"table": cells})).data
    changed = {row["codes"]: (row["before"], row["now"]) for row in part["rows"]}
    assert changed["N / b"] == ("published", "secondary") and "N / a" not in changed
    assert changed["gone"] == ("primary", "absent") and ("primary", "1", "1") in part["figures"]


def test_the_block_to_sign_names_the_job_by_its_digest(outcome, tmp_path):
    job = (outcome.write(tmp_path / "out") / "internal" / "job.yaml").read_bytes()
    assert signing(outcome).data["job"] == hashlib.sha256(job).hexdigest()
    page = (tmp_path / "out" / "internal" / "report.html").read_text()
    assert "Signature" in page and hashlib.sha256(job).hexdigest() in page


def test_exact_intervals_are_in_the_internal_table(outcome, tmp_path):
    import csv

    folder = outcome.write(tmp_path / "out")
    with (folder / "internal" / "table.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["status"] in {"primary", "secondary"}]
    assert len(rows) == 4
    for row in rows:
        assert float(row["interval_lower"]) < float(row["value"]) < float(row["interval_upper"])
