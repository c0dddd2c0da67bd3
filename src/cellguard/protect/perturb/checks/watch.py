"""`Watch`: how far the checks of perturbed tables go."""

from __future__ import annotations

from dataclasses import dataclass

from cellguard.errors import InputError


@dataclass(frozen=True, slots=True)
class Watch:
    """How far the checks go.

    ``few``: cells with fewer contributors are listed. ``sparse``: cells with at most so many contributors are looked at
    for coalitions of two, for bounds and for pairs; all cells take part in the elimination. ``core``: the largest
    number of rows to eliminate; beyond it the largest cells are left out, and the result says so. ``most``: coalitions
    and pairs that are spelled out. ``programs``: linear programs to spend on bounds, 0 for none. ``work``: pairs of
    neighbours to look at; beyond it the limit ``sparse`` is lowered, and the result says so. ``looks``: contributors to
    look at one by one, where nothing simpler proves them safe, and ``searches``: how many of them to search unsafe sums
    for, times the number of unknowns; beyond it the result says so.
    """

    few: int = 3
    sparse: int = 100
    core: int = 4_000
    most: int = 200
    programs: int = 400
    work: int = 40_000_000
    looks: int = 5_000
    searches: int = 300_000

    def __post_init__(self) -> None:
        least_of = {"few": 1, "sparse": 2, "core": 1, "most": 1, "programs": 0, "work": 1, "looks": 0, "searches": 0}
        for name, least in least_of.items():
            if getattr(self, name) < least:
                raise InputError(f"checks: {name} must be at least {least}")
