"""Every cell above the records' own: from leaf codes to all codes, one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.hierarchy.hush import evidence
from cellguard.table.keys import combine

Positions = npt.NDArray[np.int64]
Line = tuple[Positions, IntArray]
_MOST_KEYS = 2**62


class Above(NamedTuple):
    """What lies above the leaf cells, code by code: a cell's key is the sum of ``radix[d] * code`` over its dimensions.

    The codes that a code of dimension d is part of are ``line[start[i]:start[i + 1]]`` with i = first[d] + code;
    ``leaves`` are the codes of each leaf cell, a row a cell.
    """

    leaves: IntArray
    first: Positions
    start: Positions
    line: IntArray
    radix: Positions


@dataclass(frozen=True, eq=False)
class Lattice:
    """The occupied cells of a table, stage by stage.

    The cells of stage 0 are combinations of leaf codes, ``leaf`` tells for each row of the records which. Stage d + 1
    has in addition the codes above those of dimension d, so the last stage has all cells, with ``codes``, and no
    cell is ever stored that has no record. A cell c of stage d is part of the cells
    ``up[start[i]:start[i + 1]]`` of the next one, with i = first[d] + c; there are ``sizes[d]`` of them. Those
    before ``middles[d]`` and the others are parts of different ones. ``above`` is None where keys would not fit into
    64 bits.
    """

    leaf: IntArray
    codes: tuple[IntArray, ...]
    sizes: Positions
    first: Positions
    start: Positions
    up: IntArray
    middles: tuple[int, ...]
    above: Above | None

    def __len__(self) -> int:
        return int(self.sizes[-1])

    def cells(self, keys: Positions, above: Above) -> Positions:
        """Return the cells of some keys, see `Above`; cells are in the order of their keys."""
        known = np.stack(self.codes, axis=1) @ above.radix
        room = int(known[-1]) + 1 if len(known) else 0
        if room > 8 * len(self) + 1_000_000:
            return np.searchsorted(known, keys)
        where = np.zeros(room, np.int64)
        where[known] = np.arange(len(self))
        return where[keys]


def build_lattice(
    dimensions: Sequence[Dimension], columns: Sequence[IntArray], levels: Mapping[str, Sequence[int]] | None = None
) -> Lattice:
    """Return the cells above records whose leaf codes are ``columns``, positions in the dimensions' codes.

    ``levels`` are the levels shown of some dimensions; cells of others are left out.
    """
    extents = [len(d.codes) for d in dimensions]
    leaf, seen = distinct(columns, extents)
    leaves = [column[seen] for column in columns]
    lines = [ancestors(dimension, (levels or {}).get(dimension.name)) for dimension in dimensions]
    above = _above(leaves, extents, lines)
    climb = _climb_codes if above is None else _climb_keys
    codes, sizes, middles, starts, ups = climb(leaves, extents, lines)
    # Stages follow one another: their starts are shifted by what the stages before them take up.
    offset = np.concatenate([[0], np.cumsum([len(u) for u in ups])])
    return Lattice(
        leaf,
        tuple(codes),
        np.array([len(seen), *sizes], np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in starts])])[:-1].astype(np.int64),
        np.concatenate([s + o for s, o in zip(starts, offset[:-1], strict=True)]).astype(np.int64),
        np.concatenate(ups),
        tuple(middles),
        above,
    )


_Climbed = tuple[list[IntArray], list[int], list[int], list[Positions], list[IntArray]]


def _climb_keys(leaves: Sequence[IntArray], extents: Sequence[int], lines: Sequence[Line]) -> _Climbed:
    """Return the codes of all cells, and of each stage the number of its cells, where to cut the one before, and edges.

    Cells are their keys here. Cut before a code of the dimensions before this one, two parts have no cell in common
    above them.
    """
    radix = _radix(extents)
    keys = combine(leaves, extents)
    sizes, middles, starts, ups = [], [], [], []
    for d, (begin, above) in enumerate(lines):
        code = keys // radix[d] % extents[d]
        widths = np.diff(begin)[code]
        start = np.concatenate([[0], np.cumsum(widths)])
        edge = np.arange(start[-1]) + np.repeat(begin[code] - start[:-1], widths)
        wide = np.repeat(keys - code * radix[d], widths) + radix[d] * above[edge]
        step = radix[d - 1] if d else 0
        middles.append(int(np.searchsorted(keys, keys[len(keys) // 2] // step * step)) if d and len(keys) else 0)
        up, seen = number_keys(wide, math.prod(extents))
        keys = wide[seen]
        sizes.append(len(keys))
        starts.append(start)
        ups.append(up)
    return [(keys // r % e).astype(np.int32) for r, e in zip(radix, extents, strict=True)], sizes, middles, starts, ups


def _climb_codes(leaves: Sequence[IntArray], extents: Sequence[int], lines: Sequence[Line]) -> _Climbed:
    """Return the same as `_climb_keys`, where keys do not fit into 64 bits."""
    codes = list(leaves)
    sizes, starts, ups = [], [], []
    for d, (begin, above) in enumerate(lines):
        widths = np.diff(begin)[codes[d]]
        start = np.concatenate([[0], np.cumsum(widths)])
        step = np.arange(start[-1]) - np.repeat(start[:-1], widths)
        wide = [np.repeat(c, widths) for c in codes]
        wide[d] = above[np.repeat(begin[codes[d]], widths) + step]
        up, seen = distinct(wide, extents)
        codes = [c[seen] for c in wide]
        sizes.append(len(seen))
        starts.append(start)
        ups.append(up)
    return codes, sizes, [0] * len(sizes), starts, ups


def _radix(extents: Sequence[int]) -> Positions:
    return np.array([math.prod(extents[d + 1 :]) for d in range(len(extents))], np.int64)


def _above(leaves: Sequence[IntArray], extents: Sequence[int], lines: Sequence[Line]) -> Above | None:
    if math.prod(extents) >= _MOST_KEYS:
        return None
    ends = np.cumsum([0, *(len(line) for _, line in lines)])
    return Above(
        np.ascontiguousarray(np.stack(leaves, axis=1)),
        np.cumsum([0, *(len(start) for start, _ in lines)])[:-1].astype(np.int64),
        np.concatenate([start + end for (start, _), end in zip(lines, ends[:-1], strict=True)]),
        np.concatenate([line for _, line in lines]),
        _radix(extents),
    )


def cells_by_leaves(lattice: Lattice) -> sp.csr_array:
    """Return the 0/1 matrix of the cells by the combinations of leaf codes that they are made of.

    >>> from cellguard.hierarchy.build import flat
    >>> region = Dimension("region", flat(["N", "S"]))
    >>> cells_by_leaves(build_lattice([region], [np.array([2, 1, 2], np.int32)])).toarray().astype(int).tolist()
    [[1, 1], [1, 0], [0, 1]]
    """
    leads = sp.eye_array(int(lattice.sizes[0]), format="csr")
    for stage, first in enumerate(lattice.first):
        source, target = lattice.sizes[stage : stage + 2]
        start = lattice.start[first : first + source + 1]
        up = lattice.up[start[0] : start[-1]]
        # A leaf leads to a cell in one way only, so that all entries are 1.
        leads = leads @ sp.csr_array((np.ones(len(up)), up, start - start[0]), shape=(source, target))
    return sp.csr_array(leads.T)


def distinct(columns: Sequence[IntArray], extents: Sequence[int]) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Number the different combinations in order; return the number of each row, and one row of each combination."""
    return number_keys(combine(columns, extents), math.prod(extents))


def number_keys(keys: Positions, room: int) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Number the different keys below ``room`` in order; return the number of each, and one place of each."""
    if room > 4 * len(keys) + 1_000_000:
        _, seen, number = np.unique(keys, return_index=True, return_inverse=True)
        return number.astype(np.int32), seen
    where = np.full(room, -1, np.int32)
    where[keys] = np.arange(len(keys), dtype=np.int32)
    taken = np.flatnonzero(where >= 0)
    seen = where[taken].astype(np.intp)
    where[taken] = np.arange(len(taken), dtype=np.int32)
    return where[keys], seen


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
