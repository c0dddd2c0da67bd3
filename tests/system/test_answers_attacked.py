"""Random sequences of questions to small sources, each answer taken by an attacker of its own (`answers_oracle`)."""

import numpy as np
import pytest

from cellguard.answers.question import Question
from cellguard.errors import InputError
from cellguard.hierarchy.build import from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.answers.asked import Response, ask_cells
from cellguard.methods.perturb.answers.system import System
from cellguard.methods.perturb.answers.withholding import decide
from cellguard.rules.limits import NoiseRule

from answers_oracle import known_contributions

SHAPES = {"region": (3, 2), "branch": (4, 2), "size": (4, 1), "legal": (3, 1), "age": (3, 2)}


class Small:
    """A small source in memory: codes of two levels, contributions, and what was shown as sets of records."""

    def __init__(self, seed):
        self.random = random = np.random.default_rng(seed)
        n = int(random.integers(30, 110))
        self.codes, self.variables = {}, {}
        for name, (upper, lower) in SHAPES.items():
            leaf = random.choice(upper * lower, n, p=random.dirichlet(np.full(upper * lower, 1.5)))
            pairs = [(f"{name}{i // lower}", f"{name}{i // lower}.{i % lower}") for i in range(upper * lower)]
            tree = from_levels(pairs if lower > 1 else [(low,) for _, low in pairs])
            dimension = Dimension(name, tree)
            self.codes[name] = [pairs[i] if lower > 1 else (pairs[i][1],) for i in leaf.tolist()]
            place = np.array([dimension.position[pairs[i][1]] for i in leaf.tolist()], np.int32)
            self.variables[name] = (dimension, place)
        spread = random.choice([0.0, 0.7, 1.7])
        size = np.maximum(1, np.round(np.exp(random.normal(4, spread, n))))
        size[random.random(n) < random.choice([0.0, 0.05])] = 0
        low = random.choice([0.02, 0.08, 0.12])
        share = random.choice([-1, 1], n) * random.uniform(low, 0.3, n)
        grains = np.rint(size * (1 + share) * 100)
        mine = np.flatnonzero(size > 0)
        self.size, self.noise = size, np.where(size > 0, grains / 100 - size, 0.0)
        self.rule = NoiseRule(int(random.choice([1, 2, 2])), p=float(random.choice([10, 20])), q=100.0)
        self.response = Response("x", mine, np.ones(n, bool), size[mine], grains[mine] / 100, grains[mine], 2, 2)
        self.system = System(self.response.size, self.response.noise, [self.rule])
        self.shown = []

    def question(self):
        random, names = self.random, list(SHAPES)
        by = random.choice(names, random.choice([1, 2, 3], p=[0.35, 0.5, 0.15]), replace=False).tolist()
        where, levels = {}, {}
        if random.random() < 0.35:
            name = str(random.choice(names))
            dimension = self.variables[name][0]
            where = {name: [str(random.choice(dimension.codes[1:]))]}
        for name in by:
            if random.random() < 0.4:
                deepest = int(self.variables[name][0].level.max())
                levels[name] = sorted({int(level) for level in random.integers(0, deepest + 1, 2)})
        return Question.of(by, where=where, value="x", levels=levels)

    def ask(self, question):
        asked = ask_cells(question, self.response, self.variables, [self.rule], fewest=3, most=1000)
        done = decide(self.system, asked)
        if done.trial is not None:
            self.system.take(done.trial)
        for cell in np.flatnonzero(done.shown).tolist():
            names = [d.codes[column[cell]] for d, column in zip(asked.dimensions, asked.codes, strict=True)]
            self.shown.append(self._members(question, dict(zip(question.by, names, strict=True))))
        return len(asked), int(done.shown.sum())

    def _members(self, question, cell):
        inside = np.ones(len(self.size), np.int64)
        for name, code in cell.items():
            inside &= [code == self.variables[name][0].main.total or code in line for line in self.codes[name]]
        for name, codes in question.where:
            inside &= [any(code in line for code in codes) for line in self.codes[name]]
        return inside

    def known(self, many):
        if not self.shown:
            return []
        largest = np.argsort(-self.size)[: many // 2]
        targets = np.union1d(largest, self.random.choice(len(self.size), many // 2, replace=False))
        rule = self.rule
        return known_contributions(
            self.shown, self.size, self.noise, p=rule.accuracy, q=rule.prior, n=rule.n, targets=targets
        )


def attack(seeds, targets):
    cells = shown = 0
    for seed in seeds:
        source = Small(seed)
        for _ in range(int(source.random.integers(4, 10))):
            try:
                all_, out = source.ask(source.question())
            except InputError:  # a filter that leaves nobody
                continue
            cells, shown = cells + all_, shown + out
        assert source.known(targets) == [], f"seed {seed}"
    return shown / cells


def test_no_sequence_of_answers_tells_a_contribution_within_the_rule():
    assert attack(range(16), 6) > 0.15, "hardly anything is shown"


@pytest.mark.long
def test_more_sequences():
    attack(range(1_000, 1_040), 8)


@pytest.mark.endless
def test_four_thousand_sequences():
    attack(range(1_000, 5_000), 8)


def test_the_attacker_finds_what_an_unguarded_source_tells():
    """Without the check of all answers together, the same questions tell contributions: the attacker is real."""
    found = 0
    for seed in range(8):
        source = Small(seed)
        for _ in range(8):
            try:
                question = source.question()
                asked = ask_cells(question, source.response, source.variables, [source.rule], fewest=3, most=1000)
            except InputError:
                continue
            for cell in np.flatnonzero(asked.alone).tolist():
                names = [d.codes[column[cell]] for d, column in zip(asked.dimensions, asked.codes, strict=True)]
                source.shown.append(source._members(question, dict(zip(question.by, names, strict=True))))
        found += bool(source.known(8))
    assert found >= 5
