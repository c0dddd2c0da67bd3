"""The factor of published cells, extended row by row, and the rows themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.linalg import layers
from cellguard.linalg.layers import Rows
from cellguard.linalg.triangle import Triangle


@pytest.mark.parametrize("steps", [(3, 1, 4, 0, 7, 2), (300, 5, 260, 1, 1, 200, 100)])
def test_a_triangle_that_grows_solves_like_a_whole_one(steps):
    random = np.random.default_rng(0)
    triangle, whole = Triangle(), np.zeros((0, 0))
    for more in steps:
        old = random.normal(size=(len(whole), more)) / (len(whole) + 1)
        own = np.tril(random.normal(size=(more, more)), -1) / (more + 1) + np.diag(random.uniform(1, 2, more))
        whole = np.block([[whole, np.zeros((len(whole), more))], [old.T, own]])
        triangle.add(old, own)
        assert triangle.rank == len(whole)
        right = random.normal(size=(len(whole), 3))
        kept = right.copy()
        assert np.allclose(whole @ triangle.solve(right), right)
        assert np.allclose(whole.T @ triangle.solve(right, transposed=True), right)
        assert np.array_equal(right, kept)


@pytest.mark.parametrize("dense", [0, 10**6])
def test_rows_in_layers_are_a_matrix(dense, monkeypatch):
    monkeypatch.setattr(layers, "_DENSE", dense)
    random = np.random.default_rng(1)
    rows, plain = Rows(30), np.zeros((0, 30))
    for _ in range(4):
        leaf = random.integers(-1, 6, 30).astype(np.int32)
        chosen = random.integers(0, 2, (5, 6))
        inside = np.where(leaf < 0, 0, chosen[:, leaf])
        rows, plain = rows.joined(leaf, sp.csr_array(chosen)), np.vstack([plain, inside])
        assert rows.count == len(plain)
    columns, values = random.normal(size=(30, 3)) * (random.random((30, 3)) < 0.2), random.normal(size=(20, 2))
    assert np.allclose(rows.seen(sp.csc_array(columns)), plain @ columns)
    assert np.allclose(rows.spread(values), plain.T @ values)
    some = np.array([4, 4, 0, 29])
    assert np.array_equal(rows.columns(some).todense(), plain[:, some])
    leaf, weight = random.integers(-1, 4, 30).astype(np.int32), random.random(30)
    parts = np.stack([np.where(leaf == part, weight, 0) for part in range(4)], axis=1)
    assert np.allclose(rows.common(weight, leaf, 4), plain @ parts)
    assert Rows(30).joined(leaf, sp.csr_array((0, 4))).count == 0
