"""Ready-made cells: tables that somebody already made, with totals, from a file or a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.added_totals import add_totals
from cellguard.table.apriori import NUMBERS, Apriori, read_statements
from cellguard.table.binding import By, bind
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.codes import find_columns, read_codes
from cellguard.table.fact import Count, Fact, Mark, Requested, Top, Total
from cellguard.table.facts import Facts, FloatArray
from cellguard.table.keys import combine, first_repeat
from cellguard.table.plausible import check_facts, check_sizes, with_sizes
from cellguard.table.recoded import merge_recoded
from cellguard.table.signed_facts import Signs, Sizes
from cellguard.table.source import Source, open_source
from cellguard.table.table import Levels, Origin, Table, Zeros
from cellguard.table.zeros import fill_zeros


@dataclass(frozen=True)
class CellColumns:
    """Which columns of the data hold what. ``holdings``, where given, is the count that the rules look at.

    ``others`` are the columns of facts that only stored tables have.
    """

    value: str
    count: str | None = None
    holdings: str | None = None
    top: tuple[str, ...] = ()
    sizes: str | None = None
    signs: tuple[str, ...] = ()
    status: str | None = None
    cost: str | None = None
    lower: str | None = None
    upper: str | None = None
    need_lower: str | None = None
    need_upper: str | None = None
    marks: tuple[str, ...] = ()
    others: Mapping[Fact, tuple[str, ...]] = field(default_factory=dict)
    origin: Origin = "cells"

    @property
    def numbers(self) -> tuple[str | None, ...]:
        """The columns that hold numbers."""
        said = (getattr(self, name) for name in NUMBERS)
        kinds = [names for fact, names in self.facts.items() if not isinstance(fact, (Mark, Requested))]
        return (*(name for names in kinds for name in names), *said)

    @property
    def number(self) -> str | None:
        """The column that counts respondents: holdings, where given."""
        return self.holdings or self.count

    @property
    def facts(self) -> Mapping[Fact, tuple[str, ...]]:
        """The columns of each fact."""
        known: dict[Fact, tuple[str, ...]] = {Total(): (self.value,)}
        if self.number:
            known[Count()] = (self.number,)
        if self.top:
            known[Top(len(self.top))] = self.top
        if self.sizes:
            known[Sizes()] = (self.sizes,)
        if self.signs:
            known[Signs()] = self.signs
        return known | {Mark(name): (name,) for name in self.marks} | dict(self.others)


@dataclass(frozen=True)
class About:
    """What a table is about and how it is published.

    Parameters
    ----------
    name
        The name of the table and of its files.
    response
        What is summed; by default the name of the value column.
    population
        Over whom it is summed.
    is_count
        Whether the table is a frequency table.
    decimals
        The decimals published: by default 0 if all values are whole, else 2.
    zeros
        ``known``: empty cells are public zeros; ``possible``: they are cells of value 0 that may be suppressed.
    tolerance
        How far a sum may be off, for values that were rounded one by one.
    publish
        The levels shown, by dimension; cells at other levels are unpublished.
    impossible
        Where zeros are possible: a file or frame of combinations that cannot occur (structural zeros).
    totals
        ``compute`` if the data hold inner cells only; their totals are then added.

    Examples
    --------
    >>> import cellguard as cg
    >>> about = cg.About(name="jobs", response="employees", publish={"r": [1]})
    >>> cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7]}, by=["r"], value="x", about=about).unpublished.tolist()
    [True, False, False]
    """

    name: str = "table"
    response: str | None = None
    population: str = "all"
    is_count: bool = False
    decimals: int | None = None
    zeros: Zeros | None = None
    tolerance: float | None = None
    publish: Levels | None = None
    impossible: Source | None = None
    totals: Literal["given", "compute"] = "given"


def cells(
    data: object,
    by: By,
    *,
    value: str,
    count: str | None = None,
    top: Sequence[str] = (),
    marks: Sequence[str] = (),
    about: About | None = None,
    name: str = "table",
) -> Table:
    """Read a ready-made table: one row per cell, totals included; a combination without a row is empty.

    Parameters
    ----------
    data
        A path (CSV, Parquet, Excel, SPSS, Stata, SAS), a mapping of columns, or a frame that speaks Arrow.
    by
        The dimension columns: a list of names (flat dimensions under ``Total``) and dimensions, or a mapping from
        names to dimensions or hierarchies.
    value
        The column of cell values; if it is also the ``count`` column, this is a frequency table.
    count
        The column of the numbers of respondents.
    top
        The columns of the largest contributions, the largest first.
    marks
        Yes-or-no columns for the rule `Given`.
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
        If a column is missing, an entry is no number or code, or the cells do not add up.

    Examples
    --------
    >>> table = cells({"region": ["Total", "North", "South"], "turnover": [12, 5, 7], "firms": [9, 2, 7]},
    ...               by=["region"], value="turnover", count="firms")
    >>> len(table), table.relations.toarray().tolist()
    (3, [[1.0, -1.0, -1.0]])
    """
    refuse_word(by, "by")
    refuse_word(top, "top")
    refuse_word(marks, "marks")
    about = about or About(name=name)
    about = replace(about, is_count=about.is_count or value == count, response=about.response or value)
    source = open_source(data, name=f"table {about.name!r}")
    dimensions = bind(by, source, inner=about.totals == "compute")
    return read_cells(source, dimensions, CellColumns(value, count, top=tuple(top), marks=tuple(marks)), about)


def refuse_word(names: object, option: str) -> None:
    """Refuse a single word where a list of names belongs: its letters would be taken for names."""
    if isinstance(names, str):
        raise InputError(f"`{option}` must be a list of names; give [{names!r}]")


def read_cells(source: Source, by: Mapping[str, Dimension], columns: CellColumns, about: About) -> Table:
    """Read the cells of one table from an opened source, check every field, and apply recodings and zeros."""
    by = find_columns(source, by)
    source = source.settled(columns.numbers)
    _refuse_clash(source, by, columns)
    codes, keep = read_codes(source, by)
    _refuse_repeats(source, by)
    facts = Facts({fact: fact.read(source, names) for fact, names in columns.facts.items()})
    apriori = _read_apriori(source, columns)
    rows = np.flatnonzero(keep)
    dimensions = tuple(by.values())
    if columns.signs:
        facts = with_sizes(facts, source, columns.signs)
    facts = check_facts(facts, source, columns.facts, about.is_count)
    if columns.sizes or columns.signs:
        check_sizes(facts, source, columns.sizes or columns.signs[0])
    table = Table(
        name=about.name,
        dimensions=dimensions,
        codes=tuple(column[rows] for column in codes),
        facts=facts.take(rows),
        apriori=apriori.take(rows),
        response=about.response or ("count" if about.is_count else columns.value),
        population=about.population,
        is_count=about.is_count,
        zeros=about.zeros or ("possible" if about.is_count else "known"),
        tolerance=about.tolerance,
        place=source.place,
        rows=rows,
        levels=about.publish,
        origin=columns.origin,
    )
    table = merge_recoded(table)
    return finish_table(add_totals(table) if about.totals == "compute" else table, about, by)


def _refuse_clash(source: Source, by: Mapping[str, Dimension], columns: CellColumns) -> None:
    """Refuse a column that is said to hold both the codes of a dimension and something else."""
    figures = [columns.value, *columns.top, columns.count, columns.holdings, columns.sizes, *columns.signs]
    said = [columns.status, *(getattr(columns, name) for name in NUMBERS)]
    for kind, taken in (("figure", figures), ("statement about cells", said)):
        clash = [c for c in taken if c in by]
        if clash:
            raise InputError(f"{source.place.name}: column {clash[0]!r} is both a dimension and a {kind}")


def finish_table(table: Table, about: About, by: Mapping[str, Dimension]) -> Table:
    """Settle the decimals, add the empty cells that may be suppressed, order the cells, and check the levels shown."""
    table = replace(table, decimals=_decimals(table.value) if about.decimals is None else about.decimals)
    if table.zeros == "possible":
        table = fill_zeros(table, about.impossible, by)
    _check_levels(table)
    return in_hierarchy_order(table)


def _read_apriori(source: Source, columns: CellColumns) -> Apriori:
    said = {name: getattr(columns, name) for name in NUMBERS if getattr(columns, name)}
    return read_statements(source, columns.status, said)


def _refuse_repeats(source: Source, by: Mapping[str, Dimension]) -> None:
    texts, index = zip(*(source.codes(column) for column in by), strict=True)
    repeat = first_repeat(combine(index, [len(t) for t in texts]))
    if repeat:
        first, second = repeat
        codes = zip(by.values(), texts, index, strict=True)
        name = "/".join(dimension.tell(text[i[second]]) for dimension, text, i in codes)
        raise InputError(
            f"{source.place.row(second)}: the cell {name} is a duplicate of {source.place.row(first)}; "
            "each cell has one row: remove one, or name the column that tells them apart as a dimension"
        )


def _decimals(values: FloatArray) -> int:
    return 0 if (values == np.rint(values)).all() else 2


def _check_levels(table: Table) -> None:
    """Refuse levels to publish that the dimensions do not have."""
    names = [d.name for d in table.dimensions]
    for name, shown in (table.levels or {}).items():
        if name not in names:
            raise InputError(f"table {table.name!r}: `publish` names {name!r}{did_you_mean(name, names)}")
        deepest = int(table.dimensions[names.index(name)].level.max())
        for level in shown:
            if not 0 <= level <= deepest:
                raise InputError(
                    f"table {table.name!r}: `publish` asks for level {level} of {name!r}, which has 0 to {deepest}"
                )
