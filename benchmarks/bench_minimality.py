"""What the choice of cells tells: how many tables that fit the published values give the same pattern.

An attacker who has the program runs it on candidate tables, and keeps those that give the released pattern. The
candidates are the tables nearest to the truth in which the one unsafe cell is moved by parts of its protection level,
up and down; the attacker knows all but the values. With random costs a candidate gives the pattern with some
probability, estimated by the same draws for all of them; the pattern is the likeliest of the true table. How many
candidates are left is e to the entropy of what the attacker then believes: their count where costs are not random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

import cellguard as cg
from cellguard.methods.suppress.costs import SPREAD, costs_by, random_factors
from cellguard.table.pattern import Pattern

SPREADS = (0.0, SPREAD, 0.5, 1.0)

CASE = ([["Total", "A", "B", "C", "D"]], np.array([17000.0, 10000, 1001, 999, 5000]), np.array([28, 1, 9, 9, 9]))


@dataclass(frozen=True, eq=False)
class Small:
    """A table of one or two dimensions with one unsafe cell."""

    columns: dict
    value: np.ndarray
    count: np.ndarray

    def needs(self, value=None):
        """Return what protection must achieve, if the values are these."""
        columns = {**self.columns, "x": self.value if value is None else value, "n": self.count}
        table = cg.cells(columns, by=list(self.columns), value="x", count="n", about=cg.About(decimals=0))
        return cg.require(cg.assess(table, [cg.MinFrequency(3)]))


def small_table(seed):
    """Draw a table of 5 to 8 cells in one dimension, or 9 in two; a large one has a single respondent."""
    rng = np.random.default_rng(seed)
    shape = (3, 3) if seed % 2 else (int(rng.integers(5, 9)),)
    value, count = np.ceil(rng.lognormal(6, 1, shape)), rng.integers(3, 20, shape)
    alone = tuple(rng.integers(0, size) for size in shape)
    count[alone], value[alone] = 1, np.ceil(value[alone] * rng.uniform(2, 10))
    codes = [["Total", *(f"{name}{i}" for i in range(size))] for name, size in zip("rc", shape, strict=False)]
    grid = np.meshgrid(*codes, indexing="ij")
    columns = {name: axis.ravel().tolist() for name, axis in zip("rc", grid, strict=False)}
    return Small(columns, with_totals(value), with_totals(count))


def with_totals(inner):
    """Return a block with its margins in front, flat."""
    for axis in range(inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return inner.ravel()


def choose(needs, factors=1.0):
    """Return which cells are suppressed, and what the secondaries cost without randomness."""
    costs = costs_by(needs.tables, needs.primary, "value")
    chosen = cg.suppress(needs, costs * factors).pattern
    return chosen.hidden, float(costs[chosen.secondary].sum()), int(chosen.secondary.sum())


def candidates(table, needs, hidden, parts):
    """Return the tables nearest to the truth in which the unsafe cell is off by parts of its level, and all fits."""
    cell, cells = int(np.flatnonzero(needs.primary)[0]), np.flatnonzero(hidden)
    matrix, many = needs.tables.relations.toarray()[:, cells], len(cells)
    aim = (cells == cell).astype(float)
    sides = np.vstack([np.hstack([matrix, -matrix]), np.concatenate([aim, -aim])])
    bounds = [(0, None)] * many + [(0, max(v - 1, 0)) for v in table.value[cells]]
    found = []
    for part in np.linspace(-1, 1, 2 * parts + 1):
        right = np.append(np.zeros(len(matrix)), part * needs.upper[cell])
        move = linprog(np.ones(2 * many), A_eq=sides, b_eq=right, bounds=bounds)
        if move.status == 0:
            value = table.value.copy()
            value[cells] += move.x[:many] - move.x[many:]
            found.append(value)
    return found


def left_over(likelihood):
    """Return how many candidates are left: e to the entropy of what is believed of them."""
    share = likelihood[likelihood > 0] / max(likelihood.sum(), 1e-12)
    return float(np.exp(-(share * np.log(share)).sum()))


def study(table, spread, *, draws=80, parts=4, seed=0, hidden=None):
    """Return how many candidates there are and are left, and cost and number of secondaries, times the plain ones."""
    needs = table.needs()
    plain, least, few = choose(needs)
    if not spread:
        likely = [float((choose(table.needs(v))[0] == plain).all()) for v in candidates(table, needs, plain, parts)]
        return len(likely), left_over(np.array(likely)), 1.0, 1.0
    cells = len(table.value)
    factors = [random_factors(cells, 1000 * seed + i, spread) for i in range(draws)]
    drawn = [choose(needs, f) for f in factors]
    released = np.array(Counter(tuple(d[0]) for d in drawn).most_common(1)[0][0]) if hidden is None else hidden
    likely = []
    for value in candidates(table, needs, released, parts):
        again = table.needs(value)
        likely.append(np.mean([(choose(again, f)[0] == released).all() for f in factors]))
    cost, many = (float(np.mean([d[i] for d in drawn])) for i in (1, 2))
    return len(likely), left_over(np.array(likely)), cost / least, many / few


def possible(table, *, parts=4):
    """Return how many candidates any costs could leave: the pattern is safe in them, and no secondary is needless."""
    needs = table.needs()
    hidden, _, _ = choose(needs)

    def safe(again, pattern):
        return cg.audit(again, Pattern(again.tables, again.primary, pattern & ~again.primary)).verdict == "safe"

    left = 0
    for again in map(table.needs, candidates(table, needs, hidden, parts)):
        secondary = np.flatnonzero(hidden & ~again.primary)
        needless = (safe(again, np.where(np.arange(len(hidden)) == cell, False, hidden)) for cell in secondary)
        left += safe(again, hidden) and not any(needless)
    return left


def case():
    """Return the table of four regions in which the choice tells the unsafe cell to a thousandth."""
    return Small({"r": CASE[0][0]}, CASE[1], CASE[2])


def small_jobs(*, jobs: int = 50, draws: int = 80) -> Iterator[str]:
    most = np.mean([possible(small_table(job)) for job in range(jobs)])
    yield f"{jobs} jobs: any costs would leave {most:.1f} candidates on average"
    for spread in SPREADS:
        of, left, _, _ = study(case(), spread, draws=draws, parts=10, hidden=np.array([0, 1, 1, 0, 0], bool))
        yield f"the case, spread {spread:g}: {left:.1f} of {of} candidates are left"
        rows = np.array([study(small_table(job), spread, draws=draws, seed=job) for job in range(jobs)])
        few = 100 * (rows[:, 1] <= 3).mean()
        left = f"{rows[:, 1].mean():.1f} of {rows[:, 0].mean():.1f} candidates are left on average"
        loss = f"cost x {rows[:, 2].mean():.3f}, secondaries x {rows[:, 3].mean():.3f}"
        yield f"{jobs} jobs, spread {spread:g}: {left}, 3 or fewer in {few:.0f} % of the jobs; {loss}"


def loss() -> Iterator[str]:
    from business import table as firms  # a module of the benchmarks' own folder

    needs = cg.require(cg.assess(firms("A", 10_000), [cg.PPercent(10)]))
    _, least, few = choose(needs)
    for spread in SPREADS[1:]:
        drawn = [choose(needs, random_factors(len(needs.tables), seed, spread)) for seed in range(10)]
        cost, many = (float(np.mean([d[i] for d in drawn])) for i in (1, 2))
        yield f"spread {spread:g}: secondary value x {cost / least:.3f}, secondaries x {many / few:.3f} (10 seeds)"


BENCHMARKS = {"minimality": small_jobs, "minimality-A-10k": loss}
