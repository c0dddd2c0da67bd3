"""`Watch`: how far the checks of perturbed tables go."""

from __future__ import annotations

from dataclasses import dataclass

from cellguard.errors import InputError

_FEW_SEARCHES = 20
_SLOWER = 1_000  # unknowns from which a search takes longer, in proportion to their number


@dataclass(frozen=True, slots=True)
class Watch:
    """How far the checks go.

    ``few``: cells with fewer contributors are listed. ``sparse``: cells with at most so many contributors are looked at
    for coalitions of two, for bounds and for pairs; all cells take part in the elimination. ``core``: the largest
    number of rows to eliminate; beyond it the largest cells are left out, and the result says so. ``most``: coalitions
    and pairs that are spelled out. ``programs``: linear programs to spend on bounds, 0 for none. ``work``: pairs of
    neighbours to look at; beyond it the limit ``sparse`` is lowered, and the result says so. ``looks``: contributors to
    look at one by one, where nothing simpler proves them safe; ``effort``: what the linear programs for that may cost,
    as rows times unknowns; and ``searches``: how many of them to search unsafe sums for, times the number of unknowns
    (fewer from a thousand unknowns on, where each takes longer). Beyond any of these the result says so.
    """

    few: int = 3
    sparse: int = 100
    core: int = 4_000
    most: int = 200
    programs: int = 400
    work: int = 40_000_000
    looks: int = 5_000
    effort: int = 2_000_000_000
    searches: int = 300_000

    def searches_among(self, unknowns: int) -> int:
        """Return how many contributors to search unsafe sums for; a few in any case, unless none was asked for.

        >>> [Watch().searches_among(unknowns) for unknowns in (100, 1_000, 3_000, 30_000)]
        [3000, 300, 33, 20]
        """
        n = max(unknowns, 1)
        allowed = min(self.searches // n, self.searches * _SLOWER // n**2)
        return max(allowed, _FEW_SEARCHES) if self.searches else 0

    def __post_init__(self) -> None:
        least_of = {
            "few": 1,
            "sparse": 2,
            "core": 1,
            "most": 1,
            "programs": 0,
            "work": 1,
            "looks": 0,
            "effort": 0,
            "searches": 0,
        }
        for name, least in least_of.items():
            if getattr(self, name) < least:
                raise InputError(f"checks: {name} must be at least {least}")
