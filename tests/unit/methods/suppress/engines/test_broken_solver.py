"""A solver that gives up in the middle: an impossible set still gets its advice, an audit ends as not proven."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import InternalError, NotProtected
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs import probe
from cellguard.run_context import UNWATCHED
from cellguard.solver.highs import Session
from cellguard.solver.program import Solution, Status
from cellguard.table.apriori import State


def impossible():
    """N is unsafe, and all that could protect it must be published."""
    table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 1, 8]}, by=["r"], value="x", count="n")
    state = np.array([State.must_publish, State.none, State.must_publish], np.int8)
    table = replace(table, apriori=replace(table.apriori, state=state))
    return cg.require(cg.assess(table, [cg.MinFrequency(3)]))


def test_advice_survives_a_search_that_fails(monkeypatch):
    """The second search, for the cheapest way out, fails before it has a safe pattern."""
    begin, calls = Search.begin, []

    def failing(self, start):
        calls.append(1)
        if len(calls) > 1:
            raise InternalError("the solver ended with HighsModelStatus.kSolveError")
        begin(self, start)

    monkeypatch.setattr(Search, "begin", failing)
    with pytest.raises(NotProtected, match="cannot be protected while these cells must be published: table: Total"):
        suppress(impossible(), np.ones(3))
    assert len(calls) == 2


def test_costs_of_nothing_do_not_break_the_prices_of_the_advice():
    with pytest.raises(NotProtected, match="N cannot be protected while these cells must be published"):
        suppress(impossible(), np.zeros(3))


def test_an_audit_whose_programs_fail_ends_as_undecided(monkeypatch):
    table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    pattern = suppress(needs).pattern
    assert audit(needs, pattern).verdict == "safe"
    stopped = Solution(Status.stopped, np.nan, np.zeros(0), np.zeros(0))
    monkeypatch.setattr(Session, "solve", lambda self: stopped)
    monkeypatch.setattr(Session, "solve_afresh", lambda self: stopped)
    judged = audit(needs, pattern)
    assert judged.verdict == "undecided" and not judged.failing.any()


def test_a_program_that_must_have_a_solution_is_solved_again(monkeypatch):
    solve, calls = Session.solve, []

    def infeasible(self):
        calls.append(1)
        solve(self)
        return Solution(Status.infeasible, np.nan, np.zeros(0), np.zeros(0))

    monkeypatch.setattr(Session, "solve", infeasible)
    one = np.ones(2)
    furthest = probe.Probe(sp.csr_array([[1.0, -1.0]]), -one, one, run=UNWATCHED).furthest(0, 1.0)
    assert calls and furthest.x.tolist() == [1.0, 1.0]


def test_nothing_to_protect_is_not_searched(monkeypatch):
    table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [19, 9, 10]}, by=["r"], value="x", count="n")
    monkeypatch.setattr(Search, "__init__", None)
    suppressed = suppress(cg.require(cg.assess(table, [cg.MinFrequency(3)])))
    assert not suppressed.pattern.hidden.any() and suppressed.cost == suppressed.gap == 0
