"""Sums of suppressed cells: those that are cells of the set, those that are reported and safe, and whether any is
missing.

Where the unknown cells of a relation are all on one side of it, and some of that side are known, their sum is known;
and so is the sum with one of them replaced by the unknown parts of a relation of its own. Each such sum must be judged:
as a cell of the set, or by stored facts that no rule calls unsafe. Where it is known who contributes, the same goes for
the sums of the unsafe cells of a relation that have the same largest contributor, alone and with its other unknown
cells of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy import sparse

from cellguard.verifier.cells import Cells
from cellguard.verifier.facts import Facts, read_facts
from cellguard.verifier.insiders import Contributors
from cellguard.verifier.numbers import Bools, Int64, texts
from cellguard.verifier.relations import Matrix
from cellguard.verifier.rows import Rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import Every, Frequency, InRows, Mark, Rule, Weighted
from cellguard.verifier.spec import SUMS, TableSpec, ToldSums
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet

NAME = "internal/sums.parquet"
KINDS = {"sums": pa.string(), "sum": pa.int64(), "table": pa.int32(), "row": pa.int64()}
KEY = "sums"
MOST_SUMS = 30  # with one cell replaced by its parts, of a relation; if there are more, none of them is asked for
_LARGEST = 12  # contributions that a rule looks at, at most

Sum = tuple[int, ...]


@dataclass(frozen=True)
class Parts:
    """The parts of all sums, by the name of their table, in the order of its rows: distinct cells that are no sums."""

    sums: Mapping[str, tuple[Sum, ...]]

    def relations(self, cells: Cells) -> Matrix:
        """Return a relation for each sum that is a cell: 1 at it, and -1 at each of its parts."""
        number, column, value, count = list[int](), list[int](), list[int](), 0
        for i, table in enumerate(cells.spec.tables):
            if table.where == SUMS:
                for row, parts in enumerate(self.sums[table.name]):
                    number += [count] * (1 + len(parts))
                    column += [int(cells.cell[cells.offsets[i] + row]), *parts]
                    value += [1] + [-1] * len(parts)
                    count += 1
        matrix = sparse.coo_array((value, (number, column)), shape=(count, cells.count), dtype=np.int64)
        return matrix.tocsr()


def read_parts(folder: Folder, cells: Cells) -> Parts:
    """Read the parts; refuse rows that do not exist, sums of sums, of one cell, of several groups, or out of order."""
    if cells.spec.told is None:
        return Parts({})
    stored = read_parquet(folder, NAME)
    if {name: stored.schema.field(name).type for name in stored.schema.names} != KINDS:
        raise Refused(f"{NAME} does not have exactly the columns and types {', '.join(KINDS)}")
    if any(stored.column(name).null_count for name in KINDS):
        raise Refused(f"{NAME} has gaps")
    names = texts(stored.column("sums")).to_pylist()
    place, table, row = (stored.column(name).to_numpy().astype(np.int64) for name in ("sum", "table", "row"))
    spec, own = cells.spec, np.diff(cells.offsets)
    if ((table < 0) | (table >= len(spec.tables))).any() or ((row < 0) | (row >= own[table])).any():
        raise Refused(f"{NAME} names a row that does not exist")
    if any(spec.tables[t].where == SUMS for t in np.unique(table).tolist()):
        raise Refused(f"{NAME} adds up sums")
    sizes = {t.name: int(own[i]) for i, t in enumerate(spec.tables) if t.where == SUMS}
    known = {*sizes, *(told.name for told in spec.told or ())}
    found: dict[str, dict[int, set[int]]] = {name: {} for name in known}
    for name, p, cell in zip(names, place.tolist(), cells.cell[cells.offsets[table] + row].tolist(), strict=True):
        if name not in known:
            raise Refused(f"{NAME} has sums of which the certificate says nothing")
        parts = found[name].setdefault(p, set())
        if cell in parts:
            raise Refused(f"{NAME} adds up a cell twice")
        parts.add(cell)
    group = cells.group.tolist()
    for name, sums in found.items():
        if list(sums) != list(range(len(sums))) or len(sums) != sizes.get(name, len(sums)):
            raise Refused(f"{NAME} does not have the sums of {name} in the order of its rows")
        if any(len(parts) < 2 or len({group[cell] for cell in parts}) > 1 for parts in sums.values()):
            raise Refused(f"{NAME} has a sum of one cell, or of several responses")
    return Parts({name: tuple(tuple(sorted(parts)) for parts in sums.values()) for name, sums in found.items()})


@dataclass(frozen=True)
class Known:
    """What the check of sums looks at: cells and rows, the tables' own relations, facts, and unknown cells.

    ``records`` says which tables are made from records.
    """

    cells: Cells
    rows: Rows
    relations: Matrix
    facts: Sequence[Facts]
    unknown: Bools
    unsafe: Bools
    records: Bools

    def counts(self) -> Int64:
        """Return how many contribute to each distinct cell, as the records say; -1 where no table is made from them.

        A table of ready-made cells may count records where the records' own tables count holdings.
        """
        cells, count = self.cells, np.full(self.cells.count, -1, dtype=np.int64)
        for i in np.flatnonzero(self.records)[::-1].tolist():
            if cells.spec.tables[i].where != SUMS:
                count[cells.cell[cells.rows(i)]] = self.rows.count[cells.rows(i)]
        return count


def check_determined(
    folder: Folder, known: Known, parts: Parts, listed: Sequence[str] | None, who: Contributors | None
) -> int:
    """Refuse a sum that readers know and nobody judged, or judged by other rules than its tables'; return how many.

    ``listed`` are the attacks that the certificate says were not checked, ``who`` the contributors, if they are known.
    """
    spec = known.cells.spec
    if spec.told is None:
        return 0
    judged = _judged_by(known, parts)
    for table, facts in zip(spec.tables, known.facts, strict=True):
        if table.where == SUMS:
            _check_counts(known, table, facts, parts.sums[table.name])
    for told in spec.told:
        _check_safe(folder, known, told, parts.sums[told.name])
    _check_rules(known, judged)
    if KEY in (listed or ()):  # too many to judge, and so named
        return len(judged)
    wanted = [*_known_sums(known), *(_holding_sums(known, who) if who is not None else ())]
    # All parts of a known whole are the whole, which is judged where it is listed.
    names = {_filled(known, one) for one in [*judged, *_wholes(known)]}
    for one in wanted:
        filled = _filled(known, one)
        if len(filled) > 1 and np.unique(known.cells.group[list(one)]).size == 1 and filled not in names:
            raise Refused(
                "a sum of suppressed cells that attackers can work out was not judged, with "
                f"{known.cells.cell_name(one[0])}"
            )
    return len(judged)


def _filled(known: Known, one: Sum) -> Sum:
    """Return a sum without cells that have nothing in them: whether these are in it tells nothing."""
    value = np.concatenate(known.rows.value)[known.cells.first_row()[list(one)]]
    return tuple(cell for cell, amount in zip(one, value.tolist(), strict=True) if amount)


def _judged_by(known: Known, parts: Parts) -> dict[Sum, set[str]]:
    """Return the rules, in words, that each sum was judged by."""
    spec, judged = known.cells.spec, dict[Sum, set[str]]()
    rules = {t.name: t.rules for t in spec.tables} | {t.name: t.rules for t in spec.told or ()}
    for name, sums in parts.sums.items():
        for one in sums:
            judged.setdefault(one, set()).update(repr(parse_rule(rule)) for rule in rules[name])
    return judged


def _check_rules(known: Known, judged: Mapping[Sum, set[str]]) -> None:
    """Refuse a sum that was not judged by every rule of its tables that judges single cells."""
    spec = known.cells.spec
    asked: dict[int, set[str]] = {}
    for table in spec.tables:
        parsed = [parse_rule(rule) for rule in table.rules]
        own = asked.setdefault(spec.groups.index(table.group), set())
        own |= {repr(rule) for rule in parsed if _judges_cells(rule)}
    for one, rules in judged.items():
        if not asked[int(known.cells.group[one[0]])] <= rules:
            raise Refused(f"a sum with {known.cells.cell_name(one[0])} was not judged by all rules of its tables")


def _judges_cells(rule: Rule) -> bool:
    """Whether a rule judges single cells by who contributes: not whole rows, nor by a column of ready-made cells."""
    if isinstance(rule, Every):
        return all(map(_judges_cells, rule.rules))
    return not isinstance(rule, InRows | Mark)


def _check_safe(folder: Folder, known: Known, told: ToldSums, sums: Sequence[Sum]) -> None:
    """Refuse told sums that a rule calls unsafe, and facts that are not those of a sum of these cells."""
    if not sums:
        raise Refused(f"{NAME} has no sums of {told.name}")
    cells = known.cells
    group = cells.spec.groups[int(cells.group[sums[0][0]])]
    made = zip(cells.spec.tables, known.records.tolist(), strict=True)
    like = next((t for t, records in made if records and t.group == group), None)
    if like is None:
        raise Refused(f"{NAME} adds up cells that no table made from records lists")
    table = TableSpec(
        told.name, (told.by,), *group, like.decimals, like.count, "known", like.tolerance, told.rules, SUMS
    )
    facts = read_facts(folder, table, [pa.array([f"s{i + 1}" for i in range(len(sums))])])
    if any(column.any() for column in facts.said):
        raise Refused(f"{table.facts} has statements about single cells")
    _check_totals(known, table, facts, sums)
    _check_counts(known, table, facts, sums)
    if like.count:
        facts = replace(facts, count=np.where(np.isnan(facts.count), facts.total, facts.count))
    for rule in map(parse_rule, told.rules):
        verdict = rule.judge(facts)
        wrong = verdict.unsafe | verdict.missing
        if wrong.any():
            name = cells.cell_name(sums[int(np.argmax(wrong))][0])
            raise Refused(
                f"attackers can work out a sum of suppressed cells that is unsafe, or lacks a fact, with {name}"
            )


def _check_totals(known: Known, table: TableSpec, facts: Facts, sums: Sequence[Sum]) -> None:
    """Refuse a total that is not that of the parts."""
    value = np.concatenate(known.rows.value)[known.cells.first_row()]
    grain = 10.0 ** -known.cells.spec.grains[table.group]
    for i, one in enumerate(sums):
        total = float(sum(int(v) for v in value[list(one)].tolist())) * grain
        if abs(total - facts.total[i]) > len(one) * (0.5 * grain + 1e-9) + 1e-9 * abs(total):
            raise Refused(f"{table.facts} row {i} is not the total of the parts")


def _check_counts(known: Known, table: TableSpec, facts: Facts, sums: Sequence[Sum]) -> None:
    """Refuse a count that the parts cannot have together: at least that of each, at most all of theirs.

    Sums are made from the records, so their parts are counted as the records' own tables count them.
    """
    counts = known.counts()
    for i, one in enumerate(sums):
        parts = counts[list(one)]
        if (parts < 0).any():
            raise Refused(f"{table.facts} row {i} adds up a cell that no table made from records counts")
        if not parts.max() <= facts.count[i] <= parts.sum():
            raise Refused(f"{table.facts} row {i} has a count that its parts cannot have together")


def _wholes(known: Known) -> Iterator[Sum]:
    """Go through the unknown parts of known wholes of which no other part has a value."""
    relations, value = known.relations, np.concatenate(known.rows.value)[known.cells.first_row()]
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms, signs = relations.indices[part], relations.data[part]
        for sign in (1, -1):
            whole, parts = terms[signs == sign], terms[signs != sign]
            if whole.size == 1 and not known.unknown[whole[0]] and not value[parts[~known.unknown[parts]]].any():
                yield tuple(sorted(parts[known.unknown[parts]].tolist()))


def _known_sums(known: Known) -> Iterator[Sum]:
    """Go through the sums of unknown cells that relations tell, as they are and with one cell replaced by its parts.

    Where no part with a value is known, the others are the whole.
    """
    relations, unknown = known.relations, known.unknown
    value = np.concatenate(known.rows.value)[known.cells.first_row()]
    seen = ~unknown & np.asarray(value != 0, dtype=bool)
    own, parts = list[Sum](), dict[int, list[Sum]]()
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms, signs = relations.indices[part], relations.data[part]
        if (np.abs(signs) != 1).any():
            continue
        there = unknown[terms]
        sides = np.unique(signs[there])
        if sides.size == 1 and (seen[terms] & (signs == sides[0])).any():
            own.append(tuple(sorted(terms[there].tolist())))
        for sign in (1, -1):
            whole, inner = terms[signs == sign], terms[(signs != sign) & there]
            taken = (seen[terms] & (signs != sign)).any()
            if terms.size > 2 and whole.size == 1 and unknown[whole[0]] and inner.size and taken:
                parts.setdefault(int(whole[0]), []).append(tuple(inner.tolist()))
    for union in own:
        more = [_replaced(union, cell, inner) for cell in union for inner in parts.get(cell, [])]
        every = [union, *more] if len(more) < MOST_SUMS else [union]
        yield from (some for some in every if len(some) > 1)


def _replaced(union: Sum, cell: int, inner: Sum) -> Sum:
    """Return a sum with the parts of one of its cells in the cell's place; nothing if one would be there twice."""
    others = set(union) - {cell}
    return () if others & set(inner) else tuple(sorted(others | set(inner)))


def _holding_sums(known: Known, who: Contributors) -> Iterator[Sum]:
    """Go through sums of unknown parts of one relation with the same largest contributor that a rule calls unsafe.

    These are the unsafe parts, and all parts if one of them is unsafe. Where several contribute as much as each other
    to a part, it is no matter of this check with whose cells it goes.
    """
    cells, relations = known.cells, known.relations
    table = np.searchsorted(cells.offsets, cells.first_row(), side="right") - 1
    rules = [[part for rule in t.rules for part in _plain(parse_rule(rule))] for t in cells.spec.tables]
    if not who.insider.size:
        return
    some = known.unknown & who.told & (np.diff(who.starts) > 0) & (who.rest == 0)
    largest = np.where(some, who.insider[np.minimum(who.starts[:-1], who.insider.size - 1)], -1)
    tied = _tied(who, some)
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms = relations.indices[part][relations.data[part] < 0]
        terms = np.sort(terms[largest[terms] >= 0])
        doubtful = set().union(*(tied.get(cell, ()) for cell in terms.tolist()))
        for holder in set(largest[terms[known.unsafe[terms]]].tolist()) - doubtful if terms.size > 1 else ():
            every = terms[largest[terms] == holder]
            for one in {tuple(every[known.unsafe[every]].tolist()), tuple(every.tolist())}:
                if len(one) > 1 and _is_plain(known.facts[int(table[one[0]])]):
                    grain = 10.0 ** -cells.spec.grains[cells.spec.tables[int(table[one[0]])].group]
                    facts = _facts(who, one, grain)
                    if any(rule.judge(facts).unsafe[0] for rule in rules[int(table[one[0]])]):
                        yield one


def _tied(who: Contributors, some: Bools) -> dict[int, set[int]]:
    """Return for each cell with several largest contributors, up to a grain, who they are."""
    found = dict[int, set[int]]()
    for cell in np.flatnonzero(some & (np.diff(who.starts) > 1)).tolist():
        own = slice(who.starts[cell], who.starts[cell + 1])
        most = who.amount[own] >= who.amount[who.starts[cell]] - 1
        if most.sum() > 1:
            found[cell] = set(who.insider[own][most].tolist())
    return found


def _is_plain(facts: Facts) -> bool:
    """Whether rules see what holdings contribute: neither weights nor what stands for negative contributions."""
    return facts.sizes is None and facts.base is None and facts.counted is None and not facts.excess


def _plain(rule: Rule) -> list[Rule]:
    """Return the rules that numbers of respondents and shares alone decide."""
    if isinstance(rule, Every):
        return []
    plain = isinstance(rule, Frequency) and not rule.nonzero and not rule.small
    return [rule] if plain or (isinstance(rule, Weighted) and not rule.waivers) else []


def _facts(known: Contributors, union: Sum, grain: float) -> Facts:
    """Return what the rules see of a sum, its largest contributions less what rounding may have added to them."""
    entry = np.concatenate([np.arange(known.starts[c], known.starts[c + 1]) for c in union])
    who, place = np.unique(known.insider[entry], return_inverse=True)
    amounts = -np.sort(-np.bincount(place, np.maximum(known.amount[entry], 0).astype(float), who.size))
    tops = np.zeros(_LARGEST)
    tops[: min(who.size, _LARGEST)] = np.maximum(amounts[:_LARGEST] - len(union), 0)
    nothing, none = np.full(1, np.nan), pa.nulls(1, pa.string())
    return Facts(
        False, np.array([amounts.sum() * grain]), np.array([float(who.size)]), tuple((tops * grain).reshape(-1, 1)), {},
        np.full(1, -1), none, none, nothing, nothing,
    )  # fmt: skip


def unknown_cells(cells: Cells, rows: Rows, known: Bools) -> Bools:
    """Return the distinct cells that are no sums and that readers do not know."""
    return np.asarray(~known & ~cells.only_in(SUMS), dtype=bool)
