"""`audit`: can an outsider come too near to an unsafe cell? Verdict, intervals and witnesses for any pattern."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.attack.intervals import exact_moves
from cellguard.attack.pool import Tell
from cellguard.attack.problem import Grains, Problem, grains_of, pose
from cellguard.attack.verdict import Verdict, decide
from cellguard.protection import Requirements
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.pattern import Pattern


def quiet(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an attacker who knows every published cell, all relations and the bounds can work out.

    ``lower`` and ``upper`` hold, one entry a distinct cell, bounds of the attacker's interval; ``exact`` tells for
    which cells both are its true ends. Published cells have their value at both ends.
    """

    needs: Requirements
    pattern: Pattern
    grains: Grains
    problem: Problem
    found: Verdict
    failing: BoolArray
    undecided: BoolArray
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray

    def __repr__(self) -> str:
        failing, undecided = int(self.failing.sum()), int(self.undecided.sum())
        return f"<Audit: {self.verdict}; {failing} failing, {undecided} undecided of {len(self.failing)} cells>"

    @property
    def verdict(self) -> Literal["safe", "unsafe", "undecided"]:
        """Safe only if every need is proven, and nothing that cannot be protected is in the set."""
        if self.failing.any():
            return "unsafe"
        return "undecided" if self.undecided.any() else "safe"

    @cached_property
    def values(self) -> list[Decimal]:
        """The exact values of the distinct cells, as counted in grains."""
        return self.grains.exact()

    def in_grains(self, amounts: npt.NDArray[np.int64]) -> list[Decimal]:
        """Return whole numbers of grains, one a distinct cell, as exact decimals."""
        return [Decimal(a).scaleb(-d) for a, d in zip(amounts.tolist(), self.grains.decimals.tolist(), strict=True)]


def audit(
    needs: Requirements,
    pattern: Pattern,
    *,
    known: sp.csr_array | None = None,
    intervals: bool = False,
    threads: int = 1,
    tell: Tell = quiet,
) -> Audit:
    """Attack a pattern. ``known`` are sums of cells that the attacker has from elsewhere, one row each.

    With ``intervals`` the exact interval of every unknown cell is worked out, not only what the verdict needs.

    >>> from cellguard.rules.assess import assess
    >>> from cellguard.rules.simple import MinFrequency
    >>> from cellguard.protection import require
    >>> from cellguard.table.read import cells
    >>> t = cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 1, 4, 4]},
    ...           by=["r"], value="x", count="n")
    >>> needs = require(assess(t, [MinFrequency(3)]))
    >>> alone = Pattern(needs.tables, needs.primary, np.array([False] * 4))
    >>> audit(needs, alone).verdict
    'unsafe'
    >>> both = Pattern(needs.tables, needs.primary, np.array([False, False, False, True]))
    >>> audit(needs, both).verdict
    'safe'
    """
    tables = needs.tables
    grains = grains_of(tables)
    unknown = pattern.unknown & ~tables.empty
    problem = pose(needs, unknown, grains, known)
    found = decide(problem, threads=threads, tell=tell)
    least, most = found.least, found.most
    exact = np.zeros(len(problem.cells), bool)
    if intervals:
        least, most = exact_moves(problem, threads=threads, tell=tell)
        exact[:] = True
    size = grains.size()
    value = grains.value * size
    lower, upper, sharp = value.copy(), value.copy(), np.ones(len(tables), bool)
    at = problem.cells
    lower[at], upper[at], sharp[at] = value[at] + least * size[at], value[at] + most * size[at], exact
    failing, undecided = (np.zeros(len(tables), bool) for _ in range(2))
    failing[at] = found.failing
    undecided[at] = found.undecided
    # An unsafe cell that an attacker sees, or knows to be empty, is disclosed.
    failing |= needs.primary & ~unknown
    return Audit(needs, pattern, grains, problem, found, failing, undecided, lower, upper, sharp)
