"""The pages of a large table: seconds and megabytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.explain import Explanations
from cellguard.methods.suppress.report.page import internal_page, public_page
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Pattern, release

from instances import build


def report(name: str) -> Callable[[], Iterator[str]]:
    """Make both pages of a table of which a third of the cells is unsafe, and as many are secondary."""

    def run() -> Iterator[str]:
        table = build(name)
        findings = cg.assess(table, [cg.PPercent(10)])
        needs = cg.require(findings)
        rng = np.random.default_rng(1)
        secondary = (rng.random(len(table)) < 0.25) & ~needs.primary
        found = audit(needs, Pattern(needs.tables, needs.primary, secondary))
        primaries, helpers = np.flatnonzero(needs.primary), np.flatnonzero(secondary)
        protects = {int(c): rng.choice(primaries, 3).tolist() for c in helpers}
        start = time.process_time()
        proven = SuppressionResult(findings, found)
        proven.__dict__["explained"] = Explanations({}, protects)
        page = internal_page(Outcome(None, proven, {}, ""))
        inside = time.process_time() - start
        shown = public_page(release(found.pattern, found.values), {d.name: d for d in table.dimensions})
        outside = time.process_time() - start - inside
        yield f"{len(table):,} cells, {len(primaries):,} primary, {len(helpers):,} secondary"
        yield f"internal page {inside:.1f} CPU s, {len(page.encode()) / 1e6:.1f} MB (bar: 10 s, 10 MB)"
        yield f"public page {outside:.1f} CPU s, {len(shown.encode()) / 1e6:.1f} MB (bar: 10 s, 10 MB)"

    return run


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {"report-100k": report("2d-100k")}
