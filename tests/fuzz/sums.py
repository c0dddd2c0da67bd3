"""Sums of suppressed cells: those that relations tell exactly, and those of the cells that one holding makes unsafe.

A sum is told exactly if its vector over the combinations is a combination of those of published cells. All such sums of
up to four disjoint cells are found by their remainders (what is left of a vector beyond the space of the published
ones: the remainders of a told sum add up to 0), and so are those that a single relation tells, of any number of cells,
also with suppressed parts replaced by their own suppressed parts. The cells of a holding are those that would be safe,
or empty, without it; their sums are attacked even where nothing tells them exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from random import Random

import numpy as np

from fuzz.attack import Goal
from fuzz.judge import has_holdings
from fuzz.public import Axis, Codes, Shown
from fuzz.scene import Response, Scene

STILL = 1e-7
TERMS = {2: 150, 3: 50, 4: 26}  # sums of so many cells are looked for among so many suppressed ones at most
TOLD = 400  # sums that are told, at most, of each size
STEPS = 40  # replacements of parts by their parts, per relation
ANY = 14  # suppressed cells of a table, of which all sums of two and three are judged, if asked for
OWN = 8  # cells of a holding, of which all sums of two to four are judged
Sum = frozenset[int]


class Sums:
    """The suppressed cells of a response, each once, and the sums of them that are to be judged."""

    def __init__(self, response: Response, scene: Scene) -> None:
        self.response, self.scene = response, scene
        self.names: list[str] = []
        self.rows: dict[tuple[int, Codes], int] = {}  # table and codes -> cell
        self.published: set[bytes] = set()  # cells that are judged by the rules of the tables that list them
        vectors: list[np.ndarray] = []
        number: dict[bytes, int] = {}
        free = ~scene.facts.zero[response.name]
        for t, table in enumerate(response.tables):
            for codes, value in table.rows.items():
                below = [axis.below[code] for axis, code in zip(table.axes, codes, strict=True)]
                vector = scene.space.cell(table.axes, below) * free
                if value is not None:
                    self.published.add(vector.tobytes())
                if value is not None or not vector.any():
                    continue  # what is known to be empty is in no sum
                at = number.setdefault(vector.tobytes(), len(number))
                if at == len(vectors):
                    vectors.append(vector)
                    self.names.append(f"{table.name}: {'/'.join(codes)}")
                self.rows[t, codes] = at
        self.vectors = np.array(vectors).reshape(-1, scene.space.size)
        self.inside = [scene.members(vector) for vector in vectors]
        self.together = self.vectors @ self.vectors.T > 0  # which cells share combinations
        self.remainders = self._remainders(free)

    def _remainders(self, free: np.ndarray) -> np.ndarray:
        rows = self.scene.facts.sums[self.response.name]
        known = rows.matrix[rows.lower == rows.upper] * free
        if not len(known) or not len(self.vectors):
            return self.vectors
        _, sizes, basis = np.linalg.svd(known, full_matrices=False)
        basis = basis[sizes > 1e-9 * sizes[0]]
        return self.vectors - (self.vectors @ basis.T) @ basis

    def goals(self) -> Iterator[Goal]:
        """All sums that the rules call unsafe."""
        yield from self._goals((*self.told(), *self.of_holdings()), "sum")

    def any_few(self) -> Iterator[Goal]:
        """All unsafe sums of two or three disjoint suppressed cells of one table, whoever is in them."""
        for t in range(len(self.response.tables)):
            here = sorted({at for (number, _), at in self.rows.items() if number == t})[:ANY]
            few = (some for size in (2, 3) for some in combinations(here, size) if self._is_disjoint(some))
            yield from self._goals(map(frozenset, few), "any sum")

    def _goals(self, sums: Iterable[Sum], kind: str) -> Iterator[Goal]:
        for chosen in dict.fromkeys(sums):
            if len(chosen) < 2:
                continue
            cells = sorted(chosen)
            inside = sorted(i for cell in cells for i in self.inside[cell])
            names = " + ".join(self.names[cell] for cell in cells[:6]) + (" + ..." if len(cells) > 6 else "")
            vector = self.vectors[cells].sum(0)
            goal = self.response.goal(kind, names, vector, inside)
            if goal is not None and vector.tobytes() not in self.published:
                yield goal

    def told(self) -> Iterator[Sum]:
        """The sums that published cells tell."""
        yield from filter(self._is_told, self._of_relations())
        moving = np.flatnonzero(np.abs(self.remainders).max(axis=1, initial=0) > STILL)
        marks = self.remainders[moving] @ _random_directions(self.vectors.shape[1])
        for size, most in TERMS.items():
            if len(moving) <= most:
                few = _zero_sums(marks, size)[:TOLD]
                yield from filter(self._is_told, (frozenset(moving[list(each)].tolist()) for each in few))

    def _is_told(self, chosen: Sum) -> bool:
        cells = sorted(chosen)
        still = np.abs(self.remainders[cells].sum(0)).max() <= STILL
        return len(cells) > 1 and bool(still) and self._is_disjoint(cells)

    def _is_disjoint(self, cells: Iterable[int]) -> bool:
        return not any(self.together[a, b] for a, b in combinations(cells, 2))

    def _of_relations(self) -> Iterator[Sum]:
        """The suppressed parts of every code of every row, and what comes of replacing some by their own parts."""
        parts: dict[int, list[Sum]] = {}
        whole: list[Sum] = []
        for t, table in enumerate(self.response.tables):
            for codes, above in relations(table):
                hidden = frozenset(self.rows[t, row] for row in codes if (t, row) in self.rows)
                if hidden:
                    whole.append(hidden)
                if hidden and (t, above) in self.rows:
                    parts.setdefault(self.rows[t, above], []).append(hidden)
        for start in whole:
            queue, steps = [start], 0
            while queue and steps < STEPS:
                now, steps = queue.pop(0), steps + 1
                yield now
                queue += [now - {cell} | inner for cell in now for inner in parts.get(cell, ()) if cell not in inner]

    def of_holdings(self) -> Iterator[Sum]:
        """For every holding the sums of cells that are unsafe only because of it, table by table.

        Of one row also with those cells that are not, but have it as their largest contributor.
        """
        if not has_holdings(self.response.case):
            return
        unsafe_by = [set(self._makes_unsafe(inside)) for inside in self.inside]
        for t, table in enumerate(self.response.tables):
            here = {at for (number, _), at in self.rows.items() if number == t}
            related = [{self.rows[t, row] for row in rows if (t, row) in self.rows} for rows, _ in relations(table)]
            for who in sorted({who for at in here for who in unsafe_by[at]}, key=str):
                own = sorted(at for at in here if who in unsafe_by[at])
                yield from self._sums_of(own)
                yield from (frozenset(some) for row in related if len(some := row & set(own)) > 1)
                most = {at for at in here if self._largest(self.inside[at]) == who} | set(own)
                yield from (frozenset(row & most) for row in related if row & set(own))

    def _sums_of(self, own: list[int]) -> Iterator[Sum]:
        """All of the cells, without those that hold others or without those that others hold; and a few together."""
        sizes = {at: self.vectors[at].sum() for at in own}
        for sign in (1, -1):
            kept: list[int] = []
            for at in sorted(own, key=lambda at: (sign * sizes[at], at)):
                if not any(self.together[at, other] for other in kept):
                    kept.append(at)
            yield frozenset(kept)
        few = sorted(own, key=lambda at: (-len(self.inside[at]), at))[:OWN]
        for size in (2, 3, 4):
            yield from (frozenset(some) for some in combinations(few, size) if self._is_disjoint(some))

    def _held(self, inside: list[int]) -> dict[object, float]:
        """What each holding has of a cell."""
        held: dict[object, float] = {}
        for i in inside:
            owner = self.response.people.owner[i]
            held[owner] = held.get(owner, 0.0) + abs(self.response.worth[i])
        return held

    def _largest(self, inside: list[int]) -> object:
        """The holding that has more of a cell than any other; nobody if there is none."""
        held = sorted(self._held(inside).items(), key=lambda pair: -pair[1])
        return held[0][0] if len(held) == 1 or (held and held[0][1] > held[1][1]) else None

    def _makes_unsafe(self, inside: list[int]) -> Iterator[object]:
        """The holdings without which a cell would be safe."""
        owner = self.response.people.owner
        if self.response.need(inside) is None:
            return
        held = self._held(inside)
        for who in sorted(held, key=lambda who: -held[who])[:3]:
            if self.response.need(i for i in inside if owner[i] != who) is None:
                yield who


def relations(table: Shown) -> Iterator[tuple[list[Codes], Codes]]:
    """The rows of a table that are parts of one row, along one dimension, and that row, listed or not."""
    for i, axis in enumerate(table.axes):
        others = {(*row[:i], *row[i + 1 :]) for row in table.rows}
        for parent, children in _children(axis, table.codes(i)):
            for rest in sorted(others):
                rows = [(*rest[:i], child, *rest[i:]) for child in children]
                yield [row for row in rows if row in table.rows], (*rest[:i], parent, *rest[i:])


def _children(axis: Axis, occurs: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Each code with the nearest codes below it that occur, once for each grouping."""
    occurs = set(occurs)
    found: dict[tuple[int, str], list[str]] = {}
    for number, tree in enumerate(axis.trees):
        for code in sorted(occurs & set(tree)):
            above = tree[code]
            while above and above not in occurs and tree[above]:
                above = tree[above]
            if above:
                found.setdefault((number, above), []).append(code)
    return [(parent, children) for (_, parent), children in found.items()]


def _random_directions(size: int) -> np.ndarray:
    rng = Random(size)
    return np.array([[rng.gauss(0, 1) for _ in range(2)] for _ in range(size)]).reshape(-1, 2)


def _zero_sums(marks: np.ndarray, size: int) -> list[tuple[int, ...]]:
    """All sets of so many rows that add up to 0."""
    many = len(marks)
    if many < size:
        return []
    sets = np.array(list(combinations(range(many), size)))
    return [tuple(row) for row in sets[np.abs(marks[sets].sum(axis=1)).max(axis=1) < STILL].tolist()]
