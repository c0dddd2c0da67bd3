"""Suppression: quality and time on the tables of the published figures, and on large ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.protect.suppress.suppress import suppress

from business import table
from instances import build


def protect(make: Callable[[], cg.Table], bar: str) -> Callable[[], Iterator[str]]:
    """Protect a table under p % with p = 10, cost = value, and audit it."""

    def run() -> Iterator[str]:
        findings = cg.assess(make(), [cg.PPercent(10)])
        needs = cg.require(findings)
        value = needs.tables.value
        start = time.process_time()
        found = suppress(needs, np.maximum(value, 1.0))
        seconds = time.process_time() - start
        judged = audit(needs, found.pattern)
        proof = time.process_time() - start - seconds
        secondary, hidden = value[found.pattern.secondary].sum(), value[found.pattern.hidden].sum()
        many = int(found.pattern.secondary.sum())
        yield f"{len(needs.tables):,} cells, {needs.primary.sum():,} primary, {many:,} secondary"
        yield f"secondary worth {secondary:,.0f}, {hidden / 1e6:.2f}M hidden in all, gap {found.gap:.1%}"
        yield f"{seconds:.1f} + {proof:.1f} CPU s, {judged.verdict}, {int(judged.failing.sum())} failing (bar: {bar})"

    return run


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "A-10k": protect(lambda: table("A", 10_000), "optimum 255,564 in 5 s"),
    "A-100k": protect(lambda: table("A", 100_000), "optimum 4,314,310 in 5 s"),
    "B0-10k": protect(lambda: table("B0", 10_000), "71M in 60 s, goal 69M"),
    "B0-100k": protect(lambda: table("B0", 100_000), "190M in 120 s, goal 175M"),
    "C-10k": protect(lambda: table("C", 10_000), "safe in 600 s"),
    "protect-2d-10k": protect(lambda: build("2d-10k"), "120 s"),
    "protect-2d-100k": protect(lambda: build("2d-100k"), "600 s, goal 180 s"),
}
