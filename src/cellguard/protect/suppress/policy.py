"""What the engine may spend, and what it takes for nothing: every threshold with its reason, in one place.

None of them decides whether a pattern is safe, which the audit does with thresholds of its own; they decide how long
the search for a cheap one takes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """The engine's thresholds. Work is counted in cells, programs and iterations, not in seconds: results are stable.

    A *target* is an unsafe cell that must be able to move one way; *free* cells may be hidden or not.
    """

    # How hard the search looks, by the size of the table.
    optimal_free: int = 1_500  # free cells up to which masters are driven to the optimum
    whole_free: int = 3_000  # ... up to which whole masters look at all free cells, and not at the likely ones only
    bounded_free: int = 5_000  # ... up to which one whole master over all free cells is solved for its bound
    cut_free: int = 9_000  # ... up to which there are rounds of cuts at all: a master over more of them takes too long
    cut_targets: int = 8_000  # targets up to which there are, since each round looks at all of them
    polished_targets: int = 8_000  # targets up to which each gets a witness of its own, to be polished
    thinned_targets: int = 30_000  # ... up to which secondaries drop in batches, and repairs leave the neighbourhood

    # Rounds.
    fractional_rounds: int = 60  # of cuts on the fractional master at most; it ends once they gain little
    optimal_rounds: int = 300  # of whole masters, where they are driven to the optimum
    optimal_nodes: int = 20_000  # of one such master; its bound holds even if that is not enough
    work: int = 200_000  # simplex iterations after which no further whole master is begun
    rough: float = 0.3  # how well a master is solved, as a share of the present gap: its cuts matter more
    open_worth: int = 150  # open targets up to which single programs and repairs pay for this pattern
    cut_depth: int = 30  # cuts that are looked for per target before the next master
    batches: int = 60  # of equal cost in which secondaries are dropped
    patience: int = 5  # batches in a row that gain nothing, before the rest is left alone
    polish_gain: float = 0.002  # a pass of polishing that gains less than this share is the last

    # Repairs: neighbourhoods as (relations away, cells per relation, cells in all), each tried if the last had no flow.
    ladder: tuple[tuple[int, int, int], ...] = ((2, 6, 300), (3, 10, 1_500), (5, 20, 6_000))
    slope_scalings: int = 4  # of a flow at most; it ends once they gain nothing

    # Advice, where no pattern is safe.
    ways_out: int = 300  # that are looked at for the smallest conflict
    blocked_targets: int = 20  # that are looked at
    small_price: float = 1e-4  # of the cheapest cell to give up: little, and yet no trouble for the solver
    token_cost: float = 1e-9  # of a cell that costs nothing, so that it is not hidden for nothing

    # Scaling: programs are in units of the need, and solvers resolve about nine orders of magnitude.
    cut_far: float = 1e6  # how many times the need a cell may move in the attacker's program
    flow_far: float = 1e5  # ... in a repair, whose costs take orders of magnitude as well
    dearest: float = 1e7  # how many times the usual cost the dearest cell has in a repair
    dust: float = 1e-9  # duals smaller than this are 0


POLICY = Policy()
