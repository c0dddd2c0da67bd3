"""Hierarchies from lists: flat codes, parent pairs, one column per level, code digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from cellguard.errors import HierarchyError
from cellguard.hierarchy.confidential_codes import named
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy, grow
from cellguard.hierarchy.making import TOTAL as TOTAL

_FEW = 5


def flat(codes: Iterable[str], *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Return the codes side by side under a total, in the order given, in which rows will be released.

    >>> flat(["small", "large"]).codes
    ('Total', 'small', 'large')
    """
    return grow([Edge(total, ""), *(Edge(code, total) for code in codes)], labels=labels)


def from_parents(
    pairs: Iterable[tuple[str, str]],
    *,
    source: str = "",
    lines: Sequence[int] = (),
    labels: Mapping[str, str] = NOTHING,
) -> Hierarchy:
    """Return the hierarchy of (code, parent) pairs; the total is the code with a blank parent.

    Errors name the file that is the ``source`` and the rows' ``lines`` in it.
    """
    where = _lines(source, lines)
    return grow([Edge(code, parent, where(i)) for i, (code, parent) in enumerate(pairs)], labels=labels)


def from_levels(
    rows: Iterable[Sequence[str]],
    *,
    total: str = TOTAL,
    source: str = "",
    lines: Sequence[int] = (),
    labels: Mapping[str, str] = NOTHING,
) -> Hierarchy:
    """Return the hierarchy of rows with one column per level, coarsest first.

    A blank to the right, or the same code again, means that the row has no deeper level; so branches may be of unequal
    depth. The total is in no column.

    >>> h = from_levels([("A", "A1"), ("A", "A2"), ("B", "B")])
    >>> [(code, h.parent_of(code)) for code in h.codes]
    [('Total', None), ('A', 'Total'), ('A1', 'A'), ('A2', 'A'), ('B', 'Total')]
    """
    where = _lines(source, lines)
    rows = list(rows)
    hushed = bool(source) and _seem_data(rows)
    edges: dict[tuple[str, str], Edge] = {}
    for i, row in enumerate(rows):
        path = _path(row, total, where(i), hushed=hushed)
        for parent, code in zip([total, *path], path, strict=False):
            edges.setdefault((code, parent), Edge(code, parent, where(i), hushed))
    return grow([Edge(total, ""), *edges.values()], labels=labels)


def by_digits(
    codes: Iterable[str],
    digits: Sequence[int],
    *,
    total: str = TOTAL,
    labels: Mapping[str, str] = NOTHING,
    name: str = "",
    hushed: bool = False,
) -> Hierarchy:
    """Return the hierarchy that the digits of the codes spell: each level adds so many characters.

    Codes stand in the order of ``labels``, or else of their characters: as they come from data, their own order is not
    kept. ``name`` is the dimension that errors name; those about ``hushed`` codes do not show them.

    >>> h = by_digits(["2", "1012", "1011"], [1, 1, 2])
    >>> h.codes
    ('Total', '1', '10', '1011', '1012', '2')
    """
    whose = f"dimension {name!r}: " if name else ""
    if not digits or min(digits) < 1:
        raise HierarchyError(f"{whose}digits must be whole numbers above 0, one per level, not {list(digits)}")
    ends = list(accumulate(digits))
    rows = []
    for code in codes:
        if code == total:
            continue
        if len(code) not in ends:
            raise HierarchyError(
                f"{whose}{'a code' if hushed else f'the code {code!r}'} has {len(code)} characters, but digits "
                f"{list(digits)} allow only {', '.join(map(str, ends))}"
            )
        rows.append([code[:end] for end in ends if end <= len(code)])
    place = {code: i for i, code in enumerate(labels)}
    rows.sort(key=lambda row: [(place.get(code, len(place)), code) for code in row])
    return replace(from_levels(rows, total=total, labels=labels), hushed=hushed)


def _seem_data(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows of levels seem to be data: the coarsest level has nearly as many codes as there are rows."""
    coarsest = {row[0] for row in rows if row}
    return len(rows) > _FEW and len(rows[0]) > 1 and 2 * len(coarsest) > len(rows)


def _path(row: Sequence[str], total: str, where: str, *, hushed: bool = False) -> list[str]:
    """Return the codes of one row from the top: blanks at the right and repeated codes say nothing new."""
    place = f"{where}: " if where else ""
    path: list[str] = []
    ended = False

    def the_code(code: str) -> str:
        return "the code" if hushed else f"the code {named(code, where)}".rstrip()

    for code in row:
        if not code:
            ended = True
        elif ended:
            raise HierarchyError(
                f"{place}{the_code(code)} follows a blank level; leave blanks only at the right, "
                "or repeat the code above"
            )
        elif not path or path[-1] != code:
            path.append(code)
    if not path:
        raise HierarchyError(f"{place}the row is blank; give it a code or delete it")
    if total in path:
        raise HierarchyError(f"{place}the total {total!r} does not belong into a levels file; leave out its column")
    if len(set(path)) < len(path):
        again = next(code for code in path if path.count(code) > 1)
        raise HierarchyError(f"{place}{the_code(again)} stands under itself: a cycle")
    return path


def _lines(source: str, lines: Sequence[int]) -> Callable[[int], str]:
    def where(index: int) -> str:
        return f"{source} line {lines[index] if lines else index + 1}" if source else ""

    return where
