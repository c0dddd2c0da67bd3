"""All but some codes of a dimension as one cell: what rules that judge whole rows must keep uncertain.

Such a rule asks how far an attacker's interval of o reaches, the number of all respondents of a row that are *not* of
some category. o is the sum of many cells, and needs are of single ones. So the table gets a further grouping of the
same leaves, Total = category + "not category", and a cell of o in each row: not published, unknown to the attacker,
tied to the others like any cell. Engines, audit and certificate then treat it as every unsafe cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellguard.arrays import FloatArray, IntArray
from cellguard.hierarchy.groups import Leaves, with_groups
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.rules.rule import Group, Rule
from cellguard.rules.table_rows import Rows, rows_of
from cellguard.table.apriori import State
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.contributions import holdings_of_sums
from cellguard.table.fact import Count, Holdings, Total
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link


def with_others(tables: TableSet, rules: Mapping[str, Sequence[Rule]]) -> TableSet:
    """Return the set with a cell for all others of each group that a rule asks for, where a table has none yet."""
    wanted = {t.name: [g for rule in rules[t.name] for g in rule.groups(t)] for t in tables.tables}
    groups = list(dict.fromkeys(g for of_table in wanted.values() for g in of_table))
    if not groups:
        return tables
    changed = {}
    for dimension in tables.dimensions.values():
        asked = [g.codes for g in groups if g.dimension == dimension.name]
        changed[dimension.name] = _with_groupings(dimension, asked) if asked else dimension
    made = [_with_cells(_with_dimensions(t, changed), list(dict.fromkeys(wanted[t.name]))) for t in tables.tables]
    same = all(old is new for old, new in zip(tables.tables, made, strict=True))
    return tables if same else link(made, tables.equations)


def _with_groupings(dimension: Dimension, asked: Sequence[tuple[str, ...]]) -> Dimension:
    """Return the dimension with a further grouping for each set of codes whose others have no code."""
    leaves, names = Leaves(dimension), dict[frozenset[str], str]()
    for codes in asked:
        names.setdefault(leaves.others(codes), f"not {', '.join(codes)}")
    return with_groups(dimension, names)


def _with_dimensions(table: Table, changed: Mapping[str, Dimension]) -> Table:
    dimensions = tuple(changed[d.name] for d in table.dimensions)
    same = all(old is new for old, new in zip(table.dimensions, dimensions, strict=True))
    return table if same else replace(table, dimensions=dimensions)


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells to be added: their codes in each dimension, values, numbers of respondents, and whom they concern."""

    codes: tuple[IntArray, ...]
    value: FloatArray
    count: FloatArray
    holdings: FloatArray | None


def _with_cells(table: Table, groups: Sequence[Group]) -> Table:
    """Return the table with the missing cells of all others, none of them published, in the order of the codes."""
    rows = {name: rows_of(table, name) for name in dict.fromkeys(group.dimension for group in groups)}
    missing = [_others_cells(rows[name], codes) for name, codes in groups if rows[name].others_code(codes) is None]
    added = sum(len(cells.value) for cells in missing)
    if not added:
        return table
    more = np.concatenate([np.arange(len(table)), np.full(added, -1)])
    facts = table.facts.take(more).plus({Total(): np.concatenate([table.value, *(c.value for c in missing)])})
    if table.facts.count is not None:
        facts = facts.plus({Count(): np.concatenate([table.facts.count, *(c.count for c in missing)])})
    if (told := table.facts.get(Holdings())) is not None:
        concerned = (cells.holdings for cells in missing if cells.holdings is not None)
        facts = facts.plus({Holdings(): np.concatenate([told, *concerned])})
    said = table.apriori.take(more)
    state = said.state.copy()
    state[len(table) :] = State.unpublished
    grown = replace(
        table,
        codes=tuple(np.concatenate([c, *(m.codes[i] for m in missing)]) for i, c in enumerate(table.codes)),
        facts=facts,
        apriori=replace(said, state=state),
        rows=np.concatenate([table.rows if len(table.rows) else np.arange(len(table)), np.full(added, -1)]),
    )
    return in_hierarchy_order(grown)


def _others_cells(rows: Rows, group: Sequence[str]) -> Cells:
    """Return the cells of all others of some codes, one per row.

    Where empty cells are public, an empty one is left out like any other. A holding that is counted in several cells of
    a row is taken off more than once, but somebody is left where there is a value.
    """
    table = rows.table
    code = rows.dimension.position[rows.leaves.codes[rows.leaves.others(group)][0]]
    value = rows.others(group)
    count = table.value if table.facts.count is None else table.facts.count
    left = np.maximum(count[rows.totals] - rows.add_up(count, rows.having(group)), value > 0)
    keep = np.flatnonzero((value != 0) | (table.zeros == "possible"))
    codes = [column[rows.totals[keep]] for column in table.codes]
    codes[rows.axis] = np.full_like(codes[rows.axis], code)
    told = table.facts.get(Holdings())
    holdings = None if told is None else _concerned(rows, group, told)[keep]
    return Cells(tuple(codes), value[keep], left[keep], holdings)


def _concerned(rows: Rows, group: Sequence[str], told: FloatArray) -> FloatArray:
    """Return whom the cells of all others concern, one list per row: everybody in it, all but the others with 0.

    How many others there are tells something of everybody else in the row, and nothing to its only respondent.
    """
    others = np.flatnonzero(rows.having(sorted(rows.leaves.others(group))))
    everybody = told[rows.totals]
    everybody[:, :, 1] = 0.0
    into = np.concatenate([rows.row[others], np.arange(len(rows.totals))])
    return holdings_of_sums(np.concatenate([told[others], everybody]), into, len(rows.totals))
