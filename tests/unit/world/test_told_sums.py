"""Which sums of unknown cells relations tell."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.world.determined_sums import determined_sums


def told(matrix, unknown):
    return list(determined_sums(sp.csr_array(np.array(matrix, float)), np.array(unknown, bool)).sums)


def test_parts_of_a_known_whole_beside_a_known_one():
    assert told([[1, -1, -1, -1]], [0, 1, 1, 0]) == [(1, 2)]


def test_all_parts_of_a_whole_are_the_whole():
    assert told([[1, -1, -1]], [0, 1, 1]) == []


def test_known_parts_are_taken_off_a_subtotal():
    # total = G + c + d, G = a + b; G and c are unknown, and so is a: whoever knows G + c knows a + c.
    matrix = [[1, -1, 0, 0, -1, -1], [0, 1, -1, -1, 0, 0]]
    assert (2, 4) in told(matrix, [0, 1, 1, 0, 1, 0])


def test_known_parts_are_taken_off_all_parts_of_a_whole():
    # total = G + H, both unknown; G = a + b, of which b is known: a + H is known, although G + H is the total.
    matrix = [[1, -1, -1, 0, 0], [0, 1, 0, -1, -1]]
    assert (2, 3) in told(matrix, [0, 1, 1, 1, 0])


def test_what_one_sum_has_beyond_another():
    matrix = [[1, -1, -1, -1, -1, -1, 0], [0, -1, -1, 0, 0, 0, 1]]  # total = a + b + c + d + e, group = a + b
    assert (3, 4) in told(matrix, [0, 1, 1, 1, 1, 0, 0])


def two_way(rng):
    """Relations of a table by two dimensions with totals, and which cells are unknown."""
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    cells = list(product(range(shape[0] + 1), range(shape[1] + 1)))
    at = {cell: i for i, cell in enumerate(cells)}
    rows = [{at[i, 0]: 1, **{at[i, j]: -1 for j in range(1, shape[1] + 1)}} for i in range(shape[0] + 1)]
    rows += [{at[0, j]: 1, **{at[i, j]: -1 for i in range(1, shape[0] + 1)}} for j in range(shape[1] + 1)]
    matrix = np.array([[row.get(c, 0) for c in range(len(cells))] for row in rows])
    return matrix, rng.random(len(cells)) < 0.5


@pytest.mark.parametrize("seed", range(30))
def test_listed_sums_are_known_and_small_ones_are_all_listed(seed):
    """By ranks: a sum is known if and only if it lies in the row space of the unknown cells."""
    matrix, unknown = two_way(np.random.default_rng(seed))
    hidden = matrix[:, unknown]
    rank = np.linalg.matrix_rank(hidden)
    place = {c: i for i, c in enumerate(np.flatnonzero(unknown).tolist())}

    def is_known(cells):
        row = np.zeros(len(place))
        row[[place[c] for c in cells]] = 1
        return bool(np.linalg.matrix_rank(np.vstack([hidden, row])) == rank)

    listed = told(matrix, unknown)
    assert all(is_known(one) for one in listed)
    loose = [c for c in place if not is_known([c])]
    smallest = list[tuple[int, ...]]()
    for size in (2, 3, 4):
        for some in combinations(loose, size):
            if is_known(some) and not any(set(part) < set(some) for part in smallest):
                smallest.append(some)
    whole = {tuple(np.flatnonzero(row < 0).tolist()) for row in matrix}
    assert {one for one in smallest if one not in whole} <= set(listed)
