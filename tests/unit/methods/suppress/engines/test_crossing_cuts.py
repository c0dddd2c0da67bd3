"""Linked tables whose crossing table is left out of the search: its cuts, and the optimum that they prove.

Brute force is over patterns, and over the cells of the crossing table, which are all that an attacker does not know.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import cellguard as cg
from cellguard.attack import audit as auditing
from cellguard.attack.audit import audit
from cellguard.attack.deciding import decide
from cellguard.methods.suppress.engines import system as systems
from cellguard.methods.suppress.engines.crossing_cuts import first_system
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs.problem import pose
from cellguard.run_context import UNWATCHED
from cellguard.table.pattern import Pattern
from cellguard.world import completion

from oracle import names

PAIRS = ("ab", "ac", "bc")


@pytest.fixture(autouse=True)
def thin(monkeypatch):
    """Let crossing tables of six cells count as too large to move as a whole."""
    for module in (auditing, systems, completion):
        monkeypatch.setattr(module, "MANY_CROSSING", 5)
    monkeypatch.setattr(completion, "_CORNERS", 1)  # few atoms have a value at one corner


class Whole:
    """Amounts of a by b by c, of which the three tables by two of them are published."""

    def __init__(self, seed, shape=(2, 2, 3)):
        rng = np.random.default_rng(seed)
        drawn = {key: int(rng.choice([0, 0, 1, 2, 9])) for key in itertools.product(*map(range, shape))}
        amounts = {key: x for key, x in drawn.items() if x}
        axes = {d: cg.Hierarchy.flat([f"{d}{i}" for i in sorted({k[p] for k in amounts})]) for p, d in enumerate("abc")}
        self.tables, shown = [], set()
        for pair in PAIRS:
            sums = {}
            for key, x in amounts.items():
                codes = [f"{d}{key['abc'.index(d)]}" for d in pair]
                shown.add((pair, *codes))
                for cell in itertools.product(*(("Total", code) for code in codes)):
                    sums[cell] = sums.get(cell, 0) + x
            data = {d: [cell[p] for cell in sums] for p, d in enumerate(pair)}
            data |= {"x": list(sums.values()), "n": list(sums.values())}
            by = {d: axes[d] for d in pair}
            self.tables.append(cg.cells(data, by=by, value="x", count="n", about=cg.About(pair, response="x")))
        self.needs = cg.require(cg.assess(cg.link(self.tables), [cg.MinFrequency(2)]))
        # An attacker looks for amounts wherever all three tables have a row.
        grid = [tuple(f"{d}{i}" for d, i in zip("abc", key, strict=True)) for key in drawn]
        self.cover_cells = [
            atom for atom in grid if all((p, *(atom["abc".index(d)] for d in p)) in shown for p in PAIRS)
        ]
        self.parts = np.zeros((len(self.needs.tables), len(self.cover_cells)))
        for table, cells in zip(self.needs.tables.tables, self.needs.tables.cells_of, strict=True):
            for codes, cell in zip(names(table), cells, strict=True):
                asked = dict(zip([d.name for d in table.dimensions], codes, strict=True))
                self.parts[cell] = [
                    all(code in ("Total", atom["abc".index(d)]) for d, code in asked.items())
                    for atom in self.cover_cells
                ]

    def is_safe(self, hidden):
        """Tell whether unsafe cells can be as far away as they need, over all amounts that fit what is published."""
        seen, rank = self.parts[~hidden], np.linalg.matrix_rank(self.parts[~hidden])
        unsafe = np.flatnonzero(self.needs.primary)
        if any(np.linalg.matrix_rank(np.vstack([seen, self.parts[cell]])) == rank for cell in unsafe):
            return False  # a sum of published cells
        return all(self._reaches(cell, seen, self.needs.tables.value[~hidden]) for cell in unsafe)

    def _reaches(self, cell, seen, values):
        needs, value = self.needs, self.needs.tables.value[cell]
        far = [linprog(sign * self.parts[cell], A_eq=seen, b_eq=values) for sign in (1, -1)]
        down, up = (np.inf if end.status == 3 else abs(abs(end.fun) - value) + 1e-6 for end in far)
        wide = needs.sliding[cell] if max(needs.lower[cell], needs.upper[cell], needs.sliding[cell]) >= 1 else 1.0
        return down >= needs.lower[cell] and up >= needs.upper[cell] and down + up >= wide

    def cheaper(self, cost, limit):
        """Go through patterns that cost less than a limit and nearly as much: hiding more never makes a cell unsafe."""
        free = np.flatnonzero(~self.needs.primary)
        chosen = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free)) & 1).astype(bool)
        paid = chosen @ cost[free]
        next_ = paid + np.where(chosen, np.inf, cost[free]).min(axis=1)
        for some in chosen[(paid < limit) & (next_ >= limit)]:
            hidden = self.needs.primary.copy()
            hidden[free[some]] = True
            yield hidden


@pytest.mark.parametrize("seed", [2, 6, 18, 35])
def test_the_optimum_with_a_crossing_table_is_that_of_brute_force(seed):
    """In each of these the optimum without the crossing table is cheaper, and not safe with it."""
    whole = Whole(seed)
    cost = np.maximum(whole.needs.tables.value, 1.0)
    assert first_system(whole.needs, cost, None).behind is not None
    chosen = suppress(whole.needs, cost, engine="optimal")
    assert chosen.gap == 0 and chosen.finished
    assert whole.is_safe(chosen.pattern.hidden)
    assert not any(whole.is_safe(hidden) for hidden in whole.cheaper(cost, chosen.cost - 1e-6))
    assert audit(whole.needs, chosen.pattern).verdict == "safe"
    without = replace(whole.needs, world=whole.needs.world.without_crossing())
    assert suppress(without, cost, engine="optimal").cost < chosen.cost - 1


@pytest.mark.parametrize("seed", [2, 6, 18, 35])
def test_no_safe_pattern_violates_a_cut_of_the_world_behind(seed):
    whole, rng = Whole(seed), np.random.default_rng(seed)
    cost = np.maximum(whole.needs.tables.value, 1.0)
    small = first_system(whole.needs, cost, None)
    cuts = []
    for _ in range(30):
        hidden = small.hidden | (rng.random(small.n) < 0.5) & ~small.never
        violated = small.behind.cuts(hidden, run=UNWATCHED)
        assert all(cut.weights @ hidden[cut.cells] < 1 for cut in violated)
        assert bool(violated) != whole.is_safe(hidden[small.merged.merged[: len(cost)]])
        cuts += violated
    safe = [whole.needs.primary | (rng.random(len(cost)) < 0.7) for _ in range(100)]
    safe = [small.merge(hidden) for hidden in safe if whole.is_safe(hidden)]
    assert len(cuts) > 10 and len(safe) > 10
    assert all(cut.weights @ hidden[cut.cells] >= 1 - 1e-6 for cut in cuts for hidden in safe)


def test_the_audit_calls_safe_what_brute_force_does_whichever_atoms_have_a_value():
    """Some patterns are safe only because atoms move that have no value in the crossing table at hand."""
    late = safe = 0
    for seed in range(6):
        whole, rng = Whole(seed, (3, 3, 4)), np.random.default_rng(seed)
        for _ in range(8):
            hidden = whole.needs.primary | (rng.random(len(whole.needs.tables)) < 0.5)
            pattern = Pattern(whole.needs.tables, whole.needs.primary, hidden & ~whole.needs.primary)
            judged = audit(whole.needs, pattern)
            assert (judged.verdict == "safe") == whole.is_safe(hidden)
            first = pose(replace(whole.needs, world=whole.needs.world.thinned()), hidden, judged.grains)
            safe += judged.verdict == "safe"
            late += judged.verdict == "safe" and not decide(first, run=UNWATCHED).safe
    assert safe > 10 and late > 3
