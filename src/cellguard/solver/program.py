"""Programs and solutions as plain arrays; nothing here knows a solver, or what the numbers mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray

SEED = 20240501  # of random costs and directions: any number, but always the same, so that results are


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise cost @ x subject to row_lower <= matrix @ x <= row_upper and lower <= x <= upper."""

    matrix: sp.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    cost: FloatArray
    integer: BoolArray | None = field(default=None)


class Status(Enum):
    """How a solve ended. ``unbounded`` may also mean infeasible where the solver cannot tell the two apart."""

    optimal = "optimal"
    infeasible = "infeasible"
    unbounded = "unbounded"
    stopped = "stopped"


@dataclass(frozen=True, eq=False)
class Solution:
    """A status and, where one was found, a point ``x`` with its objective; for linear programs also the row duals.

    ``bound`` is proven to be no more than the optimum; it equals the objective if that is optimal.
    """

    status: Status
    objective: float
    x: FloatArray
    duals: FloatArray
    bound: float = float("-inf")
