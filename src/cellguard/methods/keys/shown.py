"""What published cells tell of each other where others are not published: relations without those.

Let u be a cell that is not published. If a relation says what u is the sum of, this sum takes its place wherever u is a
part, and the relation goes. What then is left with a part that is not published says only that a whole is at least its
other parts; such relations are left out and counted, for whoever uses them knows more. A whole of which no part is
published says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray
from cellguard.table.relations import Relations, distinct_rows

_DEEPEST = 60  # levels of sums of sums


class Shown(NamedTuple):
    """Relations over published cells only, and how many were left out that still tell something."""

    relations: Relations
    left_out: int


def shown_relations(relations: Relations, shown: BoolArray) -> Shown:
    """Return the relations of published cells, which have 1 for a whole and -1 for its parts.

    Of 9 = 4 + 5 and 4 = 1 + 3, without the 4, there is left 9 = 1 + 3 + 5:

    >>> rows = sp.csr_array(np.array([[1, -1, -1, 0, 0], [0, 1, 0, -1, -1]], float))
    >>> shown_relations(rows, np.array([True, False, True, True, True])).relations.toarray().astype(int).tolist()
    [[1, 0, -1, -1, -1]]
    """
    if shown.all() or not relations.shape[0]:
        return Shown(relations, 0)
    owner = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    whole = np.full(relations.shape[0], -1)
    whole[owner[relations.data > 0]] = relations.indices[relations.data > 0]
    unseen = (whole >= 0) & ~shown[whole]
    rows = np.flatnonzero(unseen)
    cells, first = np.unique(whole[rows], return_index=True)
    definition = rows[first]
    n = relations.shape[1]
    defines = sp.csr_array((np.ones(len(cells)), (cells, definition)), shape=(n, relations.shape[0])) @ relations
    kept = relations[np.setdiff1d(np.arange(relations.shape[0]), definition)]
    defined = np.zeros(n)
    defined[cells] = 1.0
    for _ in range(_DEEPEST):
        parts = kept.copy()
        parts.data = np.where(kept.data < 0, -kept.data, 0.0)
        parts = sp.csr_array(parts @ sp.diags_array(defined))
        parts.eliminate_zeros()
        if not parts.nnz:
            break
        kept = sp.csr_array(kept + parts @ defines)
        kept.eliminate_zeros()
    return _usable(kept, shown)


def _usable(kept: sp.csr_array, shown: BoolArray) -> Shown:
    """Return the relations with published cells only; the others that still have a published part are counted."""
    visible = np.asarray(abs(kept) @ shown.astype(float)).ravel()
    size = np.asarray(abs(kept).sum(axis=1)).ravel()
    plain = np.asarray(abs(kept).max(axis=1).toarray()).ravel() <= 1
    wholes = np.bincount(np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr)), kept.data > 0, kept.shape[0])
    whole_seen = np.asarray((kept > 0) @ shown.astype(float)).ravel() > 0
    clean = (visible == size) & plain & (wholes <= 1)
    lost = ~clean & (visible - whole_seen > 0)
    return Shown(distinct_rows(sp.csr_array(kept[np.flatnonzero(clean & (size > 0))])), int(lost.sum()))
