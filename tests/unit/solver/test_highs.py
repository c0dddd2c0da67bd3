"""The solver seam: every status, warm restarts, mixed-integer programs, and one file that knows the solver."""

import re
from pathlib import Path

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

import cellguard
from cellguard import solver
from cellguard.solver import solve
from cellguard.solver.program import Program, Status

INF = np.inf


def program(rows, limits, *, cost, lower=0.0, upper=INF, integer=None):
    """Minimise cost @ x with rows @ x <= limits."""
    matrix = sp.csr_array(np.array(rows, float))
    n = matrix.shape[1]
    low, high = (np.full(n, float(bound)) for bound in (lower, upper))
    whole = None if integer is None else np.array(integer)
    return Program(matrix, np.full(len(limits), -INF), np.array(limits, float), low, high, np.array(cost, float), whole)


# The largest 3 x + 2 y with x + y <= 4 and x + 3 y <= 6 is 12, at (4, 0).
SMALL = program([[1, 1], [1, 3]], [4, 6], cost=[-3, -2])


@pytest.mark.parametrize("presolve", [True, False])
def test_optimal(presolve):
    found = solve(SMALL, presolve=presolve)
    assert found.status is Status.optimal
    assert found.objective == pytest.approx(-12)
    assert found.x == pytest.approx([4, 0])


def test_duals_price_the_rows():
    """One more in the first row is worth 3, one more in the second nothing."""
    assert solve(SMALL).duals == pytest.approx([-3, 0])


@pytest.mark.parametrize("presolve", [True, False])
def test_infeasible(presolve):
    found = solve(program([[1, 1], [-1, -1]], [1, -2], cost=[1, 1]), presolve=presolve)
    assert found.status is Status.infeasible
    assert np.isnan(found.objective) and len(found.x) == 0


@pytest.mark.parametrize("presolve", [True, False])
def test_unbounded(presolve):
    assert solve(program([[1, -1]], [1], cost=[-1, 0]), presolve=presolve).status is Status.unbounded


def test_stopped():
    """An integer program that may not branch has a bound, and perhaps a point, but no optimum."""
    rng = np.random.default_rng(1)
    whole = np.ones(60, bool)
    session = solver.open(
        program(rng.integers(1, 99, (20, 60)), np.full(20, 400.0), cost=-rng.random(60), integer=whole)
    )
    session.limit_nodes(0)
    stopped = session.solve()
    assert stopped.status is Status.stopped
    session.limit_nodes(10**6)
    best = session.solve()
    assert best.status is Status.optimal and stopped.bound <= best.objective


@pytest.mark.parametrize("primal", [True, False])
def test_costs_and_bounds_change_between_solves(primal):
    session = solver.open(SMALL, primal=primal)
    assert session.solve().objective == pytest.approx(-12)
    session.set_cost(np.array([0]), np.array([0.0]))
    assert session.solve().objective == pytest.approx(-4)
    session.set_bounds(np.array([1]), np.array([0.0]), np.array([1.0]))
    assert session.solve().objective == pytest.approx(-2)
    session.set_bounds(np.array([0, 1]), np.array([5.0, 0.0]), np.array([9.0, 1.0]))
    assert session.solve().status is Status.infeasible
    session.set_bounds(np.array([0]), np.array([0.0]), np.array([INF]))
    assert session.solve().objective == pytest.approx(-2)


def test_a_restart_is_warm():
    """From the last vertex a new cost takes fewer iterations than from nothing."""
    rng = np.random.default_rng(2)
    one = program(rng.random((40, 60)), np.full(40, 10.0), cost=-rng.random(60))
    session = solver.open(one, primal=True)
    session.solve()
    cold = session.iterations
    session.set_cost(np.array([0]), np.array([-1.0]))
    assert session.solve().status is Status.optimal
    assert session.iterations < cold / 2


def test_whole_numbers():
    """2 x <= 3 leaves 1.5 to a number, 1 to a whole one, also when only one of two must be whole."""
    both = program([[2, 0], [0, 2]], [3, 3], cost=[-1, -1], integer=[True, False])
    assert solve(both).x == pytest.approx([1, 1.5])
    assert solve(program([[2, 0], [0, 2]], [3, 3], cost=[-1, -1])).x == pytest.approx([1.5, 1.5])


def test_whole_numbers_may_not_fit():
    inside = program([[3.0], [-3.0]], [2, -1], cost=[1], integer=[True])
    assert solve(inside).status is Status.infeasible


def test_nothing_is_printed(capfd):
    solve(SMALL)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("solver", "file"), [("highspy", "highs"), ("clarabel", "quadratic")])
def test_only_one_file_imports_each_solver(solver, file):
    home, words = Path(cellguard.__file__).parent, re.compile(rf"^\s*(import|from) {solver}\b", re.M)
    assert [p.relative_to(home) for p in home.rglob("*.py") if words.search(p.read_text())] == [
        Path(f"solver/{file}.py")
    ]


class Broken:
    """A solver whose first runs end in an error, or without a word, as with a basis that cannot be factored."""

    def __init__(self, highs, endings):
        self._highs, self._endings, self._unknown = highs, list(endings), False

    def __getattr__(self, name):
        return getattr(self._highs, name)

    def run(self):
        ending = self._endings.pop(0) if self._endings else None
        self._unknown = ending == "unknown"
        if ending == "error":
            return highspy.HighsStatus.kError
        return highspy.HighsStatus.kOk if ending == "unknown" else self._highs.run()

    def getModelStatus(self):  # noqa: N802 - the solver's own name
        return highspy.HighsModelStatus.kUnknown if self._unknown else self._highs.getModelStatus()


@pytest.mark.parametrize("endings", [["error"], ["unknown"], ["error", "unknown"]])
def test_a_basis_beyond_repair_is_left_behind(endings):
    session = solver.open(small())
    assert session.solve().objective == 1.0
    session.set_cost(np.array([0]), np.array([3.0]))
    session._highs = Broken(session._highs, endings)
    solution = session.solve()
    assert solution.status is Status.optimal and solution.objective == 2.0


def test_what_no_algorithm_solves_is_said_to_be_stopped():
    session = solver.open(small())
    session._highs = Broken(session._highs, ["error"] * 5)
    assert session.solve().status is Status.stopped


def small():
    """The least of x + 2 y with x + y = 1."""
    one, two = np.ones(1), np.ones(2)
    return Program(sp.csr_array([[1.0, 1.0]]), one, one, 0 * two, two, np.array([1.0, 2.0]))


def test_it_stops_at_the_same_point_after_so_many_looks():
    """Looks are counted, not timed: the same program, stopped early, has the same point and bound each time."""
    rng = np.random.default_rng(3)
    rows = (rng.random((120, 90)) < 0.05).astype(float)
    covers = Program(
        sp.csr_array(rows),
        np.minimum(rows.sum(axis=1), 1.0),
        np.full(120, INF),
        np.zeros(90),
        np.ones(90),
        1 + rng.random(90) / 100,
        np.ones(90, bool),
    )
    ended = []
    for looks in (30, 30, 10**9):
        session = solver.open(covers)
        session.limit_looks(looks)
        ended.append(session.solve())
    assert ended[0].status is ended[1].status and ended[0].bound == ended[1].bound
    assert np.array_equal(ended[0].x, ended[1].x)
    assert ended[2].status is Status.optimal and ended[0].bound <= ended[2].objective + 1e-6


def test_dust_among_the_entries_is_dropped_and_no_refusal():
    """The solver warns that it drops entries below 1e-9; that is not a program that it cannot take."""
    one, two = np.ones(1), np.ones(2)
    found = solver.solve(Program(sp.csr_array([[1.0, 1e-18]]), one, one, 0 * two, two, np.array([1.0, 2.0])))
    assert found.objective == 1.0 and found.x.tolist() == [1.0, 0.0]


def test_dust_is_no_refusal_in_later_programs_and_rows():
    one, two = np.ones(1), np.ones(2)
    dusty = Program(sp.csr_array([[1.0, 1e-18]]), one, one, 0 * two, two, np.array([1.0, 2.0]))
    session = solver.open(dusty)
    session.load(dusty)
    assert session.solve().objective == 1.0
    session.add_rows(sp.csr_array([[1e-18, 1.0]]), one, one)
    assert session.solve().objective == 3.0
