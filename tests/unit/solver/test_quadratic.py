"""The door to the quadratic solver: every status, all kinds of constraints, and runs that are stopped."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from cellguard.errors import InternalError, Stopped
from cellguard.run_context import Run
from cellguard.solver import solve_quadratic
from cellguard.solver.program import Program, Status

INF = np.inf


def program(rows, low, high, *, cost, lower=-INF, upper=INF, integer=None):
    matrix = sp.csr_array(np.array(rows, float))
    n = matrix.shape[1]
    bounds = (np.full(n, float(bound)) for bound in (lower, upper))
    return Program(matrix, np.array(low, float), np.array(high, float), *bounds, np.array(cost, float), integer)


def test_optimal():
    """The point of x + y >= 2 that is nearest to 0 is (1, 1)."""
    found = solve_quadratic(program([[1, 1]], [2], [INF], cost=[0, 0]), np.ones(2))
    assert found.status is Status.optimal and found.x == pytest.approx([1, 1]) and found.objective == pytest.approx(1)


@pytest.mark.parametrize("seed", range(8))
def test_equations_inequalities_and_bounds_against_another_solver(seed):
    rng = np.random.default_rng(seed)
    rows, inside = rng.normal(size=(3, 5)), rng.uniform(-0.5, 0.5, 5)
    at, curvature = rows @ inside, rng.uniform(0.1, 2, 5)
    low, high = at - np.array([0, 0.1, INF]), at + np.array([0, 0.1, 0.2])
    asked = program(rows, low, high, cost=rng.normal(size=5), lower=-1, upper=1)
    known = minimize(
        lambda x: curvature @ x**2 / 2 + asked.cost @ x,
        inside,
        method="SLSQP",
        bounds=[(-1, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda x: rows[0] @ x - at[0]},
            {"type": "ineq", "fun": lambda x: high[1:] - rows[1:] @ x},
            {"type": "ineq", "fun": lambda x: rows[1] @ x - low[1]},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = solve_quadratic(asked, curvature)
    assert known.success and found.status is Status.optimal
    assert found.objective == pytest.approx(known.fun, abs=1e-6) and found.x == pytest.approx(known.x, abs=1e-4)


def test_infeasible():
    found = solve_quadratic(program([[1, 1]], [3], [INF], cost=[0, 0], upper=1), np.ones(2))
    assert found.status is Status.infeasible and not len(found.x) and np.isnan(found.objective)


def test_unbounded():
    found = solve_quadratic(program([[1, 1]], [0], [INF], cost=[-1, 0]), np.array([0.0, 1.0]))
    assert found.status is Status.unbounded and not len(found.x)


def test_what_is_not_a_convex_program_is_refused():
    with pytest.raises(InternalError, match="no curvature below 0"):
        solve_quadratic(program([[1, 1]], [0], [1], cost=[0, 0]), np.array([1.0, -1.0]))
    with pytest.raises(InternalError, match="no integers"):
        solve_quadratic(program([[1, 1]], [0], [1], cost=[0, 0], integer=np.array([True, False])), np.ones(2))


def test_a_run_is_stopped_between_two_steps():
    class Late(Run):
        """Lets the solver start."""

        looks = 0

        def check(self):
            Late.looks += 1
            if Late.looks > 2:
                Run.check(self)

    rng = np.random.default_rng(1)
    asked = program(rng.normal(size=(4, 9)), [-INF] * 4, [1] * 4, cost=rng.normal(size=9), lower=-1, upper=1)
    with pytest.raises(Stopped):
        solve_quadratic(asked, np.ones(9), run=Late(deadline=time.monotonic() - 1))
    assert Late.looks == 3
