"""What a release tells without listing it: sums of suppressed cells, latent cells, exact counts beside signed values.

Each folder of tests/cases is a job that an earlier version called safe, and that told something of one respondent. The
oracle of tests/fuzz attacks nothing but the released files, and must find nothing that the rules call unsafe.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run, verify_inputs
from cellguard.verifier.verify import verify

from fuzz.beyond import find_all
from fuzz.cases import read_case
from fuzz.public import spelled_out

CASES = sorted(path for path in (Path(__file__).parents[1] / "cases").iterdir() if path.is_dir())


@pytest.fixture(params=CASES, ids=lambda path: path.name)
def case(request):
    return request.param


def test_nothing_unsafe_is_told(case, tmp_path):
    job = Job.load(case / "job.yaml")
    outcome = run(job)
    assert outcome.verdict.kind == "safe"
    folder = OutputFolder(tmp_path / "out")
    folder.write(outcome)
    assert [str(found) for found in find_all(spelled_out(by_rules_alone(case)), folder.outside)] == []
    checks = verify(folder.inside / "certificate.json").checks
    assert [check.detail for check in checks if not check.passed] == []
    assert [check.detail for check in verify_inputs(folder.inside, job) if not check.passed] == []
    assert audit_folder(folder.path).verdict.kind == "safe"


def by_rules_alone(folder):
    """The case of a folder, without what its job says of single cells: which of them are suppressed anyway."""
    case = read_case(folder)
    tables = [{key: said for key, said in table.items() if key != "apriori"} for table in case.job["tables"]]
    return replace(case, job={**case.job, "tables": tables})


# What was released of this case when only sums of unsafe cells were judged: r1/c1 + r1/c2 = 17,110, of which one
# holding has 16,000, is 17,101 or more.
PROTECTED_BY_ITSELF = """\
row,col,value,flag
Total,Total,252943,
Total,c1,81600,
Total,c2,73110,
Total,c3,74222,
Total,c4,24011,
r1,Total,61120,
r1,c1,,c
r1,c2,,c
r1,c3,,c
r1,c4,24000,
r2,Total,24009,
r2,c1,,c
r2,c2,,c
r2,c3,,c
r3,Total,162207,
r3,c1,54000,
r3,c2,54000,
r3,c3,,c
r3,c4,,c
r4,Total,5607,
r4,c1,5600,
r4,c3,,c
r4,c4,,c
"""


def test_the_oracle_sees_that_a_holding_is_protected_by_its_own_cell_only(tmp_path):
    (tmp_path / "t.csv").write_text(PROTECTED_BY_ITSELF)
    case = by_rules_alone(next(path for path in CASES if path.name == "sums-holding-protects-itself"))
    (found,) = find_all(spelled_out(case), tmp_path)
    assert (found.goal.kind, found.goal.value, found.how) == ("sum", 17_110, "from below")


def test_the_oracle_sees_what_was_told(tmp_path):
    """The same oracle, on a release in which only the cell of one holding and one more are suppressed."""
    rows = ["id,holding,region,x", "1,g,A,900", "2,g,B,9000"]
    rows += [f"{i},o{i},{'CD'[i % 2]},5000" for i in range(3, 23)]
    (tmp_path / "records.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "job.yaml").write_text(
        "version: 1\nmicrodata: {source: records.csv, respondent: id, holding: holding}\n"
        "tables: [{name: t, by: [region], value: x, rules: [{min_frequency: 3}]}]\n"
    )
    (tmp_path / "t.csv").write_text("region,value,flag\nTotal,109900,\nA,,c\nB,,c\nC,50000,\nD,50000,\n")
    found = find_all(spelled_out(read_case(tmp_path)), tmp_path)
    assert {(f.goal.kind, f.how) for f in found} == {("sum", "exactly")}
