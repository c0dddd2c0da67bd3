"""Small and large data for the tests of source data perturbation, and brute force to judge by."""

import itertools
from functools import cache
from math import erfc, sqrt

import numpy as np

from benchmark_modules import benchmark
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.draw.variance import noise_variance
from cellguard.rules.limits import NoiseRule

RULE = NoiseRule(3, 70)


def study(tables, zes, seed, *, replications, decimals=2):
    """Replications of a perturbation with one distribution for all units."""
    made = make_multipliers(tables[0].records, tables, Settings(zes=zes, decimals=decimals), seed=seed)
    return replicate_as_drawn(tables, made, replications=replications)


def noise_cv(table, zes):
    """The coefficient of variation of perturbed totals, by the formula of the literature."""
    return np.sqrt(noise_variance(table, zes)) / np.abs(table.total)


@cache
def sodap():
    """The generator of the benchmarks: files of the shape of Cuppen's."""
    return benchmark("sodap")


def one_cell(values, weight=None, rule=RULE):
    """A table of one cell (number 1; number 0 is the same as its total)."""
    return grid_table({("A", "X"): values}, weight=weight, rule=rule, by=("row",))


def grid_table(cells, *, weight=None, rule=RULE, by=("row", "column"), unit=None, response="x"):
    """A table with the given contributions of each (row, column)."""
    rows = [(r, c, v) for (r, c), values in cells.items() for v in values]
    codes = {"row": [r for r, _, _ in rows], "column": [c for _, c, _ in rows]}
    records = respondents(codes, {response: [v for _, _, v in rows]}, weight=weight, unit=unit)
    dimensions = [Dimension(name, flat(dict.fromkeys(codes[name]))) for name in by]
    return calibration_table(records, dimensions, response, rule=rule)


def brute_cells(records, dimensions, response):
    """Who is in which cell, by looking at every record and every cell in turn: names to record numbers."""
    below = [
        {code: set().union(*(h.leaf_sets()[code] for h in d.hierarchies if code in h.position)) for code in d.codes}
        for d in dimensions
    ]
    found = {}
    for names in itertools.product(*(d.codes for d in dimensions)):
        inside = [
            i
            for i in range(len(records))
            if not np.isnan(records.values[response][i])
            and all(
                records.labels[d.name][records.codes[d.name][i]] in b[name]
                for d, b, name in zip(dimensions, below, names, strict=True)
            )
        ]
        if inside:
            found["/".join(names)] = inside
    return found


def brute_need(values, units, weights, rule):
    """The need of a cell from its records, one by one."""
    sums = {}
    for value, unit in zip(values, units, strict=True):
        sums[unit] = sums.get(unit, 0) + value
    ordered = sorted(sums.values(), reverse=True)
    total = sum(v * w for v, w in zip(values, weights, strict=True))
    rest = total - sum(ordered[: rule.n])
    return rule.accuracy * ordered[0] - rule.prior * rest


def brute_exceedance(values, bound, mu, sigma):
    """P(|noise| > bound) as the average over all patterns of directions."""
    spread = sigma * sqrt(sum(v * v for v in values)) * sqrt(2)
    chances = []
    for signs in itertools.product((-1, 1), repeat=len(values)):
        centre = sum(s * mu * v for s, v in zip(signs, values, strict=True))
        chances.append(0.5 * erfc((bound - centre) / spread) + 0.5 * erfc((bound + centre) / spread))
    return sum(chances) / len(chances)
