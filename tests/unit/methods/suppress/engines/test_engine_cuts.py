"""Cuts of every kind: no safe pattern violates one. Safe patterns are found by brute force, never by the engine."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.engines import local_oracle
from cellguard.methods.suppress.engines.component_probe import ComponentProbes
from cellguard.methods.suppress.engines.cuts import relation_cuts, separate
from cellguard.methods.suppress.engines.hidden_system import HiddenSystem
from cellguard.methods.suppress.engines.oracle import Oracle
from cellguard.methods.suppress.engines.policy import Policy
from cellguard.methods.suppress.engines.propagation import Propagation
from cellguard.methods.suppress.engines.propagation_kernel import UP, WIDTH
from cellguard.methods.suppress.engines.state import State
from cellguard.methods.suppress.engines.system import build_system
from cellguard.proofs.problem import grains_of, pose
from cellguard.run_context import Run

from attack_oracle import FAR, ends_by_vertices


def small(seed, *, count, knowledge):
    """A 2 x 3 table with totals, as in the contracts: some cells unsafe, values or counts."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 8 if count else 30, (2, 3))
    full = np.pad(inner, ((0, 1), (0, 1)))
    full[-1] = full.sum(axis=0)
    full[:, -1] = full.sum(axis=1)
    codes = list(itertools.product(["a", "b", "Total"], ["x", "y", "z", "Total"]))
    data = {"r": [c[0] for c in codes], "s": [c[1] for c in codes], "v": full.ravel().tolist()}
    if count:
        table = cg.cells(data, by=["r", "s"], value="v", count="v", about=cg.About(is_count=True))
        return cg.require(cg.assess(table, [cg.MinFrequency(3)]), knowledge)
    secret = np.zeros(12, bool)
    secret[rng.choice(12, 2, replace=False)] = True
    data["secret"] = secret.tolist()
    table = cg.cells(data, by=["r", "s"], value="v", marks=["secret"])
    return cg.require(cg.assess(table, [cg.Given("secret", float(rng.choice([10, 30, 60])))]), knowledge)


def is_safe(needs, hidden):
    if not hidden.any():
        return True
    problem = pose(needs, hidden, grains_of(needs.world))
    down, up = (np.minimum(bound, FAR * 1000) for bound in (problem.down, problem.up))
    low, high = ends_by_vertices(problem.matrix.toarray(), down, up)
    return bool(
        ((high >= problem.levels.up) & (-low >= problem.levels.down) & (high - low >= problem.levels.width)).all()
    )


def safe_patterns(needs, system):
    """Go through the safe patterns of up to four secondaries, as merged cells."""
    free = np.flatnonzero(~needs.primary & ~needs.world.constraints.empty)
    for size in range(5):
        for chosen in itertools.combinations(free.tolist(), size):
            hidden = needs.primary.copy()
            hidden[list(chosen)] = True
            if is_safe(needs, hidden):
                yield system.merge(hidden) | system.hidden


def cuts_of_every_kind(system, rng):
    """Return cuts of relations, of propagation at random x, of programs, and exact ones of random patterns."""
    propagation = Propagation(system)
    cuts = relation_cuts(system)
    looking, targets = Oracle(propagation), np.arange(len(propagation.goals.cell))
    for _ in range(6):
        x = np.where(system.hidden, 1.0, rng.random(system.n) * (rng.random(system.n) < 0.4))
        cuts += propagation.separate(x) + separate(system, x, run=Run()).cuts
        hidden = system.hidden | (rng.random(system.n) < 0.2) & ~system.never
        cuts += looking.look(hidden, targets, Run()).cuts
    return cuts


KNOWLEDGE = [cg.Knowledge(), cg.Knowledge(percent=60), cg.Knowledge(-np.inf)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("knowledge", KNOWLEDGE, ids=["positive", "percent", "signed"])
def test_no_safe_pattern_violates_a_cut(seed, count, knowledge):
    if count and knowledge.lower < 0:
        pytest.skip("counts are never negative")
    needs = small(seed, count=count, knowledge=knowledge)
    system = build_system(needs, np.ones(len(needs.tables)))
    cuts = cuts_of_every_kind(system, np.random.default_rng(seed))
    for hidden in safe_patterns(needs, system):
        for cut in cuts:
            assert cut.weights @ hidden[cut.cells] >= 1 - 1e-6


@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_a_few_relations_refute_all_of_them_refute(most):
    """And their multipliers make cuts that no safe pattern violates; where they do not refute, all of them may.

    What the classes of a few relations prove, all classes prove, by moves that change no published cell.
    """
    refuted = left = proven = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        needs = small(seed, count=False, knowledge=cg.Knowledge(percent=60))
        system = build_system(needs, np.ones(len(needs.tables)))
        system = replace(system, policy=Policy(near_worth=0, near_rows=(most,)))
        propagation = Propagation(system)
        goals, looking, cuts = propagation.goals, Oracle(propagation), []
        for _ in range(4):
            hidden = system.hidden | (rng.random(system.n) < 0.4) & ~system.never
            classes = HiddenSystem(system, propagation.graph, hidden)
            close, probes = local_oracle.Near(classes, Run()), ComponentProbes(classes, goals.cell, Run())
            for cell, kind, need in zip(goals.cell, goals.kind, goals.need, strict=True):
                if classes.place[cell] >= 0 and kind != WIDTH:
                    reach = probes.of(cell, need).probe(cell, kind == UP, need)[1]
                    by_few = close.refute(cell, kind == UP, need, most) is not None
                    assert not by_few or reach < need
                    witness = close.prove(cell, kind == UP, need, most)
                    if witness is not None:
                        moves = np.bincount(witness.cells, witness.moves, system.n)
                        assert not by_few
                        assert moves[cell] * (1 if kind == UP else -1) >= need * (1 - 1e-6)
                        assert (np.abs(system.matrix @ moves) < 1e-6 * need).all()
                        assert ((moves == 0) | hidden).all()
                        assert ((moves <= system.up + 1e-6) & (-moves <= system.down + 1e-6)).all()
                        proven += 1
                    refuted, left = refuted + by_few, left + (reach < need * (1 - 1e-5) and not by_few)
            cuts += looking.look(hidden, np.arange(len(goals.cell)), Run()).cuts
        for hidden in safe_patterns(needs, system) if seed < 3 else ():
            assert all(cut.weights @ hidden[cut.cells] >= 1 - 1e-6 for cut in cuts)
    assert refuted > 20
    assert proven > 20 or most == 1
    assert left > 0 or most > 1


@pytest.mark.parametrize("seed", range(8))
def test_what_propagation_knows_does_not_depend_on_the_way_to_a_pattern(seed):
    """Hide and publish cells at random: the state is the one that a fresh look at the last pattern gives."""
    rng = np.random.default_rng(seed)
    needs = small(seed, count=bool(seed % 2), knowledge=cg.Knowledge())
    system = build_system(needs, np.ones(len(needs.tables)))
    propagation = Propagation(system)
    state = State(propagation, system.hidden)
    for _ in range(20):
        state.move_to(rng.random(system.n) < 0.5)
        fresh = State(propagation, state.hidden)
        np.testing.assert_allclose(state.reach, fresh.reach, atol=1e-9)
        assert state.unserved().tolist() == fresh.unserved().tolist()


@pytest.mark.parametrize("seed", range(6))
def test_a_clean_pattern_has_nothing_left_to_publish(seed):
    needs = small(seed, count=False, knowledge=cg.Knowledge())
    system = build_system(needs, np.ones(len(needs.tables)))
    state = State(Propagation(system), ~system.never)
    before = state.hidden
    state.clean()
    assert not state.unserved().size and (state.hidden <= before).all()
    assert state.clean() == 0
