"""The studio: how many cells are unsafe while a rule is changed, of 100,000 cells from 300,000 records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from cellguard.faces.studio.studio import Studio
from cellguard.job.rulespec import parse_rule

JOB = """version: 1
microdata: {source: d.csv, respondent: firm}
tables:
  - {name: t, by: [r, c], value: x, rules: [{min_frequency: 3}]}
"""
RULES = [{"min_frequency": 4}, {"p_percent": 12}, {"dominance": {"n": 2, "k": 85}}]


def live_rules(records: int = 300_000) -> Iterator[str]:
    """Count the unsafe cells by several rules, as the page asks while somebody types."""
    random = np.random.default_rng(1)
    columns = random.integers(0, 1000, records), random.integers(0, 100, records), random.lognormal(5, 1.5, records)
    rows = zip(*(column.astype(int).tolist() for column in columns), strict=True)
    with TemporaryDirectory() as here:
        lines = (f"f{i},r{r},c{c},{x + 1}\n" for i, (r, c, x) in enumerate(rows))
        Path(here, "d.csv").write_text("firm,r,c,x\n" + "".join(lines))
        Path(here, "job.yaml").write_text(JOB)
        studio = Studio(Path(here), "job.yaml")
        begin = process_time()
        studio.trial()
        yield f"tables for any rules: {process_time() - begin:.2f} CPU s"
        for rule in RULES:
            begin = process_time()
            told = studio.trial().count({"t": [parse_rule(rule), parse_rule({"p_percent": 10})]})
            table = told["tables"]["t"]
            yield f"{rule}: {table['unsafe']:,} of {table['cells']:,} unsafe, {process_time() - begin:.3f} CPU s"


BENCHMARKS = {"studio-rules": live_rules}
