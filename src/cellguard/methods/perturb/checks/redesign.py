"""Which codes to merge so that a supersensitive cell disappears."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.sensitivity import Needs, extreme_rule, supersensitive
from cellguard.rules.linear import Dominance
from cellguard.table.keys import combine, find

_PAIRS = 40


@dataclass(frozen=True, slots=True)
class Merge:
    """Merging ``codes`` of a dimension puts cell ``cell`` of table ``table`` into one that is not supersensitive."""

    table: str
    cell: int
    name: str
    dimension: str
    codes: tuple[str, ...]

    def __str__(self) -> str:
        return f"table {self.table!r}, cell {self.name}: merge {' + '.join(self.codes)} of {self.dimension!r}"


def redesign(needs: Needs, rule: Dominance | None = None, *, most: int | None = None) -> tuple[Merge, ...]:
    """Propose for each supersensitive cell, in each dimension, the merge with the fewest codes under the same parent.

    Among merges of as many codes that with the smallest total is chosen. The merged cell is checked with the
    contributions of holdings in all its parts added up. Codes with others below them are merged with such codes only.
    ``rule`` says which cells are supersensitive, see `supersensitive`; with ``most`` only so many are looked at.
    """
    rule = rule or extreme_rule(needs.table)
    cells = np.flatnonzero(supersensitive(needs, rule))[:most].tolist()
    return tuple(merge for cell in cells for merge in _merges_of(needs, cell, rule))


def _merges_of(needs: Needs, cell: int, rule: Dominance) -> Iterator[Merge]:
    table = needs.table.table
    for d, dimension in enumerate(table.dimensions):
        code = dimension.codes[table.codes[d][cell]]
        if code == dimension.total or code not in dimension.main.position:
            continue
        siblings = _siblings(dimension, code)
        at = _cells_beside(needs, cell, d, siblings)
        best = _fewest(needs, cell, at[at >= 0], rule)
        if best is not None:
            codes = [dimension.codes[table.codes[d][c]] for c in (cell, *best)]
            ordered = sorted(codes, key=dimension.main.position.__getitem__)
            yield Merge(needs.table.name, cell, table.cell_name(cell), dimension.name, tuple(ordered))


def _siblings(dimension: Dimension, code: str) -> list[int]:
    """Return the positions of the codes that can be merged with a code."""
    main = dimension.main
    inner = bool(main.children(code))
    beside = [c for c in main.children(main.parent_of(code) or "") if c != code]
    return [dimension.position[c] for c in beside if bool(main.children(c)) == inner]


def _cells_beside(needs: Needs, cell: int, d: int, siblings: list[int]) -> npt.NDArray[np.intp]:
    """Return the cells with the codes of ``cell`` except for a sibling's in dimension d; -1 for empty ones."""
    table = needs.table.table
    columns = []
    for i, column in enumerate(table.codes):
        mine = np.full(len(siblings), column[cell]) if i != d else np.array(siblings, np.int64)
        columns.append(np.concatenate([column, mine]))
    keys = combine(columns, [len(dimension.codes) for dimension in table.dimensions])
    return find(keys[len(table) :], keys[: len(table)])


def _fewest(needs: Needs, cell: int, beside: npt.NDArray[np.intp], rule: Dominance) -> tuple[int, ...] | None:
    """Return the fewest neighbours that make the cell safe enough: one, two, or the largest so many."""
    order = beside[np.argsort(needs.size[beside], kind="stable")].tolist()
    candidates: list[tuple[int, ...]] = [(c,) for c in order]
    if 1 < len(order) <= _PAIRS:
        candidates += sorted(combinations(order, 2), key=lambda pair: float(needs.size[list(pair)].sum()))
    candidates += [tuple(order[-size:]) for size in range(2, len(order) + 1)]
    return next((c for c in candidates if _removes(needs, [cell, *c], rule)), None)


def _removes(needs: Needs, cells: list[int], rule: Dominance) -> bool:
    """Return whether the union of cells is not supersensitive; the largest of the parts' largest decides most cases."""
    limit = rule.k / 100 * float(needs.size[cells].sum())
    if float(needs.largest[cells].max()) > limit:
        return False
    who = needs.table.units_in(cells)
    _, inverse = np.unique(who.unit, return_inverse=True)
    held = np.sort(np.abs(np.bincount(inverse, who.value)))[::-1]
    return bool(held[: rule.n].sum() <= limit)
