"""An attacker without bounds: elimination alone decides, and every kept move is small and exact."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import NotProtected
from cellguard.methods.suppress.engines import algebra, algebra_kernel
from cellguard.methods.suppress.engines.effort import effort_named
from cellguard.methods.suppress.engines.system import build_system
from cellguard.methods.suppress.suppress import suppress
from cellguard.run_context import UNWATCHED
from cellguard.table.apriori import State

UNBOUNDED = cg.Knowledge(-np.inf)


def cube(seed, shape=(3, 3, 2), unsafe=0.2):
    """A cube of signed values with all totals; some inner cells are given as unsafe."""
    rng = np.random.default_rng(seed)
    full = rng.integers(-20, 20, shape)
    for axis in range(len(shape)):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    codes = [[f"{name}{i}" for i in range(n)] + ["Total"] for name, n in zip("abc", shape, strict=False)]
    grid = list(itertools.product(*codes))
    data = {name: [g[i] for g in grid] for i, name in enumerate("abc"[: len(shape)])}
    data["x"] = full.ravel().tolist()
    data["secret"] = (rng.random(len(grid)) < unsafe).tolist()
    table = cg.cells(data, by=list("abc"[: len(shape)]), value="x", marks=["secret"])
    return cg.require(cg.assess(table, [cg.Given("secret", 10.0)]), UNBOUNDED)


def determined(matrix, hidden):
    """Tell by rational elimination which hidden cells no move of hidden cells moves."""
    cells = np.flatnonzero(hidden)
    pivots = {}
    for row in matrix.toarray()[:, cells]:
        rest = [Fraction(int(x)) for x in row]
        for column, other in pivots.items():
            rest = [a - rest[column] * b for a, b in zip(rest, other, strict=True)]
        first = next((c for c, x in enumerate(rest) if x), None)
        if first is not None:
            rest = [x / rest[first] for x in rest]
            pivots = {c: [a - o[first] * b for a, b in zip(o, rest, strict=True)] for c, o in pivots.items()}
            pivots[first] = rest
    alone = [column for column, row in pivots.items() if sum(x != 0 for x in row) == 1]
    return set(cells[alone].tolist())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_no_unsafe_cell_is_determined_and_the_audit_proves_it(seed, effort):
    needs = cube(seed)
    system = build_system(needs, np.ones(len(needs.tables)))
    solved = algebra.solved(system, None, effort_named(effort), run=UNWATCHED)
    targets = set(np.flatnonzero(system.needy).tolist())
    assert targets
    assert not targets & determined(system.matrix, solved.hidden)
    assert audit(needs, system.pattern(solved.hidden)).verdict == "safe"


@pytest.mark.parametrize("seed", range(6))
def test_small_sets_come_near_the_least_number_of_cells(seed):
    needs = cube(seed, (2, 3), 0.1)
    system = build_system(needs, np.ones(len(needs.tables)))
    targets = set(np.flatnonzero(system.needy).tolist())
    free = np.flatnonzero(~system.hidden)
    for size in range(len(free) + 1):
        patterns = []
        for cells in itertools.combinations(free.tolist(), size):
            hidden = system.hidden.copy()
            hidden[list(cells)] = True
            if not targets & determined(system.matrix, hidden):
                patterns.append(cells)
        if patterns:
            break
    suppressed = suppress(needs, np.ones(len(needs.tables)))
    assert suppressed.cost <= size + 1 and suppressed.bound <= size + 1e-6


def test_every_move_of_the_basis_is_a_move():
    needs = cube(3, (4, 4, 3))
    system = build_system(needs, np.ones(len(needs.tables)))
    rows = algebra.Algebra(system)
    moves = rows.first(None, UNWATCHED)
    assert len(moves.basis) and not (system.matrix @ moves.basis.T.astype(float)).any()
    assert not moves.basis[:, ~moves.hidden].any()
    assert moves.basis[:, rows.target].any(axis=0).all()


def test_numbers_do_not_grow_beyond_the_largest():
    """Publishing the first cell would take the second move three times the first."""
    basis = np.array([[1, 4, 1], [3, 1, 0]], np.int16)
    published, left = algebra_kernel.publish(basis.copy(), np.array([False, True, False]), np.array([0]), 0, 10)
    assert left == 2 and not published.any()
    published, left = algebra_kernel.publish(basis.copy(), np.array([False, True, False]), np.array([0]), 0, 11)
    assert left == 1 and published.tolist() == [True, False, False]


def test_multiples_of_the_published_cell_stay_movable():
    basis = np.array([[2, 4, 0], [3, 6, 1]], np.int16)
    published, _ = algebra_kernel.publish(basis.copy(), np.array([False, True, False]), np.array([0]), 0, 100)
    assert not published.any()


def test_what_cannot_move_is_refused_with_advice():
    data = {"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 1, 8]}
    table = cg.cells(data, by=["r"], value="x", count="n")
    state = np.array([State.must_publish, State.none, State.must_publish], np.int8)
    table = replace(table, apriori=replace(table.apriori, state=state))
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]), UNBOUNDED)
    with pytest.raises(NotProtected, match="N cannot be protected"):
        suppress(needs, np.ones(3))
