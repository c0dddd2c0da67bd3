"""Rounding: controlled rounding to a proven gap, random rounding with its attack, and a million cells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import cellguard as cg
from cellguard.methods.rounding.attacked import attack
from cellguard.methods.rounding.measures import distance
from cellguard.methods.rounding.plan import Plan
from cellguard.methods.rounding.rounded import Rounded, round_cells
from cellguard.proofs.problem import listed_grains
from cellguard.run_context import UNWATCHED
from counts import build_counts

from business import firm_counts


def plan_of(table: cg.Table, kind: str, base: int) -> Plan:
    linked = cg.link(table)
    n = len(linked)
    nothing = np.zeros(n, np.int64)
    return Plan(kind, linked, listed_grains(linked), np.full(n, base), nothing, nothing > 0, nothing == 0)


def attacked(plan: Plan, rounded: Rounded) -> str:
    start = time.process_time()
    needs = cg.require(cg.assess(plan.tables, cg.MinFrequency(plan.base[0])))
    found = attack(needs, rounded, run=UNWATCHED)
    seconds = time.process_time() - start
    return (
        f"attacked in {seconds:.1f} CPU s: {found.verdict}, {int(found.open.sum()):,} of {int(needs.primary.sum()):,}"
    )


def controlled(make: Callable[[], cg.Table], bar: str) -> Callable[[], Iterator[str]]:
    def run() -> Iterator[str]:
        plan = plan_of(make(), "controlled", 5)
        start = time.process_time()
        rounded = round_cells(plan, 1)
        seconds = time.process_time() - start
        gap = 0.0 if rounded.search is None else rounded.search.gap
        assert rounded.is_additive
        size = f"{len(plan.tables):,} cells, {plan.tables.relations.shape[0]:,} relations"
        yield f"{size}: {seconds:.1f} CPU s, gap {gap:.2%} ({bar}); {attacked(plan, rounded)} open"

    return run


def random(make: Callable[[], cg.Table]) -> Callable[[], Iterator[str]]:
    def run() -> Iterator[str]:
        plan = plan_of(make(), "random", 5)
        start = time.process_time()
        rounded = round_cells(plan, 1)
        seconds = time.process_time() - start
        yield f"{len(plan.tables):,} cells: {seconds:.1f} CPU s; {attacked(plan, rounded)} open"

    return run


def small(make: Callable[[], cg.Table], bar: str) -> Callable[[], Iterator[str]]:
    def run() -> Iterator[str]:
        plan = plan_of(make(), "small_counts", 3)
        start = time.process_time()
        rounded = round_cells(plan, 1)
        seconds = time.process_time() - start
        far = distance(plan.value.astype(float), rounded.value.astype(float), plan.shown)
        near = (
            f"largest deviation {far.largest:g}, mean {far.mean:.3f}, Hellinger {far.hellinger:.1f} ({far.utility:.4f})"
        )
        yield f"{len(plan.tables):,} cells, base 3: {seconds:.1f} CPU s, {near} ({bar})"

    return run


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "controlled-A-10k": controlled(lambda: firm_counts("A", 10_000), "bar: the optimum"),
    "controlled-B0-10k": controlled(lambda: firm_counts("B0", 10_000), "bar 60 s with a gap"),
    "controlled-C-10k": controlled(lambda: firm_counts("C", 10_000), "three dimensions"),
    "small-C-10k": small(lambda: firm_counts("C", 10_000), "SmallCountRounding: 2 to 9 CPU s up to 355k cells"),
    "small-240k": small(lambda: build_counts("counts-2d-240k"), "the same"),
    "small-930k": small(lambda: build_counts("counts-2d-930k"), "1 million cells"),
    "random-15k": random(lambda: build_counts("counts-2d-15k")),
}
