"""Stored values must add up as exactly as they were rounded."""

from decimal import Decimal

import numpy as np
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify_inputs
from cellguard.verifier.verify import verify
from unit.verifier import folders
from unit.verifier.folders import details, failed, row, spec, write

import quick_yaml

SECRET = [{"given": {"column": "secret", "protection_percent": 10}}]


def plan(total, *parts, tolerance=None, decimals=0):
    """A total and its parts; the first two parts are hidden and move against each other by one tenth of the first."""
    about = spec("turnover", ["region"], rules=SECRET, tolerance=tolerance, decimals=decimals)
    total, *parts = (f"{Decimal(x):.{decimals}f}" for x in (total, *parts))
    long = len(total) > 20  # longer than any stored move
    need = "1" if long else str(np.ceil(float(parts[0]) / 10 * 10**decimals) / 10**decimals)
    secret = row("N", parts[0], "primary", (need, need, "0"), **{"mark:secret": True})
    rows = [row("Total", total), secret, row("S", parts[1], "secondary"), row("W", parts[2])]
    move = int(float(need) * 10**decimals)
    moves = [(1, [(0, 1, move), (0, 2, -move)]), (1, [(0, 1, -move), (0, 2, move)])]
    grains = [{"response": "turnover", "population": "all", "decimals": decimals}]
    return folders.plan([(about, rows)], {"region": folders.REGION}, moves, grains=grains)


@pytest.mark.parametrize(
    ("values", "more", "adds_up"),
    [
        (("100", "20", "30", "50"), {}, True),
        (("101", "20", "30", "50"), {}, False),
        (("100", "20", "30", "50"), {"decimals": 2}, True),
        (("100.01", "20", "30", "50"), {"decimals": 2}, True),  # half a hundredth a term
        (("100.03", "20", "30", "50.01"), {"decimals": 2}, True),
        (("100.04", "20", "30", "50.01"), {"decimals": 2}, False),
        (("101", "20", "30", "50"), {"tolerance": 1}, True),
        (("104", "20", "30", "50"), {"tolerance": 1.0}, True),
        (("105", "20", "30", "50"), {"tolerance": 1.0}, False),
        (("1" + "0" * 29, "2" + "0" * 28, "3" + "0" * 28, "5" + "0" * 28), {}, True),
        (("2" + "0" * 29, "2" + "0" * 28, "3" + "0" * 28, "5" + "0" * 28), {}, False),
    ],
)
def test_a_total_and_its_parts(tmp_path, values, more, adds_up):
    certificate = write(tmp_path / "out", plan(*values, **more))
    assert [n for n in failed(certificate) if len(values[0]) < 20 or n == 2] == ([] if adds_up else [2])
    assert adds_up or "do not add up: 1 relations" in details(certificate)


def test_equations_must_hold_too(tmp_path):
    content = folders.equation()
    for at in (0, 1):
        content["tables"][2][1][at]["value"] = str(int(content["tables"][2][1][at]["value"]) + 1)
    assert failed(write(tmp_path / "out", content)) == [2]


def write_table(path, values, counts):
    lines = ["region,size,x,n", *(f"{a},{b},{x},{counts[a, b]}" for (a, b), x in values.items())]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("decimals", "tolerance"), [(0, 3), (1, None), (12, None)])
def test_values_rounded_one_by_one_and_not_at_all(tmp_path, decimals, tolerance):
    """What the reader of tables accepts, the verifier accepts: sums that rounding broke, and sums of floats."""
    rng = np.random.default_rng(5)
    values, counts = {}, {}
    for a in "NSWE":
        for b in "xyz":
            x = float(rng.uniform(10, 90))
            for cell in ((a, b), (a, "Total"), ("Total", b), ("Total", "Total")):
                values[cell] = values.get(cell, 0.0) + x
                counts[cell] = counts.get(cell, 0) + (1 if (a, b) == ("N", "x") else 5)
    write_table(tmp_path / "t.csv", {cell: round(x, decimals) for cell, x in values.items()}, counts)
    other = {(a, "Total"): x for (a, b), x in values.items() if b == "Total"}
    write_table(tmp_path / "u.csv", {cell: round(x, decimals + 1) for cell, x in other.items()}, counts)
    tables = [
        {"name": name, "by": by, "value": "x", "response": "x", "cells": {"source": f"{name}.csv", "count": "n"}}
        | {"rules": [{"min_frequency": 3}], "tolerance": tolerance}
        for name, by in (("t", ["region", "size"]), ("u", ["region"]))
    ]
    path = tmp_path / "job.yaml"
    path.write_text(quick_yaml.dump({"version": 1, "tables": tables[: 1 if tolerance is None else 2]}))
    OutputFolder(tmp_path / "out").write(run(Job.load(path)))
    found = verify(tmp_path / "out/internal/certificate.json")
    assert [c.detail for c in found.checks if not c.passed] == []
    assert all(c.passed for c in verify_inputs(tmp_path / "out/internal", Job.load(path)))
