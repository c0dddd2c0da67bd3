"""Which sensitive cells are to move up and which down, so that the noise roughly cancels in the margins.

All patterns are turned round as a whole with probability one half, so that no direction is known in advance.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.sensitivity import Needs
from cellguard.methods.perturb.fit.directions_kernel import against_sums
from cellguard.randomness import stream

Pattern = Literal["random", "checkerboard", "blocks", "balanced"]
_PASSES = 100


def directions(needs: Needs, pattern: Pattern, seed: int, *purpose: str | int) -> FloatArray:
    """Return +1 or -1 for every cell.

    ``random``: each by itself. ``checkerboard``: + - + - over - + - +. ``blocks``: + + - - over - - + + over - - + +
    over + + - -. ``balanced``: sensitive cells from the largest need down, each against the sum of those before it in
    its rows and columns, then single turns as long as the squared sums become smaller.
    """
    if pattern not in get_args(Pattern):
        raise InputError(f"no pattern {pattern!r}{did_you_mean(pattern, get_args(Pattern))}")
    source = stream(seed, "directions", needs.table.name, *purpose)
    if pattern == "random":
        return source.signs(len(needs.table))
    turn = source.signs(1)
    if pattern == "balanced":
        return _balanced(needs) * turn
    table = needs.table.table
    ranks = [_ranks(d)[column] for d, column in zip(table.dimensions, table.codes, strict=True)]
    if pattern == "blocks":
        ranks = [(rank + 1) // 2 for rank in ranks[:-1]] + [ranks[-1] // 2]
    return np.where(np.sum(ranks, axis=0) % 2, -1.0, 1.0) * turn


def _ranks(dimension: Dimension) -> npt.NDArray[np.int64]:
    """Return the place of each code among those of its level."""
    rank = np.zeros(len(dimension.codes), np.int64)
    for level in range(int(dimension.level.max()) + 1):
        there = dimension.level == level
        rank[there] = np.arange(there.sum())
    return rank


def _parts(needs: Needs) -> sp.csr_array:
    """Return the 0/1 matrix of cells by the relations of which they are parts."""
    return sp.csr_array((needs.table.table.relations < 0).T.astype(float))


def _balanced(needs: Needs) -> FloatArray:
    parts = _parts(needs)
    amount = np.where(needs.sensitive, needs.need, 0.0)
    order = np.argsort(-amount, kind="stable")[: int(needs.sensitive.sum())]
    return against_sums(parts.indptr, parts.indices, amount, order, parts.shape[1], _PASSES)
