"""The thresholds of bounding and closing, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Root:
    """What is done to bound the cost, and to prove optima."""

    relation_targets: int = 20_000  # up to which one cut a relation and target starts the master: cheap, and strong
    little: float = 2e-4  # rounds of cuts that raise the bound by less are not worth it
    share: float = 0.15  # of the work, for cuts of propagation
    program_cells: int = 9_000  # free cells and
    program_targets: int = 8_000  # targets up to which cuts of programs are looked for at fractional x
    program_rounds: int = 8
    small: int = 1_500  # free cells up to which whole masters are driven to the optimum
    close_rounds: int = 300
    nodes: int = 20_000
    idle: int = 6  # whole masters in a row that gain next to nothing, after which none is begun
    progress: float = 0.01  # by how much of itself a gap must fall to count
    rough: float = 0.3  # how well a master is solved, as a share of the present gap
    near: float = 0.005
    worth: int = 150  # unserved targets up to which a whole master's pattern is mended


ROOT = Root()
