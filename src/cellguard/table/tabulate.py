"""`tabulate`: tables with the facts that rules need, from records grouped by leaf codes and holding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np

from cellguard.arrays import Positions
from cellguard.errors import InputError, Place
from cellguard.hierarchy.build import TOTAL, flat
from cellguard.hierarchy.code_order import in_code_order
from cellguard.hierarchy.confidential_codes import may_be_values
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.apriori import Apriori
from cellguard.table.fact import Base, Count, Excess, Fact, Signs, Top, Total, widest
from cellguard.table.facts import Facts
from cellguard.table.gathering import Gathering, Kept, keep
from cellguard.table.keys import distinct
from cellguard.table.lattice import Lattice, build_lattice, leaf_positions
from cellguard.table.negative import Negative
from cellguard.table.read import About, finish_table, refuse_word
from cellguard.table.signed_facts import Sizes
from cellguard.table.survey import Survey, seen_by_rules
from cellguard.table.table import Table


class Asks(Protocol):
    """Something that looks at facts: a rule."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it looks at."""
        ...


@dataclass(frozen=True, eq=False)
class Wanted:
    """A table to be made from records, when several are made in one go; `tabulate` says it all for one.

    ``by`` gives the dimension or hierarchy of each record column and ``value`` the response to sum (``count``: the
    number of records, or with weights the sum of the weights). ``about`` says what the table is about and how it is
    published. ``facts`` are those that its rules need; only these are gathered. ``where`` says which records the table
    is about: of some columns a dimension, and which of its leaves a record must have.

    With weights the published total is the weighted one, and ``survey`` says what the rules see:

    virtual             a contribution of weight w comes w times (the default)
    rounded             as virtual, with weights rounded to whole numbers
    alternating         as virtual, with broken weights rounded up and down by turns
    sample              everybody knows who is in the sample: unweighted contributions, unweighted total
    handbook            unweighted contributions, weighted total
    published_weights   as handbook, but readers know the weights of the largest and subtract w x

    ``negative`` says what rules see of contributions that may be negative; without it rules that make no sense for
    them refuse the table.
    """

    by: Mapping[str, Dimension | Hierarchy]
    value: str
    about: About = field(default_factory=About)
    facts: tuple[Fact, ...] = (Count(),)
    survey: Survey | None = None
    where: Mapping[str, tuple[Dimension, frozenset[str]]] = field(default_factory=dict)
    negative: Negative | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.by, Mapping):
            raise InputError(
                f"table {self.about.name!r}: `by` must give each column its hierarchy, for instance "
                "by={'region': Hierarchy.flat(['North', 'South'])}"
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


def tabulate(
    records: Grouped,
    by: Mapping[str, Dimension | Hierarchy] | Sequence[str],
    *,
    value: str,
    rules: Asks | Sequence[Asks],
    survey: Survey | None = None,
    negative: Negative | None = None,
    about: About | None = None,
    name: str = "table",
) -> Table:
    """Make a table from records, with the facts that its rules look at.

    There is a cell for every combination of codes, at any level, that has a record. In every cell, margins too, a
    holding counts once, with the sum of its records there.

    Parameters
    ----------
    records
        What `cellguard.records` read.
    by
        The hierarchy or dimension of each record column, or a list of columns, whose codes are then flat under
        ``Total``.
    value
        The response to sum; ``count`` is the number of records, or with weights the sum of the weights.
    rules
        The rules that the table will be assessed by, one or a list.
    survey
        With weights: what the rules see of them.
    negative
        What the rules see of contributions that may be negative.
    about
        How the table is published; ``name`` is enough in most cases.
    name
        The name of the table.

    Returns
    -------
    Table
        The cells with their facts.

    Raises
    ------
    InputError
        If the records lack a fact that a rule looks at, a column or a response.

    Examples
    --------
    >>> import cellguard as cg
    >>> firms = cg.records({"shop": ["A", "A", "B", "B"], "violins": [600, 10, 90, 60], "owner": [1, 2, 1, 3]},
    ...                    by=["shop"], values=["violins"], holding="owner")
    >>> table = tabulate(firms, by=["shop"], value="violins", rules=cg.PPercent(10))
    >>> table.value.tolist(), table.facts.count.tolist(), table.facts.tops.tolist()
    ([760.0, 610.0, 150.0], [3.0, 2.0, 2.0], [[690.0, 60.0], [600.0, 10.0], [90.0, 60.0]])
    """
    refuse_word(by, "by")
    listed = rules if isinstance(rules, Sequence) else (rules,)
    if any(isinstance(rule, type) or not hasattr(rule, "facts") for rule in listed):
        raise InputError("rules must be values such as PPercent(10), or a list of them")
    facts = (Count(), *(fact for rule in listed for fact in rule.facts))
    given = by if isinstance(by, Mapping) else {column: _flat(records, column) for column in by}
    return make_tables(records, [Wanted(given, value, about or About(name=name), facts, survey, negative=negative)])[0]


def make_tables(grouped: Grouped, wanted: Sequence[Wanted], *, run: Run = UNWATCHED) -> list[Table]:
    """Return the wanted tables; those over the same dimensions share the work of finding their cells."""
    for table in wanted:
        for fact in table.facts:
            if fault := fact.lacking(grouped, table):
                raise InputError(f"table {table.about.name!r}: {fault}")
    kept = np.flatnonzero(grouped.weighted[COUNT] > 0) if grouped.has_weights else None
    if kept is not None and len(kept) == len(grouped):
        kept = None
    lattices: dict[tuple[object, ...], tuple[Lattice, Kept]] = {}
    tables = []
    for table in wanted:
        key = (*((column, id(given)) for column, given in table.by.items()), *sorted(table.where.items(), key=str))
        if key not in lattices:
            some = _selected(grouped, table, kept)
            lattices[key] = _lattice(grouped, table.dimensions, some), some
        tables.append(_table(grouped, table, *lattices[key]))
        run.heed()
        run.tell(f"{len(tables):,} of {len(wanted):,} tables made", len(tables), len(wanted))
    return tables


def cells_at_most(grouped: Grouped, wanted: Wanted, most: int) -> bool:
    """Return whether a table would have at most so many cells; where zeros may be suppressed, empty ones count too."""
    kept = _selected(grouped, wanted, None)
    columns = [keep(grouped.codes[grouped.column(name)], kept) for name in wanted.by]
    sizes = [len(grouped.labels[grouped.column(name)]) for name in wanted.by]
    if len(distinct(columns, sizes)[1]) > most:  # and there are more cells than combinations of leaf codes
        return False
    lattice = _lattice(grouped, wanted.dimensions, kept)
    if wanted.about.zeros == "possible":
        return prod(len(np.unique(column)) for column in lattice.codes) <= most
    return len(lattice) <= most


def facts_of_groups(grouped: Grouped, wanted: Wanted, rows: Positions, group: Positions, many: int) -> Facts:
    """Return the facts of groups of records: row ``rows[i]``, ascending, is in ``group[i]``; a row may be in several.

    >>> import cellguard as cg
    >>> firms = cg.records({"shop": ["A", "A", "B"], "x": [6, 1, 9], "owner": [1, 2, 1]}, by=["shop"], values=["x"],
    ...                    holding="owner")
    >>> wanted = Wanted({"shop": flat(["A", "B"])}, "x", facts=(Count(), Top(1)))
    >>> facts = facts_of_groups(firms, wanted, np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), 2)
    >>> facts.total.tolist(), facts.count.tolist(), facts.tops.tolist()
    ([15.0, 10.0], [1.0, 2.0], [[15.0], [9.0]])
    """
    dimension = Dimension("group", flat([str(i) for i in range(many)]))
    lattice = build_lattice([dimension], [(group + 1).astype(np.int32)])
    place = np.full(many + 1, -1, np.intp)
    place[lattice.codes[0]] = np.arange(len(lattice))
    return _facts(grouped, wanted, lattice, rows).take(place[1:])


def _selected(grouped: Grouped, wanted: Wanted, kept: Kept) -> Kept:
    """Return the rows that a table is about."""
    if not wanted.where:
        return kept
    chosen = np.ones(len(grouped), bool) if kept is None else np.isin(np.arange(len(grouped)), kept)
    for name, (dimension, leaves) in wanted.where.items():
        number = grouped.column(name)
        positions = leaf_positions(dimension, grouped.labels[number], name)
        chosen &= np.isin(positions, [dimension.position[leaf] for leaf in leaves])[grouped.codes[number]]
    if not chosen.any():
        raise InputError(f"table {wanted.about.name!r}: no record is of those that `where` selects; see its codes")
    return np.flatnonzero(chosen)


def _flat(records: Grouped, column: str) -> Hierarchy:
    """Return the codes that the records have in a column, side by side."""
    codes = records.labels[records.column(column)]
    hushed = may_be_values(codes, int(records.records.sum()), TOTAL)
    return replace(flat(in_code_order(set(codes) - {TOTAL}, {})), hushed=hushed)


def _lattice(grouped: Grouped, by: Mapping[str, Dimension], kept: Kept) -> Lattice:
    """Return the cells above the records; their different combinations of codes are few, and are looked at alone."""
    numbers = [grouped.column(name) for name in by]
    columns = [keep(grouped.codes[number], kept) for number in numbers]
    combination, seen = distinct(columns, [len(grouped.labels[number]) for number in numbers])
    places = [leaf_positions(by[name], grouped.labels[i], name) for name, i in zip(by, numbers, strict=True)]
    leaves = [place[column[seen]] for place, column in zip(places, columns, strict=True)]
    lattice = build_lattice(list(by.values()), leaves)
    return replace(lattice, leaf=lattice.leaf[combination])


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
        sums_weights=wanted.value == COUNT and grouped.has_weights,
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
    facts: list[Fact] = [Total(), *([] if seen.base is None else [Base()]), *wanted.facts]
    if wanted.negative is not None:
        if grouped.has_weights and (why := wanted.negative.weighted_fault(wanted.survey)):
            raise InputError(f"table {wanted.about.name!r}: {why}")
        seen = replace(seen, value=wanted.negative.seen(grouped, wanted.value))
        facts += [Sizes()]
    if wanted.value == COUNT or any(fact.contributed for fact in facts):
        # Negative contributions are always told, since many rules make no sense with them.
        facts += [Count(), Signs()]
    most = max(fact.largest for fact in facts)
    if most:
        facts += [Top(most)] + ([Excess(most)] if seen.meaning == "excess" else [])
    unwaived, extreme = max(fact.unwaived for fact in facts), max(fact.extreme for fact in facts)
    work = Gathering(grouped, seen, lattice, kept, most, unwaived, extreme, wanted.negative)
    columns = {fact: fact.gather(work) for fact in widest(facts)}
    signs = columns.get(Signs())
    if signs is not None and not (signs < 0).any() and Signs() not in wanted.facts and wanted.negative is None:
        del columns[Signs()]  # the totals say it
    return Facts({fact: column for fact, column in columns.items() if column is not None})
