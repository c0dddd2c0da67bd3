"""Whole jobs that are to be safe against insiders: attacked through their files, also by respondents, and verified."""

import json
from dataclasses import replace

import pytest

from cellguard.verifier.verify import verify

from fuzz.generator import draw_case
from fuzz.inside import inside_disclosures, is_told
from fuzz.run import Kind, run_case
from fuzz.worlds import ALL

# 900004 and 900050 have levels that one table shows and another does not.
FIRST, SAMPLE, LONG, MANY, CHUNK = 900_000, 20, 40, 200, 20


def when(first):
    """Tell how often the jobs from a seed on are run: always, in the long run, or before a release."""
    return [] if first < FIRST + SAMPLE else pytest.mark.long if first < FIRST + LONG else pytest.mark.endless


@pytest.mark.parametrize(
    "first",
    [
        *(pytest.param(s, marks=when(s)) for s in range(FIRST, FIRST + MANY, CHUNK)),
        pytest.param(900_050),
    ],
)
def test_what_is_called_safe_against_insiders_is_safe_and_verified(first, tmp_path):
    decided = 0
    for seed in range(first, first + (1 if first % CHUNK else CHUNK)):
        case = with_insiders(seed, checked=True)
        result = run_case(case, tmp_path)
        assert not result.failed, f"seed {seed}: {result}"
        if result.kind in {Kind.safe, Kind.nothing}:
            decided += 1
            checked = verify(tmp_path / "out" / "internal" / "certificate.json")
            assert checked.valid, f"seed {seed}: {[str(check) for check in checked.checks if not check.passed]}"
            assert not (is_told(case) and respondents_find(case, tmp_path / "out")), f"seed {seed}"
    assert decided


@pytest.mark.parametrize("seed", [910_043, 910_046, 910_099])
def test_respondents_get_through_where_they_are_not_looked_at(seed, tmp_path):
    """So the oracle bites."""
    case = with_insiders(seed, checked=False)
    assert run_case(case, tmp_path).kind is Kind.safe
    assert respondents_find(case, tmp_path / "out")
    case = with_insiders(seed, checked=True)
    assert run_case(case, tmp_path).kind is Kind.safe
    assert not respondents_find(case, tmp_path / "out")


# A third of these jobs are from records alone and can be protected.
PAIRS = [pytest.param(first, marks=pytest.mark.endless) for first in range(920_010, 920_300, 10)]


@pytest.mark.parametrize("first", [920_000, *PAIRS])
def test_what_is_called_safe_against_two_together_is_safe_and_verified(first, tmp_path):
    for seed in range(first, first + 10):
        case = with_insiders(seed, checked=True, coalition=2)
        result = run_case(case, tmp_path)
        assert not result.failed, f"seed {seed}: {result}"
        if result.kind in {Kind.safe, Kind.nothing}:
            checked = verify(tmp_path / "out" / "internal" / "certificate.json")
            assert checked.valid, f"seed {seed}: {[str(check) for check in checked.checks if not check.passed]}"
            assert not (is_told(case) and respondents_find(case, tmp_path / "out", size=2)), f"seed {seed}"


def with_insiders(seed, *, checked, coalition=1):
    case = draw_case(seed)
    attack = {**case.job.get("attack", {}), "insiders": checked, "coalition": coalition}
    return replace(case, job={**case.job, "attack": attack})


def respondents_find(case, folder, size=1):
    """What respondents, so many together, can work out from an output folder's release, with what it claims."""
    open_ = json.loads((folder / "internal" / "summary.json").read_text())["not_checked"]
    know = replace(ALL, together="counts_and_values" not in open_)
    return inside_disclosures(case, folder / "release", know, size=size)
