"""`TableSet`: linked tables as one set of distinct cells and the union of all relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import Disagreement, InputError, NotAdditive, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.additivity import allowance, check_additive
from cellguard.table.apriori import State
from cellguard.table.equations import Equation, equation_relations, parse_equation
from cellguard.table.margins import check_margins
from cellguard.table.numbering import Numbering, Positions, ResponseKey, number_cells
from cellguard.table.relations import Relations, distinct_rows
from cellguard.table.table import Table

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class TableSet:
    """Linked tables as one set of distinct cells. Every method and every audit takes a set.

    A single table is a set of one. What lies behind all tables together is in `cellguard.world`.

    Parameters
    ----------
    tables
        The tables.
    equations
        Additivity constraints between responses.
    cells_of
        For each table the distinct cell of each of its cells.
    relations
        The additivity constraints over the distinct cells, one row each.
    numbering
        Which cells of the tables are one distinct cell.
    parts
        A row for each sum that is a cell of the set, with the cells that it adds up.

    Examples
    --------
    >>> import cellguard as cg
    >>> a = cg.cells({"r": ["Total", "N", "S"], "x": [5, 2, 3]}, by=["r"], value="x", name="a")
    >>> b = cg.cells({"s": ["Total", "1", "2"], "x": [5, 1, 4]}, by=["s"], value="x", name="b")
    >>> cg.link([a, b]), cg.link([a, b])["b"]
    (<TableSet a, b: 5 distinct cells, 2 relations>, <Table 'b': 3 cells by s>)
    """

    tables: tuple[Table, ...]
    equations: tuple[Equation, ...]
    cells_of: tuple[Positions, ...]
    relations: Relations
    numbering: Numbering
    parts: Relations | None = None

    def __len__(self) -> int:
        return int(self.relations.shape[1])

    def __repr__(self) -> str:
        names = ", ".join(t.name for t in self.tables)
        return f"<TableSet {names}: {len(self)} distinct cells, {self.relations.shape[0]} relations>"

    def __getitem__(self, name: str) -> Table:
        for table in self.tables:
            if table.name == name:
                return table
        raise InputError(f"no table {name!r}{did_you_mean(name, [t.name for t in self.tables])}")

    @cached_property
    def first(self) -> tuple[Positions, Positions]:
        """For each distinct cell the first table that shows it, and its position there."""
        sizes = [len(t) for t in self.tables]
        table = self.gather([np.full(size, t, np.intp) for t, size in enumerate(sizes)])
        return table, self.gather([np.arange(size) for size in sizes])

    @cached_property
    def value(self) -> FloatArray:
        """The totals of the distinct cells."""
        return self.gather([t.value for t in self.tables])

    @cached_property
    def unit(self) -> FloatArray:
        """One unit of the last decimal in which each distinct cell is published (the coarsest, where tables differ)."""
        unit = np.zeros(len(self))
        for table, cells in zip(self.tables, self.cells_of, strict=True):
            unit[cells] = np.maximum(unit[cells], table.unit)
        return unit

    @cached_property
    def is_count(self) -> BoolArray:
        """Which distinct cells are frequencies."""
        return self.gather([np.full(len(t), t.is_count) for t in self.tables])

    @cached_property
    def never_negative(self) -> BoolArray:
        """Which distinct cells are counts, or sums of weights, and so not below 0."""
        return self.gather([np.full(len(t), t.never_negative) for t in self.tables])

    @cached_property
    def unlisted(self) -> BoolArray:
        """Which distinct cells are only there since they may be told: latent cells and sums, which no table lists."""
        unlisted = np.ones(len(self), bool)
        for table, cells in zip(self.tables, self.cells_of, strict=True):
            if not table.is_added:
                unlisted[cells] = False
        return unlisted

    @cached_property
    def dimensions(self) -> Mapping[str, Dimension]:
        """The dimensions of all tables by their names."""
        return {d.name: d for table in self.tables for d in table.dimensions}

    def index(self, name: str) -> int:
        """Return the position of a table."""
        return [table.name for table in self.tables].index(name)

    @property
    def response_keys(self) -> tuple[ResponseKey, ...]:
        """The different responses and populations."""
        return self.numbering.response_keys

    @cached_property
    def ready_made(self) -> tuple[ResponseKey, ...]:
        """The responses and populations no table of which is made from records, but for those of earlier releases."""
        made = {t.response_key for t in self.tables if t.origin == "records" and t.release != "earlier"}
        return tuple(response_key for response_key in self.response_keys if response_key not in made)

    def locate(self, response_key: ResponseKey, table: int, rows: Positions) -> Positions:
        """Return the distinct cell of another response with the codes of some rows of a table, -1 where none is."""
        start = sum(len(t) for t in self.tables[:table])
        return self.numbering.locate(response_key, self.numbering.key[start + rows])

    def gather(self, columns: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
        """Return one entry per distinct cell from one column per table: the entry of the first table that shows it."""
        entries = np.zeros(len(self), columns[0].dtype)
        for column, cells in zip(reversed(columns), reversed(self.cells_of), strict=True):
            entries[cells] = column
        return entries

    def stated(self, state: State) -> BoolArray:
        """Which distinct cells some table says this of."""
        found = np.zeros(len(self), bool)
        for table, cells in zip(self.tables, self.cells_of, strict=True):
            found[cells] |= table.apriori.has(state)
        return found

    def cell_name(self, cell: int) -> str:
        """Return a distinct cell as 'turnover: North/B'."""
        number, position = (int(a[cell]) for a in self.first)
        table = self.tables[number]
        return table.in_words(position, table.cell_name(position))

    def message_name(self, cell: int) -> str:
        """Return a distinct cell as messages show it: without codes that may be values."""
        number, position = (int(a[cell]) for a in self.first)
        table = self.tables[number]
        return table.in_words(position, table.message_name(position))


def link(tables: Iterable[Table] | Table, equations: Iterable[str | Equation] = ()) -> TableSet:
    """Link tables into one set: find the cells that they share, and check that all agree and add up.

    Parameters
    ----------
    tables
        One table or several.
    equations
        Additivity constraints between responses, as ``turnover = domestic + export``.

    Returns
    -------
    TableSet
        The set of distinct cells.

    Raises
    ------
    InputError
        If common cells disagree, sums do not hold, or two tables have one name.

    Examples
    --------
    >>> from cellguard.table.read import cells
    >>> a = cells({"r": ["Total", "N", "S"], "x": [5, 2, 3]}, by=["r"], value="x", name="a")
    >>> b = cells({"s": ["Total", "1", "2"], "x": [5, 1, 4]}, by=["s"], value="x", name="b")
    >>> len(link([a, b]))
    5
    """
    tables = (tables,) if isinstance(tables, Table) else tuple(tables)
    linked, ties = _assemble(tables, equations)
    for table in tables:
        check_additive(table)
        check_margins(table)
    _check_agreement(tables, linked.cells_of, len(linked))
    for equation, block in zip(linked.equations, ties, strict=True):
        _check_equation(equation, block, linked)
    return linked


def assemble(tables: Iterable[Table], equations: Iterable[str | Equation] = ()) -> TableSet:
    """Link tables without looking at their values, some of which may not be known."""
    return _assemble(tuple(tables), equations)[0]


def with_sums(linked: TableSet, tables: Sequence[Table], parts: Relations) -> TableSet:
    """Return a set with tables of sums of its cells; ``parts`` has a row per sum, and in it the cells that it adds up.

    >>> import cellguard as cg
    >>> a = cg.cells({"r": ["Total", "N", "S", "W"], "x": [9, 2, 3, 4]}, by=["r"], value="x", name="a")
    >>> s = cg.cells({"s": ["s1"], "x": [5]}, by={"s": cg.Hierarchy.flat(["s1"])}, value="x", name="s")
    >>> grown = with_sums(cg.link(a), [s], sp.csr_array(np.array([[0.0, 1, 1, 0]])))
    >>> grown.relations.toarray().astype(int).tolist()
    [[1, -1, -1, -1, 0], [0, -1, -1, 0, 1]]
    """
    every = (*linked.tables, *tables)
    numbering = number_cells(every)
    before, n = len(linked), numbering.n
    old = linked.relations
    old = sp.csr_array((old.data, old.indices, old.indptr), shape=(old.shape[0], n))
    own = sp.hstack([-parts, sp.eye_array(n - before)], format="csr")
    relations = sp.csr_array(sp.vstack([old, own], format="csr"))
    return TableSet(every, linked.equations, numbering.cells_of(every), relations, numbering, sp.csr_array(parts))


def _assemble(tables: tuple[Table, ...], equations: Iterable[str | Equation]) -> tuple[TableSet, list[Relations]]:
    _check_names(tables)
    numbering = number_cells(tables)
    cells_of = numbering.cells_of(tables)
    parsed = tuple(parse_equation(e) if isinstance(e, str) else e for e in equations)
    blocks = [_renumber(t.relations, c, numbering.n) for t, c in zip(tables, cells_of, strict=True)]
    ties = [equation_relations(equation, tables, numbering) for equation in parsed]
    both = blocks + ties
    relations = both[0] if len(both) == 1 else distinct_rows(sp.csr_array(sp.vstack(both, format="csr")))
    return TableSet(tables, parsed, cells_of, relations, numbering), ties


def _check_names(tables: Sequence[Table]) -> None:
    if not tables:
        raise InputError("a set needs at least one table")
    names = [t.name for t in tables]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two tables are named {name!r}; give each table a name of its own")
    kinds: dict[str, Table] = {}
    for table in tables:
        other = kinds.setdefault(table.response, table)
        if other.is_count != table.is_count:
            raise InputError(
                f"tables {other.name!r} and {table.name!r} have the same response {table.response!r}, but one counts "
                "and the other sums; name their responses differently"
            )


def _check_agreement(tables: Sequence[Table], cells_of: Sequence[Positions], n: int) -> None:
    value, allowed = np.full(n, np.nan), np.zeros(n)
    owner, position = np.full(n, -1), np.zeros(n, np.intp)
    for t, (table, cells) in enumerate(zip(tables, cells_of, strict=True)):
        own = allowance(table) + (table.tolerance or 0.0)
        differ = np.abs(value[cells] - table.value) > allowed[cells] + own
        if differ.any():
            here = int(np.flatnonzero(differ)[0])
            other, there = tables[owner[cells[here]]], int(position[cells[here]])
            raise Disagreement(
                f"tables {other.name!r} and {table.name!r} give different values for the same cell: "
                f"{other.message_name(there)} ({other.where(there)}) and {table.message_name(here)} "
                f"({table.where(here)}); {int(differ.sum())} shared cells differ. Correct one of them, or say with "
                "`response` or `population` that the tables are about different things"
            )
        new = owner[cells] < 0
        value[cells[new]], allowed[cells[new]] = table.value[new], own[new]
        owner[cells[new]], position[cells[new]] = t, np.flatnonzero(new)


def _check_equation(equation: Equation, block: Relations, linked: TableSet) -> None:
    allowed = linked.gather([allowance(t) + (t.tolerance or 0.0) for t in linked.tables])
    failing = np.flatnonzero(np.abs(block @ linked.value) > abs(block) @ allowed)
    if len(failing):
        shown = [linked.message_name(int(block.indices[block.indptr[row]])) for row in failing[:5]]
        raise NotAdditive(
            f"the equation {equation} does not hold in {len(failing)} of {block.shape[0]} cells, the first at "
            f"{'; '.join(shown)}. Check these cells in the tables of all its responses"
        )


def _renumber(relations: Relations, cells: Positions, n: int) -> Relations:
    return sp.csr_array((relations.data, cells[relations.indices], relations.indptr), shape=(relations.shape[0], n))
