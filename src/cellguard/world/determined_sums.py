"""Which sums of unknown cells relations tell.

In a relation whose unknown cells are all parts of a known whole, their sum is known: the whole less the known parts.
If one of them is itself a whole some parts of which are known, these can be taken off too, and so on; and if one known
sum holds another, what it has beyond that is known. Sums of all parts of a whole are the whole, and are not listed. Of
two, and where cells are not too many of three and four, all sums are found that follow from any number of relations:
those that no random move changes. Larger sums that only follow from several relations together are not looked for.

Sums that are nearly known only matter where one holding is behind several cells, see `holding_sums`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.solver.program import SEED
from cellguard.table.sums import Sum

_STEPS = 30  # replacements of wholes by their parts that are looked at per relation
_PAIRED = 20_000  # unknown cells of which all pairs are looked at
_TRIED, _TRIED_FOUR = 2_000, 500  # unknown cells of which all sums of three, and of four, are looked at
_MOST = 100_000  # sums of few cells of one size; a set of four is found three times
_ROUNDS, _STILL = 3_000, 1e-7  # of the search for a random move, and by how much two cells of one may differ


@dataclass(frozen=True)
class Told:
    """Sums of unknown cells that are known; ``beyond`` says in words what was too much to look at."""

    sums: tuple[Sum, ...]
    beyond: tuple[str, ...] = ()


def determined_sums(
    relations: sp.csr_array, unknown: BoolArray, own: int | None = None, *, first: int | None = None
) -> Told:
    """Return the sums of unknown cells that relations tell.

    The first ``own`` relations (all, by default) are those of single tables: what adds up to a whole of one of them is
    left to that table. Only sums of the ``first`` columns (all, by default) are returned: what else moves is no
    cell of a table.

    >>> rows = sp.csr_array(np.array([[1, -1, -1, -1, 0, 0, 0], [0, 0, 1, 0, -1, -1, -1]]))
    >>> determined_sums(rows, np.array([False, True, True, False, True, True, False])).sums
    ((1, 2), (1, 4, 5))
    """
    relations = sp.csr_array(relations)
    below = _wholes(relations, unknown)
    sums, wholes, cut = dict[Sum, None](), set[Sum](), 0
    for row in np.flatnonzero(_with_unknown(relations, unknown)).tolist():
        cells, signs = _unknown_terms(relations, row, unknown)
        if (signs == signs[0]).all():
            one = tuple(cells.tolist())
            cut += _replaced(one, below, sums)
            sums.setdefault(_least(one, below))
            if row < (relations.shape[0] if own is None else own) and not _is_part(relations, row, len(cells)):
                wholes.add(one)
    sums.pop((), None)
    every = [*sums, *_differences(list(sums))]
    beyond = [f"{cut:,} relations with more than {_STEPS} ways to take known parts off subtotals"] if cut else []
    most = relations.shape[1] if first is None else first
    few, more = _few_cells(relations, unknown, most)
    listed = [one for one in dict.fromkeys([*every, *few]) if one not in wholes and one[-1] < most]
    return Told(tuple(listed), (*beyond, *more))


def _least(union: Sum, below: dict[int, list[Sum]]) -> Sum:
    """Return a known sum without all known parts of its cells, and of their parts; nothing if a cell would be twice."""
    left = list(union)
    least: set[int] = set()
    while left:
        cell = left.pop()
        if cell in below:
            left += sorted(below[cell], key=len)[0]
        elif cell in least:
            return ()
        else:
            least.add(cell)
    return tuple(sorted(least)) if len(least) > 1 else ()


def _replaced(union: Sum, below: dict[int, list[Sum]], sums: dict[Sum, None]) -> bool:
    """Add a known sum and all that follow by taking known parts off its cells; return whether some were left out."""
    queue, steps = [union], 0
    while queue and steps < _STEPS:
        union, steps = queue.pop(0), steps + 1
        if union in sums:
            continue
        if len(union) > 1:
            sums[union] = None
        for whole in union:
            for inner in below.get(whole, ()):
                others = set(union) - {whole}
                if not others & set(inner):
                    queue.append(tuple(sorted(others | set(inner))))
    return bool(queue)


@dataclass(frozen=True, eq=False)
class _Moves:
    """Random moves of the unknown cells that can move at all, one per row; the first is ascending.

    Cells whose sum is 0 in a few random moves have a sum that no move changes, and no others do.
    """

    cells: Positions
    moved: FloatArray

    @classmethod
    def at_random(cls, relations: sp.csr_array, unknown: BoolArray, most: int) -> _Moves:
        cells = np.flatnonzero(unknown)
        matrix = sp.csr_array(relations[:, cells]).astype(float)
        matrix = sp.csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
        moved = np.stack([_move(matrix, rng) for rng in np.random.default_rng(SEED).spawn(2)])
        free = np.flatnonzero((np.abs(moved) > _STILL).any(axis=0) & (cells < most))
        free = free[np.argsort(moved[0][free], kind="stable")]
        return cls(cells[free], moved[:, free])

    def opposite(self, places: Positions) -> tuple[Positions, Positions]:
        """Return the pairs of some sets of cells (one per row) and a cell that the set moves against."""
        gone = -np.sum([self.moved[:, column] for column in places.T], axis=0)
        which, other = _within_reach(self.moved[0], gone[0])
        near = (np.abs(self.moved[:, other] - gone[:, which]) <= _STILL).all(axis=0)
        return which[near], other[near]

    def sums(self, places: Positions) -> list[Sum]:
        """Return sets of places as sets of cells, each once and none with a cell twice."""
        sums = {tuple(sorted(row)) for row in self.cells[places].tolist()}
        return sorted(one for one in sums if len(set(one)) == len(one))


class _TooMany(Exception):
    """There are more candidates than are looked at; the argument says how many."""


def _within_reach(ascending: FloatArray, wanted: FloatArray) -> tuple[Positions, Positions]:
    """Return the places of wanted numbers and of those that are as good as equal to them among ascending ones."""
    first = np.searchsorted(ascending, wanted - _STILL)
    many = np.searchsorted(ascending, wanted + _STILL) - first
    total = int(many.sum())
    if total > _MOST:
        raise _TooMany(total)
    return np.repeat(np.arange(len(wanted)), many), np.repeat(first - (np.cumsum(many) - many), many) + np.arange(total)


def _few_cells(relations: sp.csr_array, unknown: BoolArray, most: int) -> tuple[list[Sum], list[str]]:
    """Return the sums of two, three or four unknown cells that are known, though no part of them is: all of them.

    Only the first ``most`` columns are looked at. Also says in words what was too much to look at.
    """
    many = int(unknown.sum())
    if many < 2:
        return [], []
    if many > _PAIRED:
        return [], [f"sums of few cells among {many:,} unknown ones that only several relations together give"]
    moves = _Moves.at_random(relations, unknown, most)
    found = list[Sum]()
    try:
        for sums in _by_size(moves):
            found += sums
    except _TooMany as stop:
        return found, [f"{stop.args[0]:,} sums of few cells"]
    return found, []


def _by_size(moves: _Moves) -> Iterator[list[Sum]]:
    """Go through the known sums of two cells, of three and of four, as far as cells are few enough."""
    n = len(moves.cells)
    pairs = np.stack(moves.opposite(np.arange(n)[:, None]), axis=1)
    known = moves.sums(pairs)
    yield known
    if n > _TRIED:
        return
    first, second = np.triu_indices(n, 1)
    apart = np.ones(len(first), bool)
    apart[np.isin(first * n + second, pairs[:, 0] * n + pairs[:, 1])] = False  # two that are known go with everything
    tried = np.stack([first[apart], second[apart]], axis=1)
    # The third of three comes last in ascending order, so that most pairs need no look.
    ascending = moves.moved[0]
    lower = tried[ascending[tried[:, 0]] + 2 * ascending[tried[:, 1]] <= 3 * _STILL]
    which, other = moves.opposite(lower)
    yield moves.sums(np.column_stack([lower[which], other]))
    if n <= _TRIED_FOUR:
        told = set(known)
        yield [one for one in moves.sums(_opposite_pairs(moves, tried)) if not told.intersection(combinations(one, 2))]


def _opposite_pairs(moves: _Moves, pairs: Positions) -> Positions:
    """Return sets of four cells of which two move against the other two."""
    gone = moves.moved[:, pairs].sum(axis=2)
    order = np.argsort(gone[0], kind="stable")
    gone, pairs = gone[:, order], pairs[order]
    which, other = _within_reach(gone[0], -gone[0])
    near = (which < other) & (np.abs(gone[:, other] + gone[:, which]) <= _STILL).all(axis=0)
    return np.column_stack([pairs[which[near]], pairs[other[near]]])


def _move(matrix: sp.csr_array, rng: np.random.Generator) -> FloatArray:
    """Return a random move d with matrix @ d = 0: what is left of a random one without what relations forbid."""
    wish = rng.standard_normal(matrix.shape[1])
    forbidden = lsmr(matrix, matrix @ wish, atol=1e-14, btol=1e-14, conlim=0, maxiter=_ROUNDS)[0]
    return np.asarray(wish - forbidden, float)


def _differences(sums: list[Sum]) -> list[Sum]:
    """Return what sums have beyond others that they hold, in two cells or more, and that is not among them.

    >>> _differences([(1, 2, 3, 4), (1, 2)])
    [(3, 4)]
    """
    having: dict[int, set[int]] = {}
    for number, union in enumerate(sums):
        for cell in union:
            having.setdefault(cell, set()).add(number)
    found = dict.fromkeys(sums)
    for number, inner in enumerate(sums):
        for outer in sorted(set.intersection(*(having[cell] for cell in inner)) - {number}):
            beyond = tuple(cell for cell in sums[outer] if cell not in inner)
            if len(beyond) > 1:
                found.setdefault(beyond)
    return list(found)[len(sums) :]


def _wholes(relations: sp.csr_array, unknown: BoolArray) -> dict[int, list[Sum]]:
    """Return for each unknown whole its unknown parts, once per relation that divides it."""
    below: dict[int, list[Sum]] = {}
    for row in np.flatnonzero(_with_unknown(relations, unknown)).tolist():
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        signs, cells = relations.data[part].tolist(), relations.indices[part].tolist()
        if len(cells) < 3:
            continue
        up = [cell for cell, sign in zip(cells, signs, strict=True) if sign > 0]
        odd = up if len(up) == 1 else [cell for cell, sign in zip(cells, signs, strict=True) if sign < 0]
        if len(odd) == 1 and unknown[odd[0]]:
            whole = odd[0]
            inner = tuple(c for c in cells if c != whole and unknown[c])
            if 0 < len(inner) < len(cells) - 1:  # else it is the whole itself
                below.setdefault(whole, []).append(inner)
    return below


def _with_unknown(relations: sp.csr_array, unknown: BoolArray) -> BoolArray:
    """Return which relations have unknown cells."""
    return np.asarray(abs(relations) @ unknown.astype(float) > 0, bool)


def _is_part(relations: sp.csr_array, row: int, unknown: int) -> bool:
    """Return whether the unknown terms of a relation are some of those that it adds up, and not all parts of a
    whole.
    """
    signs = relations.data[relations.indptr[row] : relations.indptr[row + 1]]
    whole = min(int((signs > 0).sum()), int((signs < 0).sum()))
    return bool((np.abs(signs) == 1).all()) and not (whole == 1 and unknown == len(signs) - 1)


def _unknown_terms(relations: sp.csr_array, row: int, unknown: BoolArray) -> tuple[Positions, FloatArray]:
    part = slice(relations.indptr[row], relations.indptr[row + 1])
    hidden = unknown[relations.indices[part]]
    return np.sort(relations.indices[part][hidden]), relations.data[part][hidden]
