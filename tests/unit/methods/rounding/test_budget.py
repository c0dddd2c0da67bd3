"""The work that attacks on rounded tables may take is a promise: what is not proven by then is never released."""

import time

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import Spent
from cellguard.methods.rounding import method
from cellguard.methods.rounding.spec import EFFORTS
from cellguard.run_context import Budget, Run


def people(n=3000, codes=30, seed=1):
    rng = np.random.default_rng(seed)
    return {"a": [f"a{i:02}" for i in rng.integers(0, codes, n)], "b": [f"b{i:02}" for i in rng.integers(0, codes, n)]}


def rounded(monkeypatch, seconds, **said):
    monkeypatch.setattr(method, "EFFORTS", dict.fromkeys(EFFORTS, seconds))
    how = cg.RandomRounding(5, seed=3)
    return cg.protect(people(**said), by=["a", "b"], rules=cg.MinFrequency(3), method=how)


def test_a_budget_is_over_also_where_a_run_has_no_deadline():
    run = Run(budget=Budget(0)).endless().during("attacking")
    assert run.is_spent
    run.heed()
    with pytest.raises(Spent, match="the work allowed is done"):
        run.check()
    assert not Run().is_spent


def test_without_any_work_nothing_is_proven_and_nothing_released(monkeypatch):
    done = rounded(monkeypatch, 0.0)
    assert str(done.verdict.kind) in {"undecided", "unsafe"} and not done.verdict.allows_release
    assert "NOT PROVEN" in done.verdict.text and "`effort: best` allows any" in done.verdict.text
    assert done.protected.summary().facts["attack"] == {"effort": "normal", "ended": False}


def test_what_is_refuted_or_proven_by_then_is_so_with_more_work_too(monkeypatch):
    """Bounds at a stop contain those of the whole attack, and no cell that is open in the end was called proven."""
    whole = rounded(monkeypatch, None, n=400, codes=8).protected.attacked
    assert not whole.spent
    for seconds in (0.0, 0.02, 0.05):
        part = rounded(monkeypatch, seconds, n=400, codes=8).protected.attacked
        assert (part.lower <= whole.lower + 1e-9).all() and (part.upper >= whole.upper - 1e-9).all()
        assert not (whole.open & ~part.open).any() or part.audit.unfinished


def test_the_promise_is_kept(monkeypatch):
    before = time.process_time()
    rounded(monkeypatch, 0.3, n=20_000, codes=60)
    assert time.process_time() - before < 20
