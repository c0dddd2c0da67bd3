"""How hard to look for a cheaper pattern: quick, normal or best. Work is counted, not timed, so results are stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cellguard.errors import InputError, did_you_mean

SECOND = 2.0e7  # units of work in about one CPU second: terms of relations looked at, simplex iterations times rows
_CELLS = 10_000


@dataclass(frozen=True, slots=True)
class Effort:
    """What ends a search: ``seconds`` of work for 10,000 cells, more for more of them; a ``gap``; ``stale`` work.

    A search is stale if the last part of its work, so large a share of all, saved next to nothing.
    """

    name: str
    seconds: float
    gap: float
    stale: float

    def work(self, cells: int) -> float:
        """Return the units of work allowed for so many cells."""
        return self.seconds * SECOND * max(1.0, cells / _CELLS)


QUICK = Effort("quick", 0.0, 1.0, 0.0)
NORMAL = Effort("normal", 60.0, 0.01, 0.5)
BEST = Effort("best", 3600.0, 0.0, 0.9)
EFFORTS: Mapping[str, Effort] = {effort.name: effort for effort in (QUICK, NORMAL, BEST)}


def effort_named(name: str) -> Effort:
    """Return the effort of that name.

    >>> effort_named("quick").gap
    1.0
    """
    if name not in EFFORTS:
        raise InputError(f"unknown effort {name!r}{did_you_mean(name, list(EFFORTS))}")
    return EFFORTS[name]
