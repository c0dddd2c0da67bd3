"""Counts with noise from cell keys, from job to folder: linked tables and years agree, and only verdicts release."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError, NotProtected
from cellguard.faces.cli.main import cli
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify

SIZES = {"A": 4, "B": 12, "C": 9, "D": 30, "E": 17}


def people(folder, name="people.csv", *, gone=(), more=(), shuffled=False, keys=False):
    rng = np.random.default_rng(7)
    rows = [(f"p{i}", region) for i, region in enumerate(region for region, n in SIZES.items() for _ in range(n))]
    ages, drawn = rng.integers(0, 3, len(rows)), rng.random(len(rows))
    lines = [
        f"{who},{region},{'xyz'[age]}" + (f",{key:.8f}" if keys else "")
        for (who, region), age, key in zip(rows, ages, drawn, strict=True)
        if who not in gone
    ]
    lines += list(more)
    if shuffled:
        lines = [lines[i] for i in rng.permutation(len(lines))]
    (folder / name).write_text("id,region,age" + (",key" if keys else "") + "\n" + "\n".join(lines) + "\n")


def job(folder, *by, source="people.csv", roles=None, **settings):
    tables = [
        {
            "name": "_".join(one),
            "by": list(one),
            "value": "count",
            "rules": [{"min_frequency": 3}],
            "protect": {"method": "cell_key"},
        }
        for one in by
    ]
    records = {"source": source, "respondent": "id"} | (roles or {})
    said = {"version": 1, "microdata": records, "cell_key": settings, "tables": tables}
    return Job.parse(said | {"output": {"formats": ["csv"]}}, folder=folder)


def shown(release, table):
    codes = ["/".join(cell) for cell in zip(*release[table].codes, strict=True)]
    return dict(zip(codes, map(int, release[table].value), strict=True))


def test_a_table_is_released_shown_and_verified(tmp_path):
    people(tmp_path)
    outcome = run(job(tmp_path, ["region"], seed=3))
    assert outcome.verdict.kind == "safe" and outcome.protected.worst <= 0.5
    OutputFolder(tmp_path / "out").write(outcome)
    about = json.loads((tmp_path / "out/release/metadata.json").read_text())
    assert about["method"] == "cell_key" and about["tables"]["region"]["additive"] is False
    assert oct((tmp_path / "out/internal/record_keys.json").stat().st_mode)[-3:] == "600"
    assert "seed" not in json.dumps(outcome.summary.plain()) and "3" not in outcome.verdict.text.split()
    found = verify(tmp_path / "out")
    assert found.valid and len(found.checks) == 6 and found.claims
    for words in (["show"], ["show", "--internal"], ["verify"]):
        done = CliRunner().invoke(cli, [*words, str(tmp_path / "out")])
        assert done.exit_code == 0, done.output


def test_cells_agree_between_tables_and_years(tmp_path):
    people(tmp_path)
    both = run(job(tmp_path, ["region", "age"], ["age"], ["region"], seed=4, unproven="accept"))
    OutputFolder(tmp_path / "first").write(both)
    wide, regions, ages = (shown(both.release, name) for name in ("region_age", "region", "age"))
    assert all(wide[f"{region}/Total"] == count for region, count in regions.items() if region != "Total")
    assert all(wide[f"Total/{age}"] == count for age, count in ages.items())
    # A year later: one left region A, one came to E, and the file has another order.
    people(tmp_path, "next.csv", gone={"p0"}, more=["new,E,x"], shuffled=True)
    keys = "first/internal/record_keys.json"
    later = run(job(tmp_path, ["region"], source="next.csv", keys=keys, unproven="accept"))
    again = dict(zip(later.protected.tables[0].codes[0].tolist(), later.protected.counts.tolist(), strict=True))
    names = later.protected.tables[0].dimensions[0].codes
    later_counts = {names[code]: count for code, count in again.items()}
    assert all(later_counts[region] == regions[region] for region in "BCD")
    with pytest.raises(JobError, match="used with another perturbation table"):
        run(job(tmp_path, ["region"], keys=keys, deviation=6, variance=4.0))
    with pytest.raises(InputError, match=r"no file 'none.json'"):
        run(job(tmp_path, ["region"], keys="none.json"))


def test_given_keys_are_summed_exactly(tmp_path):
    people(tmp_path, keys=True)
    roles = {"record_key": "key"}
    made = run(job(tmp_path, ["region"], roles=roles, seed=1, lookup="plain", unproven="accept")).protected
    lines = [line.split(",") for line in (tmp_path / "people.csv").read_text().splitlines()[1:]]
    for row, code in enumerate(made.tables[0].codes[0].tolist()):
        region = made.tables[0].dimensions[0].codes[code]
        steps = sum(round(float(key) * 1e9) for _, where, _, key in lines if region in (where, "Total"))
        assert made.cells.key[row] == steps % 10**9
        ends = made.table.upper[min(int(made.cells.count[row]), made.table.last)]
        change = made.table.changes[min(int(made.cells.count[row]), made.table.last)]
        assert made.counts[row] - made.cells.count[row] == change[np.argmax(steps % 10**9 / 1e9 < ends)]


def test_whole_keys_have_a_range(tmp_path):
    text = "id,region,k\n" + "".join(f"{i},{'AB'[i % 2]},{i * 37 % 256}\n" for i in range(40))
    (tmp_path / "people.csv").write_text(text)
    roles = {"record_key": "k", "key_range": 256}
    made = run(job(tmp_path, ["region"], roles=roles, lookup="plain", unproven="accept")).protected
    assert made.cells.key.tolist()[0] == sum(i * 37 % 256 for i in range(40)) % 256
    with pytest.raises(InputError, match="line 3, column 'k': a record key is a number from 0 to below 1"):
        run(job(tmp_path, ["region"], roles={"record_key": "k"}))
    with pytest.raises(InputError, match="a whole number from 0 to 99, as `key_range` says"):
        run(job(tmp_path, ["region"], roles={"record_key": "k", "key_range": 100}))


def test_plain_keys_are_never_proven(tmp_path):
    people(tmp_path)
    outcome = run(job(tmp_path, ["region"], seed=3, lookup="plain"))
    assert outcome.verdict.kind == "not proven" and outcome.release is None
    assert run(job(tmp_path, ["region"], seed=3, lookup="plain", unproven="accept")).release is not None


def test_circles_are_not_proven_and_the_limit_refuses(tmp_path):
    people(tmp_path)
    outcome = run(job(tmp_path, ["region", "age"], seed=3))
    assert outcome.verdict.kind == "not proven" and outcome.release is None
    assert "estimated" in outcome.verdict.text and outcome.verdict.not_checked[0].key == "circles"
    low = run(job(tmp_path, ["region", "age"], seed=3, limit=0.05, unproven="accept"))
    assert low.verdict.kind == "unsafe" and low.release is None
    OutputFolder(tmp_path / "out").write(low)
    assert not (tmp_path / "out/release").exists() and not (tmp_path / "out/internal/record_keys.json").exists()
    with pytest.raises(InputError, match="nothing was released"):
        verify(tmp_path / "out")


def test_fixed_cells_and_simulations(tmp_path):
    people(tmp_path)
    outcome = run(job(tmp_path, ["region"], seed=3, fixed=["region: Total"], simulations=20, limit=0.9))
    assert shown(outcome.release, "region")["Total"] == sum(SIZES.values())
    OutputFolder(tmp_path / "out").write(outcome)
    assert verify(tmp_path / "out").valid and outcome.summary["simulation"]["draws"] == 20
    with pytest.raises(JobError, match="`fixed`: no code 'Z'"):
        run(job(tmp_path, ["region"], fixed=["region: Z"]))
    with pytest.raises(JobError, match="not of the form 'table: cell'"):
        run(job(tmp_path, ["region"], fixed=["Total"]))
    (tmp_path / "few.csv").write_text("id,region\n1,A\n2,B\n3,B\n4,B\n5,B\n")
    with pytest.raises(JobError, match="`fixed` names a cell with a small count"):
        run(job(tmp_path, ["region"], source="few.csv", fixed=["region: A"]))


@pytest.mark.parametrize(
    ("file", "change", "check"),
    [
        ("release/region.csv", lambda t: t.replace("\nB,", "\nB,1", 1), 2),
        ("internal/region.csv", lambda t: t.replace("\nB,12,", "\nB,13,", 1), 3),
        ("internal/perturbation_table.csv", lambda t: t.replace("\n1;0;", "\n1;0;0", 1).replace(";0.", ";0.0", 2), 1),
        ("internal/record_keys.json", lambda t: t.replace('"seed": 3', '"seed": 4'), 3),
        ("internal/summary.json", lambda t: t.replace('"verdict": "safe"', '"verdict": "fine"'), 6),
        ("release/metadata.json", lambda t: t.replace("false", "true"), 2),
    ],
)
def test_verify_finds_what_was_changed(tmp_path, file, change, check):
    people(tmp_path)
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, ["region"], seed=3)))
    path = tmp_path / "out" / file
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    found = verify(tmp_path / "out")
    assert not found.valid and check in {c.number for c in found.checks if not c.passed}


@pytest.mark.parametrize(
    ("key", "said", "words"),
    [
        ("rules", [{"p_percent": 10}], "the one rule `min_frequency` of 2 or more"),
        ("rules", [{"min_frequency": 1}], "the one rule `min_frequency` of 2 or more"),
        ("value", "x", "cell keys perturb counts"),
        ("publish", "nothing", "`publish: nothing` does not go with cell keys"),
    ],
)
def test_what_does_not_go_with_cell_keys_is_refused(tmp_path, key, said, words):
    people(tmp_path)
    table = {"name": "t", "by": ["region"], "value": "count", "rules": [{"min_frequency": 3}]}
    table |= {"protect": {"method": "cell_key"}, key: said}
    with pytest.raises(JobError, match=words):
        Job.parse({"version": 1, "microdata": {"source": "people.csv"}, "tables": [table]}, folder=tmp_path)


def test_a_table_and_its_design_are_not_both_given(tmp_path):
    with pytest.raises(JobError, match="leave out `deviation`"):
        job(tmp_path, ["region"], table="t.csv", deviation=4)
    with pytest.raises(JobError, match="give one of keys and seed"):
        job(tmp_path, ["region"], keys="k.json", seed=1)


def test_tables_of_other_tools_from_python(tmp_path):
    frame = {"region": [region for region, n in SIZES.items() for _ in range(n)]}
    done = cg.protect(frame, by=["region"], rules=cg.MinFrequency(3), method=cg.CellKey(seed=2))
    assert done.verdict.kind == "safe" and done.summary["perturbation_table"]["deviation"] == 8
    same = cg.protect(frame, by=["region"], rules=cg.MinFrequency(3), method={"cell_key": {"seed": 2}})
    assert done.release["table"].value == same.release["table"].value


def test_the_command_writes_a_page(tmp_path):
    people(tmp_path)
    said = job(tmp_path, ["region"], seed=3).model_dump()
    said["output"] = {"formats": ["csv", "html"]}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({k: v for k, v in said.items() if k in _KEPT}))
    done = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0 and "Not additive" in done.output, done.output
    page = (tmp_path / "out/release/report.html").read_text()
    assert "the tables do not add up" in page and "posterior" not in page
    assert "What differences still hide" in (tmp_path / "out/internal/report.html").read_text()
    again = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--dry-run"])
    assert again.exit_code == 0 and "Nothing is perturbed yet" in again.output


_KEPT = {"version", "microdata", "cell_key", "tables", "output"}


def test_nothing_of_a_refused_run_is_in_python(tmp_path):
    frame = {"region": [region for region, n in SIZES.items() for _ in range(n)]}
    with pytest.raises(NotProtected, match="nothing may be shown"):
        _ = cg.protect(frame, by=["region"], rules=cg.MinFrequency(3), method=cg.CellKey(limit=0.01)).table
    assert not list(Path(tmp_path).iterdir())
