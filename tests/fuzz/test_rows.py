"""Rules about rows: jobs judged from what they release, and a judge that sees what is not hidden."""

import pytest

from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from fuzz.rows import draw_rows, judge_rows, told_rows

LARGE = pytest.param(100, 60, marks=pytest.mark.long), pytest.param(160, 90, marks=pytest.mark.endless)


@pytest.mark.parametrize(("first", "many"), [(0, 30), *LARGE])
def test_no_reader_can_be_sure_of_an_unsafe_row(first, many):
    ends = [judge_rows(seed) for seed in range(first, first + many)]
    assert not [end for end in ends if end.startswith("told")]
    assert ends.count("safe") > len(ends) / 4


def test_the_judge_is_sure_of_every_unsafe_row_where_nothing_is_hidden(tmp_path):
    seen = 0
    for seed in range(12):
        case = draw_rows(seed)
        (tmp_path / "people.csv").write_text(case.text)
        open_ = case.job | {"tables": [table | {"rules": []} for table in case.job["tables"]]}
        outcome = run(Job.parse(open_, folder=tmp_path), accept_no_rules=True)
        unsafe, told = told_rows(case, outcome.release)
        assert sum(" to " not in row for row in told) == unsafe
        seen += unsafe
    assert seen > 5
