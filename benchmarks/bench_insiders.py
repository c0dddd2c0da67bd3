"""Insiders: what it takes to attack a pattern as every single respondent, and to make one that is safe against them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.attack.insiders import attack_inside
from cellguard.methods.suppress.engines.crossing_cuts import first_system
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.insider_repair import mend_inside
from cellguard.methods.suppress.suppress import Suppression, suppress
from cellguard.run_context import UNWATCHED
from cellguard.table.contributions import contributions_of

from business import with_contributors


def insiders(name: str, bar: str, effort: Effort = NORMAL) -> Callable[[], Iterator[str]]:
    """Protect a table of the figures under p % with p = 10, against outsiders only and against insiders too."""

    def run() -> Iterator[str]:
        needs = cg.require(cg.assess(with_contributors(name, 10_000), (cg.PPercent(10),)))
        value, known = needs.tables.value, contributions_of(needs.tables)
        cost = np.maximum(value, 1.0)
        plain, first = _timed(lambda: suppress(needs, cost, effort=effort))
        judged, proof = _timed(lambda: audit(needs, plain.pattern))
        inside, alone = _timed(lambda: attack_inside(judged.problem, judged.grains, needs, known, run=UNWATCHED))
        yield f"outsiders only: {_words(plain, value)}, {first:.1f} + {proof:.1f} CPU s"
        cells = len({pair.cell for pair in inside.failing})
        yield f"attacked by insiders: {len(inside.failing)} pairs, {cells} cells fall, {alone:.1f} CPU s (bar: {bar})"
        mended, second = _timed(lambda: suppress(needs, cost, insiders=known, effort=effort))
        again, check = _timed(lambda: audit(needs, mended.pattern, insiders=known, hints=mended.hints))
        yield f"insiders too: {_words(mended, value)}, {second:.1f} + {check:.1f} CPU s, {again.verdict}"
        yield f"{(second + check) / (first + proof):.1f} times the time (bar: 3)"

    return run


def classes(firms: int, seed: int, seconds: int, gib: float) -> Callable[[], Iterator[str]]:
    """Protect firms by class and municipality, most of whose cells are unsafe, against every respondent."""

    def run() -> Iterator[str]:
        begun = time.process_time()
        needs = cg.require(cg.assess(with_contributors("D", firms, seed), (cg.PPercent(10),)))
        value, known = needs.tables.value, contributions_of(needs.tables)
        cost = np.maximum(value, 1.0)
        plain, first = _timed(lambda: suppress(needs, cost, effort=QUICK))
        yield f"{len(value):,} cells, {int(needs.primary.sum()):,} unsafe"
        yield f"outsiders only: {_words(plain, value)}, {first:.0f} CPU s"
        system, pattern = first_system(needs, cost, None), plain.pattern
        mended, second = _timed(lambda: mend_inside(system, pattern, cost, known, None, run=UNWATCHED))
        judged, check = _timed(lambda: audit(needs, mended.pattern, insiders=known, hints=mended.hints))
        before, after = (float(cost[one.secondary].sum()) for one in (pattern, mended.pattern))
        yield f"insiders too: {second:.0f} + {check:.0f} CPU s, {judged.verdict}"
        yield f"{after / before:.2f} times the value (bar: 1.35)"
        peak = getrusage(RUSAGE_SELF).ru_maxrss / 2**20
        yield f"in all {time.process_time() - begun:.0f} CPU s (bar: {seconds}), {peak:.2f} GiB (bar: {gib})"

    return run


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _words(found: Suppression, value: np.ndarray) -> str:
    secondary = found.pattern.secondary
    return f"{int(secondary.sum()):,} secondary worth {value[secondary].sum():,.0f}"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "insiders-A-10k": insiders("A", "10 s"),
    "insiders-B0-10k": insiders("B0", "60 s"),
    "insiders-C-10k": insiders("C", "300 s"),
    "insiders-C-10k-quick": insiders("C", "300 s", QUICK),
    "insiders-classes-10k": classes(10_000, 7, 60, 1.0),
    "insiders-classes-30k": classes(30_000, 7, 150, 1.5),
    "insiders-classes-1m": classes(1_000_000, 7, 600, 4.0),
}
