"""Which sums of unknown cells readers know, exactly or nearly.

In a relation whose unknown cells are all parts of a known whole, their sum is known: the whole less the known parts.
If one of them is itself a whole some parts of which are known, these can be taken off too, and so on; and if one known
sum holds another, what it has beyond that is known. Sums of all parts of a whole are the whole, and are not listed. Of
two cells all sums are found that follow from any number of
relations: one cell goes down as far as the other goes up in every move that the relations allow. Larger sums that only
follow from several relations together are not looked for.

Nearly known sums matter where one holding is behind several cells: each may move far, but only against the others. So
the cells in which a holding has a stake are added up (`holding_sums`), whatever the relations tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cellguard.solver.program import SEED
from cellguard.types import BoolArray, FloatArray, LongArray, Positions

Sum = tuple[int, ...]
_STEPS = 30  # replacements of wholes by their parts that are looked at per relation
_PAIRED = 20_000  # unknown cells of which all pairs are looked at
_ALIKE = 40  # cells that move alike of which all pairs are looked at
_ROUNDS, _STILL = 3_000, 1e-7  # of the search for a random move, and by how much two cells of one may differ
_SUBSETS = 4  # cells of one holding of which all sums are looked at


@dataclass(frozen=True)
class Told:
    """Sums of unknown cells that are known; ``beyond`` says in words what was too much to look at."""

    sums: tuple[Sum, ...]
    beyond: tuple[str, ...] = ()


def told_sums(relations: sp.csr_array, unknown: BoolArray) -> Told:
    """Return the sums of unknown cells that relations tell.

    >>> rows = sp.csr_array(np.array([[1, -1, -1, -1, 0, 0, 0], [0, 0, 1, 0, -1, -1, -1]]))
    >>> told_sums(rows, np.array([False, True, True, False, True, True, False])).sums
    ((1, 2), (1, 4, 5))
    """
    relations = sp.csr_array(relations)
    below = _wholes(relations, unknown)
    sums: dict[Sum, None] = {}
    cut = 0
    for row in range(relations.shape[0]):
        cells, signs = _unknown_terms(relations, row, unknown)
        if len(cells) and (signs == signs[0]).all() and _is_part(relations, row, len(cells)):
            cut += _replaced(tuple(cells.tolist()), below, sums)
    every = [*sums, *_differences(list(sums))]
    beyond = [f"{cut:,} relations with more than {_STEPS} ways to take known parts off subtotals"] if cut else []
    many = int(unknown.sum())
    if many > _PAIRED:
        beyond.append(f"pairs among {many:,} unknown cells that only several relations together tell")
    return Told(tuple(dict.fromkeys([*every, *_pairs(relations, unknown)])), tuple(beyond))


def _replaced(union: Sum, below: dict[int, list[Sum]], sums: dict[Sum, None]) -> bool:
    """Add a known sum and all that follow by replacing wholes by their parts; tell whether some were left out."""
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


def _pairs(relations: sp.csr_array, unknown: BoolArray) -> list[Sum]:
    """Return the pairs of unknown cells whose sum is known, though neither is: by moves at random, all at once.

    In a random move that all relations allow, cells go as far as each other only if they do so in every move.
    """
    cells = np.flatnonzero(unknown)
    if not 2 <= len(cells) <= _PAIRED:
        return []
    matrix = sp.csr_array(relations[:, cells]).astype(float)
    matrix = sp.csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
    first, second = (_move(matrix, rng) for rng in np.random.default_rng(SEED).spawn(2))
    free = np.flatnonzero((np.abs(first) > _STILL) | (np.abs(second) > _STILL))
    order = free[np.argsort(np.abs(first[free]), kind="stable")]
    pairs = []
    for group in np.split(order, np.flatnonzero(np.diff(np.abs(first[order])) > _STILL) + 1):
        for a, b in combinations(sorted(group.tolist()), 2) if len(group) <= _ALIKE else ():
            if abs(first[a] + first[b]) <= _STILL and abs(second[a] + second[b]) <= _STILL:
                pairs.append((int(cells[a]), int(cells[b])))
    return sorted(pairs)


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
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        signs, cells = relations.data[part], relations.indices[part]
        if len(cells) < 3:
            continue
        odd = np.flatnonzero(signs > 0) if (signs > 0).sum() == 1 else np.flatnonzero(signs < 0)
        if len(odd) == 1 and unknown[cells[odd[0]]]:
            whole = int(cells[odd[0]])
            inner = tuple(int(c) for c in cells if c != whole and unknown[c])
            if 0 < len(inner) < len(cells) - 1:  # else it is the whole itself
                below.setdefault(whole, []).append(inner)
    return below


def _is_part(relations: sp.csr_array, row: int, unknown: int) -> bool:
    """Tell whether the unknown terms of a relation are some of those that it adds up, and not all parts of a whole."""
    signs = relations.data[relations.indptr[row] : relations.indptr[row + 1]]
    whole = min(int((signs > 0).sum()), int((signs < 0).sum()))
    return bool((np.abs(signs) == 1).all()) and not (whole == 1 and unknown == len(signs) - 1)


def _unknown_terms(relations: sp.csr_array, row: int, unknown: BoolArray) -> tuple[Positions, FloatArray]:
    part = slice(relations.indptr[row], relations.indptr[row + 1])
    hidden = unknown[relations.indices[part]]
    return np.sort(relations.indices[part][hidden]), relations.data[part][hidden]


def holding_sums(
    relations: sp.csr_array, cell: Positions, holding: LongArray, row: Positions, total: FloatArray
) -> list[Sum]:
    """Return the sums of the unsafe cells in which one holding has a stake.

    Entry i says that the record ``row[i]`` of ``holding[i]`` is in ``cell[i]``. Sums are taken of cells that share no
    record of the holding, the smallest of the ``total`` of all cells first, and of its cells that are parts in one
    relation: of all of them, and of every few of them where they are few.

    >>> rows = sp.csr_array(np.array([[1.0, -1, -1, -1]]))
    >>> at, who = np.array([1, 2, 3]), np.array([7, 7, 8])
    >>> holding_sums(rows, at, who, np.array([0, 1, 2]), np.array([9.0, 2, 3, 4]))
    [(1, 2)]
    """
    found: dict[Sum, None] = {}
    parts = sp.csc_array(relations)
    order = np.lexsort((cell, holding))
    for own in np.split(order, np.flatnonzero(np.diff(holding[order])) + 1) if len(order) else ():
        held: dict[int, set[int]] = {}
        for c, r in zip(cell[own].tolist(), row[own].tolist(), strict=True):
            held.setdefault(c, set()).add(r)
        if len(held) > 1:
            found.update(dict.fromkeys(_subsets(_apart(held, total))))
            for family in _families(parts, sorted(held)):
                found.update(dict.fromkeys(_subsets(family)))
    return list(found)


def _apart(held: dict[int, set[int]], total: FloatArray) -> list[int]:
    """Return cells that share no record of a holding, the smallest first."""
    taken, chosen = set[int](), list[int]()
    for cell in sorted(held, key=lambda c: (len(held[c]), total[c], c)):
        if not held[cell] & taken:
            chosen.append(cell)
            taken |= held[cell]
    return sorted(chosen)


def _families(parts: sp.csc_array, cells: Iterable[int]) -> Iterator[list[int]]:
    """Go through the cells among some that are parts in one relation."""
    by_relation: dict[int, list[int]] = {}
    for cell in cells:
        entries = slice(parts.indptr[cell], parts.indptr[cell + 1])
        for relation in parts.indices[entries][parts.data[entries] < 0].tolist():
            by_relation.setdefault(relation, []).append(cell)
    yield from by_relation.values()


def _subsets(cells: list[int]) -> Iterator[Sum]:
    """Go through the sets of two or more of some cells: every one if they are few, else all of them together."""
    if len(cells) > _SUBSETS:
        yield tuple(cells)
        return
    for size in range(2, len(cells) + 1):
        yield from combinations(cells, size)
