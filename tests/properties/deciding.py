"""Properties that must not be blind: enough examples have to reach the comparison that they are there for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

SAMPLE_AND_MORE = pytest.mark.parametrize(
    "examples", [60, pytest.param(250, marks=pytest.mark.long), pytest.param(600, marks=pytest.mark.endless)]
)


def check_mostly(strategy, check, *, examples, share=0.3):
    """Check examples of a strategy; ``check`` says of each whether it decided, and more than a share of them must."""
    decided = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategy)
    def every(example):
        decided[bool(check(example))] += 1

    every()
    assert decided[True] > share * decided.total(), decided
