"""Who is in which cell, and whose contributions are the largest, judged by looking at every record in turn."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.lattice import build_lattice
from cellguard.table.membership import largest, membership

INDUSTRY = Dimension("industry", from_levels([(a, a + b) for a in "AB" for b in "12"]))
REGION = Dimension("region", flat("NS"))


def random_records(seed, n=60):
    rng = np.random.default_rng(seed)
    codes = [rng.choice([d.position[c] for c in d.main.leaves], n).astype(np.int32) for d in (INDUSTRY, REGION)]
    return codes, rng.integers(0, 25, n), rng.integers(-20, 20, n) / 4.0, rng.random(n) < 0.8


def ancestors_of(dimension, code):
    line, parent = {int(code)}, int(dimension.parents[0][code])
    while parent >= 0:
        line.add(parent)
        parent = int(dimension.parents[0][parent])
    return line


@pytest.mark.parametrize("seed", range(8))
def test_members_sums_and_contributors_are_those_of_the_records(seed):
    codes, unit, value, present = random_records(seed)
    lattice = build_lattice((INDUSTRY, REGION), [column[present] for column in codes])
    members = membership(lattice, present)
    who = members.contributors(np.arange(len(lattice)), unit, value)
    top = largest(lattice, unit[present], value[present], 3)
    sums = members.sums(np.where(present, value, 0.0))
    for cell in range(len(lattice)):
        inside = [
            i
            for i in np.flatnonzero(present)
            if lattice.codes[0][cell] in ancestors_of(INDUSTRY, codes[0][i])
            and lattice.codes[1][cell] in ancestors_of(REGION, codes[1][i])
        ]
        assert members.matrix[[cell]].indices.tolist() == inside
        assert sums[cell] == value[inside].sum()
        amounts = {int(u): float(value[inside][unit[inside] == u].sum()) for u in unit[inside]}
        ranked = sorted(amounts.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
        assert list(zip(*(part.tolist() for part in who.of(cell)), strict=True)) == ranked
        assert top.count[cell] == len(ranked)
        assert (
            list(zip(top.unit[cell].tolist(), top.value[cell].tolist(), strict=True)) == [*ranked, *[(-1, 0.0)] * 3][:3]
        )
