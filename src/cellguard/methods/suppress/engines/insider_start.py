"""Where a repair against respondents begins: the cells that may be suppressed, which are, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.insider_hints import Hints
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.problem import Grains, Problem, grains_of, pose
from cellguard.table.pattern import Pattern

_LEAST = 1e-9  # of a cell that costs nothing, so that it is not suppressed for nothing


@dataclass(frozen=True, eq=False)
class Mended:
    """A pattern, and the moves of cells of the world that proved it to the engine: hints for an audit.

    It ``is_whole`` if they prove all that was asked for.
    """

    pattern: Pattern
    hints: Hints
    is_whole: bool = True


@dataclass(frozen=True, eq=False)
class Start:
    """The problem of all cells that may be suppressed: which are, which cost nothing, and what the others cost.

    ``fixed`` cells stay suppressed: they are unsafe, unpublished, or said to be suppressed.
    """

    problem: Problem
    grains: Grains
    hidden: BoolArray
    free: BoolArray
    fixed: BoolArray
    cost: FloatArray
    before: Pattern

    def pattern(self, hidden: BoolArray) -> Pattern:
        """Return the pattern in which these cells of the problem are suppressed."""
        tables, primary = self.before.tables, self.before.primary
        chosen = np.zeros(len(primary), bool)
        listed = self.problem.cells < len(primary)
        chosen[self.problem.cells[listed]] = hidden[listed]
        return Pattern(tables, primary, chosen & ~primary & ~self.before.unpublished)


def posed(system: System, pattern: Pattern, costs: FloatArray, known: sp.csr_array | None) -> Start:
    """Return where a repair of a pattern begins."""
    needs = system.needs
    n, world = len(needs.tables), needs.world
    grains = grains_of(world)
    may = system.pattern(np.ones(system.n, bool))
    problem = pose(needs, may.unknown & ~world.constraints.empty, grains, known)
    listed = problem.cells < n
    at = problem.cells[listed]
    hidden, free, cost = np.ones(len(problem.cells), bool), ~listed, np.zeros(len(problem.cells))
    hidden[listed] = pattern.unknown[at]
    free[listed] = (needs.primary | pattern.unpublished)[at]
    cost[listed] = np.where(free[listed], 0.0, np.maximum(costs[at], _LEAST))
    fixed = free | system.hidden[system.places(problem.cells)]
    return Start(problem, grains, hidden, free, fixed, cost, pattern)
