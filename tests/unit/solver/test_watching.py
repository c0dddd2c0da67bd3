"""Large programs can be stopped while they are solved."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.errors import Stopped
from cellguard.solver import highs
from cellguard.solver.highs import Session, watching
from cellguard.solver.program import Program, Status


def assignment(n):
    """A dense assignment problem with costs that take some pivoting."""
    cost = np.random.default_rng(1).random(n * n)
    rows = np.concatenate([np.repeat(np.arange(n), n), n + np.tile(np.arange(n), n)])
    matrix = sp.csr_array((np.ones(2 * n * n), (rows, np.tile(np.arange(n * n), 2))), shape=(2 * n, n * n))
    one, zero = np.ones(2 * n), np.zeros(n * n)
    return Program(matrix, one, one, zero, np.ones(n * n), cost)


def test_who_looks_in_can_stop_the_solver(monkeypatch):
    monkeypatch.setattr(highs, "_OFTEN", 0.001)
    looks = []

    def watcher():
        looks.append(1)
        if len(looks) > 2:
            raise Stopped("enough")

    session = Session(assignment(250))
    with watching(watcher), pytest.raises(Stopped, match="enough"):
        session.solve()
    assert len(looks) == 3


def test_being_watched_changes_nothing(monkeypatch):
    program = assignment(60)
    watched = Session(program).solve()
    monkeypatch.setattr(highs, "_LARGE", 10**9)
    alone = Session(program).solve()
    assert watched.status is Status.optimal
    assert watched.objective == alone.objective and (watched.x == alone.x).all()
