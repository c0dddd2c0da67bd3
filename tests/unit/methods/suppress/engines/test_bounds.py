"""Whole masters: what ends them, and what they promise of small sets."""

from __future__ import annotations

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.engines.bounds import Bounds
from cellguard.methods.suppress.engines.effort import NORMAL
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import build_system
from cellguard.run_context import UNWATCHED


def search_of(seed, rows, columns, unsafe):
    """A search of a small table where all cells cost the same, so that many patterns are nearly as cheap."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(1, 12, (rows, columns))
    whole = np.block([[inner.sum(), inner.sum(axis=0)], [inner.sum(axis=1)[:, None], inner]])
    codes = [(r, s) for r in ("Total", *range(rows)) for s in ("Total", *range(columns))]
    columns = {"r": [str(r) for r, _ in codes], "s": [str(s) for _, s in codes], "n": whole.ravel().tolist()}
    table = cg.cells(columns | {"x": columns["n"]}, by=["r", "s"], value="x", count="n")
    needs = cg.require(cg.assess(table, cg.MinFrequency(unsafe)))
    search = Search(build_system(needs, np.ones(len(needs.tables)), None), NORMAL, UNWATCHED)
    search.begin(None)
    return search


@pytest.mark.parametrize("size", [(2, 8, 7, 3), (1, 12, 10, 2)])
def test_idle_rounds_end_no_small_set_before_the_gap_of_the_effort(size):
    search = search_of(*size)
    Bounds(search).solve_masters(0, True)
    assert search.gap <= NORMAL.gap


def test_idle_rounds_end_larger_sets():
    search = search_of(2, 8, 7, 3)
    Bounds(search).solve_masters(0, False)
    assert search.gap > NORMAL.gap
