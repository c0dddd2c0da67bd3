"""How far an attacker's interval of each unsafe cell reaches: worlds that fit everything released, by programs.

A *world* is one vector of numbers over the combinations for each response. Each world that turns up serves all goals
that it reaches; the rest get programs of their own: first one linear program for the goal's response alone, and if its
answer is not whole, or does not fit the other responses, one integer program for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fuzz.programs import Program, Undecided
from fuzz.worlds import Facts

DUST = 1e-6
World = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Goal:
    """A cell that must be uncertain: ``lower`` below and ``upper`` above its value, and ``sliding`` in all.

    ``kind`` is what it is: a `cell` that a table lists, a `sum` of suppressed cells, a `latent` cell, or a cell of the
    `rest` that is left when one population is subtracted from another.
    """

    name: str
    response: str
    cell: np.ndarray = field(repr=False)
    value: float
    lower: float
    upper: float
    sliding: float
    kind: str = "cell"


@dataclass(frozen=True)
class Disclosure:
    """A cell whose interval does not reach what it needs."""

    goal: Goal
    least: float
    most: float

    @property
    def how(self) -> str:
        """How well it is known: exactly, within the protection level, too well on one side, or too narrow in all."""
        g, dust = self.goal, DUST * max(1.0, abs(self.goal.value))
        if self.most - self.least <= dust:
            return "exactly"
        low, high = self.least > g.value - g.lower + dust, self.most < g.value + g.upper - dust
        return "within" if low and high else "from below" if low else "from above" if high else "narrow"

    def __str__(self) -> str:
        g = self.goal
        need = f"-{g.lower:g} +{g.upper:g}" + (f", {g.sliding:g} wide" if g.sliding else "")
        told = f"attacker's interval [{self.least:g}, {self.most:g}], needs {need}"
        return f"{g.kind} {g.name} = {g.value:g}: {told} ({self.how})"


class Contradiction(Exception):
    """The true records do not fit what was released: a number is wrong, or the oracle is."""


class Attack:
    """All worlds that fit the facts; ``truth`` is one of them."""

    def __init__(self, facts: Facts, truth: World) -> None:
        self.facts = facts
        self.truth = truth
        self.size = len(next(iter(truth.values())))
        self.cap = {name: 20 * np.abs(w).sum() + 1000 for name, w in truth.items()}
        self._programs: dict[object, Program] = {}
        self._check()

    def _check(self) -> None:
        for name, rows in self.facts.sums.items():
            w = self.truth[name]
            sums = rows.matrix @ w
            fits = (sums >= rows.lower - DUST) & (sums <= rows.upper + DUST)
            if not fits.all() or w[self.facts.zero[name]].any():
                raise Contradiction(f"the true {name} does not fit the released tables")
        if self.facts.count is not None and (self.facts.listed @ self.truth[self.facts.count] < 1).any():
            raise Contradiction("a listed row has no records")

    def interval(self, goal: Goal) -> tuple[float, float]:
        """The least and the most that a cell may be, in all worlds that fit; at most the solver's own limit."""
        return _Judge(self, [goal]).interval(0)

    def disclosures(self, goals: Iterable[Goal], most: int = 40) -> list[Disclosure]:
        """The goals that no worlds reach, of each kind as many as ``most``."""
        by_response: dict[str, list[Goal]] = {}
        for goal in goals:
            by_response.setdefault(goal.response, []).append(goal)
        found: list[Disclosure] = []
        many, undecided = Counter[str](), ""
        for judge in (_Judge(self, own) for own in by_response.values()):
            for i, goal in enumerate(judge.goals):
                try:
                    one = judge.judge(i) if many[goal.kind] < most else None
                except Undecided:
                    one, undecided = None, goal.name
                if one is not None:
                    found.append(one)
                    many[goal.kind] += 1
        if undecided and not found:
            raise Undecided(undecided)
        return found

    def furthest(self, response: str, objective: np.ndarray) -> tuple[np.ndarray | None, bool]:
        """The response's furthest world, and whether it is one with all other responses."""
        found = self._alone(response).furthest(objective)
        if found is None:
            raise Contradiction(f"no {response} fits the released tables")
        if np.dot(objective, found - self.truth[response]) <= DUST:
            return self.truth[response], True
        if response == self.facts.count:
            whole = np.rint(found)
            if np.abs(whole - found).max() > DUST:
                whole = self._whole(objective)
            if self._fits_values(whole):
                return whole, True
        elif not self.facts.coupled or self._fits_count(response, found):
            return found, True
        return self._together(response, objective)

    def _alone(self, response: str) -> Program:
        if response not in self._programs:
            self._programs[response] = Program(*self._rows(response), *self._box(response))
        return self._programs[response]

    def _rows(self, response: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, facts = self.facts.sums[response], self.facts
        parts = [(rows.matrix, rows.lower, rows.upper)]
        zeros = np.zeros(len(facts.ties))
        parts.append((facts.ties, zeros, zeros))
        if response == facts.count:
            parts.append((facts.listed, np.ones(len(facts.listed)), np.full(len(facts.listed), np.inf)))
        matrix, lower, upper = zip(*parts, strict=True)
        return np.concatenate(matrix), np.concatenate(lower), np.concatenate(upper)

    def _box(self, response: str, support: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        free = ~self.facts.zero[response] if support is None else support & ~self.facts.zero[response]
        upper = np.where(free, self.cap[response], 0.0)
        return -upper if response in self.facts.signed else np.zeros(self.size), upper

    def _whole(self, objective: np.ndarray) -> np.ndarray:
        """The furthest whole numbers of records, whatever the values."""
        count = self.facts.count
        if "whole" not in self._programs:
            box = self._box(count)
            self._programs["whole"] = Program(*self._rows(count), *box, whole=np.ones(self.size, bool))
        return np.rint(self._programs["whole"].furthest(objective))

    def _fits_values(self, n: np.ndarray) -> bool:
        """Whether every value response has a world that is 0 where there are no records."""
        if not self.facts.coupled:
            return True
        return all(self._supported(name, n) for name in self.facts.sums if name != self.facts.count)

    def _supported(self, response: str, n: np.ndarray) -> bool:
        if not self.truth[response][n < 0.5].any():
            return True
        found = Program(*self._rows(response), *self._box(response, n > 0.5)).furthest(np.zeros(self.size))
        return found is not None

    def _fits_count(self, response: str, w: np.ndarray) -> bool:
        """Whether there are whole numbers of records, at least 1 wherever the world is not 0, that fit the rest."""
        count = self.facts.count
        needed = np.abs(w) > DUST
        if (self.truth[count][needed] > 0).all():
            return True
        lower, upper = self._box(count)
        whole = np.ones(self.size, bool)
        found = Program(*self._rows(count), np.where(needed, 1.0, lower), upper, whole).furthest(np.zeros(self.size))
        others = [name for name in self.facts.sums if name not in {count, response}]
        return found is not None and all(self._supported(name, np.rint(found)) for name in others)

    def _together(self, response: str, objective: np.ndarray) -> tuple[np.ndarray | None, bool]:
        """The furthest world of one response that goes with all others: one integer program."""
        names = list(self.facts.sums)
        count, at = self.facts.count, {name: i * self.size for i, name in enumerate(names)}
        if "together" not in self._programs:
            self._programs["together"] = self._joint(names, at)
        goal = np.zeros(len(names) * self.size)
        goal[at[response] : at[response] + self.size] = objective
        found = self._programs["together"].furthest(goal)
        if found is None:
            raise Contradiction("no records fit the released tables")
        n = np.rint(found[at[count] : at[count] + self.size])
        if not self._fits_values(n):
            return None, False  # the tolerance of the solver made room that is not there
        if response == count:
            return n, True
        box = self._box(response, n > 0.5)
        return Program(*self._rows(response), *box).furthest(objective), True

    def _joint(self, names: list[str], at: Mapping[str, int]) -> Program:
        count, width = self.facts.count, len(names) * self.size
        matrix, lower, upper, boxes = [], [], [], []
        for name in names:
            rows, low, high = self._rows(name)
            wide = np.zeros((len(rows), width))
            wide[:, at[name] : at[name] + self.size] = rows
            matrix.append(wide)
            lower.append(low)
            upper.append(high)
            boxes.append(self._box(name))
            for side in () if name == count else (-1, 1) if name in self.facts.signed else (-1,):
                above = np.zeros((self.size, width))
                above[:, at[count] : at[count] + self.size] = self.cap[name] * np.eye(self.size)
                above[:, at[name] : at[name] + self.size] = side * np.eye(self.size)
                matrix.append(above)
                lower.append(np.zeros(self.size))
                upper.append(np.full(self.size, np.inf))
        box = [np.concatenate(side) for side in zip(*boxes, strict=True)]
        whole = np.repeat([name == count for name in names], self.size)
        return Program(np.concatenate(matrix), np.concatenate(lower), np.concatenate(upper), *box, whole)


class _Judge:
    """The goals of one response, judged one after the other: each world that turns up serves all that it reaches."""

    def __init__(self, attack: Attack, goals: Sequence[Goal]) -> None:
        self.attack, self.goals = attack, goals
        self.cells = np.array([goal.cell for goal in goals])
        self.least = self.cells @ attack.truth[goals[0].response]
        self.most = self.least.copy()

    def judge(self, i: int) -> Disclosure | None:
        for sign in (1, -1):
            if self._wants(i, sign):
                self._push(i, sign)
        if not (self._wants(i, 1) or self._wants(i, -1)):
            return None
        return Disclosure(self.goals[i], *self.interval(i))

    def interval(self, i: int) -> tuple[float, float]:
        for sign in (1, -1):
            self._push(i, sign)
        return float(self.least[i]), float(self.most[i])

    def _wants(self, i: int, sign: int) -> bool:
        goal, least, most = self.goals[i], self.least[i], self.most[i]
        reach, need = (most - goal.value, goal.upper) if sign > 0 else (goal.value - least, goal.lower)
        dust = DUST * max(1.0, abs(goal.value))
        return reach < need - dust or most - least < goal.sliding - dust

    def _push(self, i: int, sign: int) -> None:
        goal = self.goals[i]
        world, sure = self.attack.furthest(goal.response, sign * goal.cell)
        if not sure:
            raise Undecided(goal.name)
        reached = self.cells @ world
        self.least, self.most = np.minimum(self.least, reached), np.maximum(self.most, reached)
