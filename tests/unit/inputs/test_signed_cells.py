"""Ready-made cells with T+ and T-: rules see sizes, and signs that do not fit are refused by place."""

import pytest

import cellguard as cg
from cellguard.errors import CellguardError
from cellguard.io.folder import OutputFolder
from cellguard.pipeline import run
from cellguard.verifier.verify import verify

ROWS = {"A": (186, 3, 198, -12, 100, 98), "B": (11, 5, 27, -16, 14, 12), "C": (29, 4, 30, -1, 10, 9)}
ALL = ROWS | {"Total": (226, 12, 255, -29, 100, 98)}


def job(tmp_path, rows=ALL, rule=None, **columns):
    lines = [f"{r}," + ",".join(map(str, figures)) for r, figures in rows.items()]
    (tmp_path / "c.csv").write_text("\n".join(["r,x,n,gains,losses,x1,x2", *lines]))
    cells = {"source": "c.csv", "count": "n", "top": ["x1", "x2"]} | columns
    rules = [{"min_frequency": 3}, rule or {"dominance": {"n": 2, "k": 90}}]
    table = {"name": "t", "by": ["r"], "value": "x", "cells": cells, "rules": rules}
    return cg.Job.parse({"version": 1, "attack": {"lower": "unbounded"}, "tables": [table]}, folder=tmp_path)


SIGNS = {"positive": "gains", "negative": "losses"}


def test_rules_see_sizes_and_the_folder_is_valid(tmp_path):
    outcome = run(job(tmp_path, **SIGNS))
    table = outcome.protected.findings.by_table[0].table
    assert table.facts.basis.tolist() == [284, 210, 43, 31], "T+ less T-, the total first"
    assert outcome.protected.findings.by_table[0].why("A") == ["dominance (2, 90)"]
    OutputFolder(tmp_path / "out").write(outcome)
    assert verify(tmp_path / "out/internal/certificate.json").valid


@pytest.mark.parametrize(
    ("cell", "figures", "words"),
    [
        ("A", (186, 3, 197, -12, 100, 98), "T\\+ and T- together are not the cell's total"),
        ("B", (11, 5, 27, 16, 14, 12), "the sum of the contributions below 0 is above 0"),
        ("C", (-31, 4, -30, -1, 10, 9), "the sum of the contributions above 0 is below 0"),
    ],
)
def test_signs_that_do_not_fit_are_refused_by_place(tmp_path, cell, figures, words):
    with pytest.raises(CellguardError, match=words) as error:
        run(job(tmp_path, ALL | {cell: figures}, **SIGNS))
    assert f"line {2 + list(ALL).index(cell)}" in str(error.value)
    assert not any(str(figure) in str(error.value).replace("line", "") for figure in figures if abs(figure) > 20)


def test_half_of_the_signs_and_sizes_beside_them_are_refused(tmp_path):
    with pytest.raises(CellguardError, match="go together"):
        run(job(tmp_path, positive="gains"))
    with pytest.raises(CellguardError, match="leave `sizes` out"):
        run(job(tmp_path, sizes="x1", **SIGNS))


def test_signed_judges_by_signs_and_without_a_spread_calls_both_signs_unsafe(tmp_path):
    rows = ALL | {"C": (289, 4, 290, -1, 80, 75), "Total": (486, 12, 515, -29, 100, 98)}
    outcome = run(job(tmp_path, rows, rule={"signed": {"usual": {"p_percent": 10}}}, **SIGNS))
    found = outcome.protected.findings.by_table[0]
    assert found.why("B") == ["signed: both signs count, and no spread is known"] and found.why("C") == []
    OutputFolder(tmp_path / "out").write(outcome)
    assert verify(tmp_path / "out/internal/certificate.json").valid
    with pytest.raises(CellguardError, match="the sum of the positive contributions"):
        run(job(tmp_path, rows, rule={"signed": {"usual": {"p_percent": 10}}}, sizes="gains"))
