"""Start-up, relations and assessment of a million cells."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import cellguard as cg

from instances import build


def cpu_of(command: list[str]) -> float:
    """Return the CPU seconds of a command."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def startup() -> Iterator[str]:
    empty = median(cpu_of([sys.executable, "-c", ""]) for _ in range(5))
    imported = median(cpu_of([sys.executable, "-c", "import cellguard"]) for _ in range(5))
    script = str(Path(sys.executable).with_name("cellguard"))
    helped = median(cpu_of([script, "--help"]) for _ in range(5))
    every = "import cellguard as c; [getattr(c, name) for name in c.__all__]"
    loaded = median(cpu_of([sys.executable, "-c", every]) for _ in range(5))
    yield f"import cellguard: {imported - empty:.3f} CPU s over bare Python (bar 0.3)"
    yield f"loading every public name: {loaded - empty:.3f} CPU s over bare Python"
    yield f"cellguard --help: {helped:.3f} CPU s (bar 0.5)"


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def million() -> Iterator[str]:
    table = build("3d-1m")
    fresh = [replace(table) for _ in range(3)]
    seconds = median(timed(lambda t=t: t.relations) for t in fresh)
    yield f"relations of {len(table):,} cells ({table.relations.shape[0]:,}): {seconds:.2f} s (bar 3)"
    linked = cg.link(table)
    rules = [cg.MinFrequency(3), cg.Dominance(1, 85), cg.PPercent(10)]
    seconds = median(timed(lambda: cg.require(cg.assess(linked, rules))) for _ in range(3))
    yield f"assessing them, three rules and protection levels: {seconds:.2f} s (bar 2)"
    seconds = median(timed(lambda: cg.link(table)) for _ in range(3))
    yield f"linking them (additivity, agreement): {seconds:.2f} s"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {"startup": startup, "million": million}
