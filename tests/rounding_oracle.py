"""Brute force for rounded tables: every table that could have been published like this one. No code of the package.

A table is a list of inner counts by codes; its cells are all sums that its margins ask for. All original tables with
inner counts up to a limit are enumerated, rounded by the definition of the method, and compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

TOTAL = "Total"


def cells_of(inner: dict[tuple[str, ...], int], margins: list[tuple[bool, ...]]) -> dict[tuple[str, ...], int]:
    """Every cell of a table: for each margin (which dimensions are summed over) the sums of the inner counts."""
    cells: dict[tuple[str, ...], int] = {}
    for summed in margins:
        for codes, count in inner.items():
            key = tuple(TOTAL if s else c for s, c in zip(summed, codes, strict=True))
            cells[key] = cells.get(key, 0) + count
    return cells


def probability(kind: str, base: int, suppress_below: int, true: int, shown: int | None) -> Fraction:
    """The probability that a method publishes ``shown`` (None: hidden) of a cell that is truly ``true``.

    Controlled rounding may publish every rounding that adds up, and with what probability does not matter here.
    """
    hidden = 0 < true < suppress_below
    if hidden or shown is None:
        return Fraction(int(hidden == (shown is None)))
    if kind == "small_counts":
        return Fraction(int(shown == true if true >= base or not true else shown in (0, base)))
    below = true // base * base
    rest = Fraction(true - below, base)
    if kind == "conventional":
        return Fraction(int(shown == (below + base if rest >= Fraction(1, 2) else below)))
    return {below: 1 - rest, below + base: rest}.get(shown, Fraction(0))


def originals(
    kind: str,
    base: int,
    suppress_below: int,
    shown: dict[tuple[str, ...], int | None],
    inner: list[tuple[str, ...]],
    margins: list[tuple[bool, ...]],
    most: int,
    draws: dict[tuple[str, ...], tuple[str, ...]] | None = None,
) -> Iterator[tuple[dict[tuple[str, ...], int], Fraction]]:
    """All tables that may lie behind the shown values, with the probability that each is published like this.

    ``draws`` names for each cell the one whose chance it shares.
    """
    for counts in product(range(most + 1), repeat=len(inner)):
        cells = cells_of(dict(zip(inner, counts, strict=True)), margins)
        weight, drawn = Fraction(1), set()
        for cell, value in shown.items():
            one = probability(kind, base, suppress_below, cells[cell], value)
            weight *= one if (draws or {}).get(cell, cell) not in drawn else Fraction(int(one > 0))
            drawn.add((draws or {}).get(cell, cell))
            if not weight:
                break
        if weight:
            yield cells, weight
