"""Whole jobs in two releases, the second of which knows the first, attacked through the files of both."""

import pytest

from fuzz.releases import run_pair
from fuzz.run import Kind

FIRST, SAMPLE, LONG, ALL, CHUNK = 50_000, 20, 40, 2_000, 20


def when(first, sample):
    """Tell how often the jobs from a seed on are run: always, in the long run, or before a release."""
    return [] if first < FIRST + sample else pytest.mark.long if first < FIRST + LONG else pytest.mark.endless


@pytest.mark.parametrize("first", [pytest.param(s, marks=when(s, CHUNK)) for s in range(FIRST, FIRST + ALL, CHUNK)])
def test_respondents_have_the_earlier_release_too(first, tmp_path):
    found = [run_pair(seed, tmp_path, insiders=True) for seed in range(first, first + CHUNK // 4)]
    failed = [result for result in found if result.failed]
    assert not failed, "\n".join(map(str, failed))


@pytest.mark.parametrize("first", [pytest.param(s, marks=when(s, SAMPLE)) for s in range(FIRST, FIRST + ALL, CHUNK)])
def test_what_is_called_safe_is_safe_beside_the_earlier_release(first, tmp_path):
    found = [run_pair(seed, tmp_path) for seed in range(first, first + CHUNK)]
    failed = [result for result in found if result.failed]
    assert not failed, "\n".join(map(str, failed))
    decided = [result for result in found if result.kind is Kind.safe]
    assert len(decided) >= CHUNK // 3, "too few jobs were released with something hidden in them"
