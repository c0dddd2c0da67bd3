"""Ready-made counts that form a cycle: jobs judged by all cells behind them, and a judge that sees what is told."""

import pytest

from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from fuzz.ready import draw_ready, tally, told_cells

LARGE = pytest.param(1000, 100, marks=pytest.mark.long), pytest.param(1100, 200, marks=pytest.mark.endless)


@pytest.mark.parametrize(("first", "many"), [(0, 30), *LARGE])
def test_no_reader_can_be_sure_of_a_small_count(first, many):
    ends = tally(range(first, first + many))
    assert set(ends) <= {"safe", "nothing", "named", "refused"}
    assert ends["safe"] > sum(ends.values()) * 0.8


def test_the_judge_is_sure_of_some_where_nothing_is_hidden(tmp_path):
    told = 0
    for seed in range(12):
        case = draw_ready(seed)
        case.write(tmp_path)
        tables = [table | {"rules": []} for table in case.job["tables"]]
        outcome = run(Job.parse(case.job | {"tables": tables}, folder=tmp_path), accept_no_rules=True)
        told += len(told_cells(case, outcome.release)[1])
    assert told > 5
