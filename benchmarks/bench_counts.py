"""Frequency tables under min_frequency 3: elimination, whole and in blocks, its repair and the proof."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines.elimination import eliminated
from cellguard.methods.suppress.engines.system import build_system
from cellguard.methods.suppress.suppress import suppress
from cellguard.run_context import UNWATCHED
from counts import CROWDS, build_counts

from business import firm_counts

_AUDITED = 250_000  # cells up to which the proof, by whole numbers, is part of the measurement


def protect(build: Callable[[], cg.Table], *, constant: bool = False) -> Callable[[], Iterator[str]]:
    """Protect a frequency table with cost = value, or 1 for each cell; audit it if it is not too large.

    Elimination in blocks writes as many terms as a basis of circuits has before it makes a fresh one, which is far less
    than it does by itself; without, it writes on for ever.
    """

    def run() -> Iterator[str]:
        table = build()
        needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
        cost = np.maximum(needs.tables.value, 1.0) ** (not constant)
        system = build_system(needs, cost)
        eliminated(system, run=UNWATCHED)  # compiles
        start = time.process_time()
        blocked = int((eliminated(system, run=UNWATCHED, refresh=1.0) & ~system.hidden).sum())
        seconds = time.process_time() - start
        whole = int((eliminated(system, run=UNWATCHED, refresh=np.inf) & ~system.hidden).sum())
        yield f"{len(table):,} cells, {needs.primary.sum():,} primary ({needs.primary.mean():.0%})"
        more = f"{whole:,} without ({blocked / max(whole, 1) - 1:+.2%} in blocks)"
        yield f"elimination alone {blocked:,} secondary in blocks, {more}, {seconds:.1f} CPU s"
        start = time.process_time()
        chosen = suppress(needs, cost)
        seconds = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        secondary = int(chosen.pattern.secondary.sum())
        yield f"{secondary:,} secondary worth {chosen.cost:,.0f}, {seconds:.1f} CPU s, {memory:.1f} GiB"
        if len(table) <= _AUDITED:
            start = time.process_time()
            verdict = audit(needs, chosen.pattern).verdict
            yield f"{verdict}, proven in {time.process_time() - start:.1f} CPU s"

    return run


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    **{name: protect(partial(build_counts, name)) for name in CROWDS},
    "counts-firms-c": protect(partial(firm_counts, "C", 100_000)),
    "counts-firms-c-constant": protect(partial(firm_counts, "C", 100_000), constant=True),
}
