"""Stopped at any moment a run gives what is proven, or nothing; and whatever the threads, it gives the same."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.attack.audit import audit
from cellguard.errors import Stopped
from cellguard.inputs.assessing import assess_tables, insiders_of
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.run_context import Run


def job_of(folder, seed=1):
    """A job of records in two linked tables, with insiders, and the search for the optimum."""
    rng = np.random.default_rng(seed)
    rows = [
        f"r{int(7 * rng.random() ** 2)},s{rng.integers(5)},k{rng.integers(4)},{int(9 + rng.lognormal(3, 1.5))}"
        for _ in range(300)
    ]
    (folder / "r.csv").write_text("\n".join(["r,s,k,x", *rows]))
    common = {"value": "x", "rules": [{"min_frequency": 3}], "protect": {"method": "suppress", "effort": "best"}}
    tables = [{"name": "a", "by": ["r", "s"], **common}, {"name": "b", "by": ["r", "k"], **common}]
    return Job.parse({"version": 1, "microdata": {"source": "r.csv"}, "tables": tables}, folder=folder)


def stopped_at(job, moment, *, at_once):
    """Run a job, and stop it at an event, if it comes; return the outcome, if any, and how many events came."""
    events = 0

    def listen(event):
        nonlocal events
        events += 1
        if events == moment:
            within.stop(at_once=at_once)

    within = Run(listen)
    try:
        return run(job, within=within), events
    except Stopped:
        return None, events


def proven_or_nothing(folder, moments):
    job = job_of(folder)
    whole, events = stopped_at(job, -1, at_once=False)
    assert whole.release is not None
    known = insiders_of(assess_tables(job, Run(), {}))
    rng, given = np.random.default_rng(8), 0
    for number in range(moments):
        outcome, _ = stopped_at(job, int(rng.integers(1, events + 1)), at_once=number % 4 == 3)
        if outcome is None:
            continue
        given += 1
        assert outcome.verdict.kind == "safe" and outcome.release is not None
        judged = outcome.protected.audit
        again = audit(judged.needs, judged.pattern, insiders=known)
        assert again.verdict == "safe"
    return given


def test_stopped_at_a_few_moments_it_gives_what_is_proven_or_nothing(tmp_path):
    assert proven_or_nothing(tmp_path, 4) > 0


@pytest.mark.long
def test_stopped_at_fifty_moments_it_gives_what_is_proven_or_nothing(tmp_path):
    assert 5 < proven_or_nothing(tmp_path, 50) < 50


def test_threads_change_nothing(tmp_path):
    job = job_of(tmp_path, 2)
    one, two = (run(job, within=Run(threads=threads)) for threads in (1, 2))
    assert np.array_equal(one.protected.audit.pattern.secondary, two.protected.audit.pattern.secondary)
    moves = [list(outcome.protected.audit.decided.moves) for outcome in (one, two)]
    assert len(moves[0]) == len(moves[1])
    for left, right in zip(*moves, strict=True):
        assert np.array_equal(left.variables, right.variables) and np.array_equal(left.n, right.n)
