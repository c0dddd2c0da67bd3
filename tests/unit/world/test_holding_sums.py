"""Which sums of one holding's cells are looked at."""

import numpy as np
import scipy.sparse as sp

from cellguard.table.sums import Stakes
from cellguard.world.holding_sums import holding_sums


def stakes(*entries, largest=True):
    """Entries are (cell, holding, row, alone); who is alone in a cell is the largest there."""
    cell, holding, row, alone = zip(*entries, strict=True)
    alone = np.array(alone, bool)
    return Stakes(np.array(cell), np.array(holding), np.array(row), alone, alone | largest)


def test_cells_of_one_holding_below_a_whole_that_is_not_its_own():
    # total = P + Q, P = a + b, Q = c + d; the holding is alone in a and c, and the relations of P and Q hold others.
    matrix = sp.csr_array(np.array([[1.0, -1, -1, 0, 0, 0, 0], [0, 1, 0, -1, -1, 0, 0], [0, 0, 1, 0, 0, -1, -1]]))
    found = holding_sums(matrix, stakes((3, 9, 0, True), (5, 9, 1, True)), np.arange(7.0))
    assert found == [(3, 5)]


def test_cells_that_share_a_record_of_the_holding_are_not_added_up():
    matrix = sp.csr_array(np.array([[1.0, -1, -1, 0, 0], [0, 1, 0, -1, -1]]))
    # the cell 3 is a part of the cell 1, and both hold the same record
    assert holding_sums(matrix, stakes((1, 9, 0, True), (3, 9, 0, True)), np.arange(5.0)) == []


def test_every_few_of_a_few_cells():
    matrix = sp.csr_array(np.array([[1.0, -1, -1, -1]]))
    found = holding_sums(matrix, stakes(*[(c, 4, c, True) for c in (1, 2, 3)]), np.arange(4.0))
    assert set(found) == {(1, 2), (1, 3), (2, 3), (1, 2, 3)}


def test_other_holdings_are_apart():
    matrix = sp.csr_array(np.array([[1.0, -1, -1]]))
    assert holding_sums(matrix, stakes((1, 4, 0, True), (2, 5, 1, True)), np.arange(3.0)) == []


def test_cells_in_which_a_holding_is_the_largest_are_apart_from_those_in_which_it_is_the_second_of_two():
    matrix = sp.csr_array(np.array([[1.0, -1, -1, -1, -1, -1, -1]]))
    most = np.array([True] * 5 + [False])
    found = holding_sums(matrix, stakes(*[(c, 4, c, False) for c in range(1, 7)], largest=most), np.arange(7.0))
    assert found == [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5)]
