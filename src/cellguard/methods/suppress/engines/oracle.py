"""The exact oracle: which targets does a pattern not serve, and a cut over all cells for each of them.

Pooled programs serve most targets at once. What they leave is looked at one by one: in programs of what is near it, and
where these do not decide, in the whole suppressed system, warm from one to the next. The duals are lifted to cuts that
every safe pattern satisfies. Where the suppressed system is very large, single programs take minutes: pools are then of
blocks of it and, after that, of ever fewer targets, which hinder each other less; flows serve the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines.blockwise import serve_by_blocks
from cellguard.methods.suppress.engines.component_probe import ComponentProbes
from cellguard.methods.suppress.engines.coverage import ENOUGH, Coverage
from cellguard.methods.suppress.engines.cuts import Cut
from cellguard.methods.suppress.engines.hidden_system import HiddenSystem
from cellguard.methods.suppress.engines.local_oracle import Near, Refuted, Witnessed
from cellguard.methods.suppress.engines.propagation import Propagation
from cellguard.methods.suppress.engines.propagation_kernel import DOWN, UP, WIDTH
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.pool import is_vast, pooled_moves
from cellguard.proofs.scale import decades
from cellguard.run_context import Run


@dataclass(frozen=True, eq=False)
class Look:
    """What the oracle saw: ``open`` targets that are not known to be served, and the ``cuts`` that say why."""

    open: LongArray
    cuts: list[Cut]


@dataclass(frozen=True, eq=False)
class Shares:
    """What each of some cells could add to a target, as a share of its protection level; all others add nothing."""

    cells: Positions
    share: FloatArray

    def plus(self, other: Shares) -> Shares:
        """Return the sums of both."""
        cells, place = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        share = np.bincount(place, np.concatenate([self.share, other.share]), len(cells))
        return Shares(cells, np.asarray(share, float))


class Oracle:
    """Looks at patterns of one system; ``work`` counts simplex iterations times the rows of their programs."""

    def __init__(self, propagation: Propagation) -> None:
        self.propagation = propagation
        self.system: System = propagation.system
        self.policy = self.system.policy
        self.work = 0.0
        self.vast = False  # whether the suppressed system last looked at is
        self._last: tuple[Positions, FloatArray] = np.zeros(0, np.intp), np.zeros(0)

    def unproven(
        self,
        hidden: BoolArray,
        run: Run,
        *,
        among: LongArray | None = None,
        patience: int = 2,
        split: bool = False,
        rough: bool = False,
    ) -> LongArray:
        """Return the targets that pooled moves do not serve; single programs might still serve them.

        Suppressing more never takes a witness away, so after that only those open before need be looked at: ``among``.
        With ``split`` pools of a very large system are of ever fewer targets, since no single program looks at what
        they leave. ``rough`` pools are of moves that go both ways, which takes a fifth of the time.
        """
        served = Coverage(self.propagation)
        if among is not None:
            served.said[:] = True
            served.said[among] = False
        classes = HiddenSystem(self.system, self.propagation.graph, hidden)
        return np.flatnonzero(~self._pooled(classes, served, run, patience, split, rough))

    @property
    def pool_worth(self) -> float:
        """How many targets a pooled program must serve to be quicker than programs of what is near each of them.

        Only in two dimensions do these decide nearly all.
        """
        targets = len(self.propagation.goals.cell)
        return max(self.policy.pooled_worth, self.policy.pooled_flat * targets if self.system.is_flat else 0)

    def is_large(self, hidden: BoolArray) -> bool:
        """Return whether the suppressed system is so large that only programs of what is near a protection level are
        quick.
        """
        return HiddenSystem(self.system, self.propagation.graph, hidden).matrix.shape[0] > self.policy.large_rows

    def is_vast(self, hidden: BoolArray) -> bool:
        """Return whether the suppressed system is so large that single programs of all of it take minutes."""
        self.vast = is_vast(HiddenSystem(self.system, self.propagation.graph, hidden).matrix)
        return self.vast

    def _pooled(
        self, classes: HiddenSystem, served: Coverage, run: Run, patience: int, split: bool, rough: bool
    ) -> BoolArray:
        rng = np.random.default_rng(1)
        self.vast = is_vast(classes.matrix)
        both, worth = np.minimum(classes.up, classes.down), self.pool_worth
        ways = [(both, both)] if rough else [(both, both), (classes.up, classes.down)]
        if split and self.vast:
            serve_by_blocks(classes, served, lambda: self._wanted(classes, served, *ways[-1], rng), run)
            del ways[0]
        for up, down in ways:
            idle, most, halving = 0, len(classes.roots), split and self.vast and up is not both
            while idle < patience:
                run.check()
                before = int((~served.mask()).sum())
                columns, amounts = self._wanted(classes, served, up, down, rng)
                if most < len(columns):
                    some = np.sort(rng.choice(len(columns), most, replace=False))
                    columns, amounts = columns[some], amounts[some]
                self.work += float(min(classes.matrix.shape[0], self.policy.dense_rows)) * len(columns)
                for group in decades(np.abs(amounts)):
                    if len(group) < worth:
                        continue
                    moves = pooled_moves(
                        classes.matrix, down, up, columns[group], amounts[group], interior=self.vast, run=run
                    )
                    if moves is not None:
                        served.credit_both(classes.expand(moves))
                left = int((~served.mask()).sum())
                if not len(columns) or not left:
                    break
                run.left(left, len(served.said), "protection levels left to prove")
                run.check()
                if (
                    halving
                    and before - left < self.policy.pooled_share * len(columns)
                    and len(columns) > self.policy.pooled_few
                ):
                    most = len(columns) // 2
                    continue
                asked = len(columns) if halving else before
                idle = idle + 1 if before - left < max(0.05 * asked, worth) else 0
                if up is both and worth > self.policy.pooled_worth:
                    break  # the next one gains more with all of the room
        return served.mask()

    def _wanted(
        self, classes: HiddenSystem, served: Coverage, up: FloatArray, down: FloatArray, rng: np.random.Generator
    ) -> tuple[Positions, FloatArray]:
        """Return a class for each that has open targets, and an amount: the largest need in a direction by chance."""
        goals = self.propagation.goals
        open_ = np.flatnonzero(~served.mask() & (classes.place[goals.cell] >= 0))
        column, kind = classes.place[goals.cell[open_]], goals.kind[open_]
        amount = goals.need[open_] / classes.ratio[goals.cell[open_]] * np.where(kind == DOWN, -1.0, 1.0)
        column = np.concatenate([column, column[kind == WIDTH]])
        amount = np.concatenate([amount, -amount[kind == WIDTH]])
        fits = np.abs(amount) <= np.where(amount > 0, up[column], down[column]) * (1 + 1e-9)
        column, amount = column[fits], amount[fits]
        toss = rng.random(len(classes.roots)) < 0.5
        # The direction that the toss wants comes first, then the largest amount.
        order = np.lexsort((-np.abs(amount), (amount > 0) != toss[column], column))
        first = np.r_[True, column[order][1:] != column[order][:-1]] if len(order) else np.zeros(0, bool)
        return column[order][first], amount[order][first]

    def look(
        self, hidden: BoolArray, targets: LongArray, run: Run, *, allowed: float = np.inf, rough: bool = False
    ) -> Look:
        """Probe these targets: return those not served, and violated cuts for them.

        Those that are not looked at any more, because the work allowed is used up, count as not served. In a ``rough``
        look those count as served that the relations near them do not refute.
        """
        end = self.work + allowed
        goals, classes = self.propagation.goals, HiddenSystem(self.system, self.propagation.graph, hidden)
        served = Coverage(self.propagation)
        served.said[:] = True
        served.said[targets] = False
        probes = ComponentProbes(classes, goals.cell[targets], run)
        large = classes.matrix.shape[0] > self.policy.near_worth * self.policy.near_rows[0]
        near = Near(classes, run) if large else None
        cuts: dict[tuple[bytes, bytes], Cut] = {}
        refuted: set[int] = set()
        for number, target in enumerate(targets[np.lexsort((goals.cell[targets], goals.kind[targets]))].tolist()):
            run.check()
            if served.has(target):
                continue
            if self.work > end:
                break
            if target in refuted:
                continue
            own = self._weigh(probes, near, target, served, rough)
            if own is None:
                served.said[target] = True
                continue
            for number_, shares in [(target, own), *self._also(hidden, target, targets, refuted)]:
                refuted.add(number_)
                cut = self._cut(shares)
                if cut is not None:
                    cuts[cut.key()] = cut
            if number % 50 == 0:
                run.tell(f"{len(targets) - number:,} protection levels to look at")
                run.check()
        self.work += near.work if near else 0.0
        return Look(np.flatnonzero(~served.mask()), list(cuts.values()))

    def _weigh(
        self, probes: ComponentProbes, near: Near | None, target: int, served: Coverage, rough: bool
    ) -> Shares | None:
        """Return what each cell could add to a target, or None if it is served."""
        goals = self.propagation.goals
        cell, kind, need = int(goals.cell[target]), int(goals.kind[target]), float(goals.need[target])
        reached, shares = 0.0, Shares(np.zeros(0, np.intp), np.zeros(0))
        for upward in (True, False) if kind == WIDTH else (kind == UP,):
            verdict = near.decide(cell, upward, need, rough=rough) if near and kind != WIDTH else None
            if rough and verdict is None and probes.classes.place[cell] >= 0:
                return None
            if isinstance(verdict, Witnessed):
                served.credit_both(verdict.moves, verdict.cells)
                return None
            refuted, reach = (verdict, 0.0) if verdict else self._probed(probes, cell, upward, need, served)
            reached += reach / need
            if reached >= ENOUGH:
                return None
            self._last = probes.classes.lift(cell, upward, refuted.rows, refuted.multipliers)
            shares = shares.plus(self._shares(cell, upward, need, *self._last))
        return shares

    def _probed(
        self, probes: ComponentProbes, cell: int, upward: bool, need: float, served: Coverage
    ) -> tuple[Refuted, float]:
        """Return what keeps a cell from moving further by the program of all relations, and how far it goes."""
        if probes.classes.place[cell] < 0:
            return Refuted(np.zeros(0, np.intp), np.zeros(0)), 0.0
        probe = probes.of(cell, need)
        moves, reach, rows, multipliers = probe.probe(cell, upward, need)
        self.work += float(probe.iterations) * min(probe.height, self.policy.dense_rows)
        if moves is not None:
            served.credit(moves)
        return Refuted(rows, multipliers), reach

    def _also(
        self, hidden: BoolArray, target: int, targets: LongArray, refuted: set[int]
    ) -> Iterator[tuple[int, Shares]]:
        """Go through other targets that the same relation refutes: d_p = z d gives d_q = (d_p - the rest) / z_q."""
        goals, (cells, z), cell = self.propagation.goals, self._last, int(self.propagation.goals.cell[target])
        if goals.kind[target] == WIDTH:
            return
        place = np.minimum(np.searchsorted(cells, goals.cell[targets]), len(cells) - 1)
        share = np.where(cells[place] == goals.cell[targets], z[place], 0.0)
        near = np.flatnonzero((np.abs(share) > 1e-6) & (goals.kind[targets] != WIDTH))
        rest = np.where(cells == cell, 1.0, 0.0) - z
        for number in near[: self.policy.shared].tolist():
            other = int(targets[number])
            q, upward = int(goals.cell[other]), goals.kind[other] == UP
            if other in refuted or q == cell:
                continue
            turned = np.where(cells == q, 0.0, rest / share[number])
            shares = self._shares(q, bool(upward), float(goals.need[other]), cells, turned)
            if np.minimum(shares.share[hidden[shares.cells]], 1.0).sum() < 1.0 - 1e-6:
                yield other, shares

    def _shares(self, cell: int, upward: bool, need: float, cells: Positions, z: FloatArray) -> Shares:
        """Return |q| room / need from d_cell = q d; the cell's own room where it cancels out."""
        own = 1.0 - float(z[cells == cell].sum())
        if abs(own) < 1e-6:
            return Shares(np.arange(self.system.n), np.ones(self.system.n))
        q = (z if upward else -z) / own
        room = np.where(q > 0, self.system.up[cells], self.system.down[cells])
        some = (np.abs(q) >= 1e-9) & (cells != cell) & (room > 0)
        return Shares(cells[some], np.abs(q[some]) * room[some] / need)

    def _cut(self, shares: Shares) -> Cut | None:
        """Return the cut, or None if cells that are suppressed anyway satisfy it (then numbers were not exact
        enough).
        """
        system, cells, share = self.system, shares.cells, np.minimum(shares.share, 1.0)
        right = 1.0 - share[system.hidden[cells]].sum()
        if right <= 1e-6:
            return None
        free = (share > 1e-7) & ~system.hidden[cells] & ~system.never[cells]
        return Cut(cells[free], np.minimum(share[free] / right, 1.0))
