"""What the choice of cells tells: said wherever an engine chose them, and random costs make it tell less."""

import csv
import json
import re

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from benchmark_modules import benchmark
from cellguard.errors import InputError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.costs import SPREAD, random_factors
from cellguard.pipeline import audit_folder, run
from cellguard.verifier.verify import verify

# Whoever runs the program on other values of A and B finds that only A from 9991 to 10000 gives this pattern.
CELLS = "region,x,n\nTotal,17000,28\nA,10000,1\nB,1001,9\nC,999,9\nD,5000,9\n"
MANY = "region,x,n\n" + "".join(
    f"r{i:02},{x},{n}\n" for i, (x, n) in enumerate([(900, 1), *[(100 + i, 9) for i in range(20)]])
)


def job(folder, text=CELLS, **protect):
    rows = text.splitlines()
    if "Total" not in text:
        total = [sum(int(row.split(",")[i]) for row in rows[1:]) for i in (1, 2)]
        text = "\n".join([rows[0], f"Total,{total[0]},{total[1]}", *rows[1:]]) + "\n"
    (folder / "c.csv").write_text(text)
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}], "decimals": 0}
    table |= {"cells": {"source": "c.csv", "count": "n"}} | ({"protect": protect} if protect else {})
    (folder / "job.yaml").write_text(yaml.safe_dump({"version": 1, "tables": [table]}))
    return folder / "job.yaml"


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def hidden(folder):
    with (folder / "release/t.csv").open() as file:
        return [row["region"] for row in csv.DictReader(file) if row["flag"]]


def test_every_face_says_that_the_choice_was_not_checked(tmp_path):
    done = command("protect", job(tmp_path), "--out", tmp_path / "out")
    assert done.exit_code == 0 and "what the choice of cells reveals not checked" in done.output
    stored = json.loads((tmp_path / "out/internal/summary.json").read_text())
    certificate = json.loads((tmp_path / "out/internal/certificate.json").read_text())
    assert "choice_of_cells" in stored["not_checked"] and "choice_of_cells" in certificate["not_checked"]
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "hat the choice of cells reveals" in page and "random: true" in page
    assert "choice_of_cells" in audit_folder(tmp_path / "out").summary["not_checked"]
    assert "choice" not in (tmp_path / "out/release/metadata.json").read_text()


def test_a_pattern_that_nobody_chose_tells_nothing_by_its_choice(tmp_path):
    path = job(tmp_path, CELLS.replace("n\n", "n,status\n", 1).replace("B,1001,9", "B,1001,9,secondary"))
    text = re.sub(r"^((?:Total|A|C|D),\d+,\d+)$", r"\1,", (tmp_path / "c.csv").read_text(), flags=re.MULTILINE)
    (tmp_path / "c.csv").write_text(text)
    spec = yaml.safe_load(path.read_text())
    spec["tables"][0]["cells"]["status"] = "status"
    path.write_text(yaml.safe_dump(spec))
    done = command("audit", path, "--out", tmp_path / "out")
    assert done.exit_code == 0 and "choice of cells" not in done.output, done.output
    assert "choice_of_cells" not in audit_folder(tmp_path / "out").summary["not_checked"]
    alone = job(tmp_path, "region,x,n\nA,10000,9\nB,1001,9\n")
    assert "choice_of_cells" not in run(Job.load(alone)).summary["not_checked"], "nothing was hidden"


def test_random_costs_keep_their_seed_inside_and_can_be_repeated(tmp_path):
    path = job(tmp_path, MANY, cost="value", random=True)
    first, again, other = tmp_path / "first", tmp_path / "again", tmp_path / "other"
    done = command("protect", path, "--out", first)
    assert done.exit_code == 0 and "costs were multiplied by random factors" in done.output
    assert "what the choice of cells reveals in spite of random costs not checked" in done.output
    seed = json.loads((first / "internal/seed.json").read_text())["seed"]
    holders = {p.relative_to(first).as_posix() for p in first.rglob("*.*") if str(seed).encode() in p.read_bytes()}
    assert holders == {"internal/seed.json"} and str(seed) not in done.output
    summary = json.loads((first / "internal/summary.json").read_text())
    assert summary["seed"] == "secret" and summary["choice"] == "random" and summary["lower_bound"] == 0
    assert summary["cost"] == sum(
        int(row.split(",")[1]) for row in MANY.splitlines()[1:] if row[:3] in hidden(first)[1:]
    )
    assert verify(first / "internal/certificate.json").valid
    assert audit_folder(first).summary["not_checked"] == summary["not_checked"]
    assert command("protect", path, "--out", again, "--seed-from", first).exit_code == 0
    assert hidden(again) == hidden(first)
    assert (again / "internal/seed.json").read_text() == (first / "internal/seed.json").read_text()
    patterns = {tuple(hidden(first))}
    for _ in range(8):
        assert command("protect", path, "--out", other, "--force").exit_code == 0
        patterns.add(tuple(hidden(other)))
    assert len(patterns) > 1, "another seed, another pattern"
    dumped = json.loads(command("protect", path, "--out", other, "--force", "--json").stdout)
    assert dumped["seed"] == "secret"


def test_a_seed_needs_random_costs_and_a_run_that_stored_one(tmp_path):
    plain = job(tmp_path)
    assert command("protect", plain, "--out", tmp_path / "out").exit_code == 0
    assert not (tmp_path / "out/internal/seed.json").exists()
    done = command("protect", plain, "--out", tmp_path / "no", "--seed-from", tmp_path / "out")
    assert isinstance(done.exception, InputError) and "random: true" in str(done.exception)
    done = command("protect", job(tmp_path, random=True), "--out", tmp_path / "no", "--seed-from", tmp_path / "out")
    assert isinstance(done.exception, InputError) and "has no internal/seed.json" in str(done.exception)
    assert not (tmp_path / "no").exists()


def test_random_factors_have_the_spread_that_was_measured():
    factors = np.log(random_factors(100_000, 3))
    assert abs(factors.mean()) < 0.01 and factors.std() == pytest.approx(SPREAD, rel=0.01)
    assert (random_factors(50, 3) != random_factors(50, 4)).all()


def test_only_tables_that_say_so_have_random_costs(tmp_path):
    path = job(tmp_path, MANY, random=True)
    spec = yaml.safe_load(path.read_text())
    spec["tables"][0]["protect"]["random"] = False
    assert run(Job.parse(spec, folder=tmp_path)).protected.suppression.seed is None
    both = [spec["tables"][0], spec["tables"][0] | {"name": "u", "protect": {"random": True}}]
    outcome = run(Job.parse(spec | {"tables": both}, folder=tmp_path))
    assert outcome.protected.suppression.seed is not None and outcome.verdict.kind == "safe"


def test_studies_are_repeated_with_the_same_random_costs(tmp_path):
    loaded = Job.load(job(tmp_path, MANY, random=True))
    points = [compare_policies(loaded, parse_policies("suppress", [])).points[0].by_table["t"] for _ in range(2)]
    assert points[0] == points[1] or points[0].suppressed_value == points[1].suppressed_value


@pytest.mark.parametrize("jobs", [(0, 8), pytest.param(range(50), marks=pytest.mark.long)])
def test_more_tables_give_the_released_pattern_with_random_costs(jobs):
    """The measure of benchmarks/bench_minimality.py, on the case and on drawn tables: what is left, at what cost."""
    study = benchmark("bench_minimality")
    case, pattern = study.case(), np.array([0, 1, 1, 0, 0], bool)
    _, before, _, _ = study.study(case, 0.0, parts=3)
    of, after, _, _ = study.study(case, SPREAD, draws=60, parts=3, hidden=pattern)
    assert of == 7 and before == 1 and 2 < after <= study.possible(case, parts=3) == 4
    plain = [study.study(study.small_table(job), 0.0, parts=2)[1] for job in jobs]
    random = [study.study(study.small_table(job), SPREAD, draws=25, parts=2, seed=job) for job in jobs]
    assert np.mean([r[1] for r in random]) > np.mean(plain) + 0.2
    assert 1 <= np.mean([r[2] for r in random]) < 1.3


def test_the_public_surface_has_it(tmp_path):
    frame = {"r": ["a"] + ["b"] * 5 + ["c"] * 5, "x": [9] + [4] * 5 + [5] * 5}
    done = cg.protect(frame, by=["r"], value="x", rules=cg.MinFrequency(3), options={"protect": {"random": True}})
    assert "choice_of_cells" in done.summary["not_checked"] and done.summary["seed"] == "secret"
