"""Large programs can be stopped while they are solved."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard import solver
from cellguard.errors import Stopped
from cellguard.run_context import Run
from cellguard.solver import highs
from cellguard.solver.program import Program, Status


def assignment(n):
    """A dense assignment problem with costs that take some pivoting."""
    cost = np.random.default_rng(1).random(n * n)
    rows = np.concatenate([np.repeat(np.arange(n), n), n + np.tile(np.arange(n), n)])
    matrix = sp.csr_array((np.ones(2 * n * n), (rows, np.tile(np.arange(n * n), 2))), shape=(2 * n, n * n))
    one, zero = np.ones(2 * n), np.zeros(n * n)
    return Program(matrix, one, one, zero, np.ones(n * n), cost)


@pytest.mark.parametrize("reason", [Stopped, KeyboardInterrupt])
def test_who_looks_in_can_stop_the_solver(monkeypatch, reason):
    monkeypatch.setattr(highs, "_OFTEN", 0.001)
    looks = []

    class Watched(Run):
        def check(self):
            looks.append(1)
            if len(looks) > 2:
                raise reason("enough")

    session = solver.open(assignment(250), run=Watched())
    with pytest.raises(reason, match="enough"):
        session.solve()
    assert len(looks) == 3


def test_a_deadline_ends_a_program_that_is_being_solved(monkeypatch):
    monkeypatch.setattr(highs, "_OFTEN", 0.001)
    with pytest.raises(Stopped, match="the time allowed is over"):
        solver.solve(assignment(250), run=Run.within(0.0))


def test_being_watched_changes_nothing(monkeypatch):
    program = assignment(60)
    watched = solver.open(program).solve()
    monkeypatch.setattr(highs.Session, "_run_watched", lambda session: pytest.fail("it is watched"))
    alone = solver.open(program, brief=True).solve()
    assert watched.status is Status.optimal
    assert watched.objective == alone.objective and (watched.x == alone.x).all()
