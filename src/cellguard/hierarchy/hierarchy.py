"""`Hierarchy`: codes in a tree under exactly one total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cellguard.arrays import IntArray as IntArray
from cellguard.errors import HierarchyError, did_you_mean, listing
from cellguard.hierarchy.edges import Edge, cycle, second_mention, source_of, two_totals, unknown_parent
from cellguard.hierarchy.making import NOTHING as NOTHING
from cellguard.hierarchy.making import Making


@dataclass(frozen=True, eq=False)
class Hierarchy(Making):
    """The codes of a spanning variable in a tree, parents before children; the total is the first code.

    It is made from lists (`flat`, `from_levels`, `from_parents`, `by_digits`) or files (`read_levels`, `read_parents`,
    `read_hrc`), and made coarser by `merge`, `cut` and `to_level`.

    Parameters
    ----------
    codes
        The codes.
    parent
        For each code the position of its parent, -1 for the total.
    labels
        Labels for people, by code.
    merged, cut_off
        What a recoding took away: for each old code the code that now stands for it.
    hushed
        Whether the codes come from a column that may hold values, so that messages must not show them.

    Raises
    ------
    HierarchyError
        If the codes are no tree under one total; the message names the line of the file.

    Examples
    --------
    >>> import cellguard as cg
    >>> region = cg.Hierarchy.from_levels([("North", "N1"), ("North", "N2"), ("South", "South")])
    >>> region.codes
    ('Total', 'North', 'N1', 'N2', 'South')
    >>> region.level.tolist()
    [0, 1, 2, 2, 1]
    >>> region.leaves, region.to_level(1).codes
    (('N1', 'N2', 'South'), ('Total', 'North', 'South'))
    """

    codes: tuple[str, ...]
    parent: IntArray
    labels: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    cut_off: Mapping[str, str] = field(default_factory=dict)
    hushed: bool = False

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.codes[0]

    @property
    def told(self) -> tuple[str, ...]:
        """The codes that messages may show."""
        return () if self.hushed else self.codes

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
            raise HierarchyError(f"no code {code!r} in the hierarchy{did_you_mean(code, self.told)}") from None

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


def grow(edges: Iterable[Edge], *, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Check that the edges form a tree with one total and put the codes in order, parents before children."""
    seen: dict[str, Edge] = {}
    for edge in edges:
        if not edge.code:
            raise HierarchyError(f"{edge.start}a code is blank; give every row a code")
        if edge.code in seen:
            raise second_mention(seen[edge.code], edge)
        seen[edge.code] = edge
    totals = [edge for edge in seen.values() if not edge.parent]
    if not totals:
        raise HierarchyError(
            f"{source_of(seen.values())}the total is missing: no code has a blank parent; add a row with the total's "
            "code and a blank parent"
        )
    if len(totals) > 1:
        raise two_totals(totals[0], totals[1])
    strange = [edge for edge in seen.values() if edge.parent and edge.parent not in seen]
    if strange:
        raise unknown_parent(strange, seen)
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
        raise cycle([edges[code] for code in loop])
    parent = np.array([position[edges[code].parent] if code != total else -1 for code in position], np.int32)
    return Hierarchy(tuple(position), parent, {c: labels[c] for c in position if c in labels})


def _cycle(edges: Mapping[str, Edge], start: str) -> list[str]:
    """Walk upward from a code that hangs on no total until a code comes again."""
    path = [start]
    while (above := edges[path[-1]].parent) not in path:
        path.append(above)
    return path[path.index(above) :]


@dataclass(frozen=True, eq=False)
class Dimension:
    """A spanning variable: a column of a table with its hierarchy and, possibly, other groupings of the same leaves.

    Its codes are those of the main hierarchy and then those that only other groupings have. A code of two hierarchies
    is one code, so it must mean the same leaves in both.

    Parameters
    ----------
    name
        The name of the dimension and, by default, of its column.
    hierarchy
        The main hierarchy.
    *alternatives
        Further groupings of the same leaves under the same total.

    Raises
    ------
    HierarchyError
        If the hierarchies have different totals or leaves, or a code means different leaves.

    Examples
    --------
    >>> import cellguard as cg
    >>> coast = cg.Hierarchy.from_levels([("sea", "a"), ("inland", "b"), ("inland", "c")])
    >>> cg.Dimension("region", cg.Hierarchy.flat(["a", "b", "c"]), coast).codes
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
        parents = []
        for h in self.hierarchies:
            own = np.array([self.position[code] for code in h.codes], np.int32)
            parent = np.full(len(self.codes), -2, np.int32)
            parent[own] = np.where(h.parent < 0, -1, own[h.parent])
            parents.append(parent)
        return tuple(parents)

    @cached_property
    def level(self) -> IntArray:
        """The depth of each code in the first hierarchy that has it."""
        level = np.full(len(self.codes), -1, np.int32)
        for h in reversed(self.hierarchies):
            level[[self.position[code] for code in h.codes]] = h.level
        return level

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The codes that messages may show."""
        return tuple(dict.fromkeys(code for h in self.hierarchies for code in h.told))

    def tell(self, code: str) -> str:
        """Return a code as messages show it."""
        shown = not self.main.hushed or code == self.total or code in self.told
        return code if shown else f"(a code of {self.name!r})"

    @cached_property
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
            lacking = f"{len(gone)} of them" if self.main.hushed else listing(gone)
            parts = [f"it lacks {lacking}"] if gone else []
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
