"""The factor of published cells, extended row by row."""

import numpy as np

from cellguard.linalg.growing import Growing


def test_a_factor_grows_where_it_is():
    random = np.random.default_rng(0)
    growing, whole = Growing(np.ones(5), np.zeros((5, 8))), np.zeros((0, 0))
    for more in (3, 1, 4, 0, 7, 2):
        old, own = random.normal(size=(len(whole), more)), np.tril(random.normal(size=(more, more)))
        whole = np.block([[whole, np.zeros((len(whole), more))], [old.T, own]])
        growing.add(old, own, growing.worlds)
        assert np.array_equal(growing.lower, whole) and growing.rank == len(whole)
