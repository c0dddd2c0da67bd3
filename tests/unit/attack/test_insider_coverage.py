"""The store of moves against insiders: what it calls proven is proven, by older code that knows nothing of it."""

import numpy as np
import pytest
import scipy.sparse as sp

import cellguard as cg
from cellguard.attack.insider_circuits import enter_circuits
from cellguard.attack.insider_coverage import Coverage, Moves
from cellguard.attack.insider_hints import Hints
from cellguard.attack.insider_knowledge import ANYBODY, OUTSIDER, stand
from cellguard.attack.insider_pairs import Hint
from cellguard.attack.insider_proof import enter_hints, proof_of
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.insider_search import STEPS, Search
from cellguard.attack.insider_system import system_of
from cellguard.linalg.series import series_classes
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs.local import Neighbours
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import grains_of, pose
from cellguard.run_context import UNWATCHED, Cancel, Run
from cellguard.table.contributions import contributions_of
from insider_cases import assessed, draw


def drawn_knowledge(seed):
    """What insiders know of a small table by chance of which all cells are suppressed; None if nothing is unsafe."""
    data, trees, rules, _ = draw(seed)
    needs = assessed(data, [trees], rules)
    if not needs.primary.any() or needs.unprotectable.any():
        return None
    grains = grains_of(needs.world)
    everything = np.ones(len(needs.tables), bool) & ~needs.world.constraints.empty
    return stand(pose(needs, everything, grains), grains, needs, contributions_of(needs.tables))


def searched(seed):
    """The coverage of such a table after circuits and local programs."""
    knowledge = drawn_knowledge(seed)
    if knowledge is None:
        return None
    coverage = Coverage(system_of(knowledge))
    hidden = np.ones(coverage.system.n, bool)
    enter_circuits(coverage, hidden, 5, run=UNWATCHED)
    search = Search.of(coverage, hidden, UNWATCHED)
    search.settle_all(search.ranked(), STEPS[:1], deep=True)
    return coverage


SOME = [pytest.param(k, 50, marks=pytest.mark.long if k < 250 else pytest.mark.endless) for k in range(100, 1_000, 50)]


@pytest.mark.parametrize(("first", "many"), [(0, 12), *SOME])
def test_what_is_proven_is_proven_against_every_insider(first, many):
    proven = 0
    for seed in range(first, first + many):
        coverage = searched(seed)
        if coverage is None:
            continue
        knowledge, at = coverage.system.knowledge, coverage.system.at
        prover = InsiderProofSearch(knowledge, Neighbours(knowledge.problem.matrix, knowledge.problem.whole), UNWATCHED)
        prover.enter_hints(proof_of(coverage))
        here = prover.target & ~np.isin(at, coverage.open_cells())
        assert not (prover.unproven() & here).any()
        proven += int(here.sum())
    assert proven > many


def test_asks_are_the_protection_levels_against_each_insider():
    for seed in range(20):
        knowledge = drawn_knowledge(seed)
        if knowledge is None:
            continue
        system = system_of(knowledge)
        coverage = Coverage(system)
        for cell in np.unique(coverage.asks.cell).tolist():
            some = list(coverage.of(cell))
            first, named = int(system.first[cell]), {int(coverage.asks.who[a]) for a in some}
            others = [w for w in knowledge.contributors(first).tolist() if w != knowledge.owner[first]]
            for who in {*others, ANYBODY, OUTSIDER}:
                level = knowledge.asked(first, np.array([who])).rows()[0]
                asked = {-1: 0, 1: 0, 0: 0}
                for a in some:
                    if coverage.asks.who[a] == (who if who in named else ANYBODY):
                        asked[int(coverage.asks.way[a])] = int(coverage.asks.need[a])
                for way, need in ((-1, level.down), (1, level.up), (0, level.width)):
                    enough = [asked[way]] if way else list(asked.values())
                    assert max(enough) >= need or (who == OUTSIDER and _usual(coverage, some, way) >= need)


def _usual(coverage, some, way):
    return max((int(coverage.asks.need[a]) for a in some if way in (0, coverage.asks.way[a])), default=0)


def test_what_is_no_move_is_not_entered():
    coverage = next(c for c in map(searched, range(10)) if c is not None and c.count)
    before, moves = coverage.count, coverage.moves()
    coverage.many[:] = -1
    wrong = Moves.one(moves.cells[: moves.start[1]], moves.n[: moves.start[1]] + 1)
    too_far = Moves.one(moves.cells[: moves.start[1]], moves.n[: moves.start[1]] * 2**58)
    assert coverage.enter(wrong) == coverage.enter(too_far) == 0
    assert coverage.count == before
    assert coverage.enter(Moves.one(moves.cells[: moves.start[1]], moves.n[: moves.start[1]]), repeat=True)


def test_hints_come_back_as_they_went():
    for seed in range(8):
        coverage = searched(seed)
        if coverage is None or not coverage.count:
            continue
        hints, again = proof_of(coverage), Coverage(coverage.system)
        enter_hints(again, Hints.of(list(hints)))
        assert set(again.open_cells().tolist()) <= set(coverage.open_cells().tolist())
        cells = np.arange(0, 3 * len(coverage.system.at), 3)
        back = hints.renumbered(cells).among(cells)
        assert [h.move.variables.tolist() for h in back] == [h.move.variables.tolist() for h in hints]
        assert [h.cells.tolist() for h in back] == [h.cells.tolist() for h in hints]


def test_hints_on_cells_that_are_published_are_left_out():
    hints = Hints.of([Hint(Move(np.array([0, k]), np.array([1, -1]), 1), np.array([k])) for k in (3, 5)])
    left = hints.among(np.array([0, 2, 5]))
    assert [(h.move.variables.tolist(), h.cells.tolist()) for h in left] == [([0, 2], [2])]


def test_series_classes_are_the_columns_that_are_proportional_in_all_moves():
    rng = np.random.default_rng(5)
    for _ in range(30):
        matrix = rng.integers(-1, 2, (int(rng.integers(1, 5)), int(rng.integers(3, 9))))
        label = series_classes(sp.csr_array(matrix))
        _, sizes, vectors = np.linalg.svd(matrix.astype(float))
        kernel = vectors[int((sizes > 1e-9).sum()) :]
        for a in range(matrix.shape[1]):
            still = not np.abs(kernel[:, a]).max(initial=0) > 1e-9
            assert (label[a] < 0) == still
            for b in range(a):
                together = np.linalg.matrix_rank(kernel[:, [a, b]], tol=1e-9) == 1 and not still and label[b] >= 0
                assert (label[a] == label[b] and not still) == together


class Ending(Cancel):
    """A token that ends everything at the n-th look."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def ended(self):
        """Whether the last look was reached."""
        self.looks -= 1
        return self.looks < 0


def test_interrupted_at_any_moment_there_is_a_proof_or_nothing():
    data, trees, rules, _ = draw(8)
    needs = assessed(data, [trees], rules)
    known, rng, proven, nothing = contributions_of(needs.tables), np.random.default_rng(1), 0, 0
    for looks in rng.integers(0, 60, 50).tolist():
        run = Run(cancel=Ending(looks))
        try:
            found = suppress(needs, insiders=known, effort="quick", run=run)
            judged = cg.audit(needs, found.pattern, insiders=known, hints=found.hints, run=run)
        except cg.CellguardError:
            nothing += 1
        else:
            assert judged.verdict == "safe"
            proven += 1
    assert proven
    assert nothing


def test_threads_change_nothing():
    for seed in (3, 8, 11):
        data, trees, rules, _ = draw(seed)
        needs = assessed(data, [trees], rules)
        if not needs.primary.any() or needs.unprotectable.any():
            continue
        known = contributions_of(needs.tables)
        found = [suppress(needs, insiders=known, effort="quick", run=Run(threads=n)) for n in (1, 2, 4)]
        first = found[0]
        for other in found[1:]:
            assert np.array_equal(first.pattern.secondary, other.pattern.secondary)
            assert np.array_equal(first.hints.stack.n, other.hints.stack.n)
            assert np.array_equal(first.hints.stack.cells, other.hints.stack.cells)


def test_what_is_peeled_off_is_in_no_move_of_the_cell():
    dead = shrunk = 0
    for seed in range(40):
        knowledge = drawn_knowledge(seed)
        if knowledge is None:
            continue
        coverage = Coverage(system_of(knowledge))
        search = Search.of(coverage, np.random.default_rng(seed).random(coverage.system.n) < 0.7, UNWATCHED)
        for ask in range(len(coverage.many)):
            cell, need = int(coverage.asks.cell[ask]), int(coverage.asks.need[ask])
            search.hidden[cell] = True
            whole = search.room(np.flatnonzero(search.hidden), cell, coverage.asks.who[ask : ask + 1][:0])
            live = search.programs.live(whole, cell, need)
            among_all = search.programs.cheapest(whole, cell, need)
            if live is None:
                assert among_all is None
                dead += 1
                continue
            among_live = search.programs.cheapest(live, cell, need)
            assert (among_live is None) == (among_all is None)
            assert among_all is None or not among_all[~np.isin(whole.cells, live.cells)].any()
            shrunk += len(live.cells) < len(whole.cells)
    assert dead > 10
    assert shrunk > 10
