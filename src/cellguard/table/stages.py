"""Cells stage by stage: from leaf codes to all codes, one dimension after the other, along every line at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.keys import distinct

Positions = npt.NDArray[np.int64]
Line = tuple[Positions, IntArray]


class Stages(NamedTuple):
    """How the cells of one stage are part of those of the next.

    The cells of stage 0 are combinations of leaf codes; stage d + 1 has in addition the codes above those of dimension
    d, so the last stage has all cells. A cell c of stage d is part of the cells ``up[start[i]:start[i + 1]]`` of the
    next one, with i = first[d] + c; there are ``sizes[d]`` of them.
    """

    sizes: Positions
    first: Positions
    start: Positions
    up: IntArray


def climb(leaves: Sequence[IntArray], extents: Sequence[int], lines: Sequence[Line]) -> tuple[list[IntArray], Stages]:
    """Return the codes of all cells above some combinations of leaf codes, and the stages that lead there."""
    codes = list(leaves)
    sizes, starts, ups = [len(leaves[0])], [], []
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
    # Stages follow one another: their starts are shifted by what the stages before them take up.
    offset = np.concatenate([[0], np.cumsum([len(u) for u in ups])])
    stages = Stages(
        np.array(sizes, np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in starts])])[:-1].astype(np.int64),
        np.concatenate([s + o for s, o in zip(starts, offset[:-1], strict=True)]).astype(np.int64),
        np.concatenate(ups),
    )
    return codes, stages
