"""Suppression on INSEE's public example tables (from the R package rtauargus): python benchmarks/insee.py FOLDER

The folder holds turnover_act_size.csv, turnover_act_cj.csv, activity_corr_table.csv and indiv_dt.csv (records).
Published by tau-ARGUS Optimal: 64 secondaries worth 49,223,640 in turnover_act_size.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.suppress import suppress


def read(folder: Path, name: str, column: str, activity: cg.Dimension) -> cg.Table:
    """Read a table; unsafe are cells with one or two firms, or a firm with more than 85 % of the total."""
    kinds = pa_csv.ConvertOptions(column_types={"ACTIVITY": "string"})
    data = pa_csv.read_csv(folder / f"{name}.csv", convert_options=kinds)
    few = pc.and_(pc.greater(data["N_OBS"], 0), pc.less(data["N_OBS"], 3))
    large = pc.greater(data["MAX"], pc.multiply(data["TOT"], 0.85))
    data = data.append_column("secret", pc.or_(few, large))
    return cg.cells(data, [activity, column], value="TOT", count="N_OBS", top=["MAX"], marks=["secret"], name=name)


def protect(tables: list[cg.Table], cost: str, rules: tuple[cg.Given | cg.MinFrequency | cg.Dominance, ...]) -> None:
    needs = cg.require(cg.assess(cg.link(tables), rules))
    value = needs.tables.value
    start = time.process_time()
    found = suppress(needs, np.ones(len(value)) if cost == "constant" else np.maximum(value, 0.01))
    seconds = time.process_time() - start
    secondary = found.pattern.secondary
    print(
        f"{len(tables)} table(s), cost {cost}: {secondary.sum()} secondaries worth {value[secondary].sum():,.0f}, "
        f"gap {found.gap:.1%}, {seconds:.1f} CPU s, {audit(needs, found.pattern).verdict}",
        flush=True,
    )


def assess_records(folder: Path) -> None:
    """Time the whole command from records to unsafe cells, start-up included; the first run warms the caches."""
    table = {"name": "t", "by": ["A88", "SIZE"], "value": "TURNOVER", "decimals": 0}
    job = {"version": 1, "microdata": {"source": str((folder / "indiv_dt.csv").resolve())}}
    job["tables"] = [table | {"rules": [{"min_frequency": 3}, {"dominance": {"n": 1, "k": 85}}]}]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "job.yaml"
        path.write_text(json.dumps(job))
        seconds = []
        for _ in range(6):
            start = time.perf_counter()
            subprocess.run([Path(sys.executable).with_name("cellguard"), "assess", path, "-q"], check=True)
            seconds.append(time.perf_counter() - start)
    print(f"indiv_dt.csv to an assessed table: {median(seconds[1:]):.2f} s, start-up included (bar 2)", flush=True)


def main(folder: Path) -> None:
    assess_records(folder)
    activity = cg.Dimension("ACTIVITY", cg.Hierarchy.read_levels(folder / "activity_corr_table.csv"))
    size, form = read(folder, "turnover_act_size", "SIZE", activity), read(folder, "turnover_act_cj", "CJ", activity)
    unsafe = cg.assess(size, [cg.MinFrequency(3), cg.Dominance(1, 85)]).primary.sum()
    print(f"turnover_act_size under min_frequency 3 or dominance (1, 85): {unsafe} unsafe cells (published: 77)")
    given = (cg.Given("secret", 10),)
    protect([size], "constant", given)
    protect([size], "value", given)
    protect([size, form], "constant", given)
    protect([size, form], "value", (cg.MinFrequency(3), cg.Dominance(1, 85)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
