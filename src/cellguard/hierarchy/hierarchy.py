"""`Hierarchy`: codes in a tree under exactly one total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cellguard.errors import HierarchyError, did_you_mean, listing

IntArray = npt.NDArray[np.int32]
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Codes in a tree, parents before children; the total is the first code.

    ``parent`` holds for each code the position of its parent, -1 for the total. ``labels`` are for people. ``merged``
    and ``cut`` remember what a recoding took away: for each old code the code that now stands for it.

    >>> from cellguard.hierarchy.build import from_parents
    >>> region = from_parents([("Total", ""), ("North", "Total"), ("South", "Total"), ("N1", "North"), ("N2", "North")])
    >>> region.codes
    ('Total', 'North', 'N1', 'N2', 'South')
    >>> region.level.tolist()
    [0, 1, 2, 2, 1]
    >>> region.leaves
    ('N1', 'N2', 'South')
    """

    codes: tuple[str, ...]
    parent: IntArray
    labels: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    cut: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.codes[0]

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each code."""
        return {code: i for i, code in enumerate(self.codes)}

    @cached_property
    def level(self) -> IntArray:
        """The depth of each code: 0 for the total."""
        level = np.zeros(len(self.codes), np.int32)
        for i in range(1, len(self.codes)):
            level[i] = level[self.parent[i]] + 1
        return level

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes without children, in order."""
        inner = set(self.parent.tolist())
        return tuple(code for i, code in enumerate(self.codes) if i not in inner)

    def parent_of(self, code: str) -> str | None:
        """Return the code above ``code``; the total has none."""
        above = self.parent[self.at(code)]
        return None if above < 0 else self.codes[above]

    def children(self, code: str) -> tuple[str, ...]:
        """Return the codes directly below ``code``."""
        return tuple(self.codes[i] for i in np.flatnonzero(self.parent == self.at(code)))

    def at(self, code: str) -> int:
        """Return the position of ``code``, or raise an error that names the nearest codes."""
        try:
            return self.position[code]
        except KeyError:
            raise HierarchyError(f"no code {code!r} in the hierarchy{did_you_mean(code, self.codes)}") from None

    def leaf_sets(self) -> Mapping[str, frozenset[str]]:
        """Return for each code the leaves below it (a leaf's own set is itself)."""
        below: list[set[str]] = [set() for _ in self.codes]
        leaves = set(self.leaves)
        for i in range(len(self.codes) - 1, -1, -1):
            if self.codes[i] in leaves:
                below[i].add(self.codes[i])
            if i:
                below[self.parent[i]] |= below[i]
        return {code: frozenset(s) for code, s in zip(self.codes, below, strict=True)}


class Edge(NamedTuple):
    """A code, the code above it ('' for the total) and where that is said, as 'nace.csv line 4' or ''."""

    code: str
    parent: str
    where: str = ""


def grow(edges: Iterable[Edge], *, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Check that the edges form a tree with one total and put the codes in order, parents before children."""
    seen: dict[str, Edge] = {}
    for edge in edges:
        if not edge.code:
            raise HierarchyError(f"{_at(edge)}a code is blank; give every row a code")
        if edge.code in seen:
            _refuse_second(seen[edge.code], edge)
        seen[edge.code] = edge
    totals = [edge for edge in seen.values() if not edge.parent]
    if not totals:
        raise HierarchyError(
            f"{_source(seen)}the total is missing: no code has a blank parent; add a row with the total's code "
            "and a blank parent"
        )
    if len(totals) > 1:
        raise HierarchyError(
            f"{_at(totals[1])}{totals[1].code!r} has a blank parent, and so has {totals[0].code!r}"
            f"{_also_at(totals[0])}; a hierarchy has one total"
        )
    for edge in seen.values():
        if edge.parent and edge.parent not in seen:
            raise HierarchyError(
                f"{_at(edge)}the parent {edge.parent!r} of {edge.code!r} is not a code of the hierarchy"
                f"{did_you_mean(edge.parent, seen)}"
            )
    return _in_order(seen, totals[0].code, labels)


def _in_order(edges: Mapping[str, Edge], total: str, labels: Mapping[str, str]) -> Hierarchy:
    children: dict[str, list[str]] = {}
    for edge in edges.values():
        if edge.parent:
            children.setdefault(edge.parent, []).append(edge.code)
    position: dict[str, int] = {}
    stack = [total]
    while stack:
        code = stack.pop()
        position[code] = len(position)
        stack.extend(reversed(children.get(code, ())))
    if len(position) < len(edges):
        loop = _cycle(edges, next(code for code in edges if code not in position))
        raise HierarchyError(
            f"{_at(edges[loop[0]])}the codes {' under '.join(repr(c) for c in (*loop, loop[0]))} form a cycle; "
            "one of them must have another parent"
        )
    parent = np.array([position[edges[code].parent] if code != total else -1 for code in position], np.int32)
    return Hierarchy(tuple(position), parent, {c: labels[c] for c in position if c in labels})


def _cycle(edges: Mapping[str, Edge], start: str) -> list[str]:
    """Walk upward from a code that hangs on no total until a code comes again."""
    path = [start]
    while (above := edges[path[-1]].parent) not in path:
        path.append(above)
    return path[path.index(above) :]


def _refuse_second(first: Edge, second: Edge) -> None:
    if first.parent == second.parent:
        raise HierarchyError(f"{_at(second)}the code {second.code!r} is a duplicate{_also_at(first)}; list it once")
    raise HierarchyError(
        f"{_at(second)}the code {second.code!r} has two parents: {second.parent!r} here and {first.parent!r}"
        f"{_also_at(first)}; give each code one parent (a second grouping goes into `also`)"
    )


def _at(edge: Edge) -> str:
    return f"{edge.where}: " if edge.where else ""


def _also_at(edge: Edge) -> str:
    return f" (see {edge.where})" if edge.where else ""


def _source(edges: Mapping[str, Edge]) -> str:
    return next((e.where.rsplit(" line ", 1)[0] + ": " for e in edges.values() if e.where), "")


@dataclass(frozen=True, eq=False)
class Dimension:
    """A column of a table with its hierarchy and, possibly, other groupings of the same leaves.

    The codes are those of the main hierarchy and then those that only the other groupings have. A code that stands in
    two hierarchies is one code, so it must mean the same leaves in both.

    >>> from cellguard.hierarchy.build import flat, from_parents
    >>> coast = from_parents([("Total", ""), ("sea", "Total"), ("inland", "Total"),
    ...                       ("a", "sea"), ("b", "inland"), ("c", "inland")])
    >>> Dimension("region", flat(["a", "b", "c"]), coast).codes
    ('Total', 'a', 'b', 'c', 'sea', 'inland')
    """

    name: str
    hierarchies: tuple[Hierarchy, ...]

    def __init__(self, name: str, hierarchy: Hierarchy, *alternatives: Hierarchy) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "hierarchies", (hierarchy, *alternatives))
        meaning = hierarchy.leaf_sets() if alternatives else {}
        for other in alternatives:
            self._check_same_leaves(other)
            meaning = self._check_meaning(meaning, other.leaf_sets())

    @property
    def main(self) -> Hierarchy:
        """The hierarchy that orders the codes and counts the levels."""
        return self.hierarchies[0]

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.main.total

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes; the total is the first."""
        return tuple(dict.fromkeys(code for h in self.hierarchies for code in h.codes))

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each code."""
        return {code: i for i, code in enumerate(self.codes)}

    @cached_property
    def parents(self) -> tuple[IntArray, ...]:
        """For each hierarchy the position of each code's parent: -1 for the total, -2 for codes it does not have."""
        found = []
        for h in self.hierarchies:
            at = np.array([self.position[code] for code in h.codes], np.int32)
            parent = np.full(len(self.codes), -2, np.int32)
            parent[at] = np.where(h.parent < 0, -1, at[h.parent])
            found.append(parent)
        return tuple(found)

    @cached_property
    def level(self) -> IntArray:
        """The depth of each code in the first hierarchy that has it."""
        level = np.full(len(self.codes), -1, np.int32)
        for h in reversed(self.hierarchies):
            level[[self.position[code] for code in h.codes]] = h.level
        return level

    @property
    def labels(self) -> Mapping[str, str]:
        """What people call the codes."""
        return {code: text for h in reversed(self.hierarchies) for code, text in h.labels.items()}

    def overlaps(self) -> list[tuple[str, str]]:
        """Return the pairs of codes of two hierarchies that overlap without one holding the other.

        Such groupings do not nest: the difference of two published groups may be a single small cell.
        """
        pairs = []
        main = self.main.leaf_sets()
        for other in self.hierarchies[1:]:
            for code, leaves in other.leaf_sets().items():
                pairs += [
                    (a, code) for a, below in main.items() if leaves & below and leaves - below and below - leaves
                ]
        return pairs

    def _check_same_leaves(self, other: Hierarchy) -> None:
        if other.total != self.total:
            raise HierarchyError(
                f"dimension {self.name!r}: a second grouping has the total {other.total!r}, the hierarchy has "
                f"{self.total!r}; they must have the same total"
            )
        ours, theirs = set(self.main.leaves), set(other.leaves)
        if ours != theirs:
            gone, extra = sorted(ours - theirs), sorted(theirs - ours)
            parts = [f"it lacks {listing(gone)}"] if gone else []
            parts += [f"it adds {listing(extra)}"] if extra else []
            raise HierarchyError(
                f"dimension {self.name!r}: a second grouping must have the same leaves as the hierarchy, but "
                + " and ".join(parts)
            )

    def _check_meaning(
        self, known: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]
    ) -> Mapping[str, frozenset[str]]:
        for code in known.keys() & new.keys():
            if known[code] != new[code]:
                raise HierarchyError(
                    f"dimension {self.name!r}: the code {code!r} means other leaves in one grouping than in another; "
                    "use another code for it"
                )
        return {**known, **new}
