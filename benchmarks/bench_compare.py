"""Comparisons: the whole study of rules of the thesis, and six policies on one table of firms."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import cellguard as cg
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.evaluate.rule_study import contours, study_rules

from business import records

_POLICIES = ("p_percent p=5", "p_percent p=10", "dominance n=2 k=85")


def rules() -> Iterator[str]:
    start = time.process_time()
    for distribution in ("exponential(1)", "normal(100, 50)"):
        contours(distribution=distribution)
        for n in range(3, 21):
            study = study_rules(distribution=distribution, n=n)
            _ = study.agreements, [study.group(*pair) for pair in study.agreements]
    seconds = time.process_time() - start
    yield f"three rules, 100 parameters, n = 3 to 20, two distributions: {seconds:.1f} CPU s (bar 5)"


def policies() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as here:
        firms = records(10_000)
        columns = {name: pa.array(firms[name].astype(str)) for name in ("division", "region", "holding")}
        pq.write_table(pa.table({**columns, "turnover": firms["turnover"]}), Path(here, "firms.parquet"))
        table = {"name": "A", "by": ["division", "region"], "value": "turnover", "rules": [{"p_percent": 10}]}
        data = {"version": 1, "microdata": {"source": "firms.parquet", "holding": "holding"}, "tables": [table]}
        job = cg.Job.parse(data, folder=here)
        start = time.process_time()
        compared = compare_policies(job, parse_policies("suppress,perturb", _POLICIES))
    seconds = time.process_time() - start
    yield f"six policies on A 10k: {seconds:.1f} CPU s (bar 30); {compared.words()}"
    for point in compared.points:
        risks = f"risk {point.risk:.3f}, insiders {point.inside_risk:.3f}"
        yield f"{point.name}: utility {point.utility:.3f}, {risks} {point.fault}"


BENCHMARKS = {"compare-rules": rules, "compare-policies": policies}
