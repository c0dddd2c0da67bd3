"""Attackers of their own on answers from a small source: elimination, linear programs, and Bayes by lists.

Nothing here is shared with what it judges. Each takes what was shown as sets of records (or of leaves), and says whose
contribution is known to within the rule.
"""

import itertools
from dataclasses import dataclass

import highspy
import numpy as np

PRIME = 2_147_483_647
_FREE = 1e30


def reduced(rows):
    """Return the rows in reduced echelon form modulo the prime, and their pivots."""
    rows = np.array(rows, np.int64) % PRIME
    pivots, at = [], 0
    for column in range(rows.shape[1]):
        hit = np.flatnonzero(rows[at:, column])
        if not len(hit):
            continue
        pick = at + int(hit[0])
        rows[[at, pick]] = rows[[pick, at]]
        rows[at] = rows[at] * pow(int(rows[at, column]), -1, PRIME) % PRIME
        others = np.flatnonzero(rows[:, column])
        others = others[others != at]
        rows[others] = (rows[others] - rows[others, column][:, None] * rows[at]) % PRIME
        pivots.append(column)
        at += 1
        if at == len(rows):
            break
    return rows[:at], pivots


def kernel_of(rows, n):
    """Return a basis of all v with rows v = 0 modulo the prime: unknowns by basis vectors."""
    echelon, pivots = reduced(rows)
    free = np.setdiff1d(np.arange(n), pivots)
    kernel = np.zeros((n, len(free)), np.int64)
    kernel[free, np.arange(len(free))] = 1
    kernel[pivots] = -echelon[:, free] % PRIME
    return kernel


def directions(kernel):
    """Return each row of a kernel scaled to a leading 1, as bytes: parallel rows are equal. None for a row of zeros."""
    found = []
    for row in kernel:
        lead = np.flatnonzero(row)
        share = pow(int(row[lead[0]]), -1, PRIME) if len(lead) else 0
        found.append((row * share % PRIME).tobytes() if len(lead) else None)
    return found


class Program:
    """A linear program that is solved again and again with other bounds and costs."""

    def __init__(self, rows, right, *, free=0, whole=False):
        self._solver = highspy.Highs()
        self._solver.silent()
        self._size = rows.shape[1]
        for column in range(self._size):
            self._solver.addVar(-_FREE if column < free else 0.0, _FREE)
        for row, value in zip(rows, right, strict=True):
            at = np.flatnonzero(row).astype(np.int32)
            self._solver.addRow(float(value), float(value), len(at), at, row[at].astype(float))
        self._every = np.arange(self._size, dtype=np.int32)
        if whole:
            kinds = np.full(self._size, highspy.HighsVarType.kInteger)
            self._solver.changeColsIntegrality(self._size, self._every, kinds)

    def bound(self, low, high):
        self._solver.changeColsBounds(self._size, self._every, np.asarray(low, float), np.asarray(high, float))

    def least(self, cost):
        """Return the least cost; minus infinity if there is none."""
        self._solver.changeColsCost(self._size, self._every, np.asarray(cost, float))
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return self._solver.getObjectiveValue()
        if status in {highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible}:
            return -np.inf
        if status == highspy.HighsModelStatus.kInfeasible:
            return np.inf
        raise AssertionError(status)


def _classes(rows):
    """Return sets of records by classes that no set tells apart, and the class of each record."""
    by_class, of = np.unique(np.array(rows, np.int64).T, axis=0, return_inverse=True)
    return by_class.T, of.reshape(-1)


class Combinations:
    """How little combinations of published sums leave beside a contribution, over all real coefficients.

    It is q times the sizes of the others plus the combination's noise. Of a class the largest leaves least.
    """

    def __init__(self, rows, size, noise, q):
        cells, self._of = _classes(rows)
        k, many = cells.shape
        self._size, self._q, self._cells, self._many = size, q, k, many
        width = 2 * many
        # unknowns: coefficients y (free) and c (free), then over and under with c = over - under, and noise likewise
        blocks = np.zeros((2 * many + 1, k + many + width + 2))
        blocks[:many, :k] = -cells.T
        blocks[:many, k : k + many] = np.eye(many)
        blocks[many : 2 * many, k : k + many] = np.eye(many)
        blocks[many : 2 * many, k + many : k + 2 * many] = -np.eye(many)
        blocks[many : 2 * many, k + 2 * many : k + 3 * many] = np.eye(many)
        shift = np.bincount(self._of, noise, many)
        blocks[-1, k : k + many], blocks[-1, -2], blocks[-1, -1] = shift, -1, 1
        self._program = Program(blocks, np.zeros(len(blocks)), free=k + many)
        self._low = np.concatenate([np.full(k + many, -_FREE), np.zeros(width + 2)])
        self._sizes = np.bincount(self._of, size, many)

    def dominant(self, p):
        """Return the contributors who are known to within a share of p."""
        found, k, many = [], self._cells, self._many
        for own in range(many):
            mine = np.flatnonzero(self._of == own)
            target = int(mine[self._size[mine].argmax()])
            low, high = self._low.copy(), np.full(len(self._low), _FREE)
            low[k + own] = high[k + own] = 1
            weight = self._sizes.copy()
            weight[own] -= self._size[target]
            weight = self._q * np.maximum(weight, 0) / self._size[target]
            self._program.bound(low, high)
            cost = np.concatenate([np.zeros(k + many), weight, weight, np.full(2, 1 / self._size[target])])
            if self._program.least(cost) < p * (1 - 1e-7):
                found.append(target)
        return found


def known_contributions(rows, size, noise, *, p, q, n):
    """Return who is known, and how: (record, "determined" | "tied" | "dominated"), of contributors of size above 0."""
    rows = np.unique(np.array(rows, np.int64)[:, size > 0], axis=0)
    mine = np.flatnonzero(size > 0)
    kernel = kernel_of(rows, len(mine))
    lines = directions(kernel)
    found = [(int(mine[t]), "determined") for t, line in enumerate(lines) if line is None]
    if n > 1:
        first = {}
        for t, line in enumerate(lines):
            if line is not None and first.setdefault(line, t) != t:
                found.append((int(mine[t]), "tied"))
    combinations = Combinations(rows, size[mine], noise[mine], q)
    return found + [(int(mine[t]), "dominated") for t in combinations.dominant(p)]


@dataclass(frozen=True)
class Guard:
    """What a rule asks of true sums: those who know ``others`` contributions may not come within ``share``.

    ``prior`` is how well everybody knows the others beforehand. With ``fewest`` no fewer may be known together.
    """

    others: int
    share: float
    prior: float = 1.0
    fewest: int = 0


def known_in_sums(rows, size, holding, guards, *, whole=False):
    """Return who is known to whom: (guard, holding, by whom, what it has, what it can be).

    A reader knows that contributions are not negative, its own ones, and which records are in which cells. With
    ``whole`` it knows that contributions are counts.
    """
    cells, of = _classes(np.unique(np.array(rows, np.int64), axis=0))
    many, firms = cells.shape[1], int(holding.max()) + 1
    part, present = np.zeros((firms, many)), np.zeros((firms, many), bool)
    np.add.at(part, (holding, of), size)
    present[holding, of] = True
    program = Program(cells, cells @ part.sum(axis=0), whole=whole)
    found = []
    for guard in guards:
        attackers = [None, *(range(firms) if guard.others else ())]
        for who in attackers:
            own = np.zeros(many) if who is None else part[who]
            alone = np.zeros(many, bool) if who is None else present[who] & (present.sum(axis=0) == 1)
            rest = part.sum(axis=0) - own
            low = own + (1 - guard.prior) * rest
            high = own + (1 + guard.prior) * rest if guard.prior < 1 else np.full(many, _FREE)
            program.bound(np.where(alone, own, low), np.where(alone, own, high))
            for victim, at in _victims(part, present, guard, who):
                cost = np.zeros(many)
                cost[at] = -1
                true = float(part[victim][:, at].sum())
                others = part[:, at].sum() - true - own[at].sum()
                most = -program.least(cost) - own[at].sum() - (1 - guard.prior) * others
                unit = float(part[victim][:, at].sum(axis=1).max())
                if most < true + guard.share * unit - 1e-6 * max(true, 1):
                    found.append((guard, victim, who, true, most))
    return found


def _victims(part, present, guard, who):
    """Return holdings, and the classes that they are in, who may not be known to somebody."""
    if not guard.fewest:
        for at in range(part.shape[1]):
            inside = np.flatnonzero(present[:, at] & (present.sum(axis=1) == 1))
            inside = inside[inside != who]
            if len(inside):
                yield [int(inside[part[inside, at].argmax()])], [at]
        for one in np.flatnonzero(present.sum(axis=1) > 1).tolist():
            if one != who:
                yield [one], np.flatnonzero(present[one]).tolist()
        return
    for at in range(part.shape[1]):
        inside = np.flatnonzero(present[:, at])
        if 0 < len(inside) < guard.fewest - (who is not None) and who not in inside:
            yield inside.tolist(), [at]


def chance_of_small(published, members, filled, table, threshold, *, most=4_000_000):
    """Return how likely an attacker holds the likeliest count below the threshold, of a cell or a difference of two.

    ``members`` are the atoms of each cell; every truth is listed, each as likely beforehand. None if they are too many.
    """
    atoms = max((max(one) for one in members if one), default=-1) + 1
    reach = table.deviation
    inside = np.array([[atom in one for atom in range(atoms)] for one in members])
    cap = [min(published[c] + reach for c in np.flatnonzero(inside[:, atom])) for atom in range(atoms)]
    if np.prod([c + 1.0 for c in cap]) > most:
        return None
    shape = np.array([c + 1 for c in cap])
    truth = np.stack([axis.ravel() for axis in np.meshgrid(*map(np.arange, shape), indexing="ij")])
    chances = np.array([_line(table, count) for count in range(table.last + 1)])
    weight = np.ones(truth.shape[1])
    counts = []
    for c, said in enumerate(published):
        count = truth[inside[c]].sum(axis=0)
        counts.append(count)
        change = said - count
        own = np.where(
            np.abs(change) <= reach, chances[np.minimum(count, table.last), np.clip(change, -reach, reach)], 0
        )
        for before in range(c):  # cells with the same records have the same noise
            apart = inside[c] != inside[before]
            same = (truth[apart].sum(axis=0) == 0) & (count > 0)
            own = np.where(same, float(published[before] == said), own)
        weight *= own
        if filled[c]:
            weight *= count > 0
    worst, total = 0.0, weight.sum()
    for a, b in itertools.product(range(len(members)), repeat=2):
        if a == b or (inside[b] <= inside[a]).all():
            few = counts[a] - (0 if a == b else counts[b])
            likely = np.bincount(few, weight)[1:threshold] / total
            worst = max(worst, float(likely.max(initial=0)))
    return worst


def _line(table, count):
    """Return the chance of each change of a count, that of change d at place d (from the end where d is below 0)."""
    found = np.zeros(2 * table.deviation + 1)
    shares = np.diff(table.upper[count], prepend=0.0)
    np.add.at(found, table.changes[count], shares)
    return found
