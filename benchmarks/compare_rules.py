"""Rules compared at equal strictness, and measures for contributions of either sign: drawn cells, as data for figures.

`compare` repeats the simulation of the thesis on the Statisticon rule: many cells are drawn, dominance of two (D), p %
(P) and Statisticon (S) are each given the whole parameter that makes a wanted number of cells sensitive, and the cells
on which they disagree are described. `signed-curves` are the six cases of Flygare, Jansson & Orusild, section 4:
uniform (1 to 3) or normal (I to III) contributions with none, one or two extremes, and h = 0 to 5 of them left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cellguard.evaluate.signed_cases import study_signed
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts
from cellguard.types import BoolArray, FloatArray

PARAMETERS = np.arange(1, 101)


def draw(distribution: str, n: int, many: int, seed: int) -> FloatArray:
    """Draw cells of n contributions, largest first: exponential(1), or normal(100, 50) with what is below 0 kept."""
    rng = np.random.default_rng(seed)
    drawn = rng.exponential(1, (many, n)) if distribution == "exponential" else rng.normal(100, 50, (many, n))
    return -np.sort(-drawn, axis=1)


def measures(cells: FloatArray) -> dict[str, FloatArray]:
    """Return the natural percentage of each rule, as it is for data without signs."""
    count = np.full(len(cells), float(cells.shape[1]))
    facts = Facts({Total(): cells.sum(axis=1), Count(): count, Top(cells.shape[1]): cells}, complete=True)
    return {"D": Dominance(2, 50).measure(facts), "P": PPercent(10).measure(facts), "S": Statisticon(10).measure(facts)}


def sensitive(rule: str, measure: FloatArray, parameter: FloatArray | int) -> BoolArray:
    """Tell which cells a parameter makes sensitive; with several parameters there is a column for each."""
    against = np.asarray(parameter)
    measure = measure if against.ndim == 0 else measure[:, None]
    return np.asarray(measure > against if rule == "D" else measure < against, bool)


def calibrate(rule: str, measure: FloatArray, target: int) -> int:
    """Return the whole parameter whose number of sensitive cells is nearest to the target, the smallest on ties."""
    counts = sensitive(rule, measure, PARAMETERS).sum(axis=0)
    return int(PARAMETERS[np.argmin(np.abs(counts - target))])


def kappa(both: int, first: int, second: int, neither: int) -> float:
    """Return Cohen's kappa of two classifications; NaN where both are constant.

    >>> round(kappa(75, 124, 112, 689), 6)
    0.242556
    """
    n = both + first + second + neither
    by_chance = ((both + first) * (both + second) + (second + neither) * (first + neither)) / n**2
    return float("nan") if by_chance == 1 else ((both + neither) / n - by_chance) / (1 - by_chance)


@dataclass(frozen=True)
class Pair:
    """How two rules classify the same cells."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def kappa(self) -> float:
        """Their agreement beyond chance."""
        return kappa(self.both, self.first, self.second, self.neither)


def pair(a: BoolArray, b: BoolArray) -> Pair:
    """Return the two by two table of two classifications."""
    return Pair(*(int(part.sum()) for part in (a & b, a & ~b, b & ~a, ~a & ~b)))


def typical(cells: FloatArray) -> dict[str, float]:
    """Return the median share of each rank, the mean standard deviation, and the mean lead of the largest."""
    shares = np.median(cells / cells.sum(axis=1, keepdims=True), axis=0)
    described = {f"median_share_x{i + 1}": float(share) for i, share in enumerate(shares[:4])}
    described["mean_sd"] = float(np.std(cells, axis=1, ddof=1).mean())
    return described | {"mean_x1_minus_x2": float((cells[:, 0] - cells[:, 1]).mean())}


def compare(
    distribution: str, n: int, *, seed: int, many: int = 1000, target: int = 200, fixed: Mapping[str, int] | None = None
) -> dict[str, float]:
    """Return parameters, numbers of sensitive cells, pairs of rules and what they disagree on, by name."""
    cells = draw(distribution, n, many, seed)
    told = measures(cells)
    chosen = fixed or {rule: calibrate(rule, told[rule], target) for rule in told}
    flags = {rule: sensitive(rule, told[rule], chosen[rule]) for rule in told}
    found: dict[str, float] = {"k": chosen["D"], "p": chosen["P"], "s": chosen["S"]}
    found |= {f"n_sensitive_{rule}": int(flag.sum()) for rule, flag in flags.items()}
    for a, b in ("PS", "DS", "PD"):
        both = pair(flags[a], flags[b])
        found |= {f"{a}_and_{b}": both.both, f"{a}_not_{b}": both.first, f"{b}_not_{a}": both.second}
        found |= {f"neither_{a}_nor_{b}": both.neither, f"kappa_{a}{b}": both.kappa}
    for group, chosen_cells in (("A", flags["P"] & ~flags["S"]), ("B", flags["S"] & ~flags["P"])):
        if chosen_cells.any():
            found |= {f"{group}_{what}": value for what, value in typical(cells[chosen_cells]).items()}
    return found | {f"P_count_at_p{p}": int(sensitive("P", told["P"], p).sum()) for p in (1, 10, 100)}


def counts_by_parameter(n: int, *, seed: int, many: int = 1000) -> dict[str, FloatArray]:
    """Return how many exponential cells each parameter from 1 to 100 makes sensitive: one line of the contours."""
    told = measures(draw("exponential", n, many, seed))
    return {rule: sensitive(rule, told[rule], PARAMETERS).sum(axis=0) for rule in told}


def _curves() -> Iterator[str]:
    for case, seen in study_signed(seed=1).items():
        for name, curve in (("S", seen.variance), ("Q", seen.quantile)):
            yield f"case {case:<3} {name}_R  " + "  ".join(f"{value:.6f}" for value in curve)


def _comparison() -> Iterator[str]:
    for distribution in ("exponential", "normal"):
        for n in (4, 6, 10):
            found = compare(distribution, n, seed=1)
            kappas = ", ".join(f"{pairs} {found['kappa_' + pairs]:.2f}" for pairs in ("PS", "DS", "PD"))
            yield f"{distribution}, n = {n}: k {found['k']}, p {found['p']}, s {found['s']}; kappa {kappas}"


BENCHMARKS = {"rules-compared": _comparison, "signed-curves": _curves}
