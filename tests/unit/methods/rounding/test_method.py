"""Rounding as jobs know it: linked tables, thresholds, seeds, and what is done if unsafe cells stay too well known."""

import csv
import json

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify
from cellguard.verifier.verify import Verification

RULES = [{"min_frequency": 4}]


def people(folder, n=120):
    rng = np.random.default_rng(5)
    rows = zip(rng.choice(list("NSWE"), n), rng.choice(["young", "old"], n), rng.integers(1, 40, n), strict=True)
    (folder / "people.csv").write_text("region,age,pay\n" + "".join(f"{r},{a},{p}\n" for r, a, p in rows))


def job_data(*tables, **more):
    return {"version": 1, "microdata": {"source": "people.csv"}, "tables": list(tables), **more}


def table(name, by, value="count", rules=None, **options):
    said = {"method": "round", **options}
    return {"name": name, "by": by, "value": value, "rules": RULES if rules is None else rules, "protect": said}


@pytest.fixture
def folder(tmp_path):
    people(tmp_path)
    return tmp_path


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_that_share_cells_show_one_value(folder):
    data = job_data(table("a", ["region", "age"], base=3), table("b", ["age", "region"], base=3), table("c", ["age"]))
    data["tables"][2]["protect"]["base"] = 3
    release = run(Job.parse(data, folder=folder)).release
    a, b, c = (dict(zip(zip(*t.codes, strict=True), t.value, strict=True)) for t in release.tables)
    assert {(y, x): value for (x, y), value in a.items()} == b
    assert all(c[age,] == a["Total", age] for (age,) in c)
    assert all(int(value) % 3 == 0 for value in a.values())


def test_a_seed_gives_the_same_and_is_kept(folder):
    data = job_data(table("a", ["region", "age"]), output={"formats": ["csv"]})
    (folder / "job.yaml").write_text(yaml.safe_dump(data))
    done = [command("protect", folder / "job.yaml", "--out", folder / f"o{i}") for i in range(2)]
    assert all(d.exit_code == 0 for d in done), done[0].output
    seeds = [json.loads((folder / f"o{i}/internal/seed.json").read_text())["seed"] for i in range(2)]
    assert seeds[0] != seeds[1], "a new secret one each time"
    again = command("protect", folder / "job.yaml", "--seed-from", folder / "o0", "--out", folder / "o2")
    assert again.exit_code == 0, again.output
    release = [(folder / f"o{i}/release/a.csv").read_text() for i in range(3)]
    assert release[0] == release[2] != release[1]
    for path in (folder / "o0/release").iterdir():
        assert str(seeds[0]) not in path.read_text()
    smaller = job_data(table("b", ["region"], seed=seeds[0]))
    fewer = run(Job.parse(smaller, folder=folder)).release["b"]
    whole = {r["region"]: r["value"] for r in rows(folder / "o0/release/a.csv") if r["age"] == "Total"}
    assert dict(zip(fewer.codes[0], fewer.value, strict=True)) == whole, "a cell keeps its value in later tables"


def test_random_rounding_has_no_bias():
    from cellguard.methods.rounding.draws import uniforms
    from cellguard.methods.rounding.values import random

    cells = cg.link(
        cg.cells(
            {"r": [f"c{i}" for i in range(500)], "x": [2] * 500},
            by={"r": cg.Hierarchy.flat([f"c{i}" for i in range(500)])},
            value="x",
        )
    )
    every = np.ones(500, bool)
    value, base = np.full(500, 2), np.full(500, 5)
    share = [(random(value, base, uniforms(cells, seed, "rounding", every)) == 5).mean() for seed in range(40)]
    assert abs(np.mean(share) - 2 / 5) < 4 * np.sqrt(0.24 / 20_000)


def test_what_is_below_the_threshold_is_hidden_and_zeros_are_not(folder):
    data = job_data(table("a", ["region", "age"], kind="conventional", suppress_below=14))
    done = run(Job.parse(data, folder=folder)).protected
    true, hidden = done.rounded.plan.value, done.rounded.hidden
    assert hidden.tolist() == ((true > 0) & (true < 14)).tolist() and hidden.any()
    assert (done.attacked.upper[hidden] <= 13).all(), "who knows the threshold knows that much"


def test_kept_cells_stay_and_unsafe_ones_may_not_be_kept(folder):
    data = job_data(table("a", ["region", "age"], keep=["Total/Total", "Total/old"]))
    done = run(Job.parse(data, folder=folder)).protected
    kept = done.rounded.plan.kept
    assert kept.sum() == 2 and (done.rounded.value == done.rounded.plan.value)[kept].all()
    assert done.verdict.kind == "safe"
    with pytest.raises(InputError, match="no code 'mid'"):
        run(Job.parse(job_data(table("a", ["region", "age"], keep=["Total/mid"])), folder=folder))


def lonely(*rest):
    """A table of which conventional rounding to base 2 gives a cell away."""
    columns = {"r": ["N"] * 1 + ["S"] * 4 + ["W"] * 8}
    spec = table("a", ["r"], kind="conventional", base=2, keep=["Total", "S", "W"], rules=[{"min_frequency": 3}])
    spec["protect"] |= dict(rest)
    data = {"version": 1, "microdata": {"source": "held"}, "tables": [spec]}
    return Job.parse(data, held={"held": columns})


def test_what_differences_tell_forbids_the_release(tmp_path):
    outcome = run(lonely())
    assert outcome.verdict.kind == "unsafe" and outcome.release is None
    assert "N" in outcome.verdict.text and outcome.summary["set"]["unsafe"] == 1
    out = tmp_path / "out"
    cg.OutputFolder(out).write(outcome)
    assert not (out / "release").exists() and "unsafe" in (out / "internal/a.csv").read_text()
    found = verify(out)
    assert found.valid, [c for c in found.checks if not c.passed]


def test_hiding_and_doubling_mend_what_they_can():
    hidden = run(lonely(("keep", ["Total"]), ("if_unsafe", "suppress")))
    assert hidden.verdict.kind == "safe"
    people = {"r": ["N"] * 1 + ["S"] * 40 + ["W"] * 80}
    needs = [{"p_percent": 10}]
    spec = table("a", ["r"], "x", base=2, kind="random", rules=needs, if_unsafe="coarser", seed=1)
    data = {"version": 1, "microdata": {"source": "held"}, "tables": [spec]}
    people["x"] = [30] + [5] * 120
    made = run(Job.parse(data, held={"held": people}))
    assert made.verdict.kind == "safe" and made.protected.doublings >= 1
    about = made.method.about(made, "a")["rounding"]
    assert about["base"] == 2 * 2**made.protected.doublings
    assert "choice" in [a.key for a in made.verdict.not_checked]
    spec["protect"]["if_unsafe"] = "refuse"
    assert run(Job.parse(data, held={"held": people})).release is None


def test_values_with_decimals_are_rounded_to_fractions():
    firms = {"r": list("NNNSSSSWW"), "x": [1.25, 2.5, 8.75, 3.1, 4.4, 4.5, 2.0, 9.9, 9.0]}
    made = cg.protect(
        firms,
        by=["r"],
        value="x",
        rules=cg.MinFrequency(2),
        options={"decimals": 1},
        method=cg.ConventionalRounding(0.5),
    )
    assert made.release["table"].value == ["45.5", "12.5", "14.0", "19.0"]


def test_two_bases_share_cells_only_if_one_is_a_multiple(folder):
    data = job_data(table("a", ["region", "age"], base=5), table("b", ["age"], base=10))
    release = run(Job.parse(data, folder=folder)).release
    assert all(int(value) % 10 == 0 for value in release["b"].value)
    whole = {a: v for r, a, v in zip(*release["a"].codes, release["a"].value, strict=True) if r == "Total"}
    assert [whole[a] for a in release["b"].codes[0]] == release["b"].value
    data = job_data(table("a", ["region", "age"], base=5), table("b", ["age"], base=3))
    with pytest.raises(JobError, match=r"'a' and 'b' share cells.*neither base"):
        run(Job.parse(data, folder=folder))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base": 0.5}, "base 0.5 must be a multiple of the last published decimal"),
        ({"base": 1}, "base 1 must be a multiple"),
    ],
)
def test_a_base_that_rounds_nothing_is_refused(folder, options, said):
    with pytest.raises(JobError, match=said):
        run(Job.parse(job_data(table("a", ["region"], **options)), folder=folder))


def test_tables_share_how_they_are_rounded(folder):
    data = job_data(table("a", ["region"], kind="random"), table("b", ["age"], kind="conventional"))
    with pytest.raises(JobError, match="share `kind`; they say 'a: random', 'b: conventional'"):
        Job.parse(data, folder=folder)


def test_without_rules_nothing_is_released(folder):
    data = job_data(table("a", ["region"], rules=[]))
    outcome = run(Job.parse(data, folder=folder))
    assert outcome.verdict.kind == "no rule" and outcome.release is None
    assert run(Job.parse(data, folder=folder), accept_no_rules=True).release is not None


def forge(out, name, old, new):
    path = out / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def failing(found: Verification):
    return [check.name for check in found.checks if not check.passed]


def test_verify_works_the_rounding_out_again(folder):
    data = job_data(
        table("a", ["region", "age"], kind="conventional", suppress_below=3), table("b", ["age"], kind="conventional")
    )
    outcome = run(Job.parse(data | {"output": {"formats": ["csv", "html"]}}, folder=folder))
    forgeries = {
        "release/a.csv": ("Total,Total,120,", "Total,Total,125,", ["Digests", "Released rows"]),
        "internal/a.csv": (
            "Total,Total,120,120,",
            "Total,Total,120,125,",
            ["Digests", "Released rows", "Rounding", "Common cells", "Sums"],
        ),
        "release/metadata.json": ('"base": 5', '"base": 3', ["Digests", "Claims"]),
    }
    for number, (name, (old, new, checks)) in enumerate(forgeries.items()):
        out = folder / f"out{number}"
        cg.OutputFolder(out).write(outcome)
        assert verify(out).valid
        forge(out, name, old, new)
        found = failing(verify(out))
        assert "Digests" in found and set(found) <= set(checks) and len(found) > 1, found
    done = command("verify", folder / "out0")
    assert done.exit_code == 1 and "NOT VALID" in done.output


def test_policies_are_compared_by_what_attackers_conclude(folder):
    job = Job.parse(job_data(table("a", ["region", "age"])), folder=folder)
    compared = compare_policies(job, parse_policies("suppress,round", []))
    rounded = next(p for p in compared.points if p.name == "round")
    assert rounded.measured and rounded.risk == 0 and rounded.utility > 0.5


def test_show_tells_true_and_rounded_values(folder):
    data = job_data(table("a", ["region", "age"], suppress_below=3), output={"formats": ["csv", "html"]})
    (folder / "job.yaml").write_text(yaml.safe_dump(data))
    assert command("protect", folder / "job.yaml", "--out", folder / "o").exit_code == 0
    shown = command("show", folder / "o", "a")
    assert "Rounded figures" in shown.output
    inside = command("show", folder / "o", "a", "--internal").output
    assert "120 → 120" in inside and "Confidential" in inside
    page = (folder / "o/internal/report.html").read_text()
    assert "What differences of rounded values tell" in page
    public = (folder / "o/release/report.html").read_text()
    assert "chosen at random" in public and "seed" not in public
    refused = command("audit", folder / "o")
    assert "were rounded, not suppressed" in str(refused.exception)
