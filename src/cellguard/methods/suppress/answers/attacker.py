"""What all answers of a value tell together, decided by linear programs over the records behind their cells.

Records that no published cell tells apart are one class. Somebody who sees all answers, and knows what some respondents
contributed, knows of the sums of the classes: those of the published cells, and a floor for each, which is the sum
itself where nobody else is in the class. Every respondent is looked at, whatever cycles the answers make and whether
any cell lists the class or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import NotProtected
from cellguard.inputs.shown.memory import Shown
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_SLACK = 1e-8  # of the largest sum
_KEPT = 40  # moves that may serve further victims
_HIGH = 1e3  # times the largest sum: more than anything that must be possible
Classes = npt.NDArray[np.intp]


def refuse_unlike(shown: Shown, value: FloatArray) -> None:
    """Refuse a table of which a published cell is not known as a sum of records: nothing is told unless all is seen."""
    seen = set()
    for part in shown.parts:
        inside = part.label >= 0
        sums = np.bincount(part.label[inside], value[inside], len(part.cell))
        same = np.isclose(sums, shown.table.value[part.cell], rtol=1e-9, atol=1e-9)
        seen |= set(part.cell[part.shown & same].tolist())
    if not seen.issuperset(np.flatnonzero(shown.status == "published").tolist()):
        raise NotProtected("the records behind some cells do not add up to them; use `cellguard protect`")


@dataclass(frozen=True)
class _Need:
    """How closely, as a share of it, nobody may come to a contribution, if ``others`` pool what they know.

    Everybody knows the contributions to within ``prior`` of them. With ``width``, what so many respondents have
    together must stay open, to those who know nothing beforehand.
    """

    others: int
    share: float
    prior: float = 1.0
    width: int | None = None


@dataclass(frozen=True, eq=False)
class _Knowledge:
    """What somebody has of each class (``floors``), and the classes that nobody else is in (``alone``)."""

    floors: FloatArray
    alone: BoolArray


def in_danger(
    shown: Sequence[Shown],
    value: FloatArray,
    holding: Classes,
    rules: Sequence[Rule],
    together: int,
    run: Run,
    *,
    counts: bool = False,
) -> list[BoolArray]:
    """Return sets of records whose contributions all answers tell too closely; ``value`` are those of the records.

    ``together`` is how many respondents may pool what they know.
    """
    class_of, cells = _classes(shown)
    size = cells.shape[1]
    sums = np.bincount(class_of, value, size)
    scale = max(float(sums.max(initial=0)), 1e-9)
    parts = _Parts(class_of, holding, value / scale, _unit(shown, value) / scale)
    attack = _Attack(cells, sums / scale, run)
    try:
        return [
            np.isin(class_of, victim.at)
            for need in _needs(rules, together, counts=counts)
            for victim in parts.victims(need)
            if not attack.stands(victim, parts, need)
        ]
    finally:
        attack.close()


def _needs(rules: Sequence[Rule], together: int, *, counts: bool) -> list[_Need]:
    found = []
    for rule in rules:
        if rule.fewest is not None:
            share = 1.0 if counts else rule.accuracy / 100
            found += [_Need(rule.fewest - 1 - width, share, width=width) for width in range(1, rule.fewest)]
        elif rule.noise is None:
            found.append(_Need(max(1, together), rule.accuracy / 100))
        else:
            others = rule.noise.n - 1
            found.append(_Need(max(others, together) if others else 0, rule.noise.accuracy, rule.noise.prior))
    return list(dict.fromkeys(found))


def _unit(shown: Sequence[Shown], value: FloatArray) -> float:
    """Return the last digit of what is published, if every record is a multiple of it; 0 if not."""
    decimals = max((one.table.decimals for one in shown), default=0)
    return float(10.0**-decimals) if np.allclose(value, np.round(value, decimals), rtol=0, atol=1e-9) else 0.0


def _classes(shown: Sequence[Shown]) -> tuple[Classes, BoolArray]:
    """Return the class of each record, and for each published sum the classes that it holds."""
    labels = []
    for one in shown:
        labels += [
            np.where((part.label >= 0) & part.shown[np.maximum(part.label, 0)], part.label, -1) for part in one.parts
        ]
    unlike, class_of = np.unique(np.array(labels), axis=1, return_inverse=True)
    rows = [row == label for row in unlike for label in np.unique(row[row >= 0])]
    cells = np.unique(np.array(rows, bool).reshape(-1, unlike.shape[1]), axis=0)
    return class_of.reshape(-1), cells if len(cells) else np.zeros((1, unlike.shape[1]), bool)


@dataclass(frozen=True, eq=False)
class _Victim:
    """The classes of a contribution, whose it is (-1: a whole class), its value, and how much larger it must look."""

    at: Classes
    holding: int
    value: float
    room: float


class _Parts:
    """What each holding has in each class, largest first within a class; ``unit`` is the least that matters."""

    def __init__(self, class_of: Classes, holding: Classes, value: FloatArray, unit: float) -> None:
        pairs, of = np.unique(np.stack([class_of, holding], axis=1), axis=0, return_inverse=True)
        of_pair = np.asarray(np.bincount(of.reshape(-1), value, len(pairs)), float)
        order = np.lexsort((-of_pair, pairs[:, 0]))
        self._class, self._holding, self._value = pairs[order, 0], pairs[order, 1], of_pair[order]
        self._starts = np.flatnonzero(np.diff(self._class, prepend=-1))
        self._counts = np.diff(self._starts, append=len(self._class))
        self._unit = unit
        names, many = np.unique(self._holding, return_counts=True)
        self._several = [np.flatnonzero(self._holding == one) for one in names[many > 1].tolist()]
        rank = np.arange(len(self._class)) - np.repeat(self._starts, self._counts)
        self._able = np.union1d(self._holding[rank < 2], names[many > 1])

    def victims(self, need: _Need) -> Iterator[_Victim]:
        """Return whom to look at; the others of a class are safer than its largest."""
        if need.width is not None:
            yield from self._groups(need, need.width)
            return
        for parts in [*(np.array([start]) for start in self._starts.tolist()), *self._several]:
            yield self._victim(self._class[parts], int(self._holding[parts[0]]), self._value[parts], need.share)

    def _groups(self, need: _Need, width: int) -> Iterator[_Victim]:
        """Return the classes, and those of one holding, in which there are so many respondents."""
        for at in np.flatnonzero(self._counts == width).tolist():
            own = self._value[self._starts[at] : self._starts[at] + width]
            yield self._victim(self._class[[self._starts[at]]], -1, own, need.share)
        for parts in self._several:
            inside = np.isin(self._class, self._class[parts])
            if len(np.unique(self._holding[inside])) == width:
                yield self._victim(self._class[parts], -1, self._value[inside], need.share)

    def _victim(self, at: Classes, holding: int, value: FloatArray, share: float) -> _Victim:
        """Return a victim; a whole class must leave its largest contribution open."""
        largest = float(value.max() if holding < 0 else value.sum())
        room = max(share * largest, self._unit) if largest > 0 else 0.0
        return _Victim(at, holding, float(value.sum()), room)

    def all_known(self, victim: _Victim, others: int) -> _Knowledge:
        """Return what any so many others know of each class: what its largest others have."""
        other = self._others(victim)
        before = np.cumsum(other) - other
        rank = before - np.repeat(before[self._starts], self._counts)
        return self._known(other & (rank < others))

    def known(self, victim: _Victim, world: FloatArray | None, sums: FloatArray) -> Iterator[_Knowledge]:
        """Return what each single other knows of each class; smaller ones of a class know less.

        Of those in other classes than the victim only they are looked at who know that a ``world`` is not so, if one is
        given.
        """
        theirs = self._others(victim)
        some = theirs & np.isin(self._holding, self._able)
        if world is not None:
            here = world[self._class]
            alone = np.repeat(self._counts == 1, self._counts)
            know = (here < self._value - _SLACK) | (alone & (np.abs(here - sums[self._class]) > _SLACK))
            some &= know | np.isin(self._class, victim.at)
        for one in np.unique(self._holding[some]).tolist():
            yield self._known((self._holding == one) & theirs)

    def _others(self, victim: _Victim) -> BoolArray:
        """Return the parts of those who are not the victim."""
        if victim.holding < 0:
            return np.isin(self._holding, self._holding[np.isin(self._class, victim.at)], invert=True)
        return np.asarray(self._holding != victim.holding, bool)

    def _known(self, those: BoolArray) -> _Knowledge:
        many = len(self._starts)
        floors = np.asarray(np.bincount(self._class[those], self._value[those], many), float)
        return _Knowledge(floors, np.asarray(np.bincount(self._class[those], minlength=many) == self._counts, bool))


class _Attack:
    """The linear system of what is published, and how large a contribution may be in it."""

    def __init__(self, cells: BoolArray, sums: FloatArray, run: Run) -> None:
        matrix = sp.csr_array(cells.astype(float))
        told, zero = matrix @ sums, np.zeros(len(sums))
        self._sums, self._run, self._every = sums, run, np.arange(len(sums))
        high = np.full(len(sums), _HIGH)
        self._nothing = _Knowledge(zero, np.zeros(len(sums), bool))
        self._moves: deque[FloatArray] = deque(maxlen=_KEPT)
        self._session = solver.open(Program(matrix, told, told, zero, high, zero), run=run)

    def close(self) -> None:
        """Give the solver back."""
        self._session.close()

    def stands(self, victim: _Victim, parts: _Parts, need: _Need) -> bool:
        """Return whether a contribution may be as large as it must, whatever ``need.others`` pool."""
        prior, others = need.prior, need.others
        if others > 1:  # of coalitions only what suffices for all of them is looked at
            return self._possible(victim, parts.all_known(victim, others), prior) is not None
        world = self._seen_before(victim) if prior >= 1 else None
        if world is None:
            outside = self._possible(victim, self._nothing, prior)
            if outside is None:
                return False
            world = self._towards(victim, outside - self._sums) if prior >= 1 else None
        return not others or all(
            self._possible(victim, known, prior) is not None for known in parts.known(victim, world, self._sums)
        )

    def _seen_before(self, victim: _Victim) -> FloatArray | None:
        """Return sums that fit what is published and make the contribution large enough, by a move found before."""
        found = (self._towards(victim, move) for move in reversed(self._moves))
        return next((world for world in found if world is not None), None)

    def _towards(self, victim: _Victim, move: FloatArray) -> FloatArray | None:
        """Return the sums so far along a move, or against it, that the contribution is just large enough."""
        way = float(move[victim.at].sum())
        lacking = max(self._most(victim, self._nothing, 1.0) - float(self._sums[victim.at].sum()), 0.0)
        if lacking and abs(way) < _SLACK:
            return None
        world = self._sums + (lacking / way if lacking else 0.0) * move
        return world if (world >= -_SLACK).all() and (world <= _HIGH).all() else None

    def _range(self, known: _Knowledge, prior: float) -> tuple[FloatArray, FloatArray]:
        """Return between what the sums of the classes are for somebody who knows some parts, and the rest roughly."""
        rest = np.maximum(self._sums - known.floors, 0.0)
        low = self._sums - prior * rest
        high = self._sums + prior * rest if prior < 1 else np.full(len(rest), _HIGH)
        return low, np.where(known.alone, self._sums, high)

    def _most(self, victim: _Victim, known: _Knowledge, prior: float) -> float:
        """Return how large the classes of the victim must be able to be."""
        true = float(self._sums[victim.at].sum())
        others = true - victim.value - float(known.floors[victim.at].sum())
        return true + victim.room - prior * others

    def _possible(self, victim: _Victim, known: _Knowledge, prior: float) -> FloatArray | None:
        """Return sums that fit what is published and known, and make the contribution large enough; None if none do."""
        self._run.check()
        cost = np.zeros(len(self._sums))
        cost[victim.at] = -1.0
        low, high = self._range(known, prior)
        self._session.set_cost(self._every, cost)
        self._session.set_bounds(self._every, np.minimum(low, self._sums), high)
        found = self._session.solve()
        if found.status is Status.stopped:
            found = self._session.solve_afresh()
        if found.status is not Status.optimal or -found.objective < self._most(victim, known, prior) - _SLACK:
            return None
        self._moves.append(found.x - self._sums)
        return found.x
