"""Whole jobs with rules that judge rows: from people to a release, audited and verified by code of its own."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from cellguard.faces.cli.main import cli
from cellguard.verifier.verify import verify
from unit.verifier.folders import seal

SENSITIVE = {"by": "offence", "sensitive": ["theft", "fraud"]}
ADDED = re.compile("not (theft|none)")  # the codes of all others
RULES = [
    {"group_disclosure": SENSITIVE | {"below": 30}},
    {"max_fraction": SENSITIVE | {"p": 60}},
    {"min_others": SENSITIVE},
    {"spread": SENSITIVE | {"p": 50}},
    {"attribute_disclosure": "offence"},
    {"lone_other": "offence"},
    {"k_disclosure": {"by": "offence", "k": 1}},
]


def people(folder, rules):
    """Write some people by region, sex and offence, and a job of two linked tables about them."""
    rng = np.random.default_rng(3)
    rows = ["region,sex,offence"]
    for region in "ABC":
        for sex in "MF":
            for offence, n in zip(("theft", "fraud", "minor", "none"), rng.poisson((1, 0.5, 0.5, 1)), strict=True):
                rows += [f"{region},{sex},{offence}"] * int(n)
    rows += ["D,M,theft"] * 3 + ["D,F,theft"] + ["D,F,none"] * 5
    (folder / "people.csv").write_text("\n".join(rows))
    tables = [
        {"name": "t", "by": ["region", "offence", "sex"], "value": "count", "rules": rules},
        {"name": "u", "by": ["region", "offence"], "value": "count", "rules": [{"min_frequency": 2}]},
    ]
    job = {"version": 1, "microdata": {"source": "people.csv"}, "tables": tables}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    return folder / "job.yaml"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: next(iter(rule)))
def test_a_job_is_protected_audited_and_verified(rule, tmp_path):
    job, out = people(tmp_path, [rule]), tmp_path / "out"
    done = CliRunner().invoke(cli, ["protect", str(job), "--out", str(out)])
    assert done.exit_code == 0, done.output
    cells = (out / "internal/t.csv").read_text()
    assert f"{next(iter(rule))} offence" in cells and ADDED.search(cells)
    judged = verify(out / "internal/certificate.json")
    assert judged.valid and not judged.trusted, judged
    for command in (["audit", str(out)], ["verify", str(out), "--job", str(job)]):
        again = CliRunner().invoke(cli, command)
        assert again.exit_code == 0, again.output
    for file in (out / "release").iterdir():
        assert not ADDED.search(file.read_text()), file.name
    assert "of offence" in (out / "internal/report.html").read_text()


def test_what_a_row_tells_concerns_everybody_in_it(tmp_path):
    job, out = people(tmp_path, [{"attribute_disclosure": "offence"}]), tmp_path / "out"
    assert CliRunner().invoke(cli, ["protect", str(job), "--out", str(out)]).exit_code == 0
    path = out / "internal/insiders.parquet"
    listed, rows = pq.ParquetFile(path).read().to_pylist(), pq.read_table(out / "internal/facts/t.parquet").to_pylist()
    codes = [(row["by:region"], row["by:offence"], row["by:sex"]) for row in rows]
    count = {key: row["count"] for key, row in zip(codes, rows, strict=True)}
    told = {}
    for entry in listed:
        if entry["insider"] >= 0 and not entry["table"]:
            told.setdefault(codes[entry["row"]], []).append((entry["insider"], entry["amount"]))
    added = [key for key in told if ADDED.match(key[1])]
    assert added
    for region, offence, sex in added:
        who = told[region, offence, sex]
        assert len(who) == count[region, "Total", sex]
        assert sum(amount > 0 for _, amount in who) == count[region, offence, sex]
    singleton = next(key for key in added if count[key[0], "Total", key[2]] == 1)
    more = next(e for e in listed if e["insider"] >= 0 and codes[e["row"]] == singleton and not e["table"])
    pq.write_table(pa.Table.from_pylist([*listed, {**more, "insider": 10_000}], pq.read_schema(path)), path)
    seal(out)
    assert [c.number for c in verify(out / "internal/certificate.json").checks if not c.passed] == [8]


def test_the_verifier_sees_needs_that_are_too_small_and_rules_that_are_weaker(tmp_path):
    job, out = people(tmp_path, [{"min_others": SENSITIVE}]), tmp_path / "out"
    assert CliRunner().invoke(cli, ["protect", str(job), "--out", str(out)]).exit_code == 0
    for stronger in (
        {"min_others": SENSITIVE | {"n": 6}},
        {"k_disclosure": {"by": "offence", "k": 4, "sensitive": []}},
    ):
        copy = tmp_path / next(iter(stronger))
        shutil.copytree(out, copy)
        path = copy / "internal/certificate.json"
        document = json.loads(path.read_text())
        document["tables"][0]["rules"] = [stronger]
        path.write_text(json.dumps(document))
        checks = {check.name: check for check in verify(path).checks}
        assert not checks["rules and protection levels"].passed
    facts = pq.read_table(out / "internal/facts/t.parquet").to_pydict()
    added = [state for code, state in zip(facts["by:offence"], facts["state"], strict=True) if code == "not theft"]
    assert added and set(added) == {"unpublished"}
