"""The door to the solvers: a program goes in, a session or a solution comes out. Nobody else knows which there are."""

from __future__ import annotations

from cellguard.arrays import FloatArray
from cellguard.run_context import UNWATCHED, Run
from cellguard.solver.highs import Session
from cellguard.solver.program import Program, Solution


def open(  # noqa: A001 - it is called as solver.open, and opens a program as the built-in one opens a file
    program: Program,
    *,
    presolve: bool = False,
    primal: bool = False,
    interior: bool = False,
    brief: bool = False,
    run: Run = UNWATCHED,
) -> Session:
    """Open a program, to be solved several times with other costs, bounds or rows, each time from the last basis.

    ``presolve`` pays for programs that are solved once; ``primal`` for those in which only costs change. ``interior``
    asks for a point in the middle of all that are optimal. While a large program is solved, ``run`` is checked, but not
    in a ``brief`` session, whose programs all take well under a second.

    >>> import numpy as np, scipy.sparse as sp
    >>> one, two = np.ones(1), np.ones(2)
    >>> least = open(Program(sp.csr_array([[1.0, 1.0]]), one, one, 0 * two, two, np.array([1.0, 2.0])))
    >>> least.solve().objective
    1.0
    >>> least.set_cost(np.array([0]), np.array([3.0]))
    >>> least.solve().objective
    2.0
    """
    return Session(program, run, presolve=presolve, primal=primal, interior=interior, brief=brief)


def solve(program: Program, *, presolve: bool = True, interior: bool = False, run: Run = UNWATCHED) -> Solution:
    """Solve a program once."""
    session = open(program, presolve=presolve, interior=interior, run=run)
    try:
        return session.solve()
    finally:
        session.close()


def solve_quadratic(program: Program, curvature: FloatArray, *, run: Run = UNWATCHED) -> Solution:
    """Solve a program to whose cost a convex square is added for each variable: curvature @ x**2 / 2.

    >>> import numpy as np, scipy.sparse as sp
    >>> one, two = np.ones(1), np.ones(2)
    >>> sum_of_1 = Program(sp.csr_array([[1.0, 1.0]]), one, one, 0 * two, two, 0 * two)
    >>> solve_quadratic(sum_of_1, np.array([1.0, 3.0])).x.round(6).tolist()
    [0.75, 0.25]
    """
    from cellguard.solver.quadratic import solve  # loaded where it is needed: few runs have squares

    return solve(program, curvature, run)
