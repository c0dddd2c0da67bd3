"""One dimension from two of the same column, as two releases show it: relations go over the union of their codes.

Where one goes deeper than the other, or has leaves that the other lacks, its codes are grafted onto the other's trees,
so that both have the same leaves. Whatever groups these leaves in another way is a further grouping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cellguard.errors import HierarchyError, listing
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy, grow


def unite(first: Dimension, second: Dimension) -> Dimension:
    """Return a dimension with the codes of both; the main hierarchy is that of the first.

    >>> from cellguard.hierarchy.build import flat, from_parents
    >>> fine = from_parents([("Total", ""), ("N", "Total"), ("n1", "N"), ("n2", "N"), ("S", "Total")])
    >>> sea = from_parents([("Total", ""), ("coast", "Total"), ("n1", "coast"), ("S", "coast"), ("n2", "Total")])
    >>> both = unite(Dimension("region", flat(["N", "S"])), Dimension("region", fine, sea))
    >>> both.codes, len(both.hierarchies)
    (('Total', 'N', 'n1', 'n2', 'S', 'coast'), 2)
    """
    if first.total != second.total:
        raise HierarchyError(
            f"dimension {first.name!r}: the total is called {first.total!r} in one release and {second.total!r} in "
            "another; call it the same"
        )
    strays = _strays(first.main, second.main), _strays(second.main, first.main)
    if all(strays):
        hushed = first.main.hushed or second.main.hushed
        told = "" if hushed else f" ({listing(strays[1], 3)} there, {listing(strays[0], 3)} here)"
        raise HierarchyError(
            f"dimension {first.name!r}: two releases have codes that the other lacks{told}, and how they overlap "
            "is not known; give the job a hierarchy that has both"
        )
    ours, theirs = _grafted(first, second), _grafted(second, first)
    try:
        Dimension(first.name, *ours, *theirs)
    except HierarchyError as error:
        raise HierarchyError(f"{error}; it must mean the same in all releases") from None
    known, more = set(first.codes) | set(ours[0].codes), list[Hierarchy]()
    for tree in theirs:
        if not set(tree.codes) <= known:
            more.append(tree)
            known |= set(tree.codes)
    return Dimension(first.name, *ours, *more)


def _grafted(dimension: Dimension, other: Dimension) -> list[Hierarchy]:
    """Return the trees of a dimension with the leaves, and what is below its own leaves, that the other has."""
    new = _new_codes(dimension.main, other.main)
    if not new:
        return list(dimension.hierarchies)
    trees = []
    for tree in dimension.hierarchies:
        edges = [Edge(code, tree.parent_of(code) or "") for code in tree.codes]
        there = set(tree.codes)
        for code, above in new.items():
            place = above
            while place not in there:
                place = new.get(place) or dimension.main.parent_of(place) or tree.total
            edges.append(Edge(code, place))
            there.add(code)
        trees.append(replace(grow(edges, labels={**other.labels, **tree.labels}), hushed=tree.hushed))
    return trees


def _new_codes(tree: Hierarchy, other: Hierarchy) -> Mapping[str, str]:
    """Return the codes of another tree that are new leaves here, or above nothing but such, and the code above each."""
    new: dict[str, str] = {}
    inner = _above_known(other, set(tree.codes))
    for code in other.codes:
        if code in tree.position or code in inner:
            continue
        above = other.parent_of(code) or tree.total
        while above not in tree.position and above not in new:
            above = other.parent_of(above) or tree.total
        new[code] = above
    return new


def _strays(tree: Hierarchy, other: Hierarchy) -> list[str]:
    """Return the new codes that lie below a code here which has codes of its own below it."""
    inner = {tree.codes[at] for at in tree.parent.tolist() if at >= 0}
    return [code for code, above in _new_codes(tree, other).items() if above in inner]


def _above_known(tree: Hierarchy, known: set[str]) -> set[str]:
    """Return the codes of a tree that have a known code below them."""
    above: set[str] = set()
    for code in known & set(tree.codes):
        at = tree.parent_of(code)
        while at is not None and at not in above:
            above.add(at)
            at = tree.parent_of(at)
    return above
