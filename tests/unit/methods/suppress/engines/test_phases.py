"""Ablation: whichever phase a policy leaves out, patterns stay safe and above their bound, and what is left runs."""

import itertools
from typing import get_args

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines import phases
from cellguard.methods.suppress.engines.effort import BEST
from cellguard.methods.suppress.engines.policy import Optional, Policy
from cellguard.methods.suppress.suppress import suppress
from engine_policies import with_policy


def needs_of(seed, shape):
    """Turnover in a table over flat dimensions, under p % with p = 10."""
    rng = np.random.default_rng(seed)
    contributions = np.maximum(rng.lognormal(5, 2, (*shape, 3)).round(), 1)
    rows = []
    for code in itertools.product(*(range(size + 1) for size in shape)):
        at = tuple(slice(None) if c == size else c for c, size in zip(code, shape, strict=True))
        inside = np.sort(contributions[at].ravel())[::-1]
        names = ["Total" if c == size else str(c) for c, size in zip(code, shape, strict=True)]
        rows.append([*names, inside.sum(), inside[0], inside[1]])
    by = list("abc")[: len(shape)]
    data = dict(zip([*by, "x", "x1", "x2"], map(list, zip(*rows, strict=True)), strict=True))
    return cg.require(cg.assess(cg.cells(data, by=by, value="x", top=["x1", "x2"]), [cg.PPercent(10)]))


def test_every_phase_that_may_be_left_out_is_in_the_list():
    named = {phase.name for phase in (*phases.FIRST, *phases.BETTER)}
    assert set(get_args(Optional)) - named == {"thinning"}  # a part of constructing a pattern
    assert named - set(get_args(Optional)) == {"circuits", "construct", "report"}


@pytest.mark.parametrize("shape", [(9, 8), (4, 4, 5)])
@pytest.mark.parametrize("phase", get_args(Optional))
def test_patterns_stay_safe_whatever_is_left_out(phase, shape):
    needs = needs_of(1, shape)
    chosen = suppress(needs, engine=with_policy(Policy().without(phase)))
    assert audit(needs, chosen.pattern).verdict == "safe"
    assert chosen.bound <= chosen.cost * (1 + 1e-9)


def test_a_phase_that_is_left_out_does_not_run(monkeypatch):
    ran = []
    watched = [
        phases.Phase(p.name, p.applies, lambda now, p=p: (ran.append(p.name), p.run(now))) for p in phases.BETTER
    ]
    monkeypatch.setattr(phases, "BETTER", watched)
    needs = needs_of(1, (4, 4, 5))
    suppress(needs, effort=BEST)
    assert {"programs", "masters"} <= set(ran)
    ran.clear()
    suppress(needs, effort=BEST, engine=with_policy(Policy().without("programs", "masters")))
    assert ran and not {"programs", "masters"} & set(ran)
