"""Weighted records, waivers and requests from the job file to a verified folder that can be audited again."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import yaml

from cellguard.table.survey import SURVEYS

from system.command import run

P_PERCENT = {"p_percent": {"p": 15, "waivers": True}}
PLAIN = {"p_percent": {"p": 15}}


def job(folder, rules):
    """Write records and a job with one table a survey mode, all of the same cells."""
    rng = np.random.default_rng(9)
    lines = ["region,size,group,turnover,weight,waiver,request"]
    for i in range(400):
        region, size = rng.choice(list("NSWE")), rng.choice(list("abc"))
        value, weight = round(float(rng.lognormal(2, 2)), 1), round(float(rng.uniform(0.8, 3)), 2)
        waiver, request = rng.random(2) < 0.2
        holding = f"g{rng.integers(40)}" if i % 4 == 0 else f"u{i}"
        lines.append(f"{region},{size},{holding},{value},{weight},{int(waiver)},{int(request)}")
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")
    roles = {"holding": "group", "weight": "weight", "waiver": "waiver", "request": "request"}
    table = {"by": ["region", "size"], "value": "turnover", "decimals": 0, "rules": rules}
    tables = [{"name": mode, "survey": mode, **table} for mode in SURVEYS] + [{"name": "default", **table}]
    for one in tables:
        if one.get("survey") == "published_weights":  # which does not go with waivers
            one["rules"] = [PLAIN if rule == P_PERCENT else rule for rule in rules]
    content = {"version": 1, "microdata": {"source": "firms.csv", **roles}, "tables": tables}
    (folder / "job.yaml").write_text(yaml.safe_dump(content))


def test_every_survey_mode_ends_in_a_folder_that_verifies(tmp_path):
    job(tmp_path, [{"min_frequency": 3}, P_PERCENT, {"request": 20}])
    made = run("protect", tmp_path / "job.yaml", "--out", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    checked = run("verify", tmp_path / "out")
    assert checked.returncode == 0, checked.stdout
    again = run("audit", tmp_path / "out")
    assert again.returncode == 0, again.stdout
    found = {mode: pq.read_table(tmp_path / f"out/internal/facts/{mode}.parquet") for mode in (*SURVEYS, "default")}
    assert found["default"].equals(found["virtual"]) and not found["default"].equals(found["rounded"])
    assert all(table["total"].equals(found["default"]["total"]) for table in found.values())
    assert "excess2" in found["published_weights"].schema.names and "base" in found["sample"].schema.names
