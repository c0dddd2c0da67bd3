"""Sums with noise from cell keys, from job to folder: linked tables and years agree, and only verdicts release."""

import csv
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.faces.cli.main import cli
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify


def firms(folder, name="firms.csv", *, keys=False, more=(), gone=()):
    rng = np.random.default_rng(7)
    lines = []
    for i in range(120):
        pay = 4000 if i == 12 else int(np.ceil(np.exp(rng.normal(4, 1.2)))) if i % 11 else 0
        lines.append(f"f{i},{'ABCD'[i % 4]},{'xyz'[i % 3]},{pay}" + (f",{rng.random():.9f}" if keys else ""))
    lines = [line for line in lines if line.split(",")[0] not in gone] + list(more)
    (folder / name).write_text("id,region,branch,pay" + (",key" if keys else "") + "\n" + "\n".join(lines) + "\n")


def job(folder, *by, source="firms.csv", roles=None, table=None, given=None, **settings):
    settings |= {"table": given} if given else {}
    tables = [
        {"name": "_".join(one), "by": list(one), "value": "pay", "rules": [{"p_percent": 10}, {"min_frequency": 3}]}
        | {"protect": {"method": "magnitude_key"}}
        | (table or {})
        for one in by
    ]
    records = {"source": source, "respondent": "id"} | (roles or {})
    said = {"version": 1, "microdata": records, "magnitude_key": settings, "tables": tables}
    return Job.parse(said | {"output": {"formats": ["csv"]}}, folder=folder)


def shown(release, table):
    codes = ["/".join(cell) for cell in zip(*release[table].codes, strict=True)]
    return dict(zip(codes, map(float, release[table].value), strict=True))


def internal(folder, table):
    with (folder / "internal" / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


VARIANTS = {
    "plain": {"lookup": "plain", "epsilon": [1.0, 0.5, 0.2], "unproven": "accept"},
    "flex and top 3": {
        "epsilon": [1.0, 0.5, 0.2],
        "flex": {"point": 100, "small": 0.2, "large": 0.15, "power": 2},
        "unproven": "accept",
    },
    "parity and small values": {"parity": True, "separation": True, "share": 0.2, "unproven": "accept"},
    "range": {"scaling": "range", "share": 0.2, "mu": 0.5, "unproven": "accept", "zero_keys": True},
    "mean": {
        "scaling": "mean",
        "share": 1.0,
        "limit": 0.95,
        "unproven": "accept",
        "lookup": "plain",
        "same_key": False,
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_released_shown_and_verified(variant, tmp_path):
    firms(tmp_path, keys=variant in {"plain", "mean"})
    roles = {"record_key": "key"} if variant in {"plain", "mean"} else {}
    settings = {"limit": 0.9, **VARIANTS[variant]}
    outcome = run(job(tmp_path, ["region", "branch"], ["branch"], roles=roles, seed=3, **settings))
    assert outcome.release is not None, outcome.verdict
    OutputFolder(tmp_path / "out").write(outcome)
    about = json.loads((tmp_path / "out/release/metadata.json").read_text())["tables"]["branch"]
    assert about["method"] == "magnitude_key" and about["noise"] == {"additive": False}
    assert oct((tmp_path / "out/internal/record_keys.json").stat().st_mode)[-3:] == "600"
    found = verify(tmp_path / "out")
    assert found.valid and len(found.checks) == 7 and found.claims, found
    assert "seed" not in json.dumps(outcome.summary.plain())
    wide, branches = shown(outcome.release, "region_branch"), shown(outcome.release, "branch")
    assert all(wide[f"Total/{code}"] == value for code, value in branches.items() if code != "Total")
    moved = [float(row["published"]) - float(row["value"]) for row in internal(tmp_path / "out", "region_branch")]
    assert np.count_nonzero(moved) > 15


def test_commands_show_explain_and_verify(tmp_path):
    firms(tmp_path)
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, ["region"], seed=3, limit=0.6, unproven="accept")))
    for words in (["show"], ["show", "--internal"], ["verify"]):
        done = CliRunner().invoke(cli, [*words, str(tmp_path / "out")])
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("column", "wrong", "check"),
    [("published", lambda x: f"{int(x) + 1}", "Noise"), ("cell_key", lambda x: f"{int(x) + 1}", "Noise")],
)
def test_verify_finds_what_was_changed(column, wrong, check, tmp_path):
    firms(tmp_path)
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, ["region"], seed=3, limit=0.6, unproven="accept")))
    shutil.copytree(tmp_path / "out", tmp_path / "bad")
    path = tmp_path / "bad/internal/region.csv"
    rows = internal(tmp_path / "bad", "region")
    rows[1][column] = wrong(rows[1][column])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    found = verify(tmp_path / "bad")
    failed = {one.name for one in found.checks if not one.passed}
    assert {"Digests", check} <= failed and not found.valid


def test_years_agree_by_the_saved_keys(tmp_path):
    firms(tmp_path)
    first = run(job(tmp_path, ["region"], seed=4, limit=0.6, unproven="accept"))
    OutputFolder(tmp_path / "first").write(first)
    firms(tmp_path, "next.csv", more=["new,A,x,55"])
    keys = "first/internal/record_keys.json"
    later = run(job(tmp_path, ["region"], source="next.csv", keys=keys, limit=0.6, unproven="accept"))
    before, after = shown(first.release, "region"), shown(later.release, "region")
    assert all(before[code] == after[code] for code in "BCD") and before["A"] != after["A"]
    with pytest.raises(JobError, match="used with another perturbation table, other units"):
        run(job(tmp_path, ["region"], keys=keys, share=0.11))


def test_keys_of_zeros_count_only_on_wish(tmp_path):
    firms(tmp_path)
    one = run(job(tmp_path, ["region"], seed=4, limit=0.6, unproven="accept")).protected.made
    firms(tmp_path, gone={f"f{i}" for i in range(0, 120, 11)})
    without = run(job(tmp_path, ["region"], seed=4, limit=0.6, unproven="accept")).protected.made
    assert one.units.tolist() == without.units.tolist()
    firms(tmp_path)
    with_zeros = run(job(tmp_path, ["region"], seed=4, limit=0.6, zero_keys=True, unproven="accept")).protected.made
    assert with_zeros.units.tolist() != one.units.tolist()


def test_too_little_noise_is_unsafe_and_cannot_be_accepted(tmp_path):
    firms(tmp_path)
    low = run(job(tmp_path, ["region", "branch"], seed=3, share=0.01, unproven="accept"))
    assert low.verdict.kind == "unsafe" and low.release is None and low.verdict.text.startswith("UNSAFE")
    OutputFolder(tmp_path / "out").write(low)
    assert not (tmp_path / "out/release").exists() and not (tmp_path / "out/internal/record_keys.json").exists()
    assert verify(tmp_path / "out").valid
    plain = run(job(tmp_path, ["region"], seed=3, lookup="plain"))
    assert plain.verdict.kind in {"not proven", "safe"} and (plain.release is None) == (plain.verdict.kind != "safe")


def test_a_table_without_rules_needs_a_word(tmp_path):
    firms(tmp_path)
    outcome = run(job(tmp_path, ["region"], seed=3, table={"rules": []}))
    assert outcome.verdict.kind == "no rule" and outcome.release is None
    made = job(tmp_path, ["region", "branch"], ["branch"], seed=3)
    tables = [made.tables[0], made.tables[1].model_copy(update={"rules": []})]
    mixed = run(made.model_copy(update={"tables": tables}), accept_no_rules=True)
    # Cells that are not proven need a word of their own.
    assert mixed.verdict.kind == "no rule" and mixed.protected.open.any() and mixed.release is None


def test_fixed_cells_are_published_as_they_are(tmp_path):
    firms(tmp_path)
    outcome = run(job(tmp_path, ["region"], seed=3, fixed=["region: Total"], unproven="accept"))
    made = outcome.protected
    assert made.published[0] == made.made.sums.value[0]
    with pytest.raises(JobError, match="no code 'Z'"):
        run(job(tmp_path, ["region"], fixed=["region: Z"]))
    (tmp_path / "few.csv").write_text("id,region,branch,pay\n1,A,x,90\n2,B,x,5\n3,B,x,6\n4,B,x,7\n5,B,x,7\n")
    with pytest.raises(JobError, match="unsafe; only safe cells"):
        run(job(tmp_path, ["region"], source="few.csv", fixed=["region: A"]))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"value": "count"}, "cell keys of counts are `method: cell_key`"),
        ({"negative": "absolute"}, "`negative` does not go with cell keys"),
    ],
)
def test_what_does_not_go_with_it_is_refused(change, why, tmp_path):
    firms(tmp_path)
    with pytest.raises(JobError, match=why):
        job(tmp_path, ["region"], table=change)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"epsilon": [0.5]}, "begins with 1"),
        ({"epsilon": [1.0, 0.5], "scaling": "sum"}, "several factors"),
        ({"epsilon": [1.0, 0.5], "parity": True}, "several factors"),
        ({"share": 0.1, "flex": {"point": 5.0, "small": 0.2, "large": 0.1}}, "one of share and flex"),
        ({"flex": {"point": 5.0, "small": 0.1, "large": 0.2}}, "`large` is at most `small`"),
        ({"variance": 30.0}, "at most the deviation squared"),
        ({"figures": [9.0]}, "at most the deviation"),
        ({"given": "p.csv", "steps": 2}, "leave out `steps`"),
        ({"keys": "k.json", "seed": 2}, "one of keys and seed"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, why, tmp_path):
    firms(tmp_path)
    with pytest.raises((JobError, InputError), match=why):
        job(tmp_path, ["region"], **settings)


def test_negative_contributions_are_refused(tmp_path):
    (tmp_path / "n.csv").write_text("id,region,branch,pay\n1,A,x,90\n2,A,x,-5\n3,A,x,6\n4,B,x,7\n")
    with pytest.raises(InputError, match="negative"):
        run(job(tmp_path, ["region"], source="n.csv"))


def test_policies_are_compared(tmp_path):
    firms(tmp_path)
    made = job(tmp_path, ["region"], seed=3, limit=0.6, unproven="accept")
    compared = compare_policies(made, parse_policies("suppress,magnitude_key", []))
    point = next(p for p in compared.points if p.name == "magnitude_key")
    assert point.measured and 0 < point.utility < 1


def test_python_has_it():
    data = {"region": ["N"] * 3 + ["S"] * 4 + ["W"] * 4, "pay": [90, 8, 2, 30, 40, 35, 30, 20, 20, 20, 20]}
    done = cg.protect(data, by=["region"], value="pay", rules=cg.PPercent(10), method=cg.MagnitudeKey(seed=5))
    assert done.verdict.kind == "safe" and done.summary["additive"] is False and done.release["table"].hidden == 0
