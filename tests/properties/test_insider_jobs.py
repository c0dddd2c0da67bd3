"""Whole jobs that are to be safe against insiders: attacked through their files, and their certificates verified."""

from dataclasses import replace

import pytest

from cellguard.verify.verify import verify

from fuzz.generator import draw_case
from fuzz.run import Kind, run_case

# 900004 and 900050 have levels that one table shows and another does not.
FIRST, SAMPLE, ALL, CHUNK = 900_000, 20, 200, 20


@pytest.mark.parametrize(
    "first",
    [
        *(
            pytest.param(s, marks=[] if s < FIRST + SAMPLE else pytest.mark.long)
            for s in range(FIRST, FIRST + ALL, CHUNK)
        ),
        pytest.param(900_050),
    ],
)
def test_what_is_called_safe_against_insiders_is_safe_and_verified(first, tmp_path):
    decided = 0
    for seed in range(first, first + (1 if first % CHUNK else CHUNK)):
        case = draw_case(seed)
        told = replace(case, job={**case.job, "attack": {**case.job.get("attack", {}), "insiders": True}})
        result = run_case(told, tmp_path)
        assert not result.failed, f"seed {seed}: {result}"
        if result.kind in {Kind.safe, Kind.nothing}:
            decided += 1
            checked = verify(tmp_path / "out" / "internal" / "certificate.json")
            assert checked.valid, f"seed {seed}: {[str(check) for check in checked.checks if not check.passed]}"
    assert decided
