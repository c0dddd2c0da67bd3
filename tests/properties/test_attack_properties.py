"""Properties of the attack: brute force agrees under any bounds, and every witness holds by itself."""

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.attack.audit import audit
from cellguard.attack.certificate import witnesses
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.moves.scale import UNLIMITED
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.knowledge import Knowledge

from attack_oracle import ends_by_enumeration, ends_by_vertices, kernel

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
def attacks(draw, count=False):
    """A signed table, perhaps with its margin as a second one; hidden cells, needs, and bounds of single cells."""
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
    n = len(linked)
    hidden = np.isin(np.arange(n), draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=8)))
    said = []
    for one, at in zip(linked.tables, linked.cells_of, strict=True):
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        state = np.where(hidden[at] & (at % 2 == 0), State.must_suppress, State.none).astype(np.int8)
        lower, upper = (
            np.where(rng.random(len(one)) < 0.3, one.value + k * rng.integers(0, 9, len(one)), np.nan) for k in (-1, 1)
        )
        need = np.where(rng.random(len(one)) < 0.7, rng.integers(0, 6, len(one)), np.nan)
        said.append(replace(one, apriori=replace(one.apriori, state=state, lower=lower, upper=upper, need_upper=need)))
    general = draw(st.sampled_from([(-np.inf, np.inf), (-300, np.inf), (-np.inf, 300), (-300, 300)]))
    needs = require(assess(link(said), []), Knowledge(*general))
    return needs, Pattern(needs.tables, needs.primary, hidden & ~needs.primary)


@settings(max_examples=300, deadline=None)
@given(attacks())
def test_intervals_and_verdicts_are_those_of_brute_force(posed):
    found = audit(*posed, intervals=True)
    problem = found.problem
    if len(kernel(problem.matrix.toarray())) > 3:
        return
    grain = 1000
    down, up = (np.minimum(room, FAR * grain) // grain for room in (problem.down, problem.up))
    low, high = ends_by_vertices(problem.matrix.toarray(), down, up)
    low, high = np.where(low < -FAR / 4, -np.inf, low), np.where(high > FAR / 4, np.inf, high)
    value = found.needs.tables.value[problem.cells]
    assert np.allclose(found.lower[problem.cells], value + low, atol=1e-6)
    assert np.allclose(found.upper[problem.cells], value + high, atol=1e-6)
    short = (high * grain < problem.upper) | (-low * grain < problem.lower) | ((high - low) * grain < problem.sliding)
    assert np.array_equal(found.failing[problem.cells], short)
    assert not found.undecided.any()


@settings(max_examples=100, deadline=None)
@given(attacks(count=True))
def test_people_come_in_whole_numbers(posed):
    found = audit(*posed, intervals=True)
    problem = found.problem
    down, up = (np.minimum(room, 5) for room in (problem.down, problem.up))
    if np.prod((down + up + 1).astype(float)) > 100_000:
        return
    low, high = ends_by_enumeration(problem.matrix.toarray(), down, up)
    size = found.needs.tables.value[problem.cells]
    # Within the box the enumeration is complete; a longer interval may go beyond it.
    least, most = found.lower[problem.cells] - size, found.upper[problem.cells] - size
    assert (least <= low).all() and (most >= high).all()
    boxed = bool((problem.down <= 5).all() and (problem.up <= 5).all())
    assert not boxed or (np.array_equal(least, low) and np.array_equal(most, high))


@settings(max_examples=150, deadline=None)
@given(attacks())
def test_every_witness_holds_by_itself(posed):
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
