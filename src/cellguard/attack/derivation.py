"""Which relations give a cell away, in words: "North/B = North/Total - North/A - North/C, all published"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.world.constraints import Constraints

_LONGEST = 8  # steps, or cells, that a reader still follows


@dataclass(frozen=True, eq=False)
class Derivations:
    """How an attacker finds cells step by step: each from one relation, the other cells of which are known by then.

    ``step`` is 0 for published cells, k for cells found in step k, -1 for cells that no such chain reaches.
    """

    step: LongArray
    relation: Positions


def derive(relations: sp.csr_array, unknown: BoolArray) -> Derivations:
    """Solve relations with one unknown cell for that cell, until there are none left."""
    unknown = unknown.copy()
    step = np.where(unknown, -1, 0)
    source = np.full(len(unknown), -1, np.intp)
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    for number in range(1, len(unknown) + 1):
        open_terms = unknown[relations.indices]
        single = np.bincount(rows[open_terms], minlength=relations.shape[0]) == 1
        solved = open_terms & single[rows]
        if not solved.any():
            break
        cells, first = np.unique(relations.indices[solved], return_index=True)
        step[cells], source[cells] = number, rows[solved][first]
        unknown[cells] = False
    return Derivations(step, source)


def explain(
    constraints: Constraints,
    relations: sp.csr_array,
    unknown: BoolArray,
    lower: FloatArray,
    upper: FloatArray,
    cells: Sequence[int],
) -> list[list[str]]:
    """Return for each of some cells, in words, why an attacker comes near to it; the last step comes first.

    ``unknown``, ``lower`` and ``upper`` are over the listed cells; the latent cells are unknown.
    """
    unknown, width = constraints.extend(unknown, True), constraints.extend(upper - lower, np.inf)
    derived = derive(relations, unknown)
    columns = sp.csc_array(relations)
    return [_why(constraints, relations, columns, derived, unknown, width, cell) for cell in cells]


def _why(
    constraints: Constraints,
    relations: sp.csr_array,
    columns: sp.csc_array,
    derived: Derivations,
    unknown: BoolArray,
    width: FloatArray,
    cell: int,
) -> list[str]:
    if not unknown[cell]:
        return [f"{name(constraints, cell, cell)} is published, or known to be empty"]
    if derived.step[cell] > 0:
        return _chain(constraints, relations, derived, cell)
    own = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]].tolist()
    groups = [[c for c in _terms(relations, r)[0].tolist() if unknown[c]] for r in own]
    room = [float(np.sum(width[[c for c in group if c != cell]])) for group in groups]
    if not room or not np.isfinite(min(room)):
        return [f"{name(constraints, cell, cell)} is narrowed down by several relations together"]
    tight = groups[room.index(min(room))]
    shown = " and ".join(name(constraints, c, cell) for c in tight[:_LONGEST]) + (
        " and others" if len(tight) > _LONGEST else ""
    )
    return [
        f"only {shown} are suppressed in one relation, which leaves {name(constraints, cell, cell)} too narrow an "
        "interval"
    ]


def _chain(constraints: Constraints, relations: sp.csr_array, derived: Derivations, cell: int) -> list[str]:
    lines: list[str] = []
    wanted = [cell]
    seen = set(wanted)
    while wanted and len(lines) < _LONGEST:
        present = wanted.pop(0)
        cells, weights = _terms(relations, int(derived.relation[present]))
        own = weights[cells == present][0]
        parts = [(c, -w / own) for c, w in zip(cells.tolist(), weights.tolist(), strict=True) if c != present]
        parts.sort(key=lambda part: part[1] < 0)
        text = " ".join(f"{'+' if w > 0 else '-'} {name(constraints, c, cell)}" for c, w in parts).removeprefix("+ ")
        earlier = [c for c, _ in parts if derived.step[c] > 0]
        how = (
            "all published"
            if not earlier
            else "where "
            + ", ".join(name(constraints, c, cell) for c in earlier)
            + (" follow first" if len(earlier) > 1 else " follows first")
        )
        lines.append(f"{name(constraints, present, cell)} = {text or '0'}, {how}")
        wanted += [c for c in earlier if c not in seen]
        seen.update(earlier)
    return lines


def _terms(relations: sp.csr_array, relation: int) -> tuple[npt.NDArray[np.integer], FloatArray]:
    part = slice(relations.indptr[relation], relations.indptr[relation + 1])
    return relations.indices[part], relations.data[part]


def name(constraints: Constraints, cell: int, home: int | None = None) -> str:
    """Return a cell's codes; with its table's name in front unless that table also shows the cell ``home``."""
    tables = constraints.tables
    if cell >= len(tables):
        return constraints.cell_name(cell)
    number, position = (int(a[cell]) for a in tables.first)
    table, listed = tables.tables[number], [table for table in tables.tables if not table.is_added]
    same = home is not None and int(tables.first[0][home]) == number
    if not table.is_added and (len(listed) == 1 or same):
        return table.cell_name(position)
    return tables.cell_name(cell)
