"""Suppression: quality and time on the tables of the published figures, and on large ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.suppress import suppress
from sets import cube, regions

from business import table
from instances import build


@dataclass(frozen=True)
class Case:
    """What is asked of a table: rules, what the attacker knows, what suppressing a cell costs, and how hard to look."""

    rules: tuple[cg.PPercent | cg.MinFrequency, ...] = (cg.PPercent(10),)
    knowledge: cg.Knowledge = field(default_factory=cg.Knowledge)
    constant: bool = False
    effort: Effort = NORMAL


def protect(make: Callable[[], cg.Table], bar: str, case: Case = Case()) -> Callable[[], Iterator[str]]:  # noqa: B008
    """Protect a table, by default under p % with p = 10 and cost = value, and audit it."""

    def run() -> Iterator[str]:
        needs = cg.require(cg.assess(make(), case.rules), case.knowledge)
        value = needs.tables.value
        cost = np.ones(len(value)) if case.constant else np.maximum(value, 1.0)
        start = time.process_time()
        found = suppress(needs, cost, effort=case.effort)
        seconds = time.process_time() - start
        judged = audit(needs, found.pattern)
        proof = time.process_time() - start - seconds
        secondary, hidden = value[found.pattern.secondary].sum(), value[found.pattern.hidden].sum()
        many = int(found.pattern.secondary.sum())
        yield f"{len(needs.tables):,} cells, {needs.primary.sum():,} primary, {many:,} secondary"
        yield f"secondary worth {secondary:,.0f}, {hidden / 1e6:.2f}M hidden in all, gap {found.gap:.1%}"
        yield f"effort {case.effort.name}, the bound rests on {', '.join(sorted(found.cuts))}"
        yield f"{seconds:.1f} + {proof:.1f} CPU s, {judged.verdict}, {int(judged.failing.sum())} failing (bar: {bar})"

    return run


FEW = Case((cg.MinFrequency(3),), constant=True)
SIGNED = replace(FEW, knowledge=cg.Knowledge(-np.inf))
COUNTS = Case((cg.MinFrequency(3),))
FAST = Case(effort=QUICK)

BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "A-10k": protect(lambda: table("A", 10_000), "optimum 255,564 in 5 s"),
    "A-100k": protect(lambda: table("A", 100_000), "optimum 4,314,310 in 5 s"),
    "B0-10k": protect(lambda: table("B0", 10_000), "69.2M in 15 s"),
    "B0-100k": protect(lambda: table("B0", 100_000), "179M in 40 s"),
    "C-10k": protect(lambda: table("C", 10_000), "270M in 150 s, goal 262M in 300 s"),
    "protect-2d-10k": protect(lambda: build("2d-10k"), "120 s"),
    "protect-2d-100k": protect(lambda: build("2d-100k"), "45 s, gap below 25 %", FAST),
    "protect-2d-400k": protect(lambda: build("2d-400k"), "300 s", FAST),
    "protect-3d-60k": protect(lambda: build("3d-60k"), "600 s, secondaries worth 1,218M"),
    "protect-3d-sparse": protect(lambda: build("3d-sparse"), "15 minutes", FAST),
    "regions-9k": protect(regions, "30 s", COUNTS),
    "cube-4d": protect(lambda: cube((4, 4, 5, 11), 3_000, 4), "safe in 10 s", FEW),
    "cube-4d-signed": protect(lambda: cube((4, 4, 5, 11), 3_000, 4), "safe in 10 s", SIGNED),
    "cube-5d": protect(lambda: cube((4, 4, 5, 11, 10), 12_000, 5), "safe in 60 s", FEW),
    "cube-5d-signed": protect(lambda: cube((4, 4, 5, 11, 10), 12_000, 5), "safe in 60 s", SIGNED),
}
