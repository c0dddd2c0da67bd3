"""Tables about overlapping populations, and the differences of these that a reader can form.

A table about some of the respondents only (``where: {status: [active]}``) has the filter's column as a dimension, in
which all its cells have one code that is not the total. If another table of the same response shows the same cells for
more respondents, an attacker who has both subtracts one from the other, and knows the cells of those who are in the
larger population only. Nobody publishes these, so they must be judged like published ones: a set of tables is whole if
it has them too, be it unpublished.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cellguard.arrays import Positions
from cellguard.hierarchy.groups import Leaves
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.keys import Keys, combine, find
from cellguard.table.table import Table

Held = frozenset[str]  # leaves of a dimension
MOST = 64  # populations that are judged because others differ by them


@dataclass(frozen=True, eq=False)
class Extent:
    """What a table is about: a response of a population, by some dimensions, of those that have certain leaves only."""

    name: str
    response_key: tuple[str, str]
    by: tuple[str, ...]
    where: Mapping[str, Held]

    def covers(self, other: Extent) -> bool:
        """Whether a table has the cells of another one, or finer ones."""
        return self.response_key == other.response_key and self.where == other.where and set(other.by) <= set(self.by)


@dataclass(frozen=True, eq=False)
class Difference:
    """Those in the population of ``larger`` that are not in that of ``smaller``, by the dimensions that both have.

    ``extent`` is None if the populations differ in several columns: then the difference is no cell of a table; or if
    there are too many differences to judge.
    """

    larger: str
    smaller: str
    extent: Extent | None


def differences(
    extents: Sequence[Extent], leaves: Mapping[str, Held], nobody: Callable[[Extent, Extent], bool] = lambda *_: False
) -> list[Difference]:
    """Return the differences of nested populations that no table has; ``leaves`` are all those of each dimension.

    They are closed under subtraction: with tables of all, of a and of b also what is left without both. Beyond `MOST`
    populations differences are named only (``extent`` is None), since there may be as many as subsets.

    ``nobody`` tells of two populations, the larger one first, whether they are the same people all the same.

    >>> every = {"status": frozenset({"active", "closed", "dormant"})}
    >>> whole = Extent("whole", ("turnover", "all"), ("region", "size"), {})
    >>> part = Extent("part", ("turnover", "all"), ("region",), {"status": frozenset({"active"})})
    >>> (rest,) = differences([whole, part], every)
    >>> rest.larger, rest.smaller, rest.extent.by, sorted(rest.extent.where["status"])
    ('whole', 'part', ('region',), ['closed', 'dormant'])
    """
    there, missing, most = list(extents), list[Difference](), len(extents) + MOST
    fresh, named = there, dict[tuple[str, str], Difference]()
    while fresh:  # what a difference leaves can be subtracted again: all - a - b = c
        older, fresh = there.copy(), []
        for smaller, larger in product(older, older):
            narrowed = _narrowed(larger, smaller, leaves)
            if not narrowed or nobody(larger, smaller):
                continue
            if len(narrowed) > 1:
                named.setdefault((larger.name, smaller.name), Difference(larger.name, smaller.name, None))
                continue
            (column,) = narrowed
            rest = larger.where.get(column, leaves[column]) - smaller.where[column]
            by = tuple(name for name in smaller.by if name in larger.by) or smaller.by[:1]
            extent = Extent(f"{larger.name}-{smaller.name}", smaller.response_key, by, {**smaller.where, column: rest})
            if any(other.covers(extent) for other in there):
                continue
            if len(there) == most:
                return [*missing, *named.values(), Difference(larger.name, smaller.name, None)]
            there.append(extent)
            fresh.append(extent)
            missing.append(Difference(larger.name, smaller.name, extent))
    return [*missing, *named.values()]


def _narrowed(larger: Extent, smaller: Extent, leaves: Mapping[str, Held]) -> list[str]:
    """Return the columns in which one population is a true part of the other; none if it is no part of it.

    A table that is itself by such a column has cells of its own for the difference.
    """
    if larger.response_key != smaller.response_key or larger is smaller:
        return []
    narrowed = []
    for column in dict.fromkeys([*larger.where, *smaller.where]):
        large, small = (extent.where.get(column, leaves[column]) for extent in (larger, smaller))
        if column in larger.by or column in smaller.by or not small <= large:
            return []
        narrowed += [column] if small < large else []
    return narrowed


def extents_of(tables: Sequence[Table]) -> tuple[list[Extent], Mapping[str, Held]]:
    """Return what tables are about, and all leaves of the dimensions that tell populations apart."""
    selecting = [_selecting(table) for table in tables]
    held = {d.name: Leaves(d) for own in selecting for d in own}
    extents = []
    for table, own in zip(tables, selecting, strict=True):
        where = {d.name: _leaves_of(held[d.name], code) for d, code in own.items()}
        by = tuple(d.name for d in table.dimensions if d.name not in where)
        extents.append(Extent(table.name, table.response_key, by, where))
    return extents, {name: own.held[own.total] for name, own in held.items()}


def _selecting(table: Table) -> dict[Dimension, str]:
    """Return the dimensions in which all cells of a table have one code, not the total, and that code."""
    one = {}
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        if len(column) and column[0] and (column == column[0]).all():
            one[dimension] = dimension.codes[column[0]]
    return one


def _leaves_of(leaves: Leaves, code: str) -> Held:
    return next(held for held, codes in leaves.codes.items() if code in codes)


def unjudged(tables: Sequence[Table]) -> list[Difference]:
    """Return the differences of populations that no table has, but for those that are visibly nobody."""
    by_name = {table.name: table for table in tables}
    extents, leaves = extents_of(tables)

    def nobody(*pair: Extent) -> bool:
        there = [by_name[extent.name] for extent in pair if extent.name in by_name]
        return len(there) == len(pair) and _nobody(*there)

    return differences(extents, leaves, nobody)


@dataclass(frozen=True)
class Uncrossed:
    """Tables of one response that share a crossing table which the set does not have, and its dimensions."""

    tables: tuple[str, ...]
    by: tuple[str, ...]


def uncrossed(tables: Sequence[Table]) -> list[Uncrossed]:
    """Return the crossing tables behind the tables of each response that no table of the set has."""
    extents = extents_of([table for table in tables if table.release != "sums"])[0]
    open_ = []
    for response_key in dict.fromkeys(extent.response_key for extent in extents):
        own = [extent for extent in extents if extent.response_key == response_key]
        whole = crossing(own)
        if not any(extent.covers(whole) for extent in own):
            open_.append(Uncrossed(tuple(extent.name for extent in own), whole.by))
    return open_


def crossing(extents: Sequence[Extent]) -> Extent:
    """Return what the crossing table of some tables is about, which divides whatever one of them does.

    A selection that all tables share stays one; a column by which only some select becomes a dimension.

    >>> a = Extent("a", ("x", "all"), ("r", "s"), {})
    >>> crossing([a, Extent("b", ("x", "all"), ("r", "t"), {"u": frozenset("1")})]).by
    ('r', 's', 't', 'u')
    """
    first = extents[0]
    shared = {n: held for n, held in first.where.items() if all(e.where.get(n) == held for e in extents)}
    by = dict.fromkeys(name for extent in extents for name in (*extent.by, *extent.where))
    return Extent("latent", first.response_key, tuple(name for name in by if name not in shared), shared)


def _nobody(larger: Table, smaller: Table) -> bool:
    """Whether two tables are the same wherever both show something, respondents included."""
    selecting = {d.name for table in (larger, smaller) for d in _selecting(table)}
    names = [{d.name for d in table.dimensions} - selecting for table in (larger, smaller)]
    (rows, keys), (others, wanted) = (_margin(table, names[0] & names[1]) for table in (larger, smaller))
    place = find(wanted, keys)
    if not len(place) or (place < 0).any() or larger.facts.count is None or smaller.facts.count is None:
        return False
    facts = [(larger.value, smaller.value), (larger.facts.count, smaller.facts.count)]
    return all(np.array_equal(ours[rows[place]], theirs[others]) for ours, theirs in facts)


def _margin(table: Table, names: Collection[str]) -> tuple[Positions, Keys]:
    """Return the cells of a table that have no code but the total, or its one code, outside of some dimensions."""
    own = {d.name: (d, c) for d, c in zip(table.dimensions, table.codes, strict=True)}
    selecting = {d.name for d in _selecting(table)}
    outside = [c == 0 for name, (_, c) in own.items() if name not in names and name not in selecting]
    rows = np.flatnonzero(np.logical_and.reduce([np.ones(len(table), bool), *outside]))
    order = sorted(names)
    sizes = [len(own[name][0].codes) for name in order]
    return rows, combine([own[name][1][rows] for name in order], sizes) if order else np.zeros(len(rows), np.int64)
