"""The growth of a firm that dominates cells of two years: found in every cell, over a dimension, and cured by steps."""

import json

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.faces.cli.main import cli

RULES = [{"p_percent": 10}]


def firms(home, *, long=False):
    random = np.random.default_rng(3)
    rows = []
    for i in range(60):
        region = "ABCDE"[i % 5]
        x = int(random.integers(100, 300))
        rows.append((i, region, x, int(x * random.uniform(0.9, 1.2))))
    rows += [
        (60, "G", 10_000, 14_000),
        (61, "G", 30, 31),
        (62, "G", 40, 39),
        (63, "H", 5_000, 5_250),
        (64, "H", 90, 95),
    ]
    if long:
        lines = ["id,region,year,sales"]
        lines += [f"{i},{r},{year},{v}" for i, r, a, b in rows for year, v in (("y1", a), ("y2", b))]
    else:
        lines = ["id,region,s1,s2", *(f"{i},{r},{a},{b}" for i, r, a, b in rows)]
    (home / "f.csv").write_text("\n".join(lines) + "\n")


def perturb(home, tables, **settings):
    job = {
        "version": 1,
        "microdata": {"source": "f.csv", "respondent": "id"},
        "perturb": {"mu": 0.3, "seed": 3, "unproven": "accept", **settings},
        "tables": [{"rules": RULES, "protect": {"method": "perturb"}, **table} for table in tables],
    }
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    done = CliRunner().invoke(cli, ["perturb", str(home / "job.yaml"), "--out", str(home / "out"), "--force"])
    path = home / "out/internal/findings.json"
    found = json.loads(path.read_text()) if path.exists() else []
    return done, [f["cells"] for f in found if f["kind"] == "trend"]


VALUES = [{"name": "t1", "by": ["region"], "value": "s1"}, {"name": "t2", "by": ["region"], "value": "s2"}]
YEARS = [{"name": "t", "by": ["year", "region"], "value": "sales"}]


def test_without_the_rule_growth_is_told(tmp_path):
    firms(tmp_path)
    assert perturb(tmp_path, VALUES)[1] == []


@pytest.mark.parametrize("p", [2, 5, 10])
def test_steps_cure_every_dominated_cell(tmp_path, p):
    firms(tmp_path)
    done, found = perturb(tmp_path, VALUES, trends={"p": p, "values": [["s1", "s2"]]})
    assert found == [], done.output
    shown = {}
    for name in ("t1", "t2"):
        lines = (tmp_path / f"out/internal/{name}.csv").read_text().splitlines()[1:]
        shown[name] = {line.split(",")[0]: float(line.split(",")[2]) for line in lines}
    for region, true in (("G", 1.4), ("H", 1.05)):
        assert abs(shown["t2"][region] / shown["t1"][region] / true - 1) > p / 100


def test_over_a_dimension_of_years_every_dominated_pair_is_found(tmp_path):
    firms(tmp_path, long=True)
    done, found = perturb(tmp_path, YEARS, trends={"dimension": "year"})
    assert done.exit_code == 1 and "growth" in done.output
    assert sorted(found) == [["t: y1/G", "t: y2/G"], ["t: y1/H", "t: y2/H"]]


def test_what_is_said_in_vain_is_refused(tmp_path):
    firms(tmp_path)
    for trends, words in (
        ({}, "says nothing"),
        ({"values": [["s1"]]}, "two years or more"),
        ({"values": [["s1", "s2"], ["s1", "s3"]]}, "one list"),
        ({"values": [["s1", "s2"]], "p": 50}, "less than 30"),
    ):
        done, _ = perturb(tmp_path, VALUES, trends=trends)
        assert words in str(done.exception), done.exception
    done, _ = perturb(tmp_path, VALUES, trends={"values": [["s1", "s2"]]}, attributes={"variant": "factor"})
    assert "leave `attributes` out" in str(done.exception)


def test_later_tables_keep_the_steps(tmp_path):
    firms(tmp_path)
    accept = [f"{name}: {code}" for name in ("t1", "t2") for code in ("Total", *"ABCDEGH")]
    done, _ = perturb(tmp_path, VALUES, trends={"values": [["s1", "s2"]]}, accept=accept)
    assert done.exit_code == 0, done.output
    first = (tmp_path / "out/internal/t2.csv").read_text()
    words = ["perturb", tmp_path / "job.yaml", "--out", tmp_path / "later"]
    words += ["--multipliers", tmp_path / "out/internal/multipliers.parquet"]
    again = CliRunner().invoke(cli, [str(word) for word in words])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "later/internal/t2.csv").read_text() == first


def test_growth_that_no_rule_judges_is_named(tmp_path):
    """The ratio of y97/G and y96/G tells the growth of one firm (1.400) to within a percent, whatever its noise."""
    big = [(9500, 13300), (69, 71), (45, 46), (70, 71), (21, 21), (42, 43), (25, 25), (59, 60), (36, 37)]
    rest = [(158, 155), (204, 185), (114, 133), (285, 319), (150, 160), (120, 130)]
    rows = [("G", i, pair) for i, pair in enumerate(big)] + [("A", 80 + i, pair) for i, pair in enumerate(rest)]
    lines = ["id,region,year,sales"]
    lines += [f"{i},{r},{y},{v}" for r, i, pair in rows for y, v in zip(("y96", "y97"), pair, strict=True)]
    (tmp_path / "f.csv").write_text("\n".join(lines) + "\n")
    accept = ["t: y96/G", "t: y97/G", "t: Total/G"]
    done, _ = perturb(tmp_path, YEARS, accept=accept)
    assert "growth of single respondents not checked" in done.output.lower(), done.output
    summary = json.loads((tmp_path / "out/internal/summary.json").read_text())
    assert "growth" in summary["not_checked"] and "rowth of single" in summary["caveat"]
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "Growth of single respondents" in page and "its multiplier cancels" in page
    done, _ = perturb(tmp_path, YEARS, accept=accept, trends={"dimension": "year"})
    assert "not checked" not in done.output


@pytest.mark.parametrize(("values", "named"), [(VALUES, True), (VALUES[:1], False)])
def test_growth_is_named_over_values_and_only_where_it_can_be_told(tmp_path, values, named):
    firms(tmp_path)
    done, _ = perturb(tmp_path, values)
    assert ("growth of single respondents not checked" in done.output.lower()) == named, done.output
