"""A lower bound that costs next to nothing, for sets that are too large for a master problem.

A relation whose only suppressed cell is an unsafe one gives it away: every safe pattern suppresses another of its
cells. Give each such relation r a price y_r, such that no cell is in relations whose prices add up to more than it
costs. Then the prices together are no more than any safe pattern costs (weak duality). Relations with few cells are
priced first, each as high as the cells' costs still allow.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.methods.suppress.engines.system import System


def packed_bound(system: System) -> float:
    """Return the sum of the prices."""
    terms = sp.csr_array(abs(system.matrix) > 0).astype(float)
    target = system.needy
    alone = (terms @ system.hidden.astype(float) == 1) & (terms @ (target & system.hidden).astype(float) == 1)
    partners = sp.csr_array(terms[np.flatnonzero(alone)] @ sp.diags_array((~system.hidden & ~system.never) * 1.0))
    partners.eliminate_zeros()
    left, bound = system.cost.copy(), 0.0
    for row in np.argsort(np.diff(partners.indptr), kind="stable").tolist():
        cells = partners.indices[partners.indptr[row] : partners.indptr[row + 1]]
        if len(cells):
            price = float(left[cells].min())
            left[cells] -= price
            bound += price
    return bound
