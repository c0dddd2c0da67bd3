"""Rules about rows of counts, once more: T respondents share all codes but one; s have a category, o = T - s another.

A row is unsafe if its s and o say so. Then the cells of the category that are not 0 are unsafe, and so is the cell of
all others, whose interval must reach so many that the row would be safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cellguard.verifier.hierarchies import Dimension, Tree
from cellguard.verifier.numbers import Bools, Floats, Int64
from cellguard.verifier.stages import Refused


@dataclass(frozen=True)
class Few:
    """Unsafe if somebody has the category, at least ``least`` and fewer than ``enough`` others are there.

    With ``below``, only rows of fewer respondents are.
    """

    least: float
    enough: float
    below: float = 0.0

    def judge(self, s: Floats, o: Floats, sure: Bools) -> tuple[Bools, Floats]:
        """Return which rows are unsafe, and how many others are enough; ``sure`` where s + o must be published."""
        small = (s + o < self.below) | (self.below == 0)
        return (s > 0) & (o >= self.least) & (o < self.enough) & small, np.full(s.size, self.enough)


@dataclass(frozen=True)
class Share:
    """Unsafe if the category has ``p`` percent of a row or more."""

    p: float

    def judge(self, s: Floats, o: Floats, sure: Bools) -> tuple[Bools, Floats]:
        """Return which rows are unsafe, and how many others are enough; ``sure`` where s + o must be published."""
        high = 100 * s >= (self.p - 1e-9) * (s + o)
        limit = np.where(sure, (s + o) * (1 - self.p / 100), s * (100 / self.p - 1))
        return (s > 0) & high, np.floor(limit + 1e-9) + 1


Criterion: TypeAlias = Few | Share


@dataclass(frozen=True)
class Axes:
    """The codes of a table's rows in each of its dimensions, as positions.

    ``groupings`` says how many hierarchies of a dimension the job gives, the main one included, if it says so at all;
    ``unpublished`` marks the rows whose state says so, and ``said`` is whether a file or column may have said it.
    """

    codes: Mapping[str, Int64]
    dimensions: Mapping[str, Dimension]
    groupings: Mapping[str, int] = field(default_factory=dict)
    unpublished: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    said: bool = False


@dataclass(frozen=True)
class Tested:
    """Codes of a dimension that are tested together, and the code of all others that a table has, if any."""

    codes: tuple[int, ...]
    others: int | None


def tests(axes: Axes, by: str, categories: Sequence[tuple[str, ...]] | None) -> list[Tested]:
    """Return what is tested: the given ``categories``, or all that occur in the table if None.

    Categories beside which there is nothing else are not.
    """
    if by not in axes.codes:
        raise Refused(f"a rule looks at the categories of {by}, which its table does not have")
    dimension = axes.dimensions[by]
    held, tree, here = _held(dimension), dimension.trees[0], set(np.unique(axes.codes[by]).tolist())
    chosen: list[tuple[int, ...]]
    if categories is None:
        chosen = [(c,) for c in tree.codes[1:] if c in here]
    else:
        chosen = [tuple(_position(dimension, tree, word) for word in words) for words in categories]
    codes: dict[frozenset[int], int] = {}
    for code, leaves in held.items():
        if code in here:
            codes.setdefault(leaves, code)
    for code in {c for group in chosen for c in group} - here:
        if any(held[other] < held[code] for other in here):
            raise Refused(f"a rule names a category of {by} of which the table has parts only")
    if 0 not in here:
        raise Refused(f"a rule looks at the categories of {by}, but the table does not have its total")
    rests = [held[0].difference(*(held[c] for c in group)) for group in chosen]
    return [Tested(group, codes.get(rest)) for group, rest in zip(chosen, rests, strict=True) if rest]


def others_rows(axes: Axes, by: str, categories: Sequence[tuple[str, ...]] | None) -> Bools:
    """Return the rows of a table that are there for a rule only: of all others, under a code that it had no row of.

    None of them is published. The job may have such a code in a hierarchy, but then nobody said that its rows are
    not to be published.
    """
    added = np.zeros(axes.codes[by].size, dtype=bool) if by in axes.codes else np.zeros(0, dtype=bool)
    given = axes.dimensions[by].trees[: axes.groupings.get(by, 1)] if by in axes.dimensions else ()
    for code in {test.others for test in tests(axes, by, categories) if test.others is not None}:
        rows = axes.codes[by] == code
        known = any(code in tree.codes for tree in given)
        if axes.unpublished[rows].all() and not (known and axes.said):
            added |= rows
    return added


def concerned(axes: Axes, by: str, count: Floats, added: Bools) -> Floats:
    """Return how many respondents cells concern: ``added`` ones, of all others in their row, everybody in it."""
    row, first = _rows(axes, by)
    return np.where(added & (row >= 0), count[first][row], count)


def judge_rows(
    axes: Axes, by: str, tested: Sequence[Tested], total: Floats, sure: Bools, criterion: Criterion
) -> tuple[Bools, Floats]:
    """Return which cells are unsafe, and how far above its value the interval of each must reach.

    ``sure`` marks cells that must be published.
    """
    code = axes.codes[by]
    row, first = _rows(axes, by)
    unsafe, reach = np.zeros(total.size, dtype=bool), np.zeros(total.size)
    whole = total[first]
    for test in tested:
        mine = np.isin(code, test.codes) & (row >= 0)
        s: Floats = np.asarray(np.bincount(row[mine], weights=total[mine], minlength=first.size), dtype=np.float64)
        o = whole - s
        o[np.abs(o) <= 1e-9 * np.maximum(whole, 1)] = 0
        wrong, enough = criterion.judge(s, o, sure[first])
        rest = (code == (-1 if test.others is None else test.others)) & (row >= 0) & wrong[row]
        seen = np.zeros(first.size, dtype=bool)
        seen[row[rest]] = True
        if (wrong & ~seen).any():
            raise Refused(f"a row is unsafe by its categories of {by}, but the table has no cell of all others in it")
        unsafe |= rest | (mine & wrong[row] & (total != 0))
        reach[rest] = np.maximum(reach[rest], (enough - o)[row[rest]])
    return unsafe, reach


def _position(dimension: Dimension, tree: Tree, word: object) -> int:
    if word not in dimension.codes[1:] or dimension.codes.index(str(word)) not in tree.codes:
        raise Refused(f"a rule names a category that {dimension.name} does not have")
    return dimension.codes.index(str(word))


def _held(dimension: Dimension) -> dict[int, frozenset[int]]:
    """Return the leaves below each code."""
    below: dict[int, set[int]] = {}
    for tree in dimension.trees:
        ends = tree.leaves
        sets: dict[int, set[int]] = {code: ({code} if code in ends else set()) for code in tree.codes}
        for code, parent in reversed(list(zip(tree.codes, tree.parents, strict=True))):
            if parent >= 0:
                sets[parent] |= sets[code]
        below.update({code: leaves for code, leaves in sets.items() if code not in below})
    return {code: frozenset(leaves) for code, leaves in below.items()}


def _rows(axes: Axes, by: str) -> tuple[Int64, Int64]:
    """Return the row of each cell, -1 where it has no total, and the cell of each row's total."""
    others = [column for name, column in axes.codes.items() if name != by]
    keys = np.stack([np.zeros_like(axes.codes[by]), *others], axis=1)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = np.asarray(group, dtype=np.int64).ravel()
    first = np.flatnonzero(axes.codes[by] == 0).astype(np.int64)
    number = np.full(int(group.max(initial=0)) + 1, -1, dtype=np.int64)
    number[group[first]] = np.arange(first.size)
    return number[group], first
