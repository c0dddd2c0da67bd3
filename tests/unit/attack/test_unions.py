"""Unions: sums of hidden cells that readers know, by the rules of the table and the respondents of the sum."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

import cellguard as cg
from cellguard.attack.unions import known_sums, union_watch
from cellguard.hierarchy.build import flat, from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.protect.suppress.suppress import suppress
from cellguard.table.contributions import contributions_of
from cellguard.table.fact import Holdings
from cellguard.table.pattern import Pattern
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables

RULES = (cg.MinFrequency(3), cg.PPercent(10))


def watched(entries, tree, rules=RULES, knowledge=None):
    """Needs, the respondents and what finds unions, from (holding, region, amount)."""
    data = {"g": [g for g, _, _ in entries], "r": [r for _, r, _ in entries], "x": [x for _, _, x in entries]}
    grouped = cg.records(data, by=["r"], values=["x"], holding="g")
    facts = (*dict.fromkeys(f for rule in rules for f in rule.facts), Holdings())
    findings = cg.assess(cg.link(make_tables(grouped, [Wanted({"r": tree}, "x", About("t"), facts)])), rules)
    needs = cg.require(findings, knowledge)
    known = contributions_of(needs.tables)
    return needs, known, union_watch(findings, needs, known)


def names(needs, unions):
    return [{needs.tables.cell_name(c).split(": ")[1] for c in union.cells} for union in unions]


def only_primaries(needs):
    return Pattern(needs.tables, needs.primary, np.zeros(len(needs.tables), bool))


def test_one_holding_in_two_suppressed_cells():
    many = [(10 + i, "C", 5) for i in range(20)]
    needs, known, watch = watched([(1, "A", 60), (1, "B", 40), *many], flat(["A", "B", "C"]))
    assert names(needs, watch(only_primaries(needs))) == [{"A", "B"}]
    cured = suppress(needs, insiders=known, watch=watch).pattern
    assert watch(cured) == []
    assert cured.hidden.sum() == 3


def test_two_single_respondents_in_a_row():
    many = [(10 + i, "C", 5) for i in range(20)]
    needs, known, watch = watched([(1, "A", 60), (2, "B", 40), *many], flat(["A", "B", "C"]))
    assert names(needs, watch(only_primaries(needs))) == [{"A", "B"}]
    assert watch(suppress(needs, insiders=known, watch=watch).pattern) == []


def test_a_hidden_subtotal_is_replaced_by_its_hidden_parts():
    tree = from_parents([("Total", ""), ("G", "Total"), ("a", "G"), ("b", "G"), ("c", "Total"), ("d", "Total")])
    entries = [
        (1, "a", 60),
        *[(20 + i, "b", 5) for i in range(20)],
        (1, "c", 50),
        *[(50 + i, "d", 9) for i in range(9)],
    ]
    needs, _, watch = watched(entries, tree)
    tables = needs.tables
    hide = np.array([tables.cell_name(c).endswith(": G") for c in range(len(tables))])
    # G is hidden and b published: whoever knows G + c knows a + c, and both are holding 1's.
    assert {"a", "c"} in names(needs, watch(Pattern(tables, needs.primary, hide & ~needs.primary)))


def test_what_one_sum_has_beyond_another():
    matrix = np.array([[1, -1, -1, -1, -1, 0], [0, -1, -1, 0, 0, 1]])  # total = a + b + c + d, group = a + b
    unknown = np.array([False, True, True, True, True, False])
    assert known_sums(sp.csr_array(matrix), unknown) == [(1, 2, 3, 4), (1, 2), (3, 4)]


def test_a_sum_that_another_grouping_gives_away_is_cured():
    main = from_parents([("Total", ""), *[(code, "Total") for code in "abcde"]])
    also = from_parents([("Total", ""), ("coast", "Total"), ("land", "Total")]
                        + [(code, "coast") for code in "abe"] + [(code, "land") for code in "cd"])  # fmt: skip
    entries = [(1, "a", 60), (2, "b", 55), (3, "c", 50), (3, "d", 45), *[(50 + i, "e", 9) for i in range(9)]]
    needs, known, watch = watched(entries, Dimension("r", main, also))
    # Everything less coast is land, which is c + d; both are holding 3's.
    assert {"c", "d"} in names(needs, watch(only_primaries(needs)))
    assert watch(suppress(needs, insiders=known, watch=watch).pattern) == []


def test_negative_contributions_count_by_their_size():
    many = [(10 + i, "C", 5) for i in range(20)]
    entries = [(1, "A", 60), (1, "B", -40), *many]
    needs, _, watch = watched(entries, flat(["A", "B", "C"]), (cg.MinFrequency(3),), cg.Knowledge(lower=-np.inf))
    (union,) = watch(only_primaries(needs))
    assert union.level == pytest.approx(2.0)  # a tenth of 60 - 40, which holding 1 has alone


@pytest.mark.parametrize("seed", range(30))
def test_known_sums_are_known(seed):
    """Every sum that is listed lies in the row space of the hidden cells, and single relations are all listed."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    cells = list(product(range(shape[0] + 1), range(shape[1] + 1)))
    at = {cell: i for i, cell in enumerate(cells)}
    rows = [{at[i, 0]: 1, **{at[i, j]: -1 for j in range(1, shape[1] + 1)}} for i in range(shape[0] + 1)]
    rows += [{at[0, j]: 1, **{at[i, j]: -1 for i in range(1, shape[0] + 1)}} for j in range(shape[1] + 1)]
    matrix = np.array([[row.get(c, 0) for c in range(len(cells))] for row in rows])
    unknown = rng.random(len(cells)) < 0.5
    hidden = matrix[:, unknown]
    rank = np.linalg.matrix_rank(hidden)
    listed = known_sums(sp.csr_array(matrix), unknown)
    for union in listed:
        sums = np.zeros(len(cells))
        sums[list(union)] = 1
        assert np.linalg.matrix_rank(np.vstack([hidden, sums[unknown]])) == rank
    for row in matrix:
        terms = np.flatnonzero((row != 0) & unknown)
        if len(terms) > 1 and len(set(row[terms])) == 1:
            assert tuple(terms.tolist()) in listed
    loose = [c for c in np.flatnonzero(unknown).tolist() if is_known(hidden, unknown, [c], rank) is False]
    pairs = [pair for pair in combinations(loose, 2) if is_known(hidden, unknown, list(pair), rank)]
    assert set(pairs) <= set(listed)


def is_known(hidden, unknown, cells, rank):
    sums = np.zeros(len(unknown))
    sums[cells] = 1
    return bool(np.linalg.matrix_rank(np.vstack([hidden, sums[unknown]])) == rank)


def test_a_pair_that_follows_from_three_relations():
    """a + e, f + c and e + f are known, and so is a + c."""
    matrix = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]])  # a, c, e, f
    assert (0, 1) in known_sums(sp.csr_array(matrix), np.ones(4, bool))
