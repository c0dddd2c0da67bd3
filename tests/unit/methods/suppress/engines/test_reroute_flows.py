"""Joint flows within a pattern: what none of them moves is published, and the rest is safe."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines.bounds import Bounds
from cellguard.methods.suppress.engines.effort import NORMAL
from cellguard.methods.suppress.engines.phases import FIRST, Progress, follow
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import build_system
from cellguard.run_context import UNWATCHED


def needs_of(seed, shape=(4, 4, 5)):
    """A table over three flat dimensions with small counts, so that many cells are unsafe."""
    rng = np.random.default_rng(seed)
    value, count = rng.integers(1, 200, shape), rng.integers(1, 20, shape)
    for axis in range(3):
        value, count = (np.concatenate([x, x.sum(axis=axis, keepdims=True)], axis=axis) for x in (value, count))
    codes = np.indices(value.shape).reshape(3, -1)
    data = {
        name: ["Total" if i == n else f"{name}{i}" for i in at]
        for name, n, at in zip("abc", shape, codes.tolist(), strict=True)
    }
    data |= {"x": value.ravel().tolist(), "n": count.ravel().tolist()}
    return cg.require(cg.assess(cg.cells(data, by=list("abc"), value="x", count="n"), [cg.MinFrequency(3)]))


@pytest.mark.parametrize("seed", range(3))
def test_a_pattern_of_all_cells_loses_most_of_them_and_stays_safe(seed):
    needs = needs_of(seed)
    system = build_system(needs, np.maximum(needs.tables.value, 1.0))
    search = Search(system, NORMAL, UNWATCHED)
    search.keep(~system.never)
    before = search.cost(search.pattern())
    search.reroute_flows()
    assert search.cost(search.pattern()) < 0.5 * before
    assert audit(needs, system.pattern(search.pattern())).verdict == "safe"


def test_what_flows_hid_in_vain_is_published_again(monkeypatch):
    """A repair that flows end at once, and of which every cell is then thought to be needed, hides more."""
    needs = needs_of(1)
    cost = np.maximum(needs.tables.value, 1.0)
    system = build_system(needs, cost)
    monkeypatch.setattr(Search, "_construct", lambda self, start: np.arange(len(self.propagation.goals.cell)))
    monkeypatch.setattr(Search, "flow", lambda self, hidden, open_: ~self.system.never)
    first = Search(system, NORMAL, UNWATCHED)
    follow(FIRST, Progress(first, Bounds(first)))
    assert first.cost(first.pattern()) < first.cost(~system.never)
    assert audit(needs, system.pattern(first.pattern())).verdict == "safe"
