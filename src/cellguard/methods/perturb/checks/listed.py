"""Lists to know of: cells with few contributors, and pairs of contributors that share several sparse cells."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.checks.unknowns import Unknowns
from cellguard.methods.perturb.checks.watch import Watch


def few_contributors(system: Unknowns, watch: Watch) -> list[Finding]:
    """Return for each table its cells with fewer contributors than ``few``; holdings count once."""
    sparse = np.flatnonzero(system.contributors <= watch.sparse)
    contributors = np.diff(_by_units(system, sparse).indptr)
    rows = sparse[contributors < watch.few]
    findings = []
    for number in np.unique(system.table[rows]).tolist():
        cells = tuple(system.name(int(r)) for r in rows[system.table[rows] == number])
        text = f"{len(cells)} cells have fewer than {watch.few} contributors"
        findings.append(Finding("few", text, cells, blocks=False))
    return findings


def together(system: Unknowns, watch: Watch) -> list[Finding]:
    """Return pairs of units that are together in several sparse cells, those in the smallest cells first."""
    most = watch.sparse
    while True:
        rows = np.flatnonzero(~system.follows & (system.contributors <= most))
        here = _by_units(system, rows)
        width = np.diff(here.indptr).astype(np.int64)
        if int((width**2).sum()) <= watch.work // 8 or most <= 2:
            break
        most //= 2
    weight = sp.csr_array((1.0 / np.repeat(width, width), here.indices, here.indptr), shape=here.shape)
    often, score = (sp.coo_array(sp.csr_array(sp.triu(m.T @ here, k=1, format="csr"))) for m in (here, weight))
    pairs = np.flatnonzero(often.data > 1)
    first, second, closeness = often.coords[0][pairs], often.coords[1][pairs], score.data[pairs]
    rank = np.lexsort((second, first, -closeness))[: watch.most]
    by_unit = sp.csc_array(here)
    findings = []
    for a, b in zip(first[rank].tolist(), second[rank].tolist(), strict=True):
        shared = np.intersect1d(by_unit[:, [a]].indices, by_unit[:, [b]].indices)
        cells: tuple[Cell, ...] = tuple(system.name(int(rows[r])) for r in shared)
        keys = (str(system.keys[a]), str(system.keys[b]))
        text = f"two contributors are together in {len(cells)} sparse cells"
        findings.append(Finding("together", text, cells, blocks=False, units=keys))
    return findings


def _by_units(system: Unknowns, rows: LongArray) -> sp.csr_array:
    """Return the 0/1 matrix of cells by the units in them."""
    members = sp.csr_array(abs(system.members[rows]).astype(np.int64) @ system.units.astype(np.int64))
    members.data[:] = 1
    return members
