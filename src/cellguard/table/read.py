"""Ready-made cells: tables that somebody already made, with totals, from a file or a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.build import TOTAL, flat
from cellguard.hierarchy.hierarchy import NOTHING, Dimension, Hierarchy
from cellguard.hierarchy.hush import may_be_values
from cellguard.hierarchy.order import in_code_order
from cellguard.table.apriori import NUMBERS, STATES, Apriori, State
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.codes import find_columns, read_codes
from cellguard.table.fact import Count, Fact, Mark, Top, Total
from cellguard.table.facts import Facts, FloatArray
from cellguard.table.keys import combine, first_repeat
from cellguard.table.plausible import check_facts
from cellguard.table.source import Source, open_source
from cellguard.table.table import Levels, Origin, Table, Zeros
from cellguard.table.zeros import fill_zeros

_TOTALS = ("total", "all", "sum", "_t", "t", "ensemble", "totaal", "gesamt", "insgesamt", "totale", "tot")
By = Sequence[str | Dimension] | Mapping[str, Dimension | Hierarchy | None]


@dataclass(frozen=True)
class CellColumns:
    """Which columns of the data hold what. ``holdings``, where given, is the count that the rules look at.

    ``others`` are the columns of facts that only stored tables have.
    """

    value: str
    count: str | None = None
    holdings: str | None = None
    top: tuple[str, ...] = ()
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
        return known | {Mark(name): (name,) for name in self.marks} | dict(self.others)


@dataclass(frozen=True)
class About:
    """What a table is about and how it is published.

    ``response`` (what is summed), ``population`` (over whom), ``is_count``, ``zeros``, ``decimals`` and ``tolerance``
    are those of `Table`. ``publish`` lists the levels shown, by dimension; ``impossible`` are combinations that cannot
    occur, where zeros are possible.

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
    """Read ready-made cells: one row a cell, totals included; a combination without a row is empty.

    ``by`` names the dimension columns: a list of column names (flat dimensions, total ``Total``) and dimensions, or
    a mapping from column names to dimensions or hierarchies. ``value`` is the column of cell totals; if it is also the
    ``count`` column, the table is a frequency table.

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
    dimensions = bind(by, source)
    return read_cells(source, dimensions, CellColumns(value, count, top=tuple(top), marks=tuple(marks)), about)


def refuse_word(names: object, option: str) -> None:
    """Refuse a single word where a list of names belongs: its letters would be taken for names."""
    if isinstance(names, str):
        raise InputError(f"`{option}` must be a list of names; give [{names!r}]")


def bind(by: By, source: Source) -> Mapping[str, Dimension]:
    """Return for each dimension column its dimension; where none is given, a flat one of the codes that occur."""
    wanted: dict[str, Dimension | Hierarchy | None] = {}
    if isinstance(by, Mapping):
        wanted.update(by)
    else:
        for item in by:
            wanted[item.name if isinstance(item, Dimension) else item] = item if isinstance(item, Dimension) else None
    if not wanted:
        raise InputError("a table needs at least one dimension; name its columns in `by`")
    found = {}
    for column, given in wanted.items():
        if isinstance(given, Dimension):
            found[column] = given
        elif isinstance(given, Hierarchy):
            found[column] = Dimension(column, given)
        else:
            codes = source.codes(column)[0]
            found[column] = flat_dimension(column, codes, place=source.place.name, rows=len(source))
    return found


def flat_dimension(
    name: str,
    codes: Sequence[str],
    *,
    total: str = TOTAL,
    place: str = "",
    column: str = "",
    rows: int = 0,
    labels: Mapping[str, str] = NOTHING,
) -> Dimension:
    """Return the dimension of codes side by side under a total, which must be among them.

    The codes are in the order of ``labels`` or else in natural order, whatever the order of the data. They are those
    of a column of so many ``rows``. If the total is a word, it is evidently one of codes.
    """
    if total not in codes:
        likely = [code for code in codes if code.strip().casefold() in {total.casefold(), *_TOTALS}]
        near = f"; did you mean {' or '.join(map(repr, likely))}?" if likely else "; is it the right column?"
        raise InputError(
            f"{place}: no row has the total {total!r} in column {column or name!r}{near} Name its code with `total`, "
            "or give the dimension a hierarchy"
        )
    others = flat(in_code_order(set(codes) - {total}, labels), total=total, labels=labels)
    return Dimension(name, replace(others, hushed=may_be_values(codes, rows, total)))


def read_cells(source: Source, by: Mapping[str, Dimension], columns: CellColumns, about: About) -> Table:
    """Read the cells of one table from an opened source, check every field, and apply recodings and zeros."""
    by = find_columns(source, by)
    _refuse_clash(source, by, columns)
    codes, keep = read_codes(source, by)
    _refuse_repeats(source, by)
    facts = Facts({fact: fact.read(source, names) for fact, names in columns.facts.items()})
    apriori = _read_apriori(source, columns)
    rows = np.flatnonzero(keep)
    dimensions = tuple(by.values())
    facts = check_facts(facts, source, columns.facts, about.is_count)
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
    return finish_table(_merge_recoded(table), about, by)


def _refuse_clash(source: Source, by: Mapping[str, Dimension], columns: CellColumns) -> None:
    """Refuse a column that is said to hold both the codes of a dimension and something else."""
    figures = [columns.value, *columns.top, columns.count, columns.holdings]
    said = [columns.status, *(getattr(columns, name) for name in NUMBERS)]
    for kind, taken in (("figure", figures), ("statement about cells", said)):
        clash = [c for c in taken if c in by]
        if clash:
            raise InputError(f"{source.place.name}: column {clash[0]!r} is both a dimension and a {kind}")


def finish_table(table: Table, about: About, by: Mapping[str, Dimension]) -> Table:
    """Settle the decimals, add the empty cells that may be hidden, order the cells, and check the levels shown."""
    table = replace(table, decimals=_decimals(table.value) if about.decimals is None else about.decimals)
    if table.zeros == "possible":
        table = fill_zeros(table, about.impossible, by)
    _check_levels(table)
    return in_hierarchy_order(table)


def _read_apriori(source: Source, columns: CellColumns) -> Apriori:
    said = {name: getattr(columns, name) for name in NUMBERS if getattr(columns, name)}
    return read_statements(source, columns.status, said)


def read_statements(source: Source, status: str | None, numbers: Mapping[str, str]) -> Apriori:
    """Return what columns of the data say of each row: manual states and numbers, blank where nothing."""
    silent = Apriori.silent(len(source))
    changes: dict[str, npt.NDArray[np.generic]] = {}
    if status:
        changes["state"] = _read_states(source, status)
    for name, column in numbers.items():
        found = source.numbers(column, blank_is_nan=True, infinite=name in {"lower", "upper"})
        changes[name] = found
        if name in {"cost", "need_lower", "need_upper"} and (found < 0).any():
            raise source.fault(int(np.flatnonzero(found < 0)[0]), column, f"{name} must not be below 0")
    return replace(silent, **changes)  # type: ignore[arg-type]


def _read_states(source: Source, column: str) -> npt.NDArray[np.int8]:
    words = source.text(column).to_pylist()
    known: dict[str | None, int] = {"": 0, None: 0, **{state: int(State[state]) for state in STATES}}
    different = {word: known.get(word, -1) for word in dict.fromkeys(words)}
    states = np.array([different[word] for word in words], np.int8)
    if (states < 0).any():
        row = int(np.flatnonzero(states < 0)[0])
        word = str(words[row])
        # A column of values or names that is named by mistake must not get out.
        near = did_you_mean(word, STATES)
        shown = f" {word!r}" if near.startswith("; did you mean") else ""
        raise source.fault(row, column, f"unknown status{shown}{near}")
    return states


def _merge_recoded(table: Table) -> Table:
    """Add up the cells whose codes a recoding merged; what becomes of each fact, the fact says."""
    if not any(d.main.merged for d in table.dimensions):
        return table
    keys = combine(table.codes, [len(d.codes) for d in table.dimensions])
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(table):
        return table
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    group, rows = rank[group], first[order]
    merged = table.facts.merge(group, len(rows))
    return replace(
        table,
        codes=tuple(column[rows] for column in table.codes),
        facts=merged.plus({Count(): merged.total}) if table.is_count else merged,
        apriori=_merge_statements(table, group, rows),
        rows=table.rows[rows],
        origin="merged",
    )


def _merge_statements(table: Table, group: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Apriori:
    """Return what the parts' statements mean for merged cells: the strictest that holds for the whole."""
    said, many = table.apriori, len(rows)
    parts = np.bincount(group, minlength=many)
    bounded = ~(np.isnan(said.lower) & np.isnan(said.upper)) & (parts[group] > 1)
    if bounded.any():
        cell = int(np.flatnonzero(bounded)[0])
        raise InputError(
            f"{table.where(cell)}: bounds are given for a cell that a recoding merges into {table.told_name(cell)}; "
            "give them for the merged cell in the a-priori file"
        )
    agreed = np.bincount(group, said.state == said.state[rows][group], many) == parts
    forced = np.bincount(group, said.has(State.must_suppress), many) > 0
    state = np.where(forced, State.must_suppress, np.where(agreed, said.state[rows], State.none)).astype(np.int8)
    largest = {}
    for name in ("cost", "need_lower", "need_upper"):
        found = np.full(many, np.nan)
        np.fmax.at(found, group, getattr(said, name))
        largest[name] = found
    return replace(said.take(rows), state=state, **largest)


def _refuse_repeats(source: Source, by: Mapping[str, Dimension]) -> None:
    texts, index = zip(*(source.codes(column) for column in by), strict=True)
    repeat = first_repeat(combine(index, [len(t) for t in texts]))
    if repeat:
        first, second = repeat
        codes = zip(by.values(), texts, index, strict=True)
        name = "/".join(dimension.tell(text[i[second]]) for dimension, text, i in codes)
        raise InputError(
            f"{source.place.row(second)}: the cell {name} is a duplicate of {source.place.row(first)}; "
            "each cell has one row"
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
