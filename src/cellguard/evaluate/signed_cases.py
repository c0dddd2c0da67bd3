"""Contributions of either sign: what shares say and what spreads say (Flygare, Jansson and Orusild, section 4).

Six cells of 1,000 contributions: uniform on (0, 10) in cases 1 to 3, normal with mean and deviation 1,000 in I to III;
with no extreme one, one that is half of the total, or two with 50 and 40 percent of it. Drawn are the ratios of spread
that are left when the h largest are taken out (figures 1a to 2c); beside them the dominance rules (1, 50) and (2, 90).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.evaluate.draws import quantiles_of
from cellguard.randomness import stream
from cellguard.report.canvas import INK, PRIMARY, SECONDARY, THIRD, entitle, paired
from cellguard.report.evaluation import part, table
from cellguard.report.section import Section
from cellguard.rules.linear import Dominance
from cellguard.rules.signed import quantile_ratio, variance_ratio
from cellguard.table.facts import contributions
from cellguard.table.signed_cells import signed_contributions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES: Mapping[str, tuple[str, int]] = {
    "1": ("uniform(0, 10)", 0),
    "2": ("uniform(0, 10)", 1),
    "3": ("uniform(0, 10)", 2),
    "I": ("normal(1000, 1000)", 0),
    "II": ("normal(1000, 1000)", 1),
    "III": ("normal(1000, 1000)", 2),
}
SHARES = (Dominance(1, 50.0), Dominance(2, 90.0))
LEFT_OUT = tuple(range(6))
_SMALL = 0.05  # a ratio that is no larger says that one or two contributions make up the spread


@dataclass(frozen=True, eq=False)
class SignedCase:
    """One cell: its ratios of spread for h = 0 to 5, and the shares of the one and of the two largest, in percent."""

    variance: FloatArray
    quantile: FloatArray
    shares: tuple[float, float]
    unsafe_by_shares: tuple[bool, bool]

    @property
    def unsafe_by_spread(self) -> bool:
        """Whether the spread is that of one or two contributions."""
        return bool(min(self.variance[1:3].min(), self.quantile[1:3].min()) <= _SMALL)


def signed_case(case: str, seed: int = 1, observations: int = 1000) -> FloatArray:
    """Return the contributions of a case; its extremes take the places of the last draws.

    >>> case = signed_case("2", seed=1)
    >>> len(case), round(float(case[-1] / case.sum()), 3)
    (1000, 0.5)
    """
    distribution, extremes = CASES[case]
    drawn = quantiles_of(distribution)(stream(seed, "signed", case).uniform(observations))
    rest = drawn[: observations - extremes].sum()
    drawn[observations - extremes :] = {0: [], 1: [rest], 2: [5 * rest, 4 * rest]}[extremes]
    return drawn


def study_signed(seed: int = 1, observations: int = 1000) -> Mapping[str, SignedCase]:
    """Return the six cases, drawn by a seed."""
    return {case: _studied(signed_case(case, seed, observations)) for case in CASES}


def _studied(values: FloatArray) -> SignedCase:
    cell = signed_contributions(values)
    sizes = contributions(-np.sort(-np.abs(values)))
    return SignedCase(
        np.array([float(variance_ratio(cell, h)[0]) for h in LEFT_OUT]),
        np.array([float(quantile_ratio(cell, h)[0]) for h in LEFT_OUT]),
        (float(SHARES[0].measure(sizes)[0]), float(SHARES[1].measure(sizes)[0])),
        (bool(SHARES[0].unsafe(sizes)[0]), bool(SHARES[1].unsafe(sizes)[0])),
    )


def signed_figure(cases: Mapping[str, SignedCase]) -> Figure:
    """Draw the variance ratio of each case against the number of contributions left out (figures 1a to 2c)."""
    figure, axes = paired(8.5, 3.6)
    for place, (kind, names) in zip(axes, (("uniform", "1 2 3"), ("normal", "I II III")), strict=True):
        for name, colour, line in zip(names.split(), (PRIMARY, SECONDARY, THIRD), ("-o", "--s", "-.^"), strict=True):
            place.plot(LEFT_OUT, cases[name].variance, line, color=colour, markersize=4, label=f"case {name}")
        place.axhline(_SMALL, color=INK, linewidth=0.6)
        place.set_xlabel("h: largest contributions left out", fontsize=9)
        place.set_ylim(-0.05, 1.1)
        place.legend(frameon=False, fontsize=8)
        entitle(place, f"Variance ratio, {kind}", f"line: {_SMALL:g}")
    return figure


def signed_section(seed: int) -> Section:
    """Return the six cases as a part of a page."""
    cases = study_signed(seed)
    rows = [
        (
            f"{case}: {CASES[case][0]}, {('no extreme', 'one extreme', 'two extremes')[CASES[case][1]]}",
            *(f"{share:.1f} %" + (" unsafe" if bad else "") for share, bad in _by_share(seen)),
            *(f"{ratio:.4f}" for ratio in (*seen.variance[1:3], *seen.quantile[1:3])),
            "unsafe" if seen.unsafe_by_spread else "safe",
        )
        for case, seen in cases.items()
    ]
    shares = tuple(f"By {rule}" for rule in SHARES)
    heads = ("Case", *shares, "Variance ratio h = 1", "h = 2", "Quantile ratio h = 1", "h = 2", "By spread")
    words = (
        "1,000 contributions each. Rules of shares look at sizes without signs; the ratios say how much of the spread "
        "is left without the h largest, and no more than 0.05 means that these make it up.",
    )
    title = "Contributions of either sign"
    return part("signed", title, words=words, tables=[table(heads, rows)], figures=[(title, signed_figure(cases))])


def _by_share(case: SignedCase) -> list[tuple[float, bool]]:
    return list(zip(case.shares, case.unsafe_by_shares, strict=True))
