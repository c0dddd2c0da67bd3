"""Controlled rounding: every value goes to a multiple of its base so that all published sums still hold.

Let x be a value, b its base and r = b (floor(x / b) + z) what is published, z a whole number: 0 or 1 if the rounding is
zero-restricted (0 alone if x is a multiple of b), and up to k less or more with k steps. Chance draws for each cell the
z that it prefers, 1 with probability (x mod b) / b as in random rounding, and a weight w > 0. Published is

    minimise  the sum of w |z - preferred z|   with M r = 0,

which is the preferred rounding itself wherever that adds up. So every additive rounding of the true table has a
positive probability, and somebody who knows all this concludes no more than that the true table is one that rounds to
this one: what is claimed of random rounding holds here too. (The rounding nearest to the true table would tell more.)

References
----------
Cox, L. H. (1987). A constructive procedure for unbiased controlled rounding. *Journal of the American Statistical
Association* 82(398), 520-524. Salazar-Gonzalez, J. J., Lowthian, P., Young, C., Merola, G., Bond, S. and Brown, D.
(2004). Getting the best results in controlled rounding with the least effort. *Privacy in Statistical Databases*, LNCS
3050, 58-72.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.errors import NotProtected
from cellguard.methods.rounding.draws import uniforms
from cellguard.methods.rounding.plan import Plan
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_EXTRA = 1e-3  # the probability that a cell prefers a rounding beyond the next multiples, where steps allow it
_SMALL, _NODES = 6_000, 300  # columns up to which a program is solved as a whole, and the nodes that it may take
_BLOCK, _BLOCK_NODES, _SWEEPS = 1_200, 20, 1  # cells that a block has, its nodes, and how often all are gone through
_NAMED = 3  # relations that a message names


@dataclass(frozen=True, slots=True)
class Search:
    """How the search for a controlled rounding ended: its cost, and what is proven to be no more than the least."""

    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """By what share of its cost the rounding could be nearer to what chance preferred; 0 if it is optimal."""
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 1e-9 else 0.0


@dataclass(frozen=True, eq=False)
class _System:
    """The relations of which every cell is published, over the multiples that each cell may go to."""

    matrix: sp.csr_array
    right: LongArray
    rows: Positions
    least: LongArray
    most: LongArray


def round_controlled(plan: Plan, seed: int, steps: int, *, first: bool, run: Run) -> tuple[LongArray, Search]:
    """Return the rounded values, in grains, and how the search ended; ``first`` takes the first rounding found."""
    value, base = plan.value, plan.base
    moved = plan.shown & ~plan.kept & (base > 1)
    low = np.where(moved, value - value % base, value)
    system = _system_of(plan, low, moved, steps)
    wanted = _preferred(plan, seed, system, steps)
    if not (system.matrix @ wanted - system.right).any():
        return low + base * wanted * moved, Search(0.0, 0.0)
    weight = -np.log(uniforms(plan.tables, seed, "weight", system.most > system.least))
    found, search = _nearest(system, wanted, weight, first=first, run=run)
    if found is None:
        raise NotProtected(_why_not(plan, low, moved, steps, run))
    return np.where(moved, low + base * found, value), search


def _system_of(plan: Plan, low: LongArray, moved: np.ndarray, steps: int) -> _System:
    """Return M r = 0 as rows over z, each divided by its finest base."""
    relations = plan.tables.relations
    rows = np.flatnonzero(abs(relations) @ (~plan.shown).astype(float) == 0)
    shown = sp.csr_array(relations[rows]).astype(np.int64)
    owner = np.repeat(np.arange(shown.shape[0]), np.diff(shown.indptr))
    size = np.where(moved, plan.base, np.iinfo(np.int64).max)[shown.indices]
    finest = np.full(shown.shape[0], np.iinfo(np.int64).max)
    np.minimum.at(finest, owner, size)
    finest = np.where(finest == np.iinfo(np.int64).max, 1, finest)
    left = -(shown @ low)
    bad = np.flatnonzero(left % finest)
    if len(bad):
        raise NotProtected(
            "no controlled rounding keeps these sums, since their kept values are no multiples of the base: "
            f"{_names(plan, rows[bad])}; name fewer cells in `keep`"
        )
    share = np.where(moved, plan.base, 0)[shown.indices] // finest[owner]
    matrix = sp.csr_array((shown.data * share, shown.indices, shown.indptr), shape=shown.shape)
    matrix.eliminate_zeros()
    rest = moved & (plan.value % plan.base != 0)
    return _System(matrix, left // finest, rows, np.where(moved, -steps, 0), np.where(moved, rest + steps, 0))


def _preferred(plan: Plan, seed: int, system: _System, steps: int) -> LongArray:
    """Return the z that chance prefers: 1 with probability remainder / base, and rarely one of the further steps."""
    off = (plan.base > 1) & (plan.value % plan.base != 0) & (system.most > 0)
    up = uniforms(plan.tables, seed, "rounding", off) * plan.base < plan.value % plan.base
    wanted = np.where(off & up, 1, 0)
    if not steps:
        return wanted
    free = system.most > system.least
    drawn = uniforms(plan.tables, seed, "steps", free)
    spread = system.most - system.least + 1
    other = system.least + np.floor(drawn / _EXTRA * spread).astype(np.int64)
    return np.where(free & (drawn < _EXTRA), np.minimum(other, system.most), wanted)


def _nearest(
    system: _System, wanted: LongArray, weight: FloatArray, *, first: bool, run: Run
) -> tuple[LongArray | None, Search]:
    """Return the z nearest to what is wanted that satisfy the system, None if none do.

    The linear program gives a bound, and in two dimensions mostly the answer. Otherwise small systems are solved as
    integer programs; of large ones the first solution is improved block by block, the rest fixed.
    """
    relaxed = _solve(system, wanted, weight, whole=False, run=run)
    if relaxed.status is not Status.optimal:
        return None, Search(0.0, 0.0)
    found, bound = _applied(system, wanted, relaxed.x), relaxed.objective
    if not _is_exact(system, wanted, relaxed.x, found):
        small = len(relaxed.x) <= _SMALL and not first
        mixed = _solve(system, wanted, weight, whole=True, nodes=_NODES if small else 1, run=run, any_gap=not small)
        if not len(mixed.x):
            if mixed.status is Status.stopped:
                raise NotProtected("no controlled rounding was found in time; say `steps: 1`, or round fewer cells")
            return None, Search(0.0, 0.0)
        found = _applied(system, wanted, mixed.x)
        bound = max(bound, mixed.bound) if small else bound
        if not (small or first):
            found = _improved(system, wanted, weight, found, run)
    if (system.matrix @ found - system.right).any():
        raise NotProtected("the solver's rounding does not add up exactly; nothing is rounded")
    cost = float((weight * np.abs(found - wanted)).sum())
    return found, Search(cost, min(bound, cost))


def _solve(
    system: _System,
    wanted: LongArray,
    weight: FloatArray,
    *,
    whole: bool,
    run: Run,
    nodes: int = 0,
    any_gap: bool = False,
) -> Solution:
    """Solve over how far each z rises above or falls below what is wanted, columns of `_columns`."""
    rise, fall, upper = _columns(system, wanted)
    matrix = system.matrix.astype(float)
    both = sp.csr_array(sp.hstack([matrix[:, rise], -matrix[:, fall]], format="csr"))
    right = (system.right - system.matrix @ wanted).astype(float)
    cost = np.concatenate([weight[rise], weight[fall]])
    integer = np.ones(len(upper), bool) if whole else None
    program = Program(both, right, right, np.zeros(len(upper)), upper, cost, integer)
    session = solver.open(program, presolve=True, run=run)
    try:
        if whole:
            session.limit_nodes(nodes, gap=1.0 if any_gap else 0.0)
        return session.solve()
    finally:
        session.close()


def _columns(system: _System, wanted: LongArray) -> tuple[Positions, Positions, FloatArray]:
    """Return the cells that may rise, those that may fall, and how far."""
    up, down = system.most - wanted, wanted - system.least
    rise, fall = np.flatnonzero(up > 0), np.flatnonzero(down > 0)
    return rise, fall, np.concatenate([up[rise], down[fall]]).astype(float)


def _applied(system: _System, wanted: LongArray, x: FloatArray) -> LongArray:
    rise, fall, _ = _columns(system, wanted)
    moves = np.rint(x).astype(np.int64)
    found = wanted.copy()
    found[rise] += moves[: len(rise)]
    found[fall] -= moves[len(rise) :]
    return found


def _is_exact(system: _System, wanted: LongArray, x: FloatArray, found: LongArray) -> bool:
    """Return whether a solution of the linear program is one of whole numbers."""
    return bool((np.abs(x - np.rint(x)) < 1e-6).all()) and not (system.matrix @ found - system.right).any()


def _improved(system: _System, wanted: LongArray, weight: FloatArray, found: LongArray, run: Run) -> LongArray:
    """Return a rounding that is nearer to what is wanted, by solving one block of cells at a time."""
    near = sp.csr_array(abs(system.matrix).T @ abs(system.matrix))
    for _ in range(_SWEEPS):
        todo = found != wanted
        for cell in np.flatnonzero(todo).tolist():
            if not todo[cell]:
                continue
            run.check()
            block = _block(near, cell)
            todo[block] = False
            fixed = np.ones(len(found), bool)
            fixed[block] = False
            here = replace(system, least=np.where(fixed, found, system.least), most=np.where(fixed, found, system.most))
            part = _solve(here, np.clip(wanted, here.least, here.most), weight, whole=True, nodes=_BLOCK_NODES, run=run)
            if len(part.x):
                better = _applied(here, np.clip(wanted, here.least, here.most), part.x)
                gain = (weight * (np.abs(found - wanted) - np.abs(better - wanted))).sum()
                if gain > 1e-9 and not (system.matrix @ better - system.right).any():
                    found = better
    return found


def _block(near: sp.csr_array, cell: int) -> Positions:
    """Return the cells nearest to one by common relations."""
    block = np.array([cell])
    while len(block) < _BLOCK:
        wider = np.unique(np.concatenate([near.indices[near.indptr[c] : near.indptr[c + 1]] for c in block.tolist()]))
        if len(wider) == len(block):
            break
        block = wider
    return block[:_BLOCK] if len(block) <= 3 * _BLOCK else np.union1d([cell], block[:: len(block) // _BLOCK + 1])


def _why_not(plan: Plan, low: LongArray, moved: np.ndarray, steps: int, run: Run) -> str:
    """Explain why there is no rounding: how many steps there must be, and the cells that take them."""
    for more in range(steps + 1, steps + 4):
        system = _system_of(plan, low, moved, more)
        rest = (plan.value % plan.base != 0) & moved
        # What is within the steps that were asked for is free; one beyond costs 1.
        wanted = np.where(rest, np.where(2 * (plan.value % plan.base) > plan.base, 1, 0), 0)
        weight = np.where(moved, 1.0, 0.0)
        found, _ = _nearest(system, wanted, weight, first=True, run=run)
        if found is not None:
            far = moved & ((found < -steps) | (found > rest + steps))
            names = [plan.tables.message_name(int(cell)) for cell in np.flatnonzero(far)[:_NAMED]]
            return (
                f"no controlled rounding with {steps} steps adds up; with `steps: {more}` there is one, in which "
                f"{int(far.sum()):,} cells go further ({'; '.join(names)}). Say so, or take another base"
            )
    return (
        f"no controlled rounding with up to {steps + 3} steps adds up; take another base, or name fewer cells in `keep`"
    )


def _names(plan: Plan, rows: Positions) -> str:
    relations = plan.tables.relations
    cells = [int(relations.indices[relations.indptr[row]]) for row in rows[:_NAMED].tolist()]
    return "; ".join(plan.tables.message_name(cell) for cell in cells)
