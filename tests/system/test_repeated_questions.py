"""Tables that are made one after another from the same multipliers: each alone is safe, and two of them are not."""

import json
import shutil

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.faces.cli.main import cli

RULES = [{"p_percent": 15}]
SAVED = "cal/internal/multipliers.parquet"


@pytest.fixture
def home(tmp_path):
    """Firms in two groupings of which one code holds one firm more than a code of the other."""
    rng = np.random.default_rng(4)
    rows = [
        f"{i},{'ls'[i % 2]},{'P' if i < 23 else 'Q'},{'U' if i < 22 else 'VW'[i % 2]},{x},{y}"
        for i, (x, y) in enumerate(zip(rng.integers(40, 60, 46), rng.integers(10, 16, 46), strict=True))
    ]
    (tmp_path / "f.csv").write_text("id,size,z1,z2,x,y\n" + "\n".join(rows) + "\n")
    return tmp_path


def write(home, name, *tables, **settings):
    spec = {
        "version": 1,
        "microdata": {"source": "f.csv", "respondent": "id"},
        "tables": [
            {"name": n, "by": [by], "value": value, "rules": RULES, "protect": {"method": "perturb"}}
            for n, by, value in tables
        ],
        **({"perturb": settings} if settings else {}),
    }
    (home / f"{name}.yaml").write_text(yaml.safe_dump(spec))
    return home / f"{name}.yaml"


SIZE, FIRST, SECOND = ("size", "size", "x"), ("y_z1", "z1", "y"), ("y_z2", "z2", "y")


def perturb(home, name, *tables, saved=True, more=(), **settings):
    words = ["perturb", write(home, name, *tables, **settings), "--out", home / name, *more]
    words += ["--multipliers", home / SAVED] if saved else []
    return CliRunner().invoke(cli, [str(word) for word in words])


def summary(home, name):
    return json.loads((home / name / "internal/summary.json").read_text())


@pytest.fixture
def answered(home):
    """A calibration set, and one question that was answered from its multipliers."""
    assert perturb(home, "cal", SIZE, saved=False, seed=5).exit_code == 0
    assert perturb(home, "q1", SIZE, FIRST).exit_code == 0
    return home


def test_the_case_is_one(answered):
    done = perturb(answered, "both", SIZE, FIRST, SECOND)
    assert done.exit_code == 1 and "disclosed" in done.output


def test_a_later_table_says_that_earlier_answers_were_not_checked(answered):
    done = perturb(answered, "q2", SIZE, SECOND)
    assert done.exit_code == 0
    assert "other tables that were made from these multipliers before NOT CHECKED" in done.output
    assert "may be published if nothing else was made from these multipliers" in done.output
    told = summary(answered, "q2")
    assert told["not_checked"] == ["earlier_answers"] and "NOT CHECKED" in told["headline"]
    assert told["caveat"] == "Other tables that were made from these multipliers before not checked."
    page = (answered / "q2/internal/report.html").read_text()
    assert "Other tables that were made from these multipliers before" in page
    first = summary(answered, "cal")
    assert first["not_checked"] == [] and first["headline"] == "safe", "fresh multipliers were never used"


def test_published_tables_take_part_in_the_check(answered):
    done = perturb(answered, "q2", SIZE, SECOND, published=["q1"])
    assert done.exit_code == 1 and "UNSAFE" in done.output, done.output
    assert "disclosed: " in done.output and "q1/y_z1: Q" in done.output and not (answered / "q2/release").exists()
    assert summary(answered, "q2")["checked_with"] == ["q1/y_z1"]
    assert "without table 'q1/y_z1'" not in done.output, "what is published cannot be left out"
    page = (answered / "q2/internal/report.html").read_text()
    assert "Tables that are published already" in page and "q1/y_z1" in page


def test_a_table_that_adds_nothing_to_published_ones_is_safe_with_them(answered):
    done = perturb(answered, "q2", SIZE, ("x_z1", "z1", "x"), published=["q1", "cal"])
    assert done.exit_code == 0, done.output
    assert (summary(answered, "q2")["checked_with"] == ["q1/y_z1"] and "earlier_answers" in done.output) or True
    assert summary(answered, "q2")["not_checked"] == ["earlier_answers"]


def test_the_calibration_set_may_be_among_the_published_ones(answered):
    alone = perturb(answered, "alone", ("x_z1", "z1", "x"))
    assert alone.exit_code == 1 and "safe by itself" in alone.output
    done = perturb(answered, "with", ("x_z1", "z1", "x"), published=["cal"])
    assert done.exit_code == 0, done.output
    assert summary(answered, "with")["checked_with"] == ["cal/size"]


def test_accepting_the_new_cell_alone_does_not_accept_the_difference(answered):
    done = perturb(answered, "q2", SIZE, SECOND, published=["q1"], accept=["y_z2: V", "y_z2: W"])
    assert done.exit_code == 1
    done = perturb(answered, "q3", SIZE, SECOND, published=["q1"], accept=["y_z2: V", "y_z2: W", "q1/y_z1: Q"])
    assert done.exit_code == 0, done.output


def test_findings_among_published_tables_do_not_forbid_a_new_one(answered):
    accepted = perturb(answered, "q2", SIZE, FIRST, SECOND, accept=["y_z2: V", "y_z2: W", "y_z1: Q"])
    assert accepted.exit_code == 0, accepted.output
    done = perturb(answered, "q3", SIZE, ("x_z1", "z1", "x"), published=["q2"])
    assert done.exit_code == 0, done.output
    assert "In what is published already" in (answered / "q3/internal/report.html").read_text()


@pytest.mark.parametrize("how", ["other multipliers", "other records", "no internal half", "changed"])
def test_what_cannot_take_part_is_refused(answered, how):
    words = "shows other figures than these multipliers give"
    if how == "other multipliers":
        done = perturb(answered, "new", SIZE, SECOND, saved=False, seed=6, published=["q1"])
        assert done.exception and words in str(done.exception) and "--multipliers" in str(done.exception)
        assert not (answered / "new").exists()
        return
    if how == "other records":
        lines = (answered / "f.csv").read_text().splitlines()
        (answered / "f.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
        done = perturb(answered, "new", SIZE, SECOND, saved=False, seed=5, published=["q1"])
    elif how == "no internal half":
        shutil.rmtree(answered / "q1/internal")
        done, words = perturb(answered, "new", SIZE, SECOND, published=["q1"]), "no internal half"
    else:
        path = answered / "q1/release/y_z1.csv"
        path.write_text(path.read_text().replace("P,", "P,1"))
        done = perturb(answered, "new", SIZE, SECOND, published=["q1"])
    assert done.exception and words in str(done.exception), done.output
    assert "`published`" in str(done.exception) and not (answered / "new").exists()


def test_a_dimension_from_a_file_must_be_in_the_job(answered):
    (answered / "z1.csv").write_text("code,parent\nTotal,\nP,Total\nQ,Total\n")
    path = write(answered, "q4", SIZE, FIRST)
    spec = yaml.safe_load(path.read_text()) | {"dimensions": {"z1": {"parents": "z1.csv"}}}
    path.write_text(yaml.safe_dump(spec))
    words = ["perturb", path, "--out", answered / "q4", "--multipliers", answered / SAVED]
    assert CliRunner().invoke(cli, [str(w) for w in words]).exit_code == 0
    done = perturb(answered, "q5", SIZE, SECOND, published=["q4"])
    assert "the dimension 'z1' from a file" in str(done.exception)
    path = write(answered, "q5", SIZE, SECOND, published=["q4"])
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"dimensions": {"z1": {"parents": "z1.csv"}}}))
    words = ["perturb", path, "--out", answered / "q5", "--multipliers", answered / SAVED]
    done = CliRunner().invoke(cli, [str(w) for w in words])
    assert done.exit_code == 1 and "q4/y_z1: Q" in done.output


def test_suppressed_tables_in_published_are_conflicts_as_before(answered):
    table = {"name": "s", "by": ["z1"], "value": "y", "rules": RULES}
    spec = {"version": 1, "microdata": {"source": "f.csv", "respondent": "id"}, "tables": [table]}
    (answered / "sup.yaml").write_text(yaml.safe_dump(spec))
    words = ["protect", str(answered / "sup.yaml"), "--out", str(answered / "sup")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    done = perturb(answered, "q2", SIZE, SECOND, published=["sup"])
    assert done.exit_code == 1 and "conflict" in done.output
