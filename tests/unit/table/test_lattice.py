"""The cells above records, and the leaves that they are made of, judged by brute force."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.lattice import build_lattice, cells_by_leaves

from .tabulate_oracle import lines

REGION = from_levels([("N", "n1"), ("N", "n2"), ("S", "s1"), ("S", "s2")])
COAST = from_levels([("sea", "n1"), ("land", "n2"), ("sea", "s1"), ("land", "s2")])
BY = (Dimension("region", REGION, COAST), Dimension("industry", from_levels([("A", "A1"), ("A", "A2"), ("B", "")])))


def records(many=12, seed=4):
    """Return leaf codes of records, and the different combinations in the order of their positions."""
    rng = np.random.default_rng(seed)
    columns = [np.array([d.position[c] for c in rng.choice(d.main.leaves, many)], np.int32) for d in BY]
    return columns, sorted(set(zip(*(c.tolist() for c in columns), strict=True)))


@pytest.mark.parametrize(
    "levels", [None, {"region": [0, 2]}, {"industry": [1]}, {"region": [1], "industry": [0]}, {"industry": [0, 1, 2]}]
)
def test_cells_have_the_leaves_below_them(levels):
    columns, leaves = records()
    lattice = build_lattice(BY, columns, levels)
    below = cells_by_leaves(lattice).toarray()
    above = []
    for d in BY:
        shown = (levels or {}).get(d.name, range(9))
        pairs = [(d.position[leaf], d.position[code]) for leaf, code in lines(d)]
        above.append({(leaf, code) for leaf, code in pairs if d.level[code] in shown})
    cells = list(zip(*(c.tolist() for c in lattice.codes), strict=True))
    every = {tuple(c) for c in np.ndindex(*(len(d.codes) for d in BY))}
    inside = {
        cell: [all(map(set.__contains__, above, zip(leaf, cell, strict=True))) for leaf in leaves] for cell in every
    }
    assert cells == sorted(cell for cell, has in inside.items() if any(has))
    assert below.astype(bool).tolist() == [inside[cell] for cell in cells] and set(below.ravel()) <= {0, 1}
    assert [leaves[i] for i in lattice.leaf] == list(zip(*(c.tolist() for c in columns), strict=True))


def test_levels_must_exist():
    with pytest.raises(InputError, match=r"dimension 'region' has none of the levels \[7\]"):
        build_lattice(BY, records()[0], {"region": [7]})
