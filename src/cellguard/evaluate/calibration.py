"""How strict a rule must be to call a wanted number of cells unsafe.

The more lenient of two parameters calls some of the cells unsafe that the stricter one does. So the parameter at which
exactly so many are unsafe lies between two neighbours of the grid, and is found by halving what lies between them: that
orders the cells by the figure of the rule, whatever rule it is. No parameter does where cells are tied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.errors import InputError
from cellguard.evaluate.draws import draw_cells, seen_by
from cellguard.evaluate.families import Family
from cellguard.table.facts import Facts

Missed = Literal["given", "coarse", "tied", "beyond"]
_MISSED: Mapping[Missed, str] = {
    "given": "the strictness is given, so the wanted number is not met",
    "coarse": "whole percentages are too coarse for the wanted number",
    "tied": "cells that are alike to the rule stand at the limit, so the wanted number is not met",
    "beyond": "the wanted number cannot be reached with any of the parameters that were tried",
}
_HALVINGS = 60
_NEXT = 1e-6  # parameters so close to what a rule refuses are tried
_DIGITS = 12


@dataclass(frozen=True)
class Calibrated:
    """The strictness of a rule that calls nearest to the target number of cells unsafe.

    ``missed`` says why the number is not the wanted one, None where it is: the strictness was ``given``, cells are
    ``tied``, steps are too ``coarse`` (for whole percentages, where it is not within a tenth), or the target is
    ``beyond`` all that the rule can do. On ties the smallest strictness is chosen; but where no parameter calls enough
    cells unsafe, the strictest.
    """

    strictness: float
    unsafe: int
    missed: Missed | None

    @property
    def reached(self) -> bool:
        """Whether the rule calls as many cells unsafe as are wanted."""
        return self.missed is None

    @property
    def words(self) -> str:
        """Why the number is not what is wanted; nothing where it is.

        >>> Calibrated(1, 20, None).words, Calibrated(100, 3, "given").words
        ('', 'the strictness is given, so the wanted number is not met')
        """
        return "" if self.missed is None else _MISSED[self.missed]


def verdicts(family: Family, facts: Facts, grid: Sequence[float]) -> tuple[BoolArray, BoolArray]:
    """Return which cells are unsafe for each strictness, and which strictnesses the rule allows."""
    unsafe = np.zeros((len(facts.total), len(grid)), bool)
    allowed = np.ones(len(grid), bool)
    for column, strictness in enumerate(grid):
        told = _told(family, facts, strictness)
        if told is None:
            allowed[column] = False
        else:
            unsafe[:, column] = told
    if not allowed.any():
        raise InputError(f"the rule {family} allows none of the parameters from {grid[0]} to {grid[-1]}")
    return unsafe, allowed


def as_given(family: Family, facts: Facts, strictness: float, wanted: float) -> Calibrated:
    """Return a rule as strict as people want it, whatever number of cells it calls unsafe."""
    told = _told(family, facts, strictness)
    if told is None:
        raise InputError(f"the strictness {strictness:g} is not one that the rule allows")
    unsafe = int(told.sum())
    return Calibrated(strictness, unsafe, None if abs(unsafe - wanted) < 1 else "given")


def calibrate_whole(
    unsafe: BoolArray, allowed: BoolArray, grid: Sequence[float], wanted: float, rises: bool
) -> Calibrated:
    """Return the parameter of the grid with which nearest to the wanted number of cells are unsafe.

    ``unsafe`` and ``allowed`` are those of `verdicts`; the rule ``rises`` if a higher parameter is stricter.
    """
    counts = unsafe.sum(axis=0)
    distance = np.where(allowed, np.abs(counts - wanted), np.inf)
    nearest = np.flatnonzero(distance == distance.min())
    too_few = bool(counts[allowed].max() < wanted)
    column = int(nearest[-1 if too_few and rises else 0])
    missed: Missed | None = "beyond" if too_few or counts[allowed].min() > wanted else "coarse"
    if abs(counts[column] - wanted) <= max(0.1 * wanted, 0.5):
        missed = None
    return Calibrated(grid[column], int(counts[column]), missed)


def calibrate(
    family: Family, facts: Facts, unsafe: BoolArray, allowed: BoolArray, grid: Sequence[float], wanted: float
) -> Calibrated:
    """Return the parameter with which exactly the wanted number of cells is unsafe, or the nearest number there is."""
    aim = int(np.floor(wanted + 0.5))
    counts = {grid[at]: int(unsafe[:, at].sum()) for at in np.flatnonzero(allowed).tolist()}

    def count(strictness: float) -> int | None:
        told = _told(family, facts, strictness)
        return None if told is None else int(told.sum())

    for mark in _beyond(grid, allowed):
        if (told := count(mark)) is not None:
            counts[mark] = told
    marks = sorted(counts)
    exact = [mark for mark in marks if counts[mark] == aim]
    if exact:
        return Calibrated(exact[-1 if aim == 0 and rises(family) else 0], aim, None)  # of none the strictest
    between = next(
        ((low, high) for low, high in pairwise(marks) if (counts[low] - aim) * (counts[high] - aim) < 0), None
    )
    if between is None:
        nearest = min(marks, key=lambda mark: abs(counts[mark] - aim))
        alike = [mark for mark in marks if counts[mark] == counts[nearest]]
        alike = [mark for mark in alike if mark in grid] or alike
        chosen = alike[-1] if counts[nearest] < aim and rises(family) else alike[0]
        return Calibrated(chosen, counts[nearest], "beyond")
    return _halved(count, *between, counts, aim)


def _halved(
    count: Callable[[float], int | None], low: float, high: float, counts: dict[float, int], aim: int
) -> Calibrated:
    """Halve what lies between two parameters, one with too many unsafe cells and one with too few."""
    falls = counts[low] > aim
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        told = count(middle)
        if told is None or not low < middle < high:
            break
        counts[middle] = told
        if told == aim:
            return Calibrated(_short(count, middle, aim), aim, None)
        low, high = (middle, high) if (told > aim) == falls else (low, middle)
    nearest = min(sorted(counts), key=lambda mark: (abs(counts[mark] - aim), mark != int(mark)))
    return Calibrated(_short(count, nearest, counts[nearest]), counts[nearest], "tied")


def _beyond(grid: Sequence[float], allowed: BoolArray) -> list[float]:
    """Return parameters between the ends of a grid and what the rule refuses: nearly 0, and nearly the limit."""
    last = int(np.flatnonzero(allowed)[-1])
    return [_NEXT, *([grid[last + 1] - _NEXT] if last + 1 < len(grid) else [])]


def _short(count: Callable[[float], int | None], strictness: float, unsafe: int) -> float:
    """Return the parameter with the fewest decimals that makes as many cells unsafe."""
    rounded = (round(strictness, digits) for digits in range(_DIGITS))
    return next((short for short in rounded if short > 0 and count(short) == unsafe), strictness)


def rises(family: Family) -> bool:
    """Return whether a higher parameter is a stricter rule, as cells tell that are easily unsafe."""
    inside = [part for _, part in family.given if isinstance(part, Family)]
    if inside:
        return rises(inside[0])
    facts = seen_by([family.example], draw_cells("exponential(1)", 3, cells=100, seed=1))
    unsafe, allowed = verdicts(family, facts, range(1, 101))
    least, most = np.flatnonzero(allowed)[[0, -1]]
    return bool(unsafe[:, most].sum() > unsafe[:, least].sum())


def _told(family: Family, facts: Facts, strictness: float) -> BoolArray | None:
    """Return what the rule of a strictness says of each cell; None if it refuses the strictness."""
    try:
        rule = family.rule(strictness)
    except InputError:
        return None
    return rule.unsafe(facts)
