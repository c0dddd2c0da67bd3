"""Recoding: a coarser hierarchy from a finer one, which remembers what became of the old codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cellguard.errors import HierarchyError, listing
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Hierarchy, grow


def merge(hierarchy: Hierarchy, groups: Mapping[str, Sequence[str]]) -> Hierarchy:
    """Merge codes with the same parent into a new code, which gets all their children.

    >>> from cellguard.hierarchy.build import flat
    >>> h = merge(flat(["S1", "S2", "S3"]), {"S1-2": ["S1", "S2"]})
    >>> h.codes, h.merged
    (('Total', 'S1-2', 'S3'), {'S1': 'S1-2', 'S2': 'S1-2'})
    """
    into: dict[str, str] = {}
    for new, codes in groups.items():
        if new in hierarchy.position and new not in codes:
            raise HierarchyError(f"cannot merge into {new!r}: the hierarchy has that code already; choose a new one")
        if len({hierarchy.parent_of(code) for code in codes}) != 1 or hierarchy.total in codes:
            raise HierarchyError(f"cannot merge {listing(codes)}: only codes with the same parent can be merged")
        inner = {bool(hierarchy.children(code)) for code in codes}
        if len(inner) > 1:
            raise HierarchyError(f"cannot merge {listing(codes)}: some of them have codes below them and some have not")
        for code in codes:
            if code in into:
                raise HierarchyError(f"the code {code!r} is merged twice, into {into[code]!r} and {new!r}")
            into[code] = new
    edges: dict[str, Edge] = {}
    for code in hierarchy.codes:
        parent = hierarchy.parent_of(code) or ""
        new = into.get(code, code)
        edges.setdefault(new, Edge(new, into.get(parent, parent)))
    gone = {old: new for old, new in into.items() if old != new}
    before = {old: into.get(new, new) for old, new in hierarchy.merged.items()}
    cut_off = {old: into.get(stump, stump) for old, stump in hierarchy.cut_off.items()}
    grown = grow(edges.values(), labels=hierarchy.labels)
    return replace(grown, merged={**before, **gone}, cut_off=cut_off, hushed=hierarchy.hushed)


def cut(hierarchy: Hierarchy, codes: Iterable[str]) -> Hierarchy:
    """Cut off everything below the given codes, which become leaves.

    >>> from cellguard.hierarchy.build import from_levels
    >>> h = cut(from_levels([("A", "A1"), ("A", "A2"), ("B", "B1")]), ["A"])
    >>> h.codes, h.cut_off
    (('Total', 'A', 'B', 'B1'), {'A1': 'A', 'A2': 'A'})
    """
    stump = {hierarchy.codes[hierarchy.at(code)]: code for code in codes}
    gone: dict[str, str] = {}
    for code in hierarchy.codes[1:]:
        parent = hierarchy.parent_of(code) or ""
        if parent in stump or parent in gone:
            gone[code] = gone.get(parent, parent)
    kept = [Edge(code, hierarchy.parent_of(code) or "") for code in hierarchy.codes if code not in gone]
    return replace(
        grow(kept, labels=hierarchy.labels),
        merged=hierarchy.merged,
        cut_off={**hierarchy.cut_off, **gone},
        hushed=hierarchy.hushed,
    )


def to_level(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """Cut off everything deeper than a level; level 0 is the total.

    >>> from cellguard.hierarchy.build import from_levels
    >>> to_level(from_levels([("A", "A1"), ("B", "B1")]), 1).codes
    ('Total', 'A', 'B')
    """
    deepest = int(hierarchy.level.max())
    if not 0 <= level <= deepest:
        raise HierarchyError(f"cannot recode to level {level}: the hierarchy has the levels 0 to {deepest}")
    return cut(
        hierarchy, [code for code, depth in zip(hierarchy.codes, hierarchy.level, strict=True) if depth == level]
    )
