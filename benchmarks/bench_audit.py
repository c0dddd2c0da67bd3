"""Verdict with certificate, unsafe patterns, exact intervals, and the verifier."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.attack.intervals import exact_moves
from cellguard.io.folder import OutputFolder
from cellguard.methods.suppress.method import FixedPattern
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs.problem import Problem, grains_of, pose
from cellguard.protection import Requirements
from cellguard.run_context import UNWATCHED
from cellguard.seam.outcome import Outcome
from cellguard.solver import solve
from cellguard.solver.program import Program
from cellguard.table.pattern import Pattern
from cellguard.verifier.verify import verify

from instances import build


def needs_of(name: str) -> tuple[cg.Findings, Requirements]:
    findings = cg.assess(build(name), [cg.PPercent(10)])
    return findings, cg.require(findings)


def cpu(action: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def verdicts(name: str, bar: int) -> Callable[[], Iterator[str]]:
    def run() -> Iterator[str]:
        findings, needs = needs_of(name)
        pattern = suppress(needs, np.maximum(needs.tables.value, 1.0), effort="quick").pattern
        size = f"{len(needs.tables):,} cells, {int(needs.primary.sum()):,} primary"
        seconds, found = cpu(lambda: audit(needs, pattern))
        yield f"{size}, {int(pattern.hidden.sum()):,} hidden: {found.verdict} in {seconds:.1f} CPU s (bar {bar})"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            job = job_of(findings)
            OutputFolder(out).write(Outcome(FixedPattern(job), SuppressionResult(findings, found, job=job), {}, ""))
            seconds, checked = cpu(lambda: verify(out / "internal" / "certificate.json"))
        yield f"verify: {'valid' if checked.valid else 'NOT VALID'} in {seconds:.1f} CPU s (bar 20)"
        rng = np.random.default_rng(1)
        broken = Pattern(pattern.tables, pattern.primary, pattern.secondary & (rng.random(len(needs.tables)) < 0.8))
        seconds, found = cpu(lambda: audit(needs, broken))
        yield f"a fifth of the secondaries dropped: {found.failing.sum():,} failures in {seconds:.1f} CPU s (bar 60)"

    return run


def job_of(findings: cg.Findings) -> cg.Job:
    table = findings.tables.tables[0]
    spec = {"name": table.name, "by": [d.name for d in table.dimensions], "value": "total", "cells": {"source": "-"}}
    return cg.Job.parse({"version": 1, "tables": [spec | {"rules": [{"p_percent": 10}]}]})


def intervals() -> Iterator[str]:
    _, needs = needs_of("2d-2k")
    pattern = suppress(needs, np.maximum(needs.tables.value, 1.0)).pattern
    problem = pose(needs, pattern.unknown, grains_of(needs.world))
    seconds, ends = cpu(lambda: exact_moves(problem, run=UNWATCHED))
    yield f"{len(needs.tables):,} cells, all {len(problem.cells):,} exact intervals: {seconds:.2f} CPU s (bar 20)"
    sample = np.random.default_rng(1).choice(len(problem.cells), 60, replace=False)
    cold, low = cpu(lambda: [cold_end(problem, int(c), s) for c in sample for s in (-1, 1)])
    wrong = np.abs(np.array(low).reshape(-1, 2) - np.stack([ends[0][sample], ends[1][sample]], axis=1)).max()
    ratio = cold / len(sample) * len(problem.cells) / seconds
    yield f"one cold program a cell and direction: {ratio:.0f} times the CPU (bar 20), results differ by {wrong:.0e}"


def cold_end(problem: Problem, cell: int, sign: int) -> float:
    """What peers do: build and solve a program from scratch."""
    cost = np.zeros(len(problem.cells))
    cost[cell] = -sign
    lower = np.where(problem.down >= 2**62, -np.inf, -problem.down.astype(float))
    upper = np.where(problem.up >= 2**62, np.inf, problem.up.astype(float))
    zero = np.zeros(problem.matrix.shape[0])
    matrix = sp.csr_array(problem.matrix.astype(float))
    return float(solve(Program(matrix, zero, zero, lower, upper, cost)).x[cell])


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "audit-2d-100k": verdicts("2d-100k", 60),
    "audit-3d-60k": verdicts("3d-60k", 300),
    "intervals-2k": intervals,
}
