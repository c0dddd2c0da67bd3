"""Which sums are known but for cells that can hardly move."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.world.nearly_determined import nearly_determined

# total = a + b + c + d + y, and y + z is known: so y moves by little, and a + b + c + d by as much.
ROWS = sp.csr_array(np.array([[1.0, -1, -1, -1, -1, -1, 0, 0], [0, 0, 0, 0, 0, 1, 1, -1], [0, 1, 1, 0, 0, 0, 0, 0]]))
UNKNOWN = np.array([False, True, True, True, True, True, True, False])


@pytest.mark.parametrize(("level", "found"), [(10.0, {(1, 2), (3, 4), (1, 2, 3, 4)}), (6.0, set())])
def test_what_moves_no_further_than_a_protection_level_is_as_good_as_known(level, found):
    room = np.array([0.0, 50, 40, 50, 40, 3, 4, 0]), np.full(8, np.inf)  # y is 3 and z is 4: each moves by 7 in all
    assert set(nearly_determined(ROWS, UNKNOWN, room, level)) == found


def test_cells_that_are_not_narrow_tell_nothing():
    room = np.full(8, 1000.0), np.full(8, np.inf)
    assert nearly_determined(ROWS, UNKNOWN, room, 10.0) == []
