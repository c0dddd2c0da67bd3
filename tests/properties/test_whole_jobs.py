"""Whole random jobs, attacked through nothing but the files in release/: what is called safe must be safe.

`make fuzz` runs any number of them; ``python -m fuzz --seed N --jobs 1`` (with tests on the path) one seed again.
"""

import pytest

from fuzz.generator import draw_any
from fuzz.run import Kind, run_seed

SAMPLE, LONG, ALL, CHUNK = 20, 60, 480, 20
FIRST = 1_000_000  # other seeds than those that `make fuzz` starts with
STARTS = range(FIRST, FIRST + ALL, CHUNK)


def when(first):
    """Tell how often the jobs from a seed on are run: always, in the long run, or before a release."""
    return [] if first < FIRST + SAMPLE else pytest.mark.long if first < FIRST + LONG else pytest.mark.endless


@pytest.mark.parametrize("first", [pytest.param(s, marks=when(s)) for s in STARTS])
def test_what_is_called_safe_is_safe(first, tmp_path):
    found = [run_seed(seed, tmp_path, plans=draw_any) for seed in range(first, first + CHUNK)]
    failed = [str(result) for result in found if result.failed]
    assert not failed, "\n" + "\n\n".join(failed)
    decided = [result for result in found if result.kind is Kind.safe]
    assert len(decided) >= CHUNK // 3, "too few jobs were released with something hidden in them"
