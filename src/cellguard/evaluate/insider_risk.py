"""How closely respondents come to each other: the question of `outsider_risk`, for those who know their own
contribution.

Insider h contributes y to an unsafe cell of value v whose largest other contributor has x. It can tell that x is at
most u - y, where u is the most that the cell may be in its eyes, and must not come nearer than (1 + p/100) x. So the
cell must be able to move by y + (1 + p/100) x - v, and the risk is the share of that which is missing. An insider knows
what an outsider knows, so its risk is never the smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellguard import solver
from cellguard.arrays import FloatArray, Positions
from cellguard.attack.audit import Audit
from cellguard.attack.insider_knowledge import ANYBODY, InsiderKnowledge
from cellguard.attack.insider_pairs import Hint
from cellguard.attack.insiders import attack_inside
from cellguard.proofs.scale import as_floats
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status
from cellguard.table.contributions import Contributions
from cellguard.world.completion import MANY_CROSSING

_LEAST = 1e-3  # the risk of a need that an exact proof calls missed, however little is missing
_FAR = 1e4  # times what matters: no protection level is as large
_STILL = 1e-7  # of what matters: what moves less does not move
_MOST_EXACT = 500  # pairs whose reach is worked out; what is missing beyond them is taken at its worst


def missing(reach: FloatArray, need: FloatArray) -> FloatArray:
    """Return the share of each need that is not reached."""
    short = np.zeros(len(need))
    np.divide(need - reach, need, out=short, where=need > 0)
    return np.clip(short, 0.0, 1.0)


def risk_behind_pattern(
    attacked: Audit, risk: FloatArray, known: Contributions, run: Run, hints: Sequence[Hint] = ()
) -> FloatArray:
    """Return the risk of each unsafe cell from its worst insider, where cells are suppressed; ``risk`` is an
    outsider's.

    It is above 0 if and only if somebody comes too close. What is not decided, and what fails beyond the pairs that are
    worked out, is taken at its worst.
    """
    complete = bool(attacked.needs.world.constraints.crossing.sum() <= MANY_CROSSING)
    inside = attack_inside(
        attacked.problem, attacked.grains, attacked.needs, known, complete=complete, hints=hints, run=run
    )
    cells, worst = attacked.problem.cells, risk.copy()
    for pair in inside.undecided:
        worst[cells[pair.cell]] = 1.0
    pairs = [(pair.insider, pair.cell) for pair in inside.failing]
    for number, (insider, cell) in enumerate(pairs):  # which may grow
        short = 1.0
        if number < _MOST_EXACT:
            short, noticing = _shortfall(inside.knowledge, insider, cell, run)
            # Whoever notices neither way how far anybody gets, gets as far; the others may come nearer.
            pairs += [(who, cell) for who in noticing if insider == ANYBODY and (who, cell) not in pairs]
        worst[cells[cell]] = max(worst[cells[cell]], short)
    return np.where(np.isnan(risk), risk, worst)


def _shortfall(knowledge: InsiderKnowledge, insider: int, cell: int, run: Run) -> tuple[float, list[int]]:
    """Return which share of a cell's need against an insider is missing, below, above or in all; and who notices."""
    who = np.array([insider])
    levels = knowledge.asked(cell, who)
    needs = np.concatenate([levels.down, levels.up, levels.width]).astype(float)
    problem = knowledge.problem
    scale = max(float(knowledge.value[cell]), needs.max(), 1.0)
    limits = knowledge.limits(who[who >= 0])
    low, high = (np.minimum(as_floats(limit) / scale, _FAR) for limit in limits)
    zero = np.zeros(problem.matrix.shape[0])
    program = Program(problem.matrix.astype(float), zero, zero, -low, high, np.zeros(len(low)))
    session = solver.open(program, run=run)
    ends, noticing = [], set[int]()
    for sign in (1.0, -1.0):
        session.set_cost(np.array([cell]), np.array([sign]))
        solution = session.solve()
        if solution.status is not Status.optimal:
            return 1.0, []
        ends.append(abs(float(solution.x[cell])) * scale)
        noticing |= _noticing(knowledge, solution.x * scale, scale)
    share = float(missing(np.array([*ends, sum(ends)]), needs).max())
    return max(share, _LEAST), sorted(noticing - {int(knowledge.owner[cell])})


def _noticing(knowledge: InsiderKnowledge, move: FloatArray, scale: float) -> set[int]:
    """Return the insiders for whom a move is none: alone in a cell that moves, or with more than is left of it."""
    owners = knowledge.knowing[np.abs(move) > _STILL * scale]
    noticing = set(owners[owners >= 0].tolist())
    after = np.where(knowledge.signed, np.inf, knowledge.value + move)
    left = np.repeat(after, np.diff(knowledge.start))
    return noticing | set(knowledge.who[knowledge.amount > left + _STILL * scale].tolist())


def risk_behind_noise(
    reference: Requirements, figures: FloatArray, risk: FloatArray, known: Contributions
) -> FloatArray:
    """Return the risk of each unsafe cell from its worst insider, where figures are changed.

    Who is alone in some published cell knows how its own contribution was changed, and takes that off everywhere.
    """
    if reference.knowledge.lower < 0:
        return risk
    value, worst = reference.tables.value, risk.copy()
    error = figures - value
    cell, who, own = known.cell, known.insider, known.amount
    change = _own_changes(known, error)
    judged = reference.primary & known.told & (reference.accuracy > 0)
    pairs = np.flatnonzero(judged[cell] & (known.owner[cell] != who))
    at = cell[pairs]
    other = _largest_other(known, pairs, at)
    need = np.maximum(own[pairs] + (1 + reference.accuracy[at] / 100) * other - value[at], 0.0)
    left = np.abs(error[at] - change[who[pairs]] * own[pairs])
    np.maximum.at(worst, at, missing(left, need))
    return np.where(np.isnan(risk), risk, worst)


def _own_changes(known: Contributions, error: FloatArray) -> FloatArray:
    """Return by which share each insider knows its own contributions to be changed; 0 where it does not know."""
    change = np.zeros(int(known.insider.max(initial=-1)) + 1)
    alone = np.flatnonzero((known.owner >= 0) & (np.diff(known.start) > 0))
    amount = known.amount[known.start[alone]]
    told = alone[amount != 0]
    change[known.owner[told]] = error[told] / amount[amount != 0]
    return change


def _largest_other(known: Contributions, pairs: Positions, cells: Positions) -> FloatArray:
    """Return the largest contribution to each cell that is not the insider's own."""
    start, size = known.start[cells], np.diff(known.start)[cells]
    second = np.where(size > 1, known.amount[np.minimum(start + 1, len(known.amount) - 1)], known.rest[cells])
    return np.where(pairs == start, second, known.amount[start])
