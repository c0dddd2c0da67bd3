"""Every cell above the records' own: from leaf codes to all codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.confidential_codes import evidence
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.keyed_cells import Keyed, key_cells
from cellguard.table.keys import distinct
from cellguard.table.stages import Line, Positions, Stages, climb


@dataclass(frozen=True, eq=False)
class Lattice:
    """The occupied cells of a table: no cell is ever stored that has no record.

    ``leaves`` are the different combinations of leaf codes, a column per dimension, and ``leaf`` tells for each row of
    the records which. What is added up goes through ``keyed``, in place; that is None where keys would not fit into 64
    bits or levels are left out, and then goes through ``stages``, which are made when they are first asked for.
    """

    leaf: IntArray
    leaves: tuple[IntArray, ...]
    extents: tuple[int, ...]
    lines: tuple[Line, ...]
    keyed: Keyed | None

    def __len__(self) -> int:
        return len(self.codes[0])

    @property
    def combinations(self) -> int:
        """How many combinations of leaf codes there are."""
        return len(self.leaves[0])

    @property
    def codes(self) -> tuple[IntArray, ...]:
        """The codes of all cells, which are in their order."""
        return self._climbed[0] if self.keyed is None else tuple(self.keyed.codes)

    @property
    def stages(self) -> Stages:
        """The cells stage by stage."""
        return self._climbed[1]

    @cached_property
    def _climbed(self) -> tuple[tuple[IntArray, ...], Stages]:
        codes, stages = climb(self.leaves, self.extents, self.lines)
        return tuple(codes), stages


def build_lattice(
    dimensions: Sequence[Dimension], columns: Sequence[IntArray], levels: Mapping[str, Sequence[int]] | None = None
) -> Lattice:
    """Return the cells above records whose leaf codes are ``columns``, positions in the dimensions' codes.

    ``levels`` are the levels shown of some dimensions; cells of others are left out.
    """
    extents = tuple(len(d.codes) for d in dimensions)
    leaf, seen = distinct(columns, extents)
    leaves = tuple(column[seen] for column in columns)
    lines = tuple(ancestors(dimension, (levels or {}).get(dimension.name)) for dimension in dimensions)
    return Lattice(leaf, leaves, extents, lines, None if levels else key_cells(dimensions, leaves, lines))


def cells_by_leaves(lattice: Lattice) -> sp.csr_array:
    """Return the 0/1 matrix of the cells by the combinations of leaf codes that they are made of.

    >>> from cellguard.hierarchy.build import flat
    >>> region = Dimension("region", flat(["N", "S"]))
    >>> cells_by_leaves(build_lattice([region], [np.array([2, 1, 2], np.int32)])).toarray().astype(int).tolist()
    [[1, 1], [1, 0], [0, 1]]
    """
    stages = lattice.stages
    leads = sp.eye_array(lattice.combinations, format="csr")
    for stage, first in enumerate(stages.first):
        source, target = stages.sizes[stage : stage + 2]
        start = stages.start[first : first + source + 1]
        up = stages.up[start[0] : start[-1]]
        # A leaf leads to a cell in one way only, so that all entries are 1.
        leads = leads @ sp.csr_array((np.ones(len(up)), up, start - start[0]), shape=(source, target))
    return sp.csr_array(leads.T)


def ancestors(dimension: Dimension, levels: Sequence[int] | None = None) -> tuple[Positions, IntArray]:
    """Return for each code itself and all codes above it in any hierarchy, each once: starts, and positions.

    Of some ``levels`` only, if they are given.

    >>> from cellguard.hierarchy.build import from_parents
    >>> tree = from_parents([("T", ""), ("A", "T"), ("a1", "A"), ("b", "T")])
    >>> [part.tolist() for part in ancestors(Dimension("x", tree))]
    [[0, 1, 3, 6, 8], [0, 1, 0, 2, 1, 0, 3, 0]]
    """
    lines: list[list[int]] = []
    parents = [p.tolist() for p in dimension.parents]
    shown = np.ones(len(dimension.codes), bool) if levels is None else np.isin(dimension.level, levels)
    if not shown.any():
        raise InputError(f"dimension {dimension.name!r} has none of the levels {list(levels or ())}")
    for code in range(len(dimension.codes)):
        line = {code: None}
        for parent in parents:
            above = parent[code]
            while above >= 0:
                line[above] = None
                above = parent[above]
        lines.append([each for each in line if shown[each]])
    start = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.int64)
    return start, np.array([code for line in lines for code in line], np.int32)


def leaf_positions(dimension: Dimension, labels: Sequence[str], column: str) -> IntArray:
    """Return the position in a dimension of each record code: its own, or that of the leaf that a recoding gave it."""
    main = dimension.main
    leaves = set(main.leaves)
    positions = np.empty(len(labels), np.int32)
    for i, label in enumerate(labels):
        code = main.merged.get(label, label)
        code = main.cut_off.get(code, code)
        if code not in leaves:
            raise _no_leaf(dimension, labels, label, code, column)
        positions[i] = dimension.position[code]
    return positions


def _no_leaf(dimension: Dimension, labels: Sequence[str], label: str, code: str, column: str) -> InputError:
    """Return the error about a record code that is no leaf; it is shown only if the column evidently holds codes."""
    shown = evidence(labels, 0, dimension.told).tell(label, "")
    where = f"the records, column {column!r}: {shown or 'an entry'}"
    if code in dimension.position:
        return InputError(
            f"{where} is a subtotal of dimension {dimension.name!r}; records need its most detailed codes. Give them "
            "these, or add a code below it for records that have no other"
        )
    near = did_you_mean(label if shown else "", dimension.told)
    return UnknownCode(f"{where} is not in dimension {dimension.name!r}{near}")
