"""Which sums of unsafe cells are nearly those of a single holding.

Nearly known sums matter where one holding is behind several cells: each may move far, but only against the others. So
the cells in which a holding has a stake are added up, whatever the relations tell (for that see `determined_sums`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, Positions
from cellguard.table.sums import Stakes, Sum

_SUBSETS = 4  # cells of one holding of which all sums are looked at
_STAKES, _TOGETHER = 5, 3  # cells of one holding of which all sums of so many are looked at


def holding_sums(relations: sp.csr_array, stakes: Stakes, total: FloatArray) -> list[Sum]:
    """Return the sums of the unsafe cells in which one holding has a stake.

    Sums are taken of cells that share no record of the holding, the smallest of the ``total`` of all cells first; of
    its cells below one whole, be they parts of it or of its parts; and of the same where it is the largest, and where
    it is alone. Where a sum has few cells, the sums of some of them are taken too.

    >>> rows, yes = sp.csr_array(np.array([[1.0, -1, -1, -1]])), np.ones(3, bool)
    >>> own = Stakes(np.array([1, 2, 3]), np.array([7, 7, 8]), np.array([0, 1, 2]), yes, yes)
    >>> holding_sums(rows, own, np.array([9.0, 2, 3, 4]))
    [(1, 2)]
    """
    found: dict[Sum, None] = {}
    wholes = _Wholes.of(relations)
    order = np.lexsort((stakes.cell, stakes.holding))
    ends = np.flatnonzero(np.diff(stakes.holding[order])) + 1
    for own in np.split(order, ends) if len(order) else ():
        held: dict[int, set[int]] = {}
        for c, r in zip(stakes.cell[own].tolist(), stakes.row[own].tolist(), strict=True):
            held.setdefault(c, set()).add(r)
        if len(held) < 2:
            continue
        families = [_apart(held, total), *wholes.families(held)]
        for closest in (stakes.largest, stakes.alone):
            some = set(stakes.cell[own[closest[own]]].tolist())
            families += wholes.families(some) if 1 < len(some) < len(held) else []
        for family in families:
            found.update(dict.fromkeys(_subsets(family)))
        found.update(dict.fromkeys(_disjoint(held) if len(held) <= _STAKES else ()))
    return list(found)


@dataclass(frozen=True, eq=False)
class _Wholes:
    """The relations of a set as wholes and parts: by relation its parts, and by cell the relations it is a part of."""

    whole: Positions
    parts: sp.csr_array
    part_of: sp.csc_array

    @classmethod
    def of(cls, relations: sp.csr_array) -> _Wholes:
        signed = sp.csr_array(relations)
        rows = np.repeat(np.arange(signed.shape[0]), np.diff(signed.indptr))
        up = np.flatnonzero(signed.data > 0)
        single = np.bincount(rows[up], minlength=signed.shape[0]) == 1
        whole = np.full(signed.shape[0], -1, np.intp)
        whole[rows[up]] = signed.indices[up]
        below = (signed.data < 0) & single[rows]
        parts = sp.csr_array((below[below], (rows[below], signed.indices[below])), shape=signed.shape)
        return cls(np.where(single, whole, -1), parts, sp.csc_array(parts))

    def families(self, chosen: Collection[int]) -> list[list[int]]:
        """Return for each relation above some cells those that are parts of it, and with those below other parts."""
        reached, queue = dict.fromkeys(chosen), list(chosen)
        above: dict[int, list[int]] = {}  # the relations of each whole with a part that is reached
        while queue:
            cell = queue.pop()
            for relation in self.part_of.indices[self.part_of.indptr[cell] : self.part_of.indptr[cell + 1]].tolist():
                whole = int(self.whole[relation])
                listed = above.setdefault(whole, [])
                if relation not in listed:
                    listed.append(relation)
                if whole not in reached:
                    reached[whole] = None
                    queue.append(whole)
        known: dict[int, set[int]] = {cell: {cell} for cell in chosen}
        numbers = [relation for listed in above.values() for relation in listed]
        families = {tuple(sorted(self._below(relation, above, known))) for relation in numbers}
        families |= {tuple(part for part in self._parts(relation) if part in chosen) for relation in numbers}
        return [list(family) for family in sorted(families) if len(family) > 1]

    def _parts(self, relation: int) -> list[int]:
        parts: list[int] = self.parts.indices[self.parts.indptr[relation] : self.parts.indptr[relation + 1]].tolist()
        return sorted(parts)

    def _below(self, relation: int, above: dict[int, list[int]], known: dict[int, set[int]]) -> set[int]:
        """Return the chosen cells among the parts of a relation, and below the others."""
        family: set[int] = set()
        for part in self._parts(relation):
            if part not in known:
                known[part] = self._below(above[part][0], above, known) if part in above else set()
            family |= known[part]
        return family


def _apart(held: dict[int, set[int]], total: FloatArray) -> list[int]:
    """Return cells that share no record of a holding, the smallest first."""
    taken, chosen = set[int](), list[int]()
    for cell in sorted(held, key=lambda c: (len(held[c]), total[c], c)):
        if not held[cell] & taken:
            chosen.append(cell)
            taken |= held[cell]
    return sorted(chosen)


def _disjoint(held: dict[int, set[int]]) -> Iterator[Sum]:
    """Go through the sets of two or three cells that share no record of a holding."""
    for size in range(2, _TOGETHER + 1):
        for some in combinations(sorted(held), size):
            if sum(len(held[cell]) for cell in some) == len(set().union(*(held[cell] for cell in some))):
                yield some


def _subsets(cells: list[int]) -> Iterator[Sum]:
    """Go through the sets of two or more of some cells: every one if they are few, else all of them together."""
    if len(cells) > _SUBSETS:
        yield tuple(cells)
        return
    for size in range(2, len(cells) + 1):
        yield from combinations(cells, size)
