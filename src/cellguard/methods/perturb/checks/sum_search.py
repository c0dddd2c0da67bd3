"""The search for an unsafe sum: which combination of cells estimates one unit most closely, as an integer program.

For unit t in unknown g: whole c with c_g = 1 and |c_b| <= 1 that a combination of cells has, c = A'y, to

    minimise  sum of q W_b |c_b| - (p + q) Z_t - q (what a coalition K of n - 1 units contributes),

which is -need: below 0 the sum needs noise. K is part of the program: k_ub <= |c_b| and k_ub <= kappa_u say that b is
in the sum and u in K, the kappa add up to n - 1, and the program takes the largest by itself. Unknowns too large for
any sum that needs noise are left out beforehand.

Of sums and differences it is enough to look at those that hold no other: c is a sum of such, with no sign lost, and its
need is the sum of theirs. But the noise of several sets may cancel, so that sets (all signs 1) are searched with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.checks.judged import Judge
from cellguard.solver.program import Program, Status

Signs = dict[int, int]
_DUST = 1e-9  # coefficients that the solver drops
_TOLERANCE = 1e-7
_FEWER = 1e-6  # what an unknown costs besides, so that of equal sums the one with the fewest is found first


@dataclass(frozen=True, eq=False)
class Sums:
    """What cells give: combinations of the rows of ``matrix``, together with any of the ``free`` unknowns."""

    matrix: sp.csr_array
    free: BoolArray
    judge: Judge

    @cached_property
    def columns(self) -> sp.csr_array:
        """The unknowns by the rows."""
        return sp.csr_array(self.matrix.T.astype(float))

    @cached_property
    def singleton(self) -> FloatArray:
        """The largest contribution to each unknown by a unit that is in no other."""
        amounts, largest = self.judge.system.amounts, np.zeros(len(self.free))
        alone = np.flatnonzero(~self.judge.several[amounts.indices])
        np.maximum.at(largest, self.judge.unknown[alone], np.abs(amounts.data[alone]))
        return largest

    @cached_property
    def losses(self) -> FloatArray:
        """What each unknown costs at least in a sum about a unit outside of it."""
        return np.asarray(
            self.judge.rule.prior * (self.judge.system.size - self.judge.top(self.judge.rule.n - 1)), float
        )


class Search:
    """The sums about one unit that hold a certain unknown, both given as an entry of ``amounts``.

    With ``subsets`` the sums are sets of unknowns whose noise is not enough; else any that needs noise, with signs.
    """

    def __init__(self, sums: Sums, entry: int, *, subsets: bool) -> None:
        self.sums, self.judge, self.subsets = sums, sums.judge, subsets
        amounts = self.judge.system.amounts
        self.home, self.unit = int(self.judge.unknown[entry]), int(amounts.indices[entry])
        mine = np.flatnonzero(amounts.indices == self.unit)
        self.own = np.zeros(amounts.shape[0])
        self.own[self.judge.unknown[mine]] = amounts.data[mine] * np.sign(amounts.data[entry])
        self.scale = float(np.abs(self.own).sum())
        self.loss = sums.losses.copy()
        self.loss[self.judge.unknown[mine]] = -self.judge.gains[mine]

    @cached_property
    def unknowns(self) -> LongArray:
        """The unknowns that a sum that needs noise may hold: none costs more than all that there is to gain."""
        gain = float(np.maximum(-self.loss, 0.0).sum())
        fits = (self.loss < gain) & (self.sums.singleton <= self.scale)
        if not self.subsets:
            fits &= ~self.sums.free
        fits[self.home] = True
        return np.flatnonzero(fits).astype(np.int64)

    @property
    def quiet(self) -> bool:
        """Whether the unknown's own noise is enough, whatever is added to take it away."""
        noise = np.abs(self.judge.system.noise)
        others = self.unknowns[self.unknowns != self.home]
        taken = np.maximum(noise[others] - self.loss[others], 0.0).sum()
        return bool(noise[self.home] + self.loss[self.home] >= taken + _TOLERANCE * self.scale)

    def found(self, most: int, nodes: int) -> Iterator[Signs | None]:
        """Go through the sums, up to so many; None at the end if there may be more.

        Of sums with signs, none comes that holds one that came before.
        """
        program, columns = self._program()
        session = solver.open(program, presolve=True)
        session.limit_nodes(nodes)
        for _ in range(most):
            solution = session.solve()
            if solution.status is Status.infeasible:
                return
            if solution.status is not Status.optimal:
                break
            x = np.rint(solution.x)
            signs = x[columns.plus] - (0.0 if self.subsets else x[columns.minus])
            yield {int(b): int(s) for b, s in zip(self.unknowns, signs, strict=True) if s}
            session.add_rows(*self._without(columns, signs))
        yield None

    def _program(self) -> tuple[Program, _Columns]:
        """Return the program; its figures are shares of what the unit contributes in all."""
        judge, rule, system = self.judge, self.judge.rule, self.judge.system
        entries = self._coalition()
        at = _Columns(self.sums.matrix.shape[0], len(self.unknowns), self.subsets, entries, judge)
        size, own = rule.prior * system.size[self.unknowns], (rule.accuracy + rule.prior) * self.own[self.unknowns]
        cost = np.zeros(at.many)
        cost[at.plus] = (size - own) / self.scale
        if not self.subsets:
            cost[at.minus] = (size + own) / self.scale
        cost[at.known] = -rule.prior * np.abs(system.amounts.data[entries]) / self.scale
        cost[at.noise] = 1.0
        cost, slack = without_dust(cost)
        blocks = [
            (self._given(at), 0.0, 0.0),
            *((rows, -np.inf, 0.0) for rows in at.inside(np.searchsorted(self.unknowns, judge.unknown[entries]))),
            (at.sum_of(at.coalition), -np.inf, rule.n - 1.0),
            (sp.csr_array(cost[None, :]), -np.inf, _TOLERANCE + slack),
        ]
        if self.subsets:
            given = system.noise[self.unknowns] / self.scale
            noise, _ = without_dust(given)
            lost = float(np.abs(given - noise).sum())
            blocks += [(at.row(at.plus, sign * noise) + at.sum_of(at.noise), -lost, np.inf) for sign in (1.0, -1.0)]
        else:
            blocks.append((at.pairs(at.plus, at.minus), -np.inf, 1.0))
            cost[np.concatenate([at.plus, at.minus])] += _FEWER
        lower, upper = at.bounds(int(np.searchsorted(self.unknowns, self.home)))
        lengths = [block.shape[0] for block, _, _ in blocks]
        return Program(
            sp.csr_array(sp.vstack([block for block, _, _ in blocks], format="csr")),
            np.repeat([low for _, low, _ in blocks], lengths),
            np.repeat([high for _, _, high in blocks], lengths),
            lower,
            upper,
            np.zeros(at.many) if self.subsets else cost,
            at.whole,
        ), at

    def _coalition(self) -> LongArray:
        """Return the entries of ``amounts`` that a coalition may know: of each unknown the largest are enough."""
        amounts, judge = self.judge.system.amounts, self.judge
        here = np.zeros(amounts.shape[0], bool)
        here[self.unknowns] = judge.rule.n > 1
        large = judge.several[amounts.indices] | (judge.ranks < judge.rule.n)
        return np.flatnonzero(here[judge.unknown] & large & (amounts.indices != self.unit)).astype(np.int64)

    def _given(self, at: _Columns) -> sp.csr_array:
        """Return the rows A'y - c = 0 of all unknowns that are not free."""
        bound = ~self.sums.free
        chosen = np.zeros(len(bound), bool)
        chosen[self.unknowns] = True
        rows = np.flatnonzero(bound & (chosen | (np.diff(self.sums.columns.indptr) > 0)))
        inside = np.flatnonzero(chosen[rows])
        place = np.searchsorted(self.unknowns, rows[inside])
        minus = [] if self.subsets else [(at.minus[place], 1.0)]
        parts = [
            sp.csr_array((np.full(len(inside), sign), (inside, column)), shape=(len(rows), at.many))
            for column, sign in [(at.plus[place], -1.0), *minus]
        ]
        others = sp.csr_array((len(rows), at.many - self.sums.columns.shape[1]))
        return sp.csr_array(sum(parts, start=sp.csr_array(sp.hstack([self.sums.columns[rows], others]))))

    def _without(self, at: _Columns, signs: FloatArray) -> tuple[sp.csr_array, FloatArray, FloatArray]:
        """Return the row that rules a sum out: a set by itself, others with all sums that hold them."""
        chosen = signs != 0
        if self.subsets:
            row = at.row(at.plus, np.where(chosen, 1.0, -1.0))
        else:
            row = at.row(at.plus, (signs > 0).astype(float)) + at.row(at.minus, (signs < 0).astype(float))
        return sp.csr_array(row), np.array([-np.inf]), np.array([float(chosen.sum()) - 1])


class _Columns:
    """Where the variables of a program are: y, plus and minus parts of c, k, kappa, and the size of the noise.

    k belongs to entries of ``amounts``; only units that are in several unknowns have a kappa besides.
    """

    def __init__(self, rows: int, unknowns: int, subsets: bool, entries: LongArray, judge: Judge) -> None:
        unit = judge.system.amounts.indices[entries]
        self.shared = np.flatnonzero(judge.several[unit])
        units, self._kappa = np.unique(unit[self.shared], return_inverse=True)
        lengths = [rows, unknowns, 0 if subsets else unknowns, len(entries), len(units), int(subsets)]
        ends = np.cumsum(lengths)
        self.many = int(ends[-1])
        starts = ends - lengths
        self._y, self.plus, self.minus, self.known, self.knows, self.noise = (
            np.arange(a, b) for a, b in zip(starts, ends, strict=True)
        )
        self.coalition = np.concatenate([np.delete(self.known, self.shared), self.knows])

    @property
    def whole(self) -> BoolArray:
        """Which variables are whole numbers; those of the coalition then are so by themselves."""
        whole = np.zeros(self.many, bool)
        whole[self.plus] = whole[self.minus] = True
        return whole

    def bounds(self, home: int) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of all variables, the unknown with this number being in the sum."""
        lower, upper = np.zeros(self.many), np.ones(self.many)
        lower[self._y], upper[self._y], upper[self.noise] = -np.inf, np.inf, np.inf
        lower[self.plus[home]] = 1.0
        if len(self.minus):
            upper[self.minus[home]] = 0.0
        return lower, upper

    def inside(self, unknown: LongArray) -> Sequence[sp.csr_array]:
        """Return the rows k - |c| <= 0, given the unknown of each k, and k - kappa <= 0."""
        known = np.arange(len(self.known))
        return (
            self._cells(
                (known, self.known, 1.0), *((known, c[unknown], -1.0) for c in (self.plus, self.minus) if len(c))
            ),
            self._cells(
                (np.arange(len(self.shared)), self.known[self.shared], 1.0),
                (np.arange(len(self.shared)), self.knows[self._kappa], -1.0),
            ),
        )

    def pairs(self, one: LongArray, other: LongArray) -> sp.csr_array:
        """Return one row for the sum of each pair of variables."""
        return self._cells((np.arange(len(one)), one, 1.0), (np.arange(len(one)), other, 1.0))

    def sum_of(self, columns: LongArray) -> sp.csr_array:
        """Return the row that adds up some variables."""
        return self.row(columns, np.ones(len(columns)))

    def row(self, columns: LongArray, factors: FloatArray) -> sp.csr_array:
        """Return one row."""
        return sp.csr_array((factors, (np.zeros(len(columns), np.int64), columns)), shape=(1, self.many))

    def _cells(self, *entries: tuple[LongArray, LongArray, float]) -> sp.csr_array:
        parts = [np.full(len(row), factor) for row, _, factor in entries]
        place = tuple(np.concatenate([e[i] for e in entries]) for i in (0, 1))
        return sp.csr_array((np.concatenate(parts), place), shape=(len(entries[0][0]), self.many))


def without_dust(cost: FloatArray) -> tuple[FloatArray, float]:
    """Return figures without those that no solver takes for other than 0, and how much lower a sum of them may be.

    Sums that cancel leave such figures; with that slack no sum that needs noise is lost.

    >>> without_dust(np.array([0.5, 1e-17, -1e-12]))
    (array([0.5, 0. , 0. ]), 1e-12)
    """
    dust = np.abs(cost) <= _DUST
    return np.where(dust, 0.0, cost), float(-np.minimum(cost[dust], 0.0).sum())
