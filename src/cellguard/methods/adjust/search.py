"""The search: a side for every unsafe cell, and the moves of least weight with which all relations hold.

Let a be a true value in units, x what is published, and d = x - a. With levels D below and U above, an unsafe cell has

    d = U y - D (1 - y) + r - f,    y = 1: up (f = 0),  y = 0: down (r = 0),    r, f >= 0,

and any other d = r - f. Least is the sum of w |d| with M (a + d) = 0 and the bounds of x. With y between 0 and 1
this is a linear program whose optimum is a bound for all choices of sides. The heuristic fixes the most decided sides
of its solution, solves again, and so on; sides that cannot be met, or that cost more, are turned. Small sets then go to
an integer program, whose large numbers M are what no better solution than the heuristic's can exceed.

References
----------
Castro, J. (2012). Recent advances in optimization techniques for statistical tabular data protection. *European
Journal of Operational Research* 216(2), 257-269, section 5. Cox, L. H., Kelly, J. P. and Patil, R. (2004). Balancing
quality and confidentiality for multivariate tabular data. *Privacy in Statistical Databases*, LNCS 3050, 87-98.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import NotProtected
from cellguard.methods.adjust.explain import why_not
from cellguard.methods.adjust.plan import FAR, Plan
from cellguard.methods.adjust.sides import sides_one_by_one, whole_moves
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_CELLS, _SIDES, _NODES = 1_500, 60, 500  # up to which an integer program is tried, and its nodes
_WHOLE = 10**6  # moves up to which all of it is solved in whole numbers, if true values are whole
_STEPS = (1, 2, 8)  # how far a move is changed, at most, to make it whole
_LARGE = 8_000  # cells from which on sides are chosen one by one, and no other way
_SEEDS = 4  # orders in which sides are chosen one by one
_BATCH = 0.05  # of the open sides are fixed at a time
_MANY = 1_000  # sides from which on a quarter is fixed at a time
_FLIPS, _WORK = 1_000, 10**8  # sides that are turned to see whether that is better, and iterations times rows for it


@dataclass(frozen=True, eq=False)
class Adjusted:
    """The published values in units, their cost, and what is proven to be no more than the least cost."""

    plan: Plan
    value: LongArray
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """By what share of its cost a better adjustment could be cheaper; 0 if it is optimal."""
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 1e-9 else 0.0


def adjust(plan: Plan, *, heuristic: bool, run: Run) -> Adjusted:
    """Return the adjusted values; where there are none, or none is found, `NotProtected` names cells."""
    if plan.stuck.any():
        raise NotProtected(why_not(plan, run))
    if not plan.faults(plan.start):
        return Adjusted(plan, plan.start, 0.0, 0.0)
    model = Model(plan)
    small = len(plan.start) <= _CELLS and len(model.at) <= _SIDES and not plan.squares
    found, bound = _of_large(model, run) if model.n > _LARGE else _of_sides(model, small, run)
    if plan.squares:
        bound = least_squares(plan)
        found = squared(model, found, run)
    elif (small and not (heuristic and found is not None)) or (found is None and model.n <= _LARGE):
        best = None if found is None else _cost(plan, found)
        better, proven = _by_program(model, best, run)
        bound = max(bound, proven)
        if better is not None and (best is None or _cost(plan, better) < best):
            found = better
    if found is None:
        raise NotProtected(why_not(plan, run))
    if plan.faults(found):
        raise NotProtected("the solver's adjustment does not hold exactly; nothing is adjusted")
    cost = _cost(plan, found)
    return Adjusted(plan, found, cost, min(bound, cost))


def _of_sides(model: Model, small: bool, run: Run) -> tuple[LongArray | None, float]:
    """Return the best values that a choice of sides gives, and a bound."""
    sides, bound = _dive(model, run)
    found = None if sides is None else _whole(model, sides, run)
    if small:  # an integer program comes next
        return found, bound
    for seed in range(_SEEDS):
        other = sides_one_by_one(model.plan, run, seed=seed)
        if other is None:
            continue
        value = _whole(model, other, run)
        if value is not None and (found is None or _cost(model.plan, value) < _cost(model.plan, found)):
            found = value
    return found, bound


def _of_large(model: Model, run: Run) -> tuple[LongArray | None, float]:
    """Return the best values of a large set, and a bound: sides one by one, a linear program for each choice."""
    relaxed = solver.solve(model.program(), run=run)
    if relaxed.status is not Status.optimal:
        raise NotProtected(why_not(model.plan, run))
    tried = [sides_one_by_one(model.plan, run, seed=seed) for seed in range(_SEEDS)]
    choices: list[BoolArray] = [sides for sides in tried if sides is not None] or [model.may_rise.copy()]
    found = None
    for sides in choices:
        run.check()
        done = solver.solve(model.fixed(sides), run=run)
        if done.status is not Status.optimal:
            continue
        exact = np.rint(model.values(done.x)).astype(np.int64)
        value = whole_moves(model.plan, model.values(done.x) - model.plan.start, run)
        for one in (None if model.plan.faults(exact) else exact, value):
            if one is not None and (found is None or _cost(model.plan, one) < _cost(model.plan, found)):
                found = one
    return found, relaxed.objective + model.constant


def _cost(plan: Plan, value: LongArray) -> float:
    moves = np.abs(value - plan.start).astype(float)
    return float((plan.weight * (moves * moves if plan.squares else moves)).sum())


class Model:
    """The program over r, f and y, in this order."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.at = plan, np.flatnonzero(plan.primary)
        n, k = len(plan.start), len(self.at)
        self.n, self.k = n, k
        self.up = (plan.above - plan.start)[self.at]
        self.down = (plan.start - plan.below)[self.at]
        fixed = plan.low == plan.high
        self.rise = _room(plan.high - plan.start, plan.high, fixed)
        self.fall = _room(plan.start - plan.low, plan.low, fixed)
        self.least, self.most = -self.fall[self.at], self.rise[self.at]
        self.rise[self.at], self.fall[self.at] = np.inf, np.inf
        place = sp.csr_array((np.ones(k), (self.at, np.arange(k))), shape=(n, k))
        self.lift = sp.csr_array(place * (self.up + self.down))
        moves = sp.csr_array(sp.hstack([sp.eye_array(n), -sp.eye_array(n), self.lift], format="csr"))
        relations = sp.csr_array(plan.tables.relations.astype(float))
        self.matrix = sp.csr_array(sp.vstack([relations @ moves, moves[self.at]], format="csr"))
        base = np.zeros(n, np.int64)
        base[self.at] = -self.down
        self.base = base
        right = -plan.left_over(plan.start + base).astype(float)
        self.row_lower = np.concatenate([right, self.least + self.down])
        self.row_upper = np.concatenate([right, self.most + self.down])
        flat = plan.weight[self.at] * (self.up - self.down)
        self.cost = np.concatenate([plan.weight, plan.weight, flat])
        self.constant = float((plan.weight[self.at] * self.down).sum())
        self.may_rise, self.may_fall = plan.may_rise[self.at], plan.may_fall[self.at]

    def bounds(self, lowest: FloatArray, highest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of all columns if sides y are between these."""
        rise, fall = self.rise.copy(), self.fall.copy()
        rise[self.at] = np.where(highest < 0.5, 0.0, np.inf)
        fall[self.at] = np.where(lowest > 0.5, 0.0, np.inf)
        lower = np.concatenate([np.zeros(2 * self.n), lowest])
        return lower, np.concatenate([rise, fall, highest])

    def program(self) -> Program:
        """Return the linear program in which sides may be between up and down."""
        lower, upper = self.bounds((~self.may_fall).astype(float), self.may_rise.astype(float))
        return Program(self.matrix, self.row_lower, self.row_upper, lower, upper, self.cost)

    def fixed(self, sides: BoolArray) -> Program:
        """Return the linear program with sides (True: up)."""
        lower, upper = self.bounds(sides.astype(float), sides.astype(float))
        return Program(self.matrix, self.row_lower, self.row_upper, lower, upper, self.cost)

    def values(self, x: FloatArray) -> FloatArray:
        """Return the published values of a solution."""
        n = self.n
        return np.asarray(self.plan.start + self.base + x[:n] - x[n : 2 * n] + self.lift @ x[2 * n :], float)


def _room(room: LongArray, end: LongArray, fixed: BoolArray) -> FloatArray:
    return np.where(fixed, 0.0, np.where(np.abs(end) >= FAR, np.inf, room.astype(float)))


def _dive(model: Model, run: Run) -> tuple[BoolArray | None, float]:
    """Return the sides that the heuristic chooses (True: up), None if it finds none, and the bound."""
    lowest, highest = (~model.may_fall).astype(float), model.may_rise.astype(float)
    session = solver.open(model.program(), presolve=False, run=run)
    try:
        solution = session.solve()
        if solution.status is not Status.optimal:
            raise NotProtected(why_not(model.plan, run))
        bound = solution.objective + model.constant
        columns = np.arange(2 * model.n + model.k)
        size = max(1, int(np.ceil((_BATCH if model.k < _MANY else 0.25) * model.k)))
        while (open_ := np.flatnonzero(lowest < highest)).size:
            run.check()
            y = solution.x[2 * model.n + open_]
            order = open_[np.argsort(-np.abs(y - 0.5), kind="stable")][:size]
            wish = solution.x[2 * model.n + order] > 0.5 - 1e-9
            tried = [wish] if len(order) > 1 else [wish, ~wish]
            for side in tried:
                trial = lowest.copy(), highest.copy()
                trial[0][order], trial[1][order] = side, side
                session.set_bounds(columns, *model.bounds(*trial))
                next_ = session.solve()
                if next_.status is Status.optimal:
                    (lowest, highest), solution = trial, next_
                    break
            else:
                if len(order) == 1:
                    return None, bound
                size = max(1, len(order) // 4)
        return _flipped(model, session, lowest > 0.5, solution.objective, run), bound
    finally:
        session.close()


def _flipped(model: Model, session: solver.Session, sides: BoolArray, cost: float, run: Run) -> BoolArray:
    """Return better sides: each is turned once, and stays so if everything then costs less."""
    columns, sides = np.arange(2 * model.n + model.k), sides.copy()
    both = np.flatnonzero(model.may_rise & model.may_fall)
    work = _WORK
    size = model.plan.weight[model.at] * np.where(sides, model.up, model.down)
    for place in both[np.argsort(-size[both], kind="stable")][:_FLIPS].tolist():
        run.check()
        if work <= 0:
            break
        sides[place] ^= True
        y = sides.astype(float)
        session.set_bounds(columns, *model.bounds(y, y))
        turned = session.solve()
        work -= max(session.iterations, 1) * (model.matrix.shape[0] + 1_000)
        if turned.status is Status.optimal and turned.objective < cost * (1 - 1e-9) - 1e-9:
            cost = turned.objective
        else:
            sides[place] ^= True
    return sides


def _whole(model: Model, sides: BoolArray, run: Run) -> LongArray | None:
    """Return the cheapest whole moves with these sides, or near it; None if none were found."""
    relaxed = solver.solve(model.fixed(sides), run=run)
    if relaxed.status is not Status.optimal:
        return None
    return made_whole(model, sides, model.values(relaxed.x), run)


def made_whole(model: Model, sides: BoolArray, values: FloatArray, run: Run) -> LongArray | None:
    """Return whole values near some that obey everything; None if none were found."""
    plan = model.plan
    found = np.rint(values).astype(np.int64)
    if not plan.faults(found):
        return found
    low, high = plan.low.copy(), plan.high.copy()
    low[model.at] = np.where(sides, plan.above[model.at], low[model.at])
    high[model.at] = np.where(sides, high[model.at], plan.below[model.at])
    found = np.clip(found, low, high)
    relations = sp.csr_array(plan.tables.relations.astype(float))
    right = -plan.left_over(found).astype(float)
    for step in _STEPS:
        run.check()
        room = np.concatenate([np.minimum(high - found, step), np.minimum(found - low, step)]).astype(float)
        both = sp.csr_array(sp.hstack([relations, -relations], format="csr"))
        whole = np.ones(len(room), bool)
        cost = np.concatenate([plan.weight, plan.weight])
        done = _mixed(Program(both, right, right, np.zeros(len(room)), room, cost, whole), 50, run)
        if len(done.x):
            moved = found + np.rint(done.x[: model.n] - done.x[model.n :]).astype(np.int64)
            if not plan.faults(moved):
                return moved
    return None


def squared(model: Model, found: LongArray | None, run: Run) -> LongArray | None:
    """Return the values of the least squares with the sides of some values, in whole units; or these, if nearer."""
    if found is None:
        return None
    plan = model.plan
    sides = found[model.at] >= plan.above[model.at]
    low, high = plan.low.astype(float), plan.high.astype(float)
    low[model.at] = np.where(sides, plan.above[model.at], low[model.at])
    high[model.at] = np.where(sides, high[model.at], plan.below[model.at])
    fixed, start = plan.low == plan.high, plan.start.astype(float)
    lower = np.where((low > -FAR) | fixed, low - start, -np.inf)
    upper = np.where((high < FAR) | fixed, high - start, np.inf)
    matrix = sp.csr_array(plan.tables.relations.astype(float))
    right = -plan.left_over(plan.start).astype(float)
    # In units of what moves are like: an interior point is as near as its numbers are of one size.
    size = max(float(np.abs(found - plan.start).max(initial=1)), 1.0)
    program = Program(matrix, right / size, right / size, lower / size, upper / size, np.zeros(len(start)))
    done = solver.solve_quadratic(program, 2 * plan.weight, run=run)
    if not len(done.x):
        return found
    values = np.clip(start + done.x * size, np.maximum(low, -float(FAR)), np.minimum(high, float(FAR)))
    tried = [whole_moves(plan, values - plan.start, run)]
    if model.n <= _LARGE:
        tried.append(made_whole(model, sides, values, run))
    better = [value for value in tried if value is not None]
    return min([*better, found], key=lambda value: _cost(plan, value))


def least_squares(plan: Plan) -> float:
    """Return a sum of squares that no adjustment is below: each unsafe cell by itself, by its nearer side."""
    up = np.where(plan.may_rise, plan.above - plan.start, FAR).astype(float)
    down = np.where(plan.may_fall, plan.start - plan.below, FAR).astype(float)
    at = plan.primary
    return float((plan.weight[at] * np.minimum(up, down)[at] ** 2).sum())


def _by_program(model: Model, best: float | None, run: Run) -> tuple[LongArray | None, float]:
    """Return the best values that the integer program finds, and a bound; ``best`` is the cost of known ones."""
    plan, n, k, at = model.plan, model.n, model.k, model.at
    lower, upper = model.bounds((~model.may_fall).astype(float), model.may_rise.astype(float))
    total = float((model.up + model.down).sum() + np.abs(plan.start).sum() + n)
    most = np.full(n, total) if best is None else np.floor(best / plan.weight + 1e-6)
    upper[: 2 * n] = np.minimum(upper[: 2 * n], np.concatenate([most, most]))
    place = sp.csr_array((np.ones(k), (np.arange(k), at)), shape=(k, n))
    nothing = sp.csr_array((k, n))
    large = most[at]
    turn = sp.csr_array(sp.diags_array(large))
    rises = sp.hstack([place, nothing, -turn])
    falls = sp.hstack([nothing, place, turn])
    matrix = sp.csr_array(sp.vstack([model.matrix, rises, falls], format="csr"))
    row_lower = np.concatenate([model.row_lower, np.full(2 * k, -np.inf)])
    row_upper = np.concatenate([model.row_upper, np.zeros(k), large])
    whole = np.ones(2 * n + k, bool)
    if most.max(initial=0) > _WHOLE or plan.left_over(plan.start).any():
        whole[: 2 * n] = False
    solution = _mixed(Program(matrix, row_lower, row_upper, lower, upper, model.cost, whole), _NODES, run)
    bound = solution.bound + model.constant if best is not None and np.isfinite(solution.bound) else -np.inf
    if not len(solution.x):
        return None, bound
    found = np.rint(model.values(solution.x)).astype(np.int64)
    if plan.faults(found):
        exact = _whole(model, solution.x[2 * n :] > 0.5, run)
        return exact, bound
    return found, bound


def _mixed(program: Program, nodes: int, run: Run) -> Solution:
    session = solver.open(program, presolve=True, run=run)
    try:
        session.limit_nodes(nodes)
        return session.solve()
    finally:
        session.close()
