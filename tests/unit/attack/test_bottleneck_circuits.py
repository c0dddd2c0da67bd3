"""Circuits through the roomiest cells: moves within everybody's bounds, of which it is known who notices them."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.bottleneck_circuits import enter_widest
from cellguard.attack.insider_knowledge import stand
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.local_moves import settle_among
from cellguard.hierarchy.build import flat
from cellguard.proofs.local import Neighbours
from cellguard.proofs.problem import grains_of, pose
from cellguard.proofs.stack import Stack
from cellguard.run_context import UNWATCHED
from cellguard.table.contributions import contributions_of
from cellguard.table.fact import Holdings
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables


def filled(seed):
    """A book of circuits about a table by chance, with half of its safe cells hidden."""
    rng = np.random.default_rng(seed)
    data = {c: [f"{c}{i}" for i in rng.integers(0, 5, 40)] for c in "ab"}
    data |= {"x": rng.integers(1, 99, 40).tolist(), "g": rng.integers(0, 30, 40).tolist()}
    grouped = cg.records(data, by=["a", "b"], values=["x"], holding="g")
    trees = {c: flat(sorted(set(data[c]))) for c in "ab"}
    table = make_tables(grouped, [Wanted(trees, "x", About("t"), (*cg.PPercent(10).facts, Holdings()))])[0]
    needs = cg.require(cg.assess(table, [cg.PPercent(10)]))
    grains = grains_of(needs.world)
    problem = pose(needs, needs.primary | (rng.random(len(needs.tables)) < 0.5), grains)
    knowledge = stand(problem, grains, needs, contributions_of(needs.tables))
    prover = InsiderProofSearch(knowledge, Neighbours(problem.matrix, problem.whole), UNWATCHED)
    enter_widest(prover, np.ones(len(problem.cells), bool))
    return prover


@pytest.mark.parametrize("seed", range(8))
def test_every_circuit_is_a_move_and_whoever_it_contradicts_notices_it(seed):
    prover = filled(seed)
    knowledge, problem = prover.knowledge, prover.knowledge.problem
    noticing = {number: notices for entries in prover.served.values() for _, notices, number in entries}
    assert noticing
    for number, notices in noticing.items():
        move = prover.moves[number]
        n = np.zeros(len(problem.cells), np.int64)
        n[move.variables] = move.n
        assert move.denominator == 1 and not (problem.matrix @ n).any()
        assert (-problem.down <= n).all() and (n <= problem.up).all()
        contradicted = set()
        for cell in move.variables.tolist():
            part = slice(knowledge.start[cell], knowledge.start[cell + 1])
            left = knowledge.value[cell] + n[cell]
            contradicted |= {
                int(w) for w, y in zip(knowledge.who[part], knowledge.amount[part], strict=True) if y > left
            }
            contradicted |= {int(knowledge.owner[cell])} - {-1}
        assert notices == contradicted


def test_circuits_prove_most_and_programs_take_nothing_back():
    proven = unsafe = 0
    for seed in range(6):
        prover = filled(seed)
        before = prover.unproven()
        stuck = {pair.cell for pair in settle_among(prover, np.ones(len(before), bool))}
        assert stuck <= set(np.flatnonzero(before).tolist())
        unsafe += int(prover.target.sum()) - len(stuck)
        proven += int(prover.target.sum()) - int(before.sum())
    assert proven > 0.8 * unsafe


def test_moves_are_checked_many_at_a_time():
    prover = filled(3)
    moves = [*prover.moves[:5], prover.moves[0].reversed()]
    wrong = type(moves[0])(moves[0].variables, moves[0].n + np.eye(len(moves[0].n), dtype=int)[0], 1)
    stack = Stack.of([*moves, wrong])
    matrix = prover.neighbours.matrix
    assert stack.still(matrix.T.tocsr()).tolist() == [True] * 6 + [False]
    assert Stack.of([]).still(matrix.T.tocsr()).tolist() == []
    assert [len(who) for who in prover.knowledge.notices(Stack.of([]))] == []
    for number, move in enumerate(moves):
        alone = prover.knowledge.notices(Stack.of([move]))[0]
        assert np.array_equal(alone, prover.knowledge.notices(stack)[number])
