"""What the engine may spend, and what it takes for nothing: every threshold with its reason, in one place.

None of them decides whether a pattern is safe, which the audit does with thresholds of its own; they decide how long
the search for a cheap one takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

Ladder = tuple[tuple[int, int, int], ...]
Optional = Literal[
    "bound",
    "thinning",
    "reroute",
    "trim",
    "tiers",
    "programs",
    "reconstruct",
    "polish",
    "take_over",
    "raise",
    "masters",
]  # fmt: skip
"""The phases that a search may leave out: without the others there is no safe pattern."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The engine's thresholds. Work is counted (see `effort`), not timed: results are stable.

    A *target* is an unsafe cell that must be able to move one way; *free* cells may be suppressed or not. Phases
    that are ``left_out`` do not run.
    """

    left_out: frozenset[Optional] = frozenset()

    # The first safe pattern.
    circuit_share: float = 0.3  # of a protection level for which cells on its circuits must have room
    vast_share: float = 1.0  # ... of a very large system, which only blocks of it prove: what is tight takes them long
    tiers: tuple[float, ...] = (0.5, 0.3, 0.16, 0.08)  # worth of cheaper cells that stay suppressed, see there
    tier_repair: float = 1.2e9  # work of the repair after one tier, for 10,000 targets
    rough_rounds: int = 4  # after a tier of a large system
    large_rows: int = 10_000  # relations of it: there single programs take long
    quick_tiers: tuple[float, ...] = (0.5, 0.2)  # with quick effort
    construct_rounds: int = 200  # of covering the cuts of all open targets at once; each round shows the next cuts
    construct_few: int = 100  # open targets from which on cells are suppressed one by one
    thinned: float = 0.5  # share, by cost, of the needless cells that are published before the first repair, beyond 2-D
    exchanged: float = 0.8  # share of the secondaries that are tried to be exchanged before the first repair, in 2-D
    opened: float = 0.1  # share of the targets that this may open
    first_repair: float = 3.0e8  # work of repairs by cuts, about 15 CPU s for 10,000 targets, before flows end
    counts_repair: float = 6.0e7  # ... of what elimination leaves of counts
    counts_patience: int = 5  # rounds of it that do not halve what is open: of counts a flow takes no longer than these
    trimming: float = 6.0e7  # work after which no further look for needless cells begins, for 10,000 targets
    flow_rounds: int = 6  # joint flows leave less and less open; after these, single flows
    told_each: int = 500  # single targets between two words of progress
    flow_steps: int = 4  # relations away from its target to which a flow may go at first: narrow ones are dear
    threaded_terms: float = (
        4.5  # relations per cell up to which joint flows for all targets end: not in five dimensions
    )
    threaded: float = 0.8  # share of the targets that may be left open by one more joint flow of them all
    whole_flows: int = 100_000  # cells up to which joint flows may use all of them, not only those near the targets

    # Repairs by exact cuts.
    repair_rounds: int = 200  # each satisfies one cut per target; determinations in 3-D are long cascades
    patient_rounds: int = 10  # that do not halve what is open, after which flows, which are cheap for few, end a repair
    flat_few: float = 5e-5  # share of the targets that flows serve at the end of a repair in 2-D: each round takes long
    near_rows: tuple[int, ...] = (100, 300, 1_000)  # relations around a target that may decide it before all do
    near_worth: int = 30  # times as many relations has a suppressed system whose program takes longer than theirs
    # of the targets asked for that a pool of a very large system must serve, or the next has half
    pooled_share: float = 0.3
    pooled_few: int = 500  # targets that are never halved
    # relations of the blocks of a very large system, each a pooled program
    block_rows: tuple[int, ...] = (3_000, 8_000)
    block_worth: int = 10  # targets that each of them must serve, on average of the last few of them
    block_last: int = 25
    pooled_worth: int = 20  # targets that one more pooled program must serve: single ones take a twentieth of its time
    pooled_flat: float = 3e-3  # ... in two dimensions a share of all targets, since its time grows with their number
    pooled_again: int = 300  # open targets from which on pooled programs look at a repaired pattern before single ones
    substituted_rows: int = 6  # relations up to which a class is replaced wherever it stands
    substituted_terms: int = 30  # of the relation that replaces it, at most
    substituted_fill: int = 20  # terms more than before, at most
    dense_rows: int = 4_000  # rows beyond which an iteration takes no longer: solvers touch only a part of them
    master_rows: int = 20_000  # ... of a relaxed master beyond two dimensions, which gets slow with its cuts
    shared: int = 30  # other targets for which one refutation is tried too
    cut_depth: int = 30  # cuts that are looked for per target before the next whole master

    # Local search.
    flat_terms: float = 3.0  # relations per cell up to which programs are quick, and needless cells easily found: 2-D
    batch: int = 60  # cells that a trial drops at first; grows with success
    least_batch: int = 6
    spread: int = 10  # exchanges tried for each cell that a trial might drop: few of them succeed
    trial: float = 1.5e8  # work of one trial for 10,000 cells, about 8 CPU s
    patience: int = 12  # trials in a row without success after which the search ends
    settled: float = 0.12  # share of the work before which nobody can tell whether more of it pays
    little: float = 2e-3  # share of the cost: saving less in the last part of the work is not worth it
    noise: float = 0.3  # how much chance there is in the choice of cells that replace others
    sizes: tuple[int, ...] = (1, 1, 2, 4, 8)  # how many secondaries an exchange publishes at once
    likely: float = 0.5  # how much cheaper a cell looks that the relaxed master suppresses

    # Exchanges by elimination, where the attacker knows no bounds.
    algebra_cells: int = 12_000  # up to which a basis of moves of all cells is written out
    algebra_relations: int = 20  # relations whose cells are suppressed for a trial, besides those of one cell
    algebra_gone: int = 3  # secondaries near each other that a trial publishes for good, at most
    algebra_loyal: float = 0.3  # how much cheaper a secondary looks than a cell that was published before
    algebra_trials: int = 25  # for each secondary; ten times as many for the best
    algebra_share: float = 0.4  # of the work
    algebra_idle: float = 0.2  # of the trials, in a row and without success, after which the search ends
    algebra_work: float = 12.0  # of one trial for each term of the relations

    # Bounds and optima.
    relation_targets: int = 1_000_000  # up to which one cut per relation and target starts the master: strong
    bound_gain: float = 2e-4  # rounds of cuts that raise the bound by less are the last
    quick_gain: float = 1e-2  # ... with quick effort
    bound_share: float = 0.15  # of the work, for cuts of propagation
    first_bound: float = 6.0e7  # ... at least this, for 10,000 targets
    program_free: int = 9_000  # free cells and
    program_targets: int = 8_000  # targets up to which cuts of programs are looked for at fractional x
    program_rounds: int = 8
    bounded_free: int = 5_000  # free cells up to which one whole master over all of them is solved for its bound
    optimal_free: int = 1_200  # ... up to which whole masters are driven to the optimum
    small_free: int = 400  # ... up to which they are begun however far the first pattern is from the bound
    mastered_free: int = 2_000  # ... up to which, in two dimensions, whole masters are solved roughly
    whole_free: int = 3_000  # ... up to which whole masters are solved roughly for the best
    mastered: float = 0.4  # share of the work for whole masters; what the effort asks for may take all of it
    closing: float = 0.3  # ... of which the way from there to the optimum may take so much
    raised_share: float = 0.2  # ... for the one whole master of larger sets
    optimal_rounds: int = 300
    proven: float = 1e-6  # gap up to which a pattern is the optimum: solvers do not resolve less
    optimal_nodes: int = 20_000  # of one such master; its bound holds even if that is not enough
    far: float = 0.3  # gap above which whole masters are only begun for the best: they are far from safe patterns
    idle: int = 10  # whole masters in a row that gain next to nothing, after which none is begun
    progress: float = 0.01  # by how much of itself a gap must fall to count as gain
    rough: float = 0.3  # how well a master is solved, as a share of the present gap: its cuts matter more
    near: float = 0.005  # gap from which on masters are solved as well as can be
    open_worth: int = 150  # unserved targets up to which a whole master's pattern is mended

    # Repairs: neighbourhoods as (relations away, cells per relation, cells in all), each tried if the last had no flow.
    ladder: Ladder = ((2, 6, 300), (3, 10, 1_500), (5, 20, 6_000))
    nearby: Ladder = ((3, 0, 1_500), (4, 0, 6_000))  # of suppressed cells alone, in more than two dimensions
    # of large sets: through few others suppresses little
    narrow: Ladder = ((4, 1, 6_000), (5, 1, 10_000), (7, 4, 25_000))
    blocks: Ladder = ((6, 2, 6_000), (8, 6, 12_000), (10, 20, 25_000))  # of joint flows of large sets
    slope_scalings: int = 4  # of a flow at most; it ends once they gain nothing

    # Advice, where no pattern is safe.
    ways_out: int = 300  # that are looked at for the smallest conflict
    blocked_targets: int = 20  # that are looked at
    small_price: float = 1e-4  # of the cheapest cell to give up: little, and yet no trouble for the solver
    token_cost: float = 1e-9  # of a cell that costs nothing, so that it is not suppressed for nothing

    # Scaling: programs are in units of the protection level, and solvers resolve about nine orders of magnitude.
    cut_far: float = 1e6  # how many times the need a cell may move in the attacker's program
    flow_far: float = 1e5  # ... in a repair, whose costs take orders of magnitude as well
    dearest: float = 1e7  # how many times the usual cost the dearest cell has in a repair
    dust: float = 1e-9  # duals smaller than this are 0

    def without(self, *phases: Optional) -> Policy:
        """Return the policy that leaves these phases out, too.

        >>> sorted(Policy().without("polish", "masters").left_out)
        ['masters', 'polish']
        >>> Policy().without("polsih")
        Traceback (most recent call last):
        ValueError: no phase to leave out: polsih
        """
        if unknown := set(phases) - set(get_args(Optional)):
            raise ValueError(f"no phase to leave out: {', '.join(sorted(unknown))}")
        return replace(self, left_out=self.left_out | set(phases))


USUAL = Policy()
