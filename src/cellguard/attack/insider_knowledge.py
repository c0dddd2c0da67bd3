"""What each respondent knows by itself of the unknown cells, and how far from them its estimates must stay.

Respondent h contributes y to cell c. So it knows that c is y or more, and c itself if nobody else is in it. (But not a
latent cell or a sum, which no table lists: nothing tells h that it is alone there.)

The largest other contributor s, with x, is protected from h if h cannot tell that x is less than (1 + p/100) x: the
cell must be able to move up by y + (1 + p/100) x - v, where v is its value, and down by as much, as far as h's own
bound lets it. Nobody but its only respondent may work out an unsafe cell exactly, so that each can at least move by
one unit. Counts have no amounts to protect: what an outsider must not find out about them, no respondent may.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.proofs.levels import Levels
from cellguard.proofs.problem import Grains, Problem
from cellguard.proofs.stack import Stack
from cellguard.protection import Requirements
from cellguard.table.contributions import NOBODY, Contributions

ANYBODY = NOBODY  # a respondent who is in none of the cells that matter
OUTSIDER = -2  # and somebody who is no respondent


@dataclass(frozen=True, eq=False)
class InsiderKnowledge:
    """Contributions to the unknown cells of a problem, in whole grains (rounded up: who knows more attacks better).

    ``start``, ``who`` and ``amount`` list them by cell, the largest first; ``by_start``, ``by_cell`` and ``by_amount``
    by insider. ``rest`` is the most that anybody contributes who is not listed, ``owner`` the only respondent, or -1.
    ``signed`` marks cells that may be negative: there a contribution bounds nothing, unless its cell has no other.
    ``unlisted`` marks cells that no table lists.
    """

    problem: Problem
    value: LongArray
    start: LongArray
    who: LongArray
    amount: LongArray
    rest: LongArray
    owner: LongArray
    told: BoolArray
    by_start: LongArray
    by_cell: Positions
    by_amount: LongArray
    accuracy: FloatArray
    unit: LongArray
    signed: BoolArray
    unlisted: BoolArray

    @cached_property
    def knowing(self) -> LongArray:
        """Who knows each cell: its only respondent, or -1."""
        return np.where(self.unlisted, NOBODY, self.owner)

    def contributors(self, cell: int) -> LongArray:
        """Return the listed contributors of a cell."""
        return self.who[self.start[cell] : self.start[cell + 1]]

    def known_to(self, insider: int) -> tuple[Positions, LongArray]:
        """Return the cells to which an insider is listed as a contributor, and its amounts."""
        if not 0 <= insider < len(self.by_start) - 1:
            return np.zeros(0, np.intp), np.zeros(0, np.int64)
        part = slice(self.by_start[insider], self.by_start[insider + 1])
        return self.by_cell[part], self.by_amount[part]

    def limits(self, insiders: LongArray) -> tuple[LongArray, LongArray]:
        """Return how far cells may go down and up from the view of each of some insiders: of all the narrowest."""
        down, up = self.floor.copy(), self.problem.up.copy()
        for insider in insiders.tolist():
            cells, amounts = self.known_to(insider)
            bounded = np.where(self.signed[cells], down[cells], np.maximum(self.value[cells] - amounts, 0))
            down[cells] = np.minimum(down[cells], bounded)
            alone = cells[self.knowing[cells] == insider]
            down[alone] = up[alone] = 0
        return down, up

    @cached_property
    def floor(self) -> LongArray:
        """How far down cells may go for every insider."""
        bounded = np.minimum(self.problem.down, np.maximum(self.value - self.rest, 0))
        return np.where(self.signed, self.problem.down, bounded)

    @cached_property
    def calm(self) -> LongArray:
        """How far down cells may go without anybody noticing: to the largest contribution."""
        calm = self.floor.copy()
        some = np.flatnonzero((np.diff(self.start) > 0) & ~self.signed)
        largest = self.amount[self.start[some]]
        calm[some] = np.minimum(calm[some], np.maximum(self.value[some] - largest, 0))
        calm[self.knowing >= 0] = 0
        return calm

    def notices(self, moves: Stack) -> list[LongArray]:
        """Return the insiders for whom each move is none: alone in a cell that moves, or with more than it leaves."""
        cells, number = moves.cells, moves.number
        alone = np.flatnonzero(self.knowing[cells] >= 0)
        pairs = [(number[alone], self.knowing[cells[alone]])]
        depth = -(moves.n // moves.denominator)  # rounded up
        watched = (self.knowing[cells] < 0) & ~self.signed[cells]
        deep = np.flatnonzero((moves.n < 0) & watched & (depth > self.calm[cells]))
        size = np.diff(self.start)[cells[deep]]
        entry = np.repeat(self.start[cells[deep]] - np.cumsum(size) + size, size) + np.arange(size.sum())
        more = self.amount[entry] > np.repeat((self.value[cells] - depth)[deep], size)
        pairs.append((np.repeat(number[deep], size)[more], self.who[entry][more]))
        first, who = (np.concatenate(part) for part in zip(*pairs, strict=True))
        span = int(who.max(initial=0)) + 1
        both = np.unique(first * span + who)
        return np.split(both % span, np.searchsorted(both, np.arange(1, len(moves)) * span)) if len(moves) else []

    def asked(self, cell: int, insiders: LongArray) -> Levels[LongArray]:
        """Return the protection levels of a cell against each of some insiders, none of whom is alone in it."""
        inside, outside = self.against(cell, *self.parties(cell, insiders)), self._outside(cell, len(insiders))
        outsider = insiders == OUTSIDER
        return Levels(
            np.where(outsider, outside.down, inside.down),
            np.where(outsider, outside.up, inside.up),
            np.where(outsider, outside.width, inside.width),
        )

    def _outside(self, cell: int, many: int) -> Levels[LongArray]:
        """Return the protection levels of a cell against outsiders, so many times."""
        return self.problem.levels.take(np.full(many, cell))

    def against(self, cell: int, own: LongArray, other: LongArray) -> Levels[LongArray]:
        """Return the protection levels of a cell against those who contribute ``own`` to it, the largest others being
        ``other``.
        """
        problem, outside = self.problem, self._outside(cell, len(own))
        if self.signed[cell] or not self.told[cell]:
            return outside
        room = np.maximum(self.value[cell] - own, 0)
        if problem.whole[cell]:
            return replace(outside, down=np.minimum(outside.down, room))
        level = self.level(cell, own, other)
        down = np.minimum(level, np.minimum(room, problem.down[cell]))
        up = np.minimum(level, problem.up[cell])
        return Levels(down, up, np.where(np.maximum(down, up) < self.unit[cell], self.unit[cell], 0))

    def level(self, cell: int, own: LongArray, other: LongArray) -> LongArray:
        """Return how far estimates of the largest others must be able to go, whatever the bounds of the cell."""
        return np.maximum(own + other + _shares(float(self.accuracy[cell]), other) - self.value[cell], 0)

    def shares(self, cells: Positions, amounts: LongArray) -> LongArray:
        """Return of an amount in each of some cells so many percent as estimates there must stay away."""
        shares, accuracy = np.zeros(len(cells), np.int64), self.accuracy[cells]
        for percent in np.unique(accuracy).tolist():
            these = accuracy == percent
            shares[these] = _shares(percent, amounts[these])
        return shares

    def most_asked(self, target: BoolArray, *, outsider: bool) -> tuple[LongArray, LongArray]:
        """Return how far up and down some cells must move at most, for any insider (and outsiders): the runner-up's."""
        problem, size = self.problem, np.diff(self.start)
        first, second = (_ranked(self, rank, size) for rank in (0, 1))
        level = first + np.maximum(second, self.rest) - self.value
        for accuracy in np.unique(self.accuracy[target]).tolist():
            these = np.flatnonzero(target & (self.accuracy == accuracy))
            level[these] += _shares(accuracy, first[these])
        plain = ~self.told | problem.whole | self.signed
        levels = problem.levels
        outside = np.maximum(levels.up, levels.width)
        up = np.where(plain, outside, np.clip(level, self.unit, np.maximum(problem.up, self.unit)))
        down = np.where(plain, levels.down, np.clip(level, 0, problem.down))
        if outsider:
            up, down = np.maximum(up, outside), np.maximum(down, levels.down)
        return np.where(target, up, 0), np.where(target, down, 0)

    def parties(self, cell: int, insiders: LongArray) -> tuple[LongArray, LongArray]:
        """Return what each insider contributes to a cell (at most), and what the largest other one does."""
        part = slice(self.start[cell], self.start[cell + 1])
        who, amount = self.who[part], self.amount[part]
        order = np.argsort(who, kind="stable")
        place = np.minimum(np.searchsorted(who[order], insiders), max(len(who) - 1, 0))
        listed = who[order][place] == insiders if len(who) else np.zeros(len(insiders), bool)
        own = np.where(listed, amount[order][place] if len(who) else 0, self.rest[cell])
        first = int(amount[0]) if len(who) else int(self.rest[cell])
        second = int(amount[1]) if len(who) > 1 else int(self.rest[cell])
        largest = int(who[0]) if len(who) else ANYBODY
        return own, np.where((insiders == largest) & (insiders >= 0), second, first)


def stand(problem: Problem, grains: Grains, needs: Requirements, known: Contributions) -> InsiderKnowledge:
    """Return what respondents know of the unknown cells of a problem."""
    cells, n = problem.cells, len(needs.tables)
    listed = np.flatnonzero(cells < n)
    at = cells[listed]
    scale = 10.0 ** grains.decimals[cells].astype(float)
    rest, owner, told = np.zeros(len(cells), np.int64), np.full(len(cells), NOBODY), np.zeros(len(cells), bool)
    rest[listed] = _grains(np.abs(known.rest[at]), scale[listed])
    owner[listed], told[listed] = known.owner[at], known.told[at]
    unlisted = np.zeros(len(cells), bool)
    unlisted[listed] = needs.tables.unlisted[at]
    size = np.zeros(len(cells), np.int64)
    size[listed] = np.diff(known.start)[at]
    start = np.concatenate([[0], np.cumsum(size)])
    entry = np.repeat(known.start[at] - start[listed], size[listed]) + np.arange(start[-1])
    behind = np.repeat(np.arange(len(cells)), size)
    who = known.insider[entry]
    amount = np.maximum(_grains(known.amount[entry], scale[behind]), 0)
    order = np.lexsort((behind, who))
    accuracy = np.zeros(len(cells))
    accuracy[listed] = needs.accuracy[at]
    return InsiderKnowledge(
        problem,
        grains.value[cells],
        start,
        who,
        amount,
        rest,
        owner,
        told,
        np.searchsorted(who[order], np.arange(int(who.max(initial=-1)) + 2)),
        behind[order],
        amount[order],
        accuracy,
        np.rint(needs.world.unit[cells] * scale).astype(np.int64),
        ~needs.world.never_negative[cells] & (needs.knowledge.lower < 0),
        unlisted,
    )


def _ranked(knowledge: InsiderKnowledge, rank: int, size: LongArray) -> LongArray:
    """Return the largest (0) or second largest (1) listed contribution to each cell, or what others have at most."""
    amounts = knowledge.rest.copy()
    some = np.flatnonzero(size > rank)
    amounts[some] = knowledge.amount[knowledge.start[some] + rank]
    return amounts


def _shares(accuracy: float, amounts: LongArray) -> LongArray:
    """Return so many percent of each amount, rounded up to whole grains."""
    top, bottom = _ratio(accuracy)
    if top >= 2**31 or bottom >= 2**31:
        return np.array([-(-amount * top // bottom) for amount in amounts.tolist()], np.int64)
    whole, part = np.divmod(amounts, bottom)
    return whole * top - (-part * top // bottom)


@cache
def _ratio(percent: float) -> tuple[int, int]:
    """Return a number of percent, as it is written, as a fraction."""
    share = Fraction(repr(percent)) / 100
    return share.numerator, share.denominator


def _grains(amount: FloatArray, scale: FloatArray) -> LongArray:
    """Return amounts in whole grains, rounded up but for what floating-point arithmetic added."""
    exact = amount * scale
    return np.ceil(exact - 1e-9 - 2.0**-52 * np.abs(exact)).astype(np.int64)
