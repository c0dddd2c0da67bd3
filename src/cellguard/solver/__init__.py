"""Linear, mixed-integer and quadratic programs as plain data, and the one door to whatever solves them."""

from cellguard.solver.door import open as open  # noqa: A004 - read as solver.open
from cellguard.solver.door import solve as solve
from cellguard.solver.door import solve_quadratic as solve_quadratic
from cellguard.solver.highs import Session as Session
