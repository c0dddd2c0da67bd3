"""`engine: optimal`: proven optima of small sets, an honest word where the proof did not end, large sets refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import InputError
from cellguard.methods.suppress.engines import bounds
from cellguard.methods.suppress.engines.optimal import optimal
from cellguard.methods.suppress.engines.policy import Policy
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.methods.suppress.suppress import Suppression, suppress
from cellguard.run_context import Run
from engine_policies import with_policy


def cube(shape, seed):
    """A table over flat dimensions with small counts, so that many cells are unsafe."""
    rng = np.random.default_rng(seed)
    value, count = rng.integers(1, 200, shape), rng.integers(1, 9, shape)
    for axis in range(len(shape)):
        value, count = (np.concatenate([x, x.sum(axis=axis, keepdims=True)], axis=axis) for x in (value, count))
    names = "abcd"[: len(shape)]
    codes = np.indices(value.shape).reshape(len(shape), -1)
    data = {
        name: ["Total" if i == n else f"{name}{i}" for i in at]
        for name, n, at in zip(names, shape, codes.tolist(), strict=True)
    }
    data |= {"x": value.ravel().tolist(), "n": count.ravel().tolist()}
    return cg.cells(data, by=list(names), value="x", count="n")


@pytest.mark.parametrize("seed", range(3))
def test_three_dimensions_are_driven_to_the_optimum(seed):
    needs = cg.require(cg.assess(cube((3, 3, 3), seed), [cg.MinFrequency(3)]))
    suppressed = suppress(needs, np.ones(len(needs.tables)), engine="optimal")
    assert suppressed.engine == "optimal" and suppressed.gap == 0 and suppressed.finished
    assert suppressed.bound == pytest.approx(suppressed.cost)
    assert audit(needs, suppressed.pattern).verdict == "safe"
    assert suppress(needs, np.ones(len(needs.tables)), effort="quick").cost >= suppressed.cost


def test_an_attacker_without_bounds_is_left_to_elimination_first():
    needs = cg.require(cg.assess(cube((3, 3, 2, 2), 1), [cg.MinFrequency(3)]), cg.Knowledge(-np.inf))
    ones, words = np.ones(len(needs.tables)), []
    suppressed = suppress(
        needs, ones, engine="optimal", run=Run.within(20, listen=lambda event: words.append(event.text))
    )
    assert suppressed.cost <= suppress(needs, ones).cost
    assert suppressed.bound <= suppressed.cost and words[0] == "eliminating"
    assert audit(needs, suppressed.pattern).verdict == "safe"


def test_large_sets_are_refused_with_the_way_out():
    needs = cg.require(cg.assess(cube((3, 3, 3), 1), [cg.MinFrequency(3)]))
    with pytest.raises(InputError, match="up to 10 cells that may be suppressed, and this one has"):
        suppress(needs, engine=with_policy(Policy(whole_free=10), optimal))


def test_an_optimum_that_is_not_proven_has_a_gap(monkeypatch):
    needs = cg.require(cg.assess(cube((3, 3, 3), 1), [cg.MinFrequency(3)]))
    monkeypatch.setattr(bounds.Bounds, "solve_masters", lambda self, *_: None)
    suppressed = suppress(needs, np.ones(len(needs.tables)), engine="optimal")
    assert suppressed.gap > 0
    assert audit(needs, suppressed.pattern).verdict == "safe"


@pytest.mark.parametrize(("gap", "warned"), [(0.0, False), (0.2, True)])
def test_the_summary_warns_of_an_optimum_that_is_not_proven(gap, warned):
    chosen = Suppression(None, 10.0, 10.0 * (1 - gap), np.ones(1), engine="optimal")
    warnings = SuppressionResult._not_optimal(SimpleNamespace(suppression=chosen))
    assert bool(warnings) is warned
