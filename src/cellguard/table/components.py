"""Which relations and cells are linked."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import Positions


def components(matrix: sp.csr_array) -> tuple[Positions, Positions]:
    """Return the number of the component of each row, and of each column: those that share a term are in one.

    >>> components(sp.csr_array(np.array([[1, -1, 0, 0], [0, 0, 1, -1]])))
    (array([0, 1]), array([0, 0, 1, 1]))
    """
    height, width = matrix.shape
    terms = matrix.tocoo()
    place = (terms.row, terms.col + height)
    graph = sp.csr_array((np.ones(terms.nnz), place), shape=(height + width, height + width))
    label = connected_components(graph, directed=False)[1].astype(np.intp)
    return label[:height], label[height:]
