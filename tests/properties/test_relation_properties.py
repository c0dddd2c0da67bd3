"""The relations of random tables are those of the brute-force oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from cellguard.proofs.merging import merge_equal
from cellguard.table.tableset import link

import oracle
from properties.random_tables import linked_tables, quick, tables, whole_tables


@quick
@given(tables)
def test_relations_are_the_oracles(table):
    assert set(oracle.rows(table.relations)) == oracle.relations(table)


@quick
@given(tables)
def test_totals_of_leaves_satisfy_every_relation(table):
    assert not (table.relations @ table.value).any()


@quick
@given(tables)
def test_every_relation_has_a_name_that_lists_its_cells(table):
    for number, row in enumerate(oracle.rows(table.relations)):
        name = table.relation_name(number)
        whole, parts = name.split(" = ")
        assert [table.cell_name(cell) for cell, weight in row if weight > 0] in ([whole], [])
        shown = {table.cell_name(cell) for cell, weight in row if weight < 0}
        assert set(parts.split(" + ")) == shown or not shown or "more" in parts


@quick
@given(whole_tables)
def test_relations_say_all_that_the_leaves_imply(table):
    """If every code is shown, all cells with parts follow from the cells without."""
    cells = oracle.names(table)
    inner = []
    for d, dimension in enumerate(table.dimensions):
        occurs = {codes[d] for codes in cells}
        inner.append({whole for hierarchy in dimension.hierarchies for whole in oracle.family(hierarchy, occurs)})
    wholes = [cell for cell, codes in enumerate(cells) if any(map(set.__contains__, inner, codes))]
    determined = np.linalg.matrix_rank(table.relations.toarray()[:, wholes]) if wholes else 0
    assert determined == len(wholes)


@quick
@given(linked_tables)
def test_linked_tables_have_the_oracles_distinct_cells_and_relations(tables):
    linked = link(tables)
    expected = oracle.distinct(tables)
    assert [cells.tolist() for cells in linked.cells_of] == expected
    assert len(linked) == 1 + max(max(cells) for cells in expected)
    assert set(oracle.rows(linked.relations)) == oracle.linked_relations(tables)


@quick
@given(linked_tables)
def test_linked_values_are_each_tables_values(tables):
    linked = link(tables)
    for table, cells in zip(tables, linked.cells_of, strict=True):
        assert (linked.value[cells] == table.value).all()
    assert not (linked.relations @ linked.value).any()


@quick
@given(linked_tables)
def test_the_first_table_that_shows_a_cell_names_it(tables):
    linked = link(tables)
    expected = oracle.distinct(tables)
    for cell in range(len(linked)):
        table = next(t for t, cells in enumerate(expected) if cell in cells)
        codes = oracle.names(tables[table])[expected[table].index(cell)]
        assert linked.cell_name(cell) == f"{tables[table].name}: {'/'.join(codes)}"


@quick
@given(linked_tables)
def test_equal_cells_merge_as_in_the_oracle(tables):
    linked = link(tables)
    reduced = merge_equal(linked.relations)
    classes, between = oracle.merged(oracle.linked_relations(tables), len(linked))
    found = {frozenset(np.flatnonzero(reduced.merged == m).tolist()) for m in range(reduced.n)}
    assert found == classes
    first = reduced.first.tolist()
    assert {frozenset((first[c], w) for c, w in row) for row in oracle.rows(reduced.relations)} == between


@quick
@given(linked_tables)
def test_restoring_merged_values_gives_all_values_back(tables):
    linked = link(tables)
    reduced = merge_equal(linked.relations)
    values = linked.value[reduced.first]
    assert (values[reduced.merged] == linked.value).all()
    assert not (reduced.relations @ values).any()


@quick
@given(linked_tables)
def test_no_relation_of_a_merged_system_is_repeated_or_empty(tables):
    rows = oracle.rows(merge_equal(link(tables).relations).relations)
    assert len(set(rows)) == len(rows)
    assert frozenset() not in rows
