"""Random sequences of questions to small sources, each answer taken by an attacker of its own (`answers_oracle`).

`python tests/answers_campaign.py suppress 1000 500 found.jsonl` asks the sources of 500 seeds; methods are perturb,
suppress and keys. What is known is written to the file, a line per source, and the seed makes it again.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

import cellguard as cg
from cellguard.answers.question import Question
from cellguard.errors import InputError, JobError
from cellguard.hierarchy.build import from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.answers.asked import Response, ask_cells
from cellguard.methods.perturb.answers.system import System
from cellguard.methods.perturb.answers.withholding import decide
from cellguard.rules.limits import NoiseRule

from answers_oracle import Guard, chance_of_small, known_contributions, known_in_sums

_PRIORS = 0.02  # between all counts of a cell being as likely beforehand, and all those of its parts
SHAPES = {"region": (3, 2), "branch": (4, 2), "size": (4, 1), "legal": (3, 1), "age": (3, 2)}


class Perturbed:
    """A small source in memory: codes of two levels, contributions, and what was shown as sets of records."""

    def __init__(self, seed, home=None):
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

    @property
    def questions(self):
        return int(self.random.integers(4, 10))

    def question(self):
        random, names = self.random, list(SHAPES)
        by = random.choice(names, random.choice([1, 2, 3], p=[0.35, 0.5, 0.15]), replace=False).tolist()
        where, levels = {}, {}
        for name in random.choice(names, random.choice([0, 1, 2], p=[0.6, 0.3, 0.1]), replace=False).tolist():
            codes = self.variables[name][0].codes[1:]
            where[name] = random.choice(codes, min(int(random.choice([1, 1, 2])), len(codes)), replace=False).tolist()
        for name in by:
            if random.random() < 0.4:
                deepest = int(self.variables[name][0].level.max())
                levels[name] = sorted({int(level) for level in random.integers(0, deepest + 1, 2)})
        return Question.of(by, where=where, value="x", levels=levels)

    def ask(self):
        question = self.question()
        try:
            asked = ask_cells(question, self.response, self.variables, [self.rule], fewest=3, most=1000)
        except InputError:  # a filter that leaves nobody
            return 0, 0
        done = decide(self.system, asked)
        if done.trial is not None:
            self.system.take(done.trial)
        self.see(question, asked, done.shown)
        return len(asked), int(done.shown.sum())

    def see(self, question, asked, shown):
        for cell in np.flatnonzero(shown).tolist():
            names = [d.codes[column[cell]] for d, column in zip(asked.dimensions, asked.codes, strict=True)]
            self.shown.append(self._members(question, dict(zip(question.by, names, strict=True))))

    def _members(self, question, cell):
        inside = np.ones(len(self.size), np.int64)
        for name, code in cell.items():
            inside &= [code == self.variables[name][0].main.total or code in line for line in self.codes[name]]
        for name, codes in question.where:
            inside &= [any(code in line for code in codes) for line in self.codes[name]]
        return inside

    def known(self):
        if not self.shown:
            return []
        rule = self.rule
        return known_contributions(self.shown, self.size, self.noise, p=rule.accuracy, q=rule.prior, n=rule.n)

    def close(self):
        pass


RULES = {
    "p": ([{"min_frequency": 3}, {"p_percent": 15}], [Guard(1, 0.15)]),
    "dominance": ([{"dominance": {"n": 1, "k": 75}}], [Guard(0, 1 / 3)]),
    "prior": ([{"prior_posterior": {"p": 10, "q": 40}}], [Guard(1, 0.1, 0.4)]),
    "few": ([{"min_frequency": 3}], []),
}
FEW = [Guard(0, 0.1, fewest=3), Guard(1, 0.1, fewest=3)]


class Suppressed:
    """A small source whose answers are true sums and counts, and the sets of records that they are sums of."""

    def __init__(self, seed, home, *, memory=True):
        self.random = random = np.random.default_rng(seed)
        n = int(random.integers(25, 80))
        a = random.choice(list("pqr"), n)
        self.codes = {
            "a": [a],
            "b": [random.choice(list("wxyz"), n)],
            "c": [random.choice(list("mn"), n, p=[0.3, 0.7])],
        }
        near = np.char.upper(a)
        near[random.integers(0, n, 2)] = random.choice(list("PQR"), 2)
        upper = random.choice(list("ST"), n)
        self.codes |= {"z": [near], "r": [upper, np.char.add(upper, random.choice(list("12"), n))]}
        self.size = np.maximum(1, np.round(np.exp(random.normal(4, random.choice([0.5, 1.2]), n)))).astype(int)
        self.firm = np.arange(n) if random.random() < 0.7 else random.integers(0, n * 3 // 4, n)
        self.kind = str(random.choice(list(RULES), p=[0.5, 0.15, 0.15, 0.2]))
        self.home, self.memory, self.shown = home, memory, {"x": [], "count": []}
        self.source = cg.source(self._written(home))

    def _written(self, home):
        columns = {"id": np.arange(len(self.size)), "firm": self.firm, "x": self.size}
        columns |= {f"{name}{i}": codes for name, levels in self.codes.items() for i, codes in enumerate(levels)}
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        (home / "firms.csv").write_text("\n".join(lines) + "\n")
        rules = RULES[self.kind][0]
        tables = [
            {"name": "sums", "by": ["a"], "value": "x", "rules": rules},
            {"name": "counts", "by": ["a"], "value": "count", "rules": [{"min_frequency": 3}]},
        ]
        dimensions = {name: {"levels": ["r0", "r1"]} if name == "r" else {"column": f"{name}0"} for name in self.codes}
        data = {"source": "firms.csv", "respondent": "id"}
        if len(np.unique(self.firm)) < len(self.firm):
            data["holding"] = "firm"
        job = {"version": 1, "microdata": data, "dimensions": dimensions, "tables": tables}
        (home / "job.yaml").write_text(yaml.safe_dump(job))
        (home / "source.yaml").write_text(yaml.safe_dump({"version": 1, "variables": list(self.codes)}))
        return home

    @property
    def questions(self):
        return int(self.random.integers(4, 9))

    def ask(self):
        random, names, where, levels = self.random, list(self.codes), {}, {}
        many = int(random.choice([1, 2], p=[0.6, 0.4]))
        by = random.choice(names, many, replace=False, p=[0.3, 0.1, 0.1, 0.3, 0.2]).tolist()
        if random.random() < 0.4:
            name = str(random.choice([name for name in names if name not in by]))
            codes = np.unique(self.codes[name][random.integers(len(self.codes[name]))])
            where = {name: random.choice(codes, min(int(random.choice([1, 1, 2])), len(codes)), replace=False).tolist()}
        if "r" in by and random.random() < 0.5:
            levels = {"r": [0, 1]}
        if not self.memory:
            self.source._source._told_before.clear()
        value = str(random.choice(["x", "count"], p=[0.8, 0.2]))
        answer = self.source.table(by, value=value, where=where, levels=levels)
        if not answer:
            return 1, 0
        table = answer.to_arrow().to_pydict()
        by = answer._answer.question.by
        for row, told in enumerate(table["value"]):
            if told is None:
                continue
            inside = np.ones(len(self.size), bool)
            for name, codes in where.items():
                inside &= np.any([np.isin(level, codes) for level in self.codes[name]], axis=0)
            for name in by:
                code = table[name][row]
                inside &= (code == "Total") | np.any([level == code for level in self.codes[name]], axis=0)
            assert (self.size[inside].sum() if value == "x" else inside.sum()) == told
            self.shown[value].append(inside)
        return len(table["value"]), sum(told is not None for told in table["value"])

    def known(self):
        found = []
        holding = np.unique(self.firm, return_inverse=True)[1]
        if self.shown["x"]:
            guards = RULES[self.kind][1]
            guards = guards + (FEW if self.kind in {"p", "few"} else [])
            found += known_in_sums(self.shown["x"], self.size.astype(float), holding, guards)
        if self.shown["count"]:
            few = [Guard(g.others, 1.0, fewest=3) for g in FEW]
            ones = np.ones(len(self.size))
            found += known_in_sums(self.shown["count"], ones, holding, few, whole=True)
        return [("count" if one[0].share == 1 else "x", *one[1:]) for one in found]

    def close(self):
        self.source.close()


class Keyed:
    """A small source of counts with noise by cell keys; what is shown are sets of leaves with their noisy counts."""

    def __init__(self, seed, home, *, unproven="refuse", memory=True):
        self.random = random = np.random.default_rng(seed)
        n = int(random.integers(10, 50))
        self.variables = {"a": list("pqr"), "b": list("xy"), "c": list("mn")}
        shares = {name: random.dirichlet(np.full(len(c), 3.0)) for name, c in self.variables.items()}
        codes = {name: random.choice(c, n, p=shares[name]) for name, c in self.variables.items()}
        for name, known in self.variables.items():  # every code has a record
            codes[name][: len(known)] = known
        self.codes, self.memory = codes, memory
        lines = ["id,a,b,c", *(",".join(map(str, row)) for row in zip(range(n), *codes.values(), strict=True))]
        (home / "firms.csv").write_text("\n".join(lines) + "\n")
        self.limit = float(random.choice([0.3, 0.5]))
        keys = {"seed": int(seed), "unproven": unproven, "limit": self.limit, "deviation": 3, "variance": 2.0}
        table = {"name": "plan", "by": ["a"], "value": "count", "rules": [{"min_frequency": 3}]}
        job = {
            "version": 1,
            "microdata": {"source": "firms.csv", "respondent": "id"},
            "cell_key": keys,
            "tables": [{**table, "protect": {"method": "cell_key"}}],
        }
        (home / "job.yaml").write_text(yaml.safe_dump(job))
        (home / "source.yaml").write_text(yaml.safe_dump({"version": 1, "variables": list(self.variables)}))
        self.source = cg.source(home)
        self.shown = {}
        everything = self.source._source._cells
        self.planned = {box: cell.published for box, cell in everything.items()}

    @property
    def questions(self):
        return int(self.random.integers(2, 6))

    def ask(self):
        random, names, where = self.random, list(self.variables), {}
        by = random.choice(names, int(random.choice([1, 2], p=[0.7, 0.3])), replace=False).tolist()
        for name in names:
            if random.random() < 0.3:
                codes = self.variables[name]
                where[name] = random.choice(codes, int(random.integers(1, len(codes))), replace=False).tolist()
        if not self.memory:
            self.source._source._cells = {}
        try:
            answer = self.source.table(by, where=where)
        except InputError:
            return 0, 0
        if not answer:
            return 1, 0
        table = answer.to_arrow().to_pydict()
        by = answer._answer.question.by
        for row, told in enumerate(table["value"]):
            cell = []
            for name, codes in self.variables.items():
                here = where.get(name, codes)
                if name in by and table[name][row] != "Total":
                    here = [table[name][row]]
                cell.append(frozenset(here))
            assert self.shown.setdefault(tuple(cell), told) == told
        return len(table["value"]), len(table["value"])

    def known(self):
        """Return how likely the likeliest small count is, if that is more than the limit."""
        every = tuple(frozenset(codes) for codes in self.variables.values())
        cells = dict(self.shown)
        for box, told in self.planned.items():
            masks = zip(box, self.variables.values(), strict=True)
            cells[tuple(frozenset(c for i, c in enumerate(codes) if mask >> i & 1) for mask, codes in masks)] = told
        leaves = [(a, b, c) for a in every[0] for b in every[1] for c in every[2]]
        inside = np.array([[all(x in s for x, s in zip(leaf, cell, strict=True)) for leaf in leaves] for cell in cells])
        _, atom = np.unique(inside.T, axis=0, return_inverse=True)
        members = [sorted(set(atom.reshape(-1)[row].tolist())) for row in inside]
        filled = [sum(s != all_ for s, all_ in zip(cell, every, strict=True)) <= 1 for cell in cells]
        opened = self.source._source.opened
        chance = chance_of_small(list(cells.values()), members, filled, opened.table, opened.threshold)
        self.undecided = chance is None
        return [("small", chance)] if chance is not None and chance > self.limit + _PRIORS else []

    def close(self):
        self.source.close()


SOURCES = {"perturb": Perturbed, "suppress": Suppressed, "keys": Keyed}


def attack(method, seeds, **how):
    """Yield of each seed what is known of its source, how many cells were asked for, and how many were shown."""
    with tempfile.TemporaryDirectory() as name:
        for seed in seeds:
            home = Path(name) / str(seed)
            home.mkdir()
            try:
                source = SOURCES[method](seed, home, **how)
            except JobError as error:  # the tables of the job alone tell too much
                assert "by themselves tell too much" in str(error)
                yield seed, [], 0, 0
                continue
            try:
                asked = [source.ask() for _ in range(source.questions)]
                known = source.known()
            except Exception as error:  # to be found again by its seed, like what is known
                asked, known = [(0, 0)], [("failed", type(error).__name__, str(error))]
            yield seed, known, sum(cells for cells, _ in asked), sum(shown for _, shown in asked)
            source.close()
            shutil.rmtree(home)


def main(method, first, many, out):
    """Attack so many sources, and write down of which somebody is known."""
    start, asked, failed, cells, shown = time.process_time(), 0, 0, 0, 0
    with Path(out).open("a") as file:
        for done, (seed, known, of, told) in enumerate(attack(method, range(first, first + many)), start=1):
            asked, failed, cells, shown = asked + (of > 0), failed + bool(known), cells + of, shown + told
            if known:
                file.write(json.dumps({"method": method, "seed": seed, "known": repr(known)}) + "\n")
                file.flush()
            if done % 50 == 0 or done == many:
                words = f"{method}: {asked} sequences, {failed} known, {shown} of {cells} cells shown"
                sys.stdout.write(f"{words}, {time.process_time() - start:.0f} CPU s\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
