"""What all answers of a value tell together, decided by linear programs over the records behind their cells.

Records that no published cell tells apart are one class. Somebody who sees all answers, and knows what some respondents
contributed, knows of the sums of the classes: those of the published cells, and a floor for each. Every respondent
is looked at, whatever cycles the answers make and whether any cell lists the class or not.
"""

from __future__ import annotations

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

    With ``fewest``, only classes of fewer respondents are looked at, from outside.
    """

    others: int
    share: float
    fewest: int | None = None


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
    parts = _Parts(class_of, holding, value / scale)
    attack = _Attack(cells, sums / scale, run)
    try:
        return [
            np.isin(class_of, victim.at)
            for need in _needs(rules, together, counts=counts)
            for victim in parts.victims(need)
            if not attack.stands(victim, parts, need.others)
        ]
    finally:
        attack.close()


def _needs(rules: Sequence[Rule], together: int, *, counts: bool) -> list[_Need]:
    found = []
    for rule in rules:
        if rule.fewest is not None:
            found.append(_Need(0, 1.0 if counts else rule.accuracy / 100, rule.fewest))
        elif rule.noise is None:
            found.append(_Need(max(1, together), rule.accuracy / 100))
        else:
            others = rule.noise.n - 1
            found.append(_Need(max(others, together) if others else 0, rule.noise.accuracy))
    return list(dict.fromkeys(found))


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
    """The classes of a contribution, whose it is (-1: of a whole class), and how large their sum must look possible."""

    at: Classes
    holding: int
    least: float


class _Parts:
    """What each holding has in each class, largest first within a class."""

    def __init__(self, class_of: Classes, holding: Classes, value: FloatArray) -> None:
        pairs, of = np.unique(np.stack([class_of, holding], axis=1), axis=0, return_inverse=True)
        of_pair = np.asarray(np.bincount(of.reshape(-1), value, len(pairs)), float)
        order = np.lexsort((-of_pair, pairs[:, 0]))
        self._class, self._holding, self._value = pairs[order, 0], pairs[order, 1], of_pair[order]
        self._starts = np.flatnonzero(np.diff(self._class, prepend=-1))
        self._counts = np.diff(self._starts, append=len(self._class))
        names, many = np.unique(self._holding, return_counts=True)
        self._several = names[many > 1]

    def victims(self, need: _Need) -> Iterator[_Victim]:
        """Return whom to look at; the others of a class are safer than its largest."""
        if need.fewest is not None:
            for start in self._starts[self._counts < need.fewest].tolist():
                total = float(self._value[self._class == self._class[start]].sum())
                yield _Victim(self._class[[start]], -1, total + need.share * float(self._value[start]))
            return
        several = [np.flatnonzero(self._holding == one) for one in self._several.tolist()]
        for parts in [*(np.array([start]) for start in self._starts.tolist()), *several]:
            least = (1 + need.share) * float(self._value[parts].sum())
            yield _Victim(self._class[parts], int(self._holding[parts[0]]), least)

    def all_known(self, victim: _Victim, others: int) -> FloatArray:
        """Return what any so many others know of each class: what its largest others have."""
        other = self._holding != victim.holding
        before = np.cumsum(other) - other
        rank = before - np.repeat(before[self._starts], self._counts)
        return self._floors(other & (rank < others))

    def known(self, victim: _Victim) -> Iterator[FloatArray]:
        """Return what each single other knows of each class; smaller ones of a class know less."""
        rank = np.arange(len(self._class)) - np.repeat(self._starts, self._counts)
        able = np.union1d(self._holding[rank < 2], self._several)
        for one in able[able != victim.holding].tolist():
            yield self._floors(self._holding == one)

    def _floors(self, those: BoolArray) -> FloatArray:
        return np.asarray(np.bincount(self._class[those], self._value[those], len(self._starts)), float)


class _Attack:
    """The linear system of what is published, and how large a contribution may be in it."""

    def __init__(self, cells: BoolArray, sums: FloatArray, run: Run) -> None:
        matrix = sp.csr_array(cells.astype(float))
        told, zero = matrix @ sums, np.zeros(len(sums))
        self._sums, self._run, self._every = sums, run, np.arange(len(sums))
        self._high = np.full(len(sums), _HIGH)
        self._session = solver.open(Program(matrix, told, told, zero, self._high, zero), run=run)

    def close(self) -> None:
        """Give the solver back."""
        self._session.close()

    def stands(self, victim: _Victim, parts: _Parts, others: int) -> bool:
        """Return whether a contribution may be as large as it must, whatever ``others`` pool."""
        if others and self._possible(victim, parts.all_known(victim, others)) is not None:
            return True
        outside = self._possible(victim, np.zeros(len(self._sums)))
        if others != 1 or outside is None:
            return outside is not None and not others  # of coalitions only what suffices for all of them is looked at
        return all(
            self._shown_by(outside, victim, known) or self._possible(victim, known) is not None
            for known in parts.known(victim)
        )

    def _shown_by(self, point: FloatArray, victim: _Victim, known: FloatArray) -> bool:
        """Return whether a point between the truth and another shows that somebody who knows more is held off, too."""
        true = float(self._sums[victim.at].sum())
        need = victim.least + float(known[victim.at].sum()) - true
        way = float(point[victim.at].sum()) - true
        if way <= 0 or need > way:
            return False
        between = self._sums + max(need / way, 0.0) * (point - self._sums)
        return bool((between >= known - _SLACK).all())

    def _possible(self, victim: _Victim, known: FloatArray) -> FloatArray | None:
        """Return sums that fit what is published and known, and make the contribution large enough; None if none do."""
        self._run.check()
        cost = np.zeros(len(self._sums))
        cost[victim.at] = -1.0
        self._session.set_cost(self._every, cost)
        self._session.set_bounds(self._every, np.minimum(known, self._sums), self._high)
        found = self._session.solve()
        if found.status is Status.stopped:
            found = self._session.solve_afresh()
        least = victim.least + float(known[victim.at].sum())
        return found.x if found.status is Status.optimal and -found.objective >= least - _SLACK else None
