"""How long will it take? A guess from the size of a set, fitted to the tables of `benchmarks/README.md`.

Seconds are CPU seconds of one core, for the choice of the cells and its proof together. Relations per cell stand for
the dimensions: with each more of them a cell is tied to others in one more way, and programs get longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.methods.suppress.engines.effort import BEST, QUICK, Effort
from cellguard.methods.suppress.engines.policy import USUAL
from cellguard.protection import Requirements

_FLAT = 2.6  # relations per cell of the two-dimensional tables that the figures for a cell come from
_MANY = 35_000  # unsafe cells from which on programs get longer with their number
_DEEP = 5e-3  # seconds for an unsafe cell beyond two dimensions, with quick effort
_INSIDE = 3e-3  # seconds for an unsafe cell of a two-dimensional table where respondents are looked at
_PROCESS, _ROOM, _SUMS = 0.2, 7e-4, 3.0  # GiB of a process, for the square root of the cells, and times that for sums
_CROSSED, _INSIDERS = 1e-6, 3e-6  # GiB for each crossing cell, and for each cell where respondents are looked at
_BEHIND = 7.5e-7  # seconds for a crossing cell and an unsafe one
_PROVEN = 100_000  # counts up to which proofs beyond two dimensions have been measured
_MASTERS = 15  # seconds of whole masters, which settle smaller sets at once and are too large for larger ones
_SMALL = 1_500  # cells up to which masters settle a set before its work is used up


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """What the time depends on: cells, unsafe ones, relations per cell, crossing cells, and what attackers know.

    ``bounded`` is whether they know bounds, ``sure`` whether they know of every empty combination that it is empty,
    ``counts`` whether all tables are of counts, ``equal`` whether all cells cost the same.
    """

    cells: int
    unsafe: int
    relations: float
    crossing: int = 0
    bounded: bool = True
    sure: bool = True
    counts: bool = False
    equal: bool = False

    @classmethod
    def of(cls, needs: Requirements, *, equal: bool = False) -> TimeEstimate:
        """Return what a set asks for, where cells cost the same or not."""
        tables, world = needs.tables, needs.world
        bounds = np.isfinite(world.lower) | np.isfinite(world.upper)
        return cls(
            len(tables),
            int(needs.primary.sum()),
            tables.relations.nnz / max(len(tables), 1),
            int(world.constraints.crossing.sum()),
            bool((bounds & (world.lower < world.upper)).any()),
            all(table.zeros == "known" for table in tables.tables),
            all(table.is_count for table in tables.tables),
            equal,
        )

    @property
    def proof_is_unknown(self) -> bool:
        """Whether nobody has seen the proof of such a set end: many counts in three dimensions or more.

        >>> TimeEstimate(500_000, 103_823, 3.36, counts=True).proof_is_unknown
        True
        >>> TimeEstimate(930_000, 208_601, 2.18, counts=True).proof_is_unknown
        False
        """
        return self.counts and self.relations > USUAL.flat_terms and self.cells > _PROVEN

    def seconds(self, engine: str, effort: Effort) -> float:
        """Return about how long this engine takes with this effort.

        >>> round(TimeEstimate(4_623, 2_295, 2.6).seconds("witness", QUICK))
        3
        """
        if not self.unsafe:
            return 1.0
        behind = _BEHIND * self.crossing * self.unsafe
        if engine == "gauss" and effort is not BEST:
            one_way = 1.75 if self.sure else 1.0  # where zeros are known, many cells can only go up
            safe = self.cells - self.unsafe
            return max(5.8e-6 * one_way * safe**1.1 * (self.relations / 2) ** 6 + behind, 1.0)
        if not self.bounded and self.cells <= USUAL.algebra_cells:
            return max((1e-3 if effort is QUICK else 7e-3) * self.cells, 1.0)
        steep = self.relations / _FLAT
        if effort is QUICK:
            if self.relations > USUAL.flat_terms:
                return max(_DEEP * self.unsafe + behind, 1.0)
            large = max(1.0, (self.unsafe / _MANY) ** 0.5)
            return max(1.1e-3 * self.unsafe * large * steep**4 + behind, 1.0)
        flat = self.relations <= USUAL.flat_terms
        if self.cells < _SMALL:
            # Where costs differ, few patterns are as cheap as the best one, and masters of flat sets find it at once.
            ties = (self.relations / 2) ** 5.5 if self.equal or not flat else 1.0
            seconds = 8.5e-4 * self.cells * ties + behind
        else:
            seconds = 2e-3 * self.cells * steep**3 + behind
        if self.equal and flat and USUAL.optimal_free < self.cells - self.unsafe <= USUAL.mastered_free:
            seconds += _MASTERS
        return max(seconds if effort is not BEST else 60 * seconds, 1.0)

    def seconds_inside(self) -> float:
        """Return about how long it takes to make a pattern safe against respondents, too, with the proof of that.

        >>> round(TimeEstimate(4_623, 2_295, 2.63).seconds_inside())
        7
        """
        return _INSIDE * self.unsafe * (self.relations / _FLAT) ** 3.6

    def memory(self, *, insiders: bool = False) -> float:
        """Return about how many GiB the work takes at most, with what a process has to begin with.

        >>> round(TimeEstimate(427_521, 149_883, 2.72).memory(), 1)
        2.3
        """
        steep = max(self.relations / 2.3, 0.7) ** 2.5
        work = _ROOM * (1.0 if self.counts else _SUMS) * self.cells**0.5 * steep
        return _PROCESS + work + _CROSSED * self.crossing + (_INSIDERS * self.cells if insiders else 0.0)
