"""Adjustment: sides, moves and the gap to a proven bound, on tables A, B0 and C of 10,000 firms, by both distances.

python benchmarks/bench_adjust.py [TABLE ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import cellguard as cg
from cellguard.methods.adjust.plan import Plan, plan_of
from cellguard.methods.adjust.search import adjust
from cellguard.run_context import UNWATCHED

from business import table

FIRMS = 10_000


def plan(name: str) -> Plan:
    cells = table(name, FIRMS)
    needs = cg.require(cg.assess(cells, [cg.MinFrequency(3), cg.PPercent(10)]))
    said = {"name": cells.name, "by": [d.name for d in cells.dimensions], "value": cells.response}
    said |= {"cells": {"source": "cells.csv"}, "rules": [{"p_percent": 10}], "protect": {"method": "adjust"}}
    return plan_of(cg.Job.parse({"version": 1, "tables": [said]}), needs)


def bench(names: list[str]) -> Iterator[str]:
    for name in names:
        made = plan(name)
        for squares in (False, True):
            start = time.process_time()
            done = adjust(replace(made, squares=squares), heuristic=False, run=UNWATCHED)
            seconds = time.process_time() - start
            assert not done.plan.faults(done.value)
            size = f"{name} {len(made.start):,} cells, {int(made.primary.sum()):,} unsafe"
            how = "l2" if squares else "l1"
            yield f"{size}, {how}: {seconds:.1f} CPU s, cost {done.cost:,.0f}, gap {done.gap:.1%}"


if __name__ == "__main__":
    for line in bench(sys.argv[1:] or ["A", "B0", "C"]):
        print(line)
