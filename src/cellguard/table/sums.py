"""Sums of cells as cells of a table of their own, with facts from the records behind their parts.

A sum of suppressed cells that readers know is as good as a published cell, though no table lists it. So it becomes one:
a row of a table that is not released, tied to its parts by one more relation. A holding counts once in it, with all
that it contributes to the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.errors import InputError, Place
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.table.apriori import Apriori
from cellguard.table.fact import Mark
from cellguard.table.keys import combine, distinct, find
from cellguard.table.lattice import build_lattice, cells_by_leaves, leaf_positions
from cellguard.table.numbering import ResponseKey
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet
from cellguard.table.tabulate import Asks, Wanted, facts_of_groups

Sum = tuple[int, ...]  # distinct cells, ascending
DIMENSION = "sum"
_SHOWN = 6  # parts that the label of a sum names
_FEW = 2  # respondents of a cell each of whom knows much of it


@dataclass(frozen=True, eq=False)
class Made:
    """How a table is made from records: ``columns`` is the record column of each dimension, ``rules`` judge it."""

    name: str
    columns: Mapping[str, str]
    wanted: Wanted
    rules: tuple[Asks, ...]

    @property
    def seen(self) -> str:
        """What distinguishes tables whose rules see other contributions of the same records."""
        return repr((self.wanted.survey, self.wanted.negative))


@dataclass(frozen=True, eq=False)
class SumTable:
    """A table of sums, the rules that judge it, and the parts of each of its rows."""

    table: Table
    rules: tuple[Asks, ...]
    sums: tuple[Sum, ...]


@dataclass(frozen=True, eq=False)
class JudgedSums:
    """What became of the sums of suppressed cells: how many were judged, and the safe ones that readers know.

    ``beyond`` says in words which sums nobody looked at.
    """

    judged: int
    told: tuple[SumTable, ...]
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Stakes:
    """Who has a stake in which cells: the record ``row[i]`` of ``holding[i]`` is in ``cell[i]``. Confidential.

    ``alone[i]`` says that no other holding is in the cell, ``largest[i]`` that none has more of it.
    """

    cell: Positions
    holding: LongArray
    row: Positions
    alone: BoolArray
    largest: BoolArray

    def only(self, chosen: BoolArray) -> Stakes:
        """Return some of the stakes."""
        return Stakes(
            self.cell[chosen], self.holding[chosen], self.row[chosen], self.alone[chosen], self.largest[chosen]
        )


@dataclass(frozen=True, eq=False)
class RecordSums:
    """The records behind a set of tables, as far as these are made from them. Confidential.

    ``others`` are the rules of tables that are not, by name: their responses' sums are judged by these too.
    """

    grouped: Grouped
    made: tuple[Made, ...]
    others: Mapping[str, tuple[Asks, ...]] = field(default_factory=dict)
    _below: dict[str, tuple[sp.csr_array, Positions]] = field(default_factory=dict, repr=False)

    def tables(self, linked: TableSet, sums: Sequence[Sum]) -> list[SumTable]:
        """Return the tables of some sums, one per response and population and kind of contributions that rules see.

        Sums with a part that no table made from records lists, or with parts of several responses, are in none.
        """
        made = {m.name: m for m in self.made}
        owner = self._owner(linked)
        response_keys: dict[ResponseKey, list[Sum]] = {}
        for one in sums:
            numbers = {int(owner[cell]) for cell in one}
            of = {(linked.tables[i].response, linked.tables[i].population) for i in numbers if i >= 0}
            if -1 not in numbers and len(of) == 1:
                response_keys.setdefault(next(iter(of)), []).append(one)
        tables = list[SumTable]()
        for response_key, own in response_keys.items():
            rows, group = self._rows(linked, own, owner)
            kinds: dict[str, list[Made]] = {}
            for table in linked.tables:
                if table.name in made and table.response_key == response_key:
                    kinds.setdefault(made[table.name].seen, []).append(made[table.name])
            for same in kinds.values():
                taken = [t.name for t in linked.tables] + [t.table.name for t in tables]
                tables.append(self._table(linked, own, same, rows, group, taken))
        return tables

    def stakes(self, linked: TableSet, cells: Positions) -> Stakes:
        """Return who has a stake in some cells: the largest contributor of each, and everybody where there are two.

        Only holdings with several rows are reported, since nobody else can be in several cells that share no record.
        """
        grouped, owner = self.grouped, self._owner(linked)
        several = np.bincount(grouped.holding)[grouped.holding] > 1
        known = cells[owner[cells] >= 0]
        if not several.any() or not len(known):
            nothing = np.zeros(0, np.intp)
            return Stakes(nothing, nothing.astype(np.int64), nothing, nothing.astype(bool), nothing.astype(bool))
        rows, group = self._rows(linked, [(int(cell),) for cell in known], owner)
        value = {m.name: self._values(m.wanted.value) for m in self.made}
        of = np.array([list(value).index(linked.tables[t].name) for t in owner[known]])[group]
        amount = np.stack(list(value.values()))[of, rows]
        holders = max(grouped.holdings, 1)
        pairs, entry = np.unique(group * holders + grouped.holding[rows], return_inverse=True)
        share = np.abs(np.bincount(entry, amount, len(pairs)))
        cell = pairs // holders
        most = np.zeros(len(known))
        np.maximum.at(most, cell, share)
        many = np.bincount(cell, minlength=len(known))
        largest = share == most[cell]
        has = largest | (many[cell] <= _FEW)
        keep = has[entry] & several[rows]
        alone = many[group[keep]] == 1
        return Stakes(known[group[keep]], grouped.holding[rows[keep]], rows[keep], alone, largest[entry[keep]])

    def contributions(self, linked: TableSet) -> sp.csr_array:
        """Return what each holding contributes to each distinct cell of the tables made from records.

        There is a column per response and holding, the responses in the order of the tables; nothing is stored where
        a holding contributes 0.
        """
        responses = list(dict.fromkeys(m.wanted.value for m in self.made))
        many, parts = max(self.grouped.holdings, 1), []
        for number, made in self._of_tables(linked):
            below, leaf = self._members(linked.tables[number])
            column = responses.index(made.wanted.value) * many + self.grouped.holding
            shape = (int(below.shape[1]), len(responses) * many)
            amounts = sp.csr_array(sp.coo_array((self._values(made.wanted.value), (leaf, column)), shape=shape))
            parts.append((number, sp.csr_array(below @ amounts)))
        found = self._gathered(linked, parts, len(responses) * many)
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def key_sums(self, linked: TableSet, *, zeros: bool) -> LongArray:
        """Return the sum of the record keys of each distinct cell; without ``zeros`` not of rows that contribute 0."""
        key = self.grouped.key
        if key is None:
            raise InputError("the records have no keys; name their column with `record_key`")
        sums = np.zeros(len(linked), np.int64)
        for number, made in reversed(self._of_tables(linked)):
            below, leaf = self._members(linked.tables[number])
            counted = key if zeros else np.where(self._values(made.wanted.value) != 0, key, 0)
            by_leaf = np.zeros(below.shape[1], np.int64)
            np.add.at(by_leaf, leaf, counted)
            sums[linked.cells_of[number]] = below.astype(np.int64) @ (by_leaf % self.grouped.key_modulus)
        return np.asarray(sums % self.grouped.key_modulus, np.int64)

    def _of_tables(self, linked: TableSet) -> list[tuple[int, Made]]:
        made = {m.name: m for m in self.made}
        return [(number, made[t.name]) for number, t in enumerate(linked.tables) if t.name in made]

    def _gathered(self, linked: TableSet, parts: Sequence[tuple[int, sp.csr_array]], wide: int) -> sp.csr_array:
        """Return rows of tables as rows of distinct cells, each from the first table that lists it."""
        owner = self._owner(linked)
        found = sp.csr_array((len(linked), wide))
        for number, rows in parts:
            cells = linked.cells_of[number]
            own = np.flatnonzero(owner[cells] == number)
            place = sp.csr_array((np.ones(len(own)), (cells[own], own)), shape=(len(linked), len(cells)))
            found = sp.csr_array(found + place @ rows)
        return found

    def _values(self, name: str) -> FloatArray:
        """Return what each row of the records adds to the published totals of a response."""
        if name == COUNT and not self.grouped.has_weights:
            return self.grouped.records.astype(float)
        return np.asarray(self.grouped.weighted[name], float)

    def _owner(self, linked: TableSet) -> Positions:
        """Return for each distinct cell the first table made from records that lists it, -1 where there is none."""
        names = {m.name for m in self.made}
        owner = np.full(len(linked), -1, np.intp)
        for number in reversed(range(len(linked.tables))):
            if linked.tables[number].name in names:
                owner[linked.cells_of[number]] = number
        return owner

    def _rows(self, linked: TableSet, sums: Sequence[Sum], owner: Positions) -> tuple[Positions, Positions]:
        """Return the rows of the records behind sums, in order, and the sum of each; twice where parts overlap."""
        number = np.repeat(np.arange(len(sums)), [len(one) for one in sums])
        cell = np.array([c for one in sums for c in one], np.intp)
        rows, group = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for t in np.unique(owner[cell]).tolist():
            here = owner[cell] == t
            position = np.full(len(linked), -1, np.intp)
            position[linked.cells_of[t]] = np.arange(len(linked.tables[t]))
            below, combination = self._members(linked.tables[t])
            leads = sp.csr_array(below[position[cell[here]]])
            entries = np.repeat(number[here], np.diff(leads.indptr))
            order = np.argsort(combination, kind="stable")
            start = np.searchsorted(combination[order], np.arange(below.shape[1] + 1))
            size = np.diff(start)[leads.indices]
            first = np.repeat(start[leads.indices] - (np.cumsum(size) - size), size)
            rows.append(order[np.arange(int(size.sum())) + first])
            group.append(np.repeat(entries, size))
        row, of = np.concatenate(rows), np.concatenate(group)
        sort = np.lexsort((of, row))  # rows of the records are in the order of holdings
        return row[sort], of[sort]

    def _members(self, table: Table) -> tuple[sp.csr_array, Positions]:
        """Return the 0/1 matrix of a table's cells by combinations of leaf codes, and that of each row of the records.

        Rows without a weight belong to no cell, and have the last combination, which is in none.
        """
        if table.name not in self._below:
            made = next(m for m in self.made if m.name == table.name)
            grouped = self.grouped
            columns = []
            for dimension in table.dimensions:
                name = made.columns[dimension.name]
                number = grouped.column(name)
                places = leaf_positions(dimension, grouped.labels[number], name)
                columns.append(places[grouped.codes[number]])
            sizes = [len(d.codes) for d in table.dimensions]
            combination, seen = distinct(columns, sizes)
            lattice = build_lattice(table.dimensions, [column[seen] for column in columns])
            keys = combine([np.concatenate(pair) for pair in zip(lattice.codes, table.codes, strict=True)], sizes)
            place = find(keys[len(lattice) :], keys[: len(lattice)])
            below = sp.csr_array(sp.vstack([cells_by_leaves(lattice), sp.csr_array((1, lattice.combinations))]))
            below = sp.csr_array(sp.hstack([below[place], sp.csr_array((len(table), 1))]))
            combination = lattice.leaf[combination].astype(np.intp)
            if grouped.has_weights:
                combination = np.where(grouped.weighted[COUNT] > 0, combination, lattice.combinations).astype(np.intp)
            self._below[table.name] = sp.csr_array(below), np.asarray(combination, np.intp)
        return self._below[table.name]

    def _table(
        self,
        linked: TableSet,
        sums: Sequence[Sum],
        same: Sequence[Made],
        rows: Positions,
        group: Positions,
        taken: Sequence[str],
    ) -> SumTable:
        like = linked[same[0].name]
        response_key = like.response, like.population
        given = [self.others.get(t.name, ()) for t in linked.tables if t.response_key == response_key]
        every = [rule for rules in [*(one.rules for one in same), *given] for rule in rules if _judges_cells(rule)]
        rules = tuple({str(rule): rule for rule in every}.values())
        facts = tuple(
            dict.fromkeys([*(f for one in same for f in one.wanted.facts), *(f for rule in rules for f in rule.facts)])
        )
        wanted = Wanted(
            same[0].wanted.by, same[0].wanted.value, same[0].wanted.about, facts, same[0].wanted.survey,
            negative=same[0].wanted.negative,
        )  # fmt: skip
        names = [f"s{i + 1}" for i in range(len(sums))]
        shown = {cell: linked.message_name(cell) for cell in {cell for one in sums for cell in one[:_SHOWN]}}
        labels = {name: _label(shown, one) for name, one in zip(names, sums, strict=True)}
        taken = [*taken, *(d.name.removeprefix(f"{DIMENSION}_") for t in linked.tables for d in t.dimensions)]
        name = next(n for i in range(1, len(taken) + 2) if (n := "sums" if i == 1 else f"sums{i}") not in taken)
        table = Table(
            name=name,
            dimensions=(Dimension(f"{DIMENSION}_{name}", flat(names, labels=labels)),),
            codes=(np.arange(1, len(sums) + 1, dtype=np.int32),),
            facts=facts_of_groups(self.grouped, wanted, rows, group, len(sums)),
            apriori=Apriori.silent(len(sums)),
            response=like.response,
            population=f"{like.population}, {name}",
            is_count=like.is_count,
            sums_weights=like.sums_weights,
            decimals=max(linked[one.name].decimals for one in same),
            place=Place(self.grouped.name, unit="cell"),
            rows=np.arange(len(sums)),
            origin="records",
            release="sums",
        )
        return SumTable(table, rules, tuple(sums))


def parts_matrix(sums: Sequence[Sum], cells: int) -> sp.csr_array:
    """Return the sums as a matrix, one row each over so many cells."""
    at = np.array([cell for one in sums for cell in one], np.intp)
    number = np.repeat(np.arange(len(sums)), [len(one) for one in sums])
    return sp.csr_array((np.ones(len(at)), (number, at)), shape=(len(sums), cells))


def _judges_cells(rule: Asks) -> bool:
    """Whether a rule judges single cells by who contributes: not whole rows, nor by a column of ready-made cells."""
    return not getattr(rule, "whole_rows", False) and not any(isinstance(fact, Mark) for fact in rule.facts)


def _label(names: Mapping[int, str], one: Sum) -> str:
    shown = " + ".join(names[cell] for cell in one[:_SHOWN])
    return shown if len(one) <= _SHOWN else f"{shown} + {len(one) - _SHOWN} more"
