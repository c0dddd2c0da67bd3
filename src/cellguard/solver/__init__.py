"""Linear and mixed-integer programs as plain data, and the one door to whatever solves them: `solver.open`."""

from cellguard.solver.door import open as open  # noqa: A004 - read as solver.open
from cellguard.solver.door import solve as solve
from cellguard.solver.highs import Session as Session
