"""Any set of a dimension's leaves as one code: a further grouping of the same leaves that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cellguard.hierarchy.build import from_parents
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy


class Leaves:
    """The leaves that the codes of a dimension hold."""

    def __init__(self, dimension: Dimension) -> None:
        self.total = dimension.total
        self.held = dimension.main.leaf_sets()
        self.codes: dict[frozenset[str], list[str]] = {}
        for number, hierarchy in enumerate(dimension.hierarchies):
            # Of further groupings only their own codes are new.
            for code, held in self.held.items() if number == 0 else _own(hierarchy, self.held):
                self.codes.setdefault(held, []).append(code)

    def others(self, codes: Sequence[str]) -> frozenset[str]:
        """Return the leaves that some codes do not hold."""
        return self.held[self.total].difference(*(self.held[code] for code in codes))


def _own(hierarchy: Hierarchy, known: Mapping[str, frozenset[str]]) -> list[tuple[str, frozenset[str]]]:
    """Return the codes that are not known, with the leaves that they hold."""
    new = [code for code in hierarchy.codes if code not in known]
    if not new:
        return []
    held = hierarchy.leaf_sets()
    return [(code, held[code]) for code in new]


def with_groups(dimension: Dimension, wanted: Mapping[frozenset[str], str]) -> Dimension:
    """Return the dimension with a code for each wanted set of leaves that has none; ``wanted`` says what to call it.

    >>> from cellguard.hierarchy.build import flat
    >>> status = Dimension("status", flat(["active", "closed", "dormant"]))
    >>> with_groups(status, {frozenset({"closed", "dormant"}): "not active"}).codes
    ('Total', 'active', 'closed', 'dormant', 'not active')
    """
    leaves, taken, more = Leaves(dimension), set(dimension.codes), []
    for held, words in wanted.items():
        if held in leaves.codes:
            continue
        name = words
        while name in taken:
            name = f"not {name}" if name.startswith("not ") else f"({name})"
        taken.add(name)
        leaves.codes[held] = [name]
        more.append(_grouping(dimension.main, leaves.held, name, held))
    return Dimension(dimension.name, *dimension.hierarchies, *more) if more else dimension


def _grouping(main: Hierarchy, held_by: Mapping[str, frozenset[str]], name: str, leaves: frozenset[str]) -> Hierarchy:
    """Return the tree with some leaves under one code; of the old codes those that hold no leaf of both kinds."""
    edges, kept = [(main.total, ""), (name, main.total)], {main.total}
    for code, held in held_by.items():
        inside = held <= leaves
        if code == main.total or not (inside or held.isdisjoint(leaves)):
            continue
        above = main.parent_of(code)
        edges.append((code, above if above in kept and above != main.total else (name if inside else main.total)))
        kept.add(code)
    labels = {**main.labels, name: name}
    return replace(from_parents(edges, labels=labels), hushed=main.hushed)
