"""`tabulate`: tables with the facts that rules need, from records grouped by leaf codes and holding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, Place
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.table.apriori import Apriori
from cellguard.table.facts import (
    BoolArray,
    Count,
    Fact,
    Facts,
    FloatArray,
    Records,
    Requested,
    Signs,
    Top,
    Unwaived,
)
from cellguard.table.grid import Grid, Wholes, grid_of
from cellguard.table.kernel import Gathered, Rows, add_up, gather
from cellguard.table.lattice import Lattice, build_lattice, leaf_positions
from cellguard.table.read import About, finish_table
from cellguard.table.survey import Seen, Survey, seen_by_rules, virtual
from cellguard.table.table import Table

T = TypeVar("T", bound=np.generic)
Kept = npt.NDArray[np.intp] | None
_NO_EXTRA: Wholes = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Wanted:
    """A table to be made from records.

    ``by`` gives the dimension or hierarchy of each record column and ``value`` the response to sum (``count``: the
    number of records, or with weights the sum of the weights). ``about`` says what the table is about and how it is
    published. ``facts`` are those that its rules need; only these are gathered.

    With weights the published total is the weighted one, and ``survey`` says what the rules see:

    virtual             a contribution of weight w comes w times (the default)
    rounded             as virtual, with weights rounded to whole numbers
    alternating         as virtual, with broken weights rounded up and down by turns
    sample              everybody knows who is in the sample: unweighted contributions, unweighted total
    handbook            unweighted contributions, weighted total
    published_weights   as handbook, but readers know the weights of the largest and subtract w x
    """

    by: Mapping[str, Dimension | Hierarchy]
    value: str
    about: About = field(default_factory=About)
    facts: tuple[Fact, ...] = (Count(),)
    survey: Survey | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.by, Mapping):
            raise InputError(
                f"table {self.about.name!r}: `by` must give each column its hierarchy, for instance "
                "by={'region': flat(['North', 'South'])}"
            )
        if not self.by:
            raise InputError(f"table {self.about.name!r} needs at least one dimension")
        bad = [name for name, given in self.by.items() if not isinstance(given, (Dimension, Hierarchy))]
        if bad:
            raise InputError(f"table {self.about.name!r}: `by` must give {bad[0]!r} a hierarchy or a dimension")

    @cached_property
    def dimensions(self) -> Mapping[str, Dimension]:
        """The dimension of each record column; a hierarchy makes one that is named after its column."""
        return {n: given if isinstance(given, Dimension) else Dimension(n, given) for n, given in self.by.items()}


def tabulate(grouped: Grouped, wanted: Sequence[Wanted] | Wanted) -> list[Table]:
    """Return the wanted tables: a cell for every combination of codes, at any level, that has a record.

    In every cell, margins too, a holding counts once, with the sum of its records there.

    >>> from cellguard.hierarchy.build import flat
    >>> from cellguard.microdata.grouped import group_units
    >>> from cellguard.microdata.units import Units
    >>> units = Units(("shop",), (("A", "B"),), (np.array([0, 0, 1, 1], np.int32),),
    ...               {"violins": np.array([600.0, 10.0, 90.0, 60.0])}, None, np.arange(4), np.array([0, 1, 0, 2]),
    ...               np.zeros(4, bool), np.zeros(4, bool))
    >>> shop = Dimension("shop", flat(["A", "B"]))
    >>> (table,) = tabulate(group_units(units), [Wanted({"shop": shop}, "violins", facts=(Top(2),))])
    >>> table.value.tolist(), table.facts.count.tolist(), table.facts.tops.tolist()
    ([760.0, 610.0, 150.0], [3.0, 2.0, 2.0], [[690.0, 60.0], [600.0, 10.0], [90.0, 60.0]])
    """
    wanted = (wanted,) if isinstance(wanted, Wanted) else wanted
    for table in wanted:
        _check(grouped, table)
    kept = np.flatnonzero(grouped.weighted[COUNT] > 0) if grouped.has_weights else None
    if kept is not None and len(kept) == len(grouped):
        kept = None
    lattices: dict[tuple[object, ...], Lattice] = {}
    made = []
    for table in wanted:
        key = tuple((column, id(given)) for column, given in table.by.items())
        if key not in lattices:
            lattices[key] = _lattice(grouped, table.dimensions, kept)
        made.append(_table(grouped, table, lattices[key], kept))
    return made


def _check(grouped: Grouped, wanted: Wanted) -> None:
    """Refuse a table whose rules ask for what the records cannot tell."""
    name = wanted.about.name
    if _has(wanted, Requested) and not grouped.has_requests:
        raise InputError(
            f"table {name!r}: a rule asks who wants protection; name the column of requests with `request`"
        )
    if wanted.survey == "published_weights" and _has(wanted, Unwaived):
        raise InputError(f"table {name!r}: rules with waivers do not go with survey: published_weights")


def _keep(column: npt.NDArray[T], kept: Kept) -> npt.NDArray[T]:
    """Return the rows of a column that belong to the population: those with a weight."""
    return column if kept is None else column[kept]


def _lattice(grouped: Grouped, by: Mapping[str, Dimension], kept: Kept) -> Lattice:
    columns = []
    for name, dimension in by.items():
        at = grouped.column(name)
        columns.append(leaf_positions(dimension, grouped.labels[at], name)[_keep(grouped.codes[at], kept)])
    return build_lattice(list(by.values()), columns)


def _table(grouped: Grouped, wanted: Wanted, lattice: Lattice, kept: Kept) -> Table:
    about = wanted.about
    is_count = wanted.value == COUNT and not grouped.has_weights
    table = Table(
        name=about.name,
        dimensions=tuple(wanted.dimensions.values()),
        codes=lattice.codes,
        facts=_facts(grouped, wanted, lattice, kept),
        apriori=Apriori.silent(len(lattice)),
        response=about.response or wanted.value,
        population=about.population,
        is_count=is_count,
        zeros=about.zeros or ("possible" if is_count else "known"),
        tolerance=about.tolerance,
        place=Place(grouped.name, unit="cell"),
        rows=np.arange(len(lattice)),
        levels=about.publish,
        origin="records",
    )
    return finish_table(table, replace(about, is_count=is_count), wanted.dimensions)


def _facts(grouped: Grouped, wanted: Wanted, lattice: Lattice, kept: Kept) -> Facts:
    seen = seen_by_rules(grouped, wanted.value, wanted.survey)
    facts = Facts(_summed(lattice, seen.published, kept))
    if seen.base is not None:
        facts = replace(facts, base=facts.total if seen.base is seen.published else _summed(lattice, seen.base, kept))
    if _has(wanted, Records):
        facts = replace(facts, records=add_up(lattice, _keep(grouped.records, kept)).astype(float))
    value = _keep(seen.value, kept)
    grid = grid_of(value)
    rows = Rows(lattice.leaf, _keep(grouped.holding, kept), grid.wholes(value), _NO_EXTRA, _keep(grouped.waived, kept))
    if wanted.value == COUNT or any(_has(wanted, kind) for kind in (Count, Top, Signs, Requested, Unwaived)):
        facts = _contributions(facts, grouped, wanted, lattice, seen, rows, grid, kept)
    return facts


def _contributions(
    facts: Facts, grouped: Grouped, wanted: Wanted, lattice: Lattice, seen: Seen, rows: Rows, grid: Grid, kept: Kept
) -> Facts:
    """Add the facts that come from the contributions of holdings: counts, signs and the largest."""
    most = max(_most(wanted, Top), int(_has(wanted, Requested)))
    steps = Grid()
    if seen.extra is not None and most:
        extra = _keep(seen.extra, kept)
        steps = grid_of(extra)
        rows = rows._replace(extra=steps.wholes(extra), additive=seen.meaning == "excess")
    found = gather(lattice, rows, top=most, unwaived=_most(wanted, Unwaived))
    # Negative contributions are always told, since many rules make no sense with them.
    facts = replace(facts, count=found.count.astype(float), negative=grid.floats(found.negative))
    if _has(wanted, Signs):
        facts = replace(facts, positive=grid.floats(found.positive))
    if _has(wanted, Requested):
        facts = replace(facts, requested=_asked(grouped, found.holder[:, 0]))
    if _has(wanted, Unwaived):
        nobody = found.unwaived_holder < 0
        facts = replace(facts, unwaived=np.where(nobody, np.nan, grid.floats(found.unwaived)))
    return _largest(facts, found, grid, steps, seen) if most else facts


def _largest(facts: Facts, found: Gathered, grid: Grid, steps: Grid, seen: Seen) -> Facts:
    tops = grid.floats(found.value)
    if seen.meaning == "excess":
        return replace(facts, tops=tops, excess=steps.floats(found.extra))
    if seen.meaning == "weight":
        tops = virtual(tops, np.where(found.holder >= 0, 1 + steps.floats(found.extra), 0.0))
    return replace(facts, tops=tops)


def _asked(grouped: Grouped, largest: Wholes) -> BoolArray:
    """Tell which cells' largest contributor asked for protection."""
    asks = np.zeros(grouped.holdings, bool)
    asks[grouped.holding] = grouped.requested
    return np.asarray((largest >= 0) & asks[largest], bool)


def _summed(lattice: Lattice, values: FloatArray, kept: Kept) -> FloatArray:
    values = _keep(values, kept)
    grid = grid_of(values)
    return grid.floats(add_up(lattice, grid.wholes(values)))


def _has(wanted: Wanted, kind: type) -> bool:
    return any(isinstance(fact, kind) for fact in wanted.facts)


def _most(wanted: Wanted, kind: type[Top] | type[Unwaived]) -> int:
    return max((fact.n for fact in wanted.facts if isinstance(fact, kind)), default=0)
