"""Properties of the attack: brute force agrees under any bounds, and every witness holds by itself."""

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from cellguard.attack.audit import audit
from cellguard.attack.witnesses import witnesses
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.proofs.scale import UNLIMITED
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.knowledge import Knowledge

from attack_oracle import ends_by_enumeration, ends_by_vertices, kernel
from properties.deciding import SAMPLE_AND_MORE, check_mostly

DIMENSIONS = [Dimension("r", flat("ab")), Dimension("s", flat("xyz")), Dimension("t", flat("pq"))]
FAR = 10_000


def table(dimensions, leaves, name, count):
    totals = {}
    for leaf, value in leaves.items():
        for cell in itertools.product(*((code, "Total") for code in leaf)):
            totals[cell] = totals.get(cell, 0) + value
    data = {d.name: [cell[i] for cell in totals] for i, d in enumerate(dimensions)} | {"v": list(totals.values())}
    return cells(data, dimensions, value="v", about=About(name, response="v", is_count=count, zeros="known"))


@st.composite
def blocks(draw, linked):
    """Cells to hide: a block of two or three codes in each dimension, where something can move, and a few more."""
    table, cells_of = linked.tables[0], linked.cells_of[0]
    inside = np.ones(len(table), bool)
    for dimension, codes in zip(table.dimensions, table.codes, strict=True):
        some = draw(st.lists(st.integers(0, len(dimension.codes) - 1), min_size=2, max_size=3, unique=True))
        inside &= np.isin(codes, some)
    hidden = np.isin(np.arange(len(linked)), cells_of[inside])
    hidden[draw(st.lists(st.integers(0, len(linked) - 1), max_size=3))] = True
    return hidden


@st.composite
def attacks(draw, count=False):
    """A signed table, perhaps with its margin as a second one; hidden cells, needs, and bounds of single cells.

    Of counts everyone knows every cell to within 4, so that all whole moves can be tried.
    """
    dimensions = DIMENSIONS[: draw(st.integers(2, 3))]
    figures = st.integers(0, 3) if count else st.integers(-9, 9)
    leaves = {leaf: draw(figures) for leaf in itertools.product(*(d.main.leaves for d in dimensions))}
    tables = [table(dimensions, leaves, "t", count)]
    if draw(st.booleans()):
        margin = {}
        for leaf, value in leaves.items():
            margin[leaf[1:2]] = margin.get(leaf[1:2], 0) + value
        tables.append(table(dimensions[1:2], margin, "m", count))
    linked = link(tables)
    hidden = draw(blocks(linked))
    said = []
    known, reach = (1.0, 5) if count else (0.3, 9)
    for one, own in zip(linked.tables, linked.cells_of, strict=True):
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        state = np.where(hidden[own] & (own % 2 == 0), State.must_suppress, State.none).astype(np.int8)
        lower, upper = (
            np.where(rng.random(len(one)) < known, one.value + k * rng.integers(0, reach, len(one)), np.nan)
            for k in (-1, 1)
        )
        need = np.where(rng.random(len(one)) < 0.7, rng.integers(0, 6, len(one)), np.nan)
        said.append(replace(one, apriori=replace(one.apriori, state=state, lower=lower, upper=upper, need_upper=need)))
    general = draw(st.sampled_from([(-np.inf, np.inf), (-300, np.inf), (-np.inf, 300), (-300, 300)]))
    needs = require(assess(link(said), []), Knowledge(*general))
    return needs, Pattern(needs.tables, needs.primary, hidden & ~needs.primary)


def agrees_with_vertices(posed):
    found = audit(*posed, intervals=True)
    problem = found.problem
    free = len(kernel(problem.matrix.toarray()))
    if free > 3:
        return False
    grain = 1000
    down, up = (np.minimum(room, FAR * grain) // grain for room in (problem.down, problem.up))
    low, high = ends_by_vertices(problem.matrix.toarray(), down, up)
    low, high = np.where(low < -FAR / 4, -np.inf, low), np.where(high > FAR / 4, np.inf, high)
    value = found.needs.tables.value[problem.cells]
    assert np.allclose(found.lower[problem.cells], value + low, atol=1e-6)
    assert np.allclose(found.upper[problem.cells], value + high, atol=1e-6)
    short = (
        (high * grain < problem.levels.up)
        | (-low * grain < problem.levels.down)
        | ((high - low) * grain < problem.levels.width)
    )
    assert np.array_equal(found.failing[problem.cells], short)
    assert not found.undecided.any()
    return free > 0


@SAMPLE_AND_MORE
def test_intervals_and_verdicts_are_those_of_brute_force(examples):
    check_mostly(attacks(), agrees_with_vertices, examples=examples)


def agrees_with_enumeration(posed):
    found = audit(*posed, intervals=True)
    problem = found.problem
    matrix = problem.matrix.toarray()
    free = len(kernel(matrix))
    if not 0 < free <= 4:
        return False
    low, high = ends_by_enumeration(matrix, problem.down, problem.up)
    size = found.needs.tables.value[problem.cells]
    assert np.array_equal(found.lower[problem.cells] - size, low)
    assert np.array_equal(found.upper[problem.cells] - size, high)
    return True


@SAMPLE_AND_MORE
def test_people_come_in_whole_numbers(examples):
    check_mostly(attacks(count=True), agrees_with_enumeration, examples=examples)


def moves_by_rule(posed):
    """In Python integers: all relations are kept, nothing published moves, everything stays within its bounds."""
    found = audit(*posed)
    problem, moves = found.problem, witnesses(found)
    relations = found.needs.tables.relations.toarray().astype(int)
    room = {
        c: (d, u) for c, d, u in zip(problem.cells.tolist(), problem.down.tolist(), problem.up.tolist(), strict=True)
    }
    for number in range(moves.n):
        mine = moves.witness == number
        move = dict(zip(moves.cell[mine].tolist(), moves.move[mine].tolist(), strict=True))
        (denominator,) = set(moves.denominator[mine].tolist())
        assert all(sum(int(row[c]) * m for c, m in move.items()) == 0 for row in relations)
        for cell, m in move.items():
            down, up = room[cell]
            assert -m <= down * denominator or down == UNLIMITED
            assert m <= up * denominator or up == UNLIMITED
    return moves.n > 0


@SAMPLE_AND_MORE
def test_every_witness_holds_by_itself(examples):
    check_mostly(attacks(), moves_by_rule, examples=examples)
