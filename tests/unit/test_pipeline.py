"""From a job file to findings and needs."""

import json
from importlib.metadata import version

import numpy as np
import pytest

from cellguard.errors import Disagreement, HierarchyError, InputError, JobError, NotAdditive
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job
from cellguard.run_context import Run

# Two sections with two divisions each, by three regions of two coasts. A2/n2 has one firm, B1/s1 two.
NACE = "section,division\nA,A1\nA,A2\nB,B1\nB,B2\n"
REGION = "code,parent\nAll,\nNorth,All\nSouth,All\nn1,North\nn2,North\ns1,South\n"
COAST = "code,parent\nAll,\nsea,All\ninland,All\nn1,sea\ns1,sea\nn2,inland\n"
LEAVES = {
    ("A1", "n1"): (40, 5),
    ("A1", "n2"): (30, 6),
    ("A1", "s1"): (20, 7),
    ("A2", "n1"): (25, 8),
    ("A2", "n2"): (10, 1),
    ("B1", "n1"): (15, 4),
    ("B1", "s1"): (12, 2),
    ("B2", "n1"): (22, 5),
    ("B2", "n2"): (33, 9),
    ("B2", "s1"): (44, 3),
}
ABOVE = {"A1": "A", "A2": "A", "B1": "B", "B2": "B", "n1": "North", "n2": "North", "s1": "South"}
SEA = {"n1": "sea", "s1": "sea", "n2": "inland"}
JOB = """\
version: 1
dimensions:
  industry: {column: nace, levels: nace.csv}
  region: {parents: region.csv}
tables:
  - name: turnover
    by: [industry, region]
    value: turnover
    cells: {source: cells.csv, count: firms}
    rules: [{min_frequency: 3}]
"""


def cube(coast=False, columns=("turnover", "firms")):
    """The cells of all levels as CSV text, in the columns nace, region, turnover, firms."""
    found = {}
    for (nace, region), figures in LEAVES.items():
        for a in (nace, ABOVE[nace], "Total"):
            for r in (region, ABOVE[region], "All", *([SEA[region]] if coast else [])):
                old = found.get((a, r), (0, 0))
                found[a, r] = tuple(x + y for x, y in zip(old, figures, strict=True))
    rows = [f"{a},{r},{x},{n}" for (a, r), (x, n) in found.items()]
    return "\n".join([f"nace,region,{','.join(columns)}", *rows]) + "\n"


@pytest.fixture
def write(tmp_path):
    def files(**contents):
        for name, text in contents.items():
            stem, _, suffix = name.rpartition("_")
            (tmp_path / f"{stem}.{suffix}").write_text(text, encoding="utf-8")

    files(nace_csv=NACE, region_csv=REGION, coast_csv=COAST, cells_csv=cube())
    return files


@pytest.fixture
def run(tmp_path, write):
    """Assess a job given as text, after writing further files: ``run(JOB, labels_csv="...")``."""

    def assess(text=JOB, **contents):
        write(**contents)
        path = tmp_path / "job.yaml"
        path.write_text(text, encoding="utf-8")
        return assess_job(Job.load(path))

    return assess


def codes(assessment, name="turnover", of=None):
    table = assessment.tables[name]
    mask = assessment.findings[name].primary if of is None else of
    return {table.cell_name(i) for i in np.flatnonzero(mask)}


def test_levels_and_parents(run):
    found = run()
    table = found.tables["turnover"]
    assert [d.name for d in table.dimensions] == ["industry", "region"]
    assert [d.total for d in table.dimensions] == ["Total", "All"]
    assert len(table) == len(cube().splitlines()) - 1
    assert codes(found) == {"A2/n2", "B1/s1", "B1/South"}
    assert found.findings.why("A2/n2") == ["min_frequency 3"]


def test_needs_come_with_the_findings(run):
    found = run()
    cell = found.tables["turnover"].find("B1/s1")
    assert found.needs.upper[cell] == pytest.approx(1.2)
    assert found.needs.primary.tolist() == found.findings.primary.tolist()


def test_digits(run):
    job = JOB.replace("levels: nace.csv", "digits: [1, 1]")
    assert codes(run(job)) == {"A2/n2", "B1/s1", "B1/South"}


def test_hrc(run):
    job = JOB.replace("levels: nace.csv", 'hrc: nace.hrc, lead: "-"')
    assert codes(run(job, nace_hrc="A\n-A1\n-A2\nB\n-B1\n-B2\n")) == {"A2/n2", "B1/s1", "B1/South"}


def test_a_flat_dimension_needs_no_entry(run):
    job = JOB.replace("  industry: {column: nace, levels: nace.csv}\n", "").replace(
        "[industry, region]", "[size, region]"
    )
    found = run(job, cells_csv="size,region,turnover,firms\nTotal,All,9,9\nbig,All,7,7\nsmall,All,2,2\n")
    assert codes(found) == {"small/All"}


def test_labels_reach_the_dimension(run):
    job = JOB.replace("levels: nace.csv", "levels: nace.csv, labels: labels.csv")
    found = run(job, labels_csv="code,label\nA1,Crops\nZ,nothing\n")
    assert found.tables["turnover"].dimensions[0].labels["A1"] == "Crops"


ALSO = JOB.replace("{parents: region.csv}", "{parents: region.csv, also: [{name: coast, parents: coast.csv}]}")


def test_a_second_grouping_adds_its_relations(run):
    found = run(ALSO, cells_csv=cube(coast=True))
    table = found.tables["turnover"]
    names = {table.relation_name(r) for r in range(table.relations.shape[0])}
    assert "Total/All = Total/sea + Total/inland" in names
    assert "Total/sea = Total/n1 + Total/s1" in names


def test_groupings_that_do_not_nest_are_a_warning(run):
    warnings = run(ALSO, cells_csv=cube(coast=True)).warnings()
    assert len(warnings) == 1
    assert "dimension 'region': groupings that do not nest overlap ('North and sea')" in warnings[0]
    assert run(cells_csv=cube()).warnings() == []


def test_a_second_grouping_needs_a_hierarchy(run):
    with pytest.raises(
        JobError, match="dimension 'region': the grouping 'coast' needs levels, parents, digits, hrc or codelist"
    ):
        run(ALSO.replace(", parents: coast.csv", ""))


def test_recode_to_a_level_drops_the_cells_below(run):
    found = run(JOB.replace("levels: nace.csv", "levels: nace.csv, recode: {to_level: 1}"))
    table = found.tables["turnover"]
    assert set(table.dimensions[0].codes) == {"Total", "A", "B"}
    assert codes(found) == set()


def test_recode_merges_codes_and_adds_up_their_cells(run):
    found = run(JOB.replace("levels: nace.csv", 'levels: nace.csv, recode: {merge: {"B1-2": [B1, B2]}}'))
    table = found.tables["turnover"]
    assert table.value[table.find("B1-2/s1")] == 12 + 44
    assert codes(found) == {"A2/n2"}


def test_recode_cuts_below_a_code(run):
    found = run(JOB.replace("levels: nace.csv", "levels: nace.csv, recode: {cut: [B]}"))
    assert "B1" not in found.tables["turnover"].dimensions[0].codes
    assert codes(found) == {"A2/n2"}


def test_a_recoding_that_fails_names_its_dimension(run):
    with pytest.raises(HierarchyError, match="dimension 'industry': cannot recode to level 5"):
        run(JOB.replace("levels: nace.csv", "levels: nace.csv, recode: {to_level: 5}"))


def test_recode_merges_in_every_grouping(run):
    coast = COAST.replace("s1,sea", "s1,sea\ns2,sea")
    region = REGION + "s2,South\n"
    job = ALSO.replace("also:", "recode: {merge: {s: [s1, s2]}}, also:")
    cells = "nace,region,turnover,firms\nTotal,All,10,10\nTotal,sea,10,10\nTotal,s1,4,4\nTotal,s2,6,6\n"
    found = run(job, region_csv=region, coast_csv=coast, cells_csv=cells)
    table = found.tables["turnover"]
    assert table.value[table.find("Total/s")] == 10


def test_recode_to_a_level_cuts_every_grouping(run):
    """Both regions lie at the coast, so the second grouping has the codes that become leaves."""
    coast = "code,parent\nAll,\ncoast,All\nNorth,coast\nSouth,coast\nn1,North\nn2,North\ns1,South\n"
    found = run(ALSO.replace("also:", "recode: {to_level: 1}, also:"), coast_csv=coast)
    assert set(found.tables["turnover"].dimensions[1].codes) == {"All", "North", "South", "coast"}
    assert codes(found) == {"B1/South"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apriori.csv", "nace,region,status\nA2,n2,waived\nA1,n1,must_suppress\n"),
        ("apriori.csv", "industry,region,status\nA2,n2,waived\nA1,n1,must_suppress\n"),
        ("apriori.hst", "A2,n2,s\nA1,n1,u\n"),
    ],
    ids=["csv by column", "csv by dimension", "hst"],
)
def test_apriori(run, name, text):
    found = run(JOB + f"    apriori: {name}\n", **{name.replace(".", "_"): text})
    assert codes(found) == {"A1/n1", "B1/s1", "B1/South"}


def test_statements_in_columns_of_the_cells(run):
    rows = "nace,region,turnover,firms,state,c,lo,up,nl,nu\nTotal,All,10,9,,,,,,\nA,All,6,5,must_suppress,7,2,9,1,2\n"
    spec = "count: firms, status: state, cost: c, lower: lo, upper: up, need_lower: nl, need_upper: nu"
    found = run(JOB.replace("count: firms", spec), cells_csv=rows + "B,All,4,4,,,,,,\n")
    said, cell = found.tables["turnover"].apriori, found.tables["turnover"].find("A/All")
    assert codes(found) == {"A/All"}
    assert [getattr(said, n)[cell] for n in ("cost", "lower", "upper", "need_lower", "need_upper")] == [7, 2, 9, 1, 2]
    assert (found.needs.lower[cell], found.needs.upper[cell]) == (1, 2)
    assert (found.needs.world.lower[cell], found.needs.world.upper[cell]) == (2, 9)


def test_levels_that_are_not_shown_are_unpublished(run):
    found = run(JOB + "    publish: {industry: [0, 1], region: [0, 1]}\n")
    table = found.tables["turnover"]
    hidden = codes(found, of=table.unpublished)
    assert {"A1/All", "Total/n1", "A2/n2"} <= hidden
    assert {"Total/All", "A/North"}.isdisjoint(hidden)


def test_publish_refuses_levels_and_dimensions_that_are_not_there(run):
    with pytest.raises(InputError, match="`publish` asks for level 3 of 'industry', which has 0 to 2"):
        run(JOB + "    publish: {industry: [3]}\n")
    with pytest.raises(InputError, match="`publish` names 'industy'; did you mean 'industry'"):
        run(JOB + "    publish: {industy: [0]}\n")


def test_zeros_known_or_possible(run):
    assert len(run().tables["turnover"]) < 7 * 6
    found = run(JOB + "    zeros: possible\n")
    assert len(found.tables["turnover"]) == 7 * 6
    assert codes(found) == {"A2/n2", "B1/s1", "B1/South"}


def test_impossible_combinations_are_no_cells(run):
    found = run(JOB + "    impossible: impossible.csv\n", impossible_csv="nace,region\nA2,s1\nA2,South\n")
    assert len(found.tables["turnover"]) == 7 * 6 - 2
    with pytest.raises(InputError, match=r"impossible\.csv line 2: this combination is said to be impossible"):
        run(JOB + "    impossible: impossible.csv\n", impossible_csv="nace,region\nA1,s1\n")


def test_a_frequency_table(run):
    found = run(JOB.replace("value: turnover", "value: count"))
    table = found.tables["turnover"]
    assert table.is_count
    assert table.response == "count"
    assert table.value.tolist() == table.facts.count.tolist()
    assert len(table) == 7 * 6  # zeros are possible by default
    assert found.needs.sliding[table.find("A2/n2")] == 1


def test_the_rules_count_holdings_where_given(run):
    rows = "nace,region,turnover,firms,groups\nTotal,All,10,9,4\nA,All,6,5,2\nB,All,4,4,3\n"
    found = run(JOB.replace("count: firms", "count: firms, holdings: groups"), cells_csv=rows)
    assert codes(found) == {"A/All"}


def test_marks_are_read_for_given_rules_inside_all(run):
    rows = "nace,region,turnover,firms,secret\nTotal,All,10,9,no\nA,All,6,2,yes\nB,All,4,1,no\n"
    found = run(JOB.replace("[{min_frequency: 3}]", "[{all: [{min_frequency: 3}, {given: secret}]}]"), cells_csv=rows)
    assert codes(found) == {"A/All"}


def test_how_a_csv_is_written(run):
    rows = 'nace;region;turnover;firms\nTotal;All;10,5;9\n"A";All;6,5;5\nB;All;4,0;4\n'
    job = JOB.replace("count: firms", 'count: firms, delimiter: ";", decimal: ","')
    table = run(job, cells_csv=rows).tables["turnover"]
    assert table.value.tolist() == [10.5, 6.5, 4.0]
    assert table.decimals == 2


TWO = (
    JOB
    + """\
  - name: domestic
    by: [industry, region]
    value: domestic
    cells: {source: domestic.csv}
    rules: []
  - name: export
    by: [industry, region]
    value: export
    cells: {source: export.csv, count: firms}
    rules: [{min_frequency: 5}]
equations: ["turnover = domestic + export"]
"""
)
PARTS = {
    "cells_csv": "nace,region,turnover,firms\nTotal,All,10,9\nA,All,6,5\nB,All,4,4\n",
    "domestic_csv": "nace,region,domestic\nTotal,All,7\nA,All,4\nB,All,3\n",
    "export_csv": "nace,region,export,firms\nTotal,All,3,9\nA,All,2,5\nB,All,1,4\n",
}


def test_equations_tie_responses(run):
    found = run(TWO, **PARTS)
    assert len(found.tables) == 9
    assert found.tables.relations.shape[0] == 3 + 3
    assert codes(found, "export") == {"B/All"}
    assert codes(found, "turnover") == set()


def test_an_equation_that_does_not_hold_is_refused(run):
    wrong = PARTS | {"domestic_csv": "nace,region,domestic\nTotal,All,7\nA,All,5\nB,All,2\n"}
    with pytest.raises(NotAdditive, match=r"turnover = domestic \+ export does not hold in 2 of 3 cells"):
        run(TWO, **wrong)


LINKED = (
    JOB
    + """\
  - name: by_region
    by: [region]
    value: TOT
    response: turnover
    cells: {source: regions.csv, count: firms}
    rules: [{min_frequency: 16}]
"""
)
REGIONS = "region,TOT,firms\nAll,251,50\nNorth,175,38\nSouth,76,12\nn1,102,22\nn2,73,16\ns1,76,12\n"


def test_tables_of_one_response_share_their_cells(run):
    found = run(LINKED, regions_csv=REGIONS)
    assert len(found.tables) == len(found.tables["turnover"])
    shown = found.findings.shown_primary("turnover")
    assert codes(found, of=shown) == {"A2/n2", "B1/s1", "B1/South", "Total/South", "Total/s1"}
    assert codes(found, "by_region") == {"South", "s1"}


def test_tables_that_disagree_about_a_cell_are_refused(run):
    rows = REGIONS.replace("n1,102", "n1,101").replace("n2,73", "n2,74")
    with pytest.raises(Disagreement, match=r"Total/n1 \(cells\.csv line \d+\) and n1 \(regions\.csv line 5\)"):
        run(LINKED, regions_csv=rows)


def test_cells_that_do_not_add_up_are_refused(run):
    with pytest.raises(NotAdditive, match=r"A/n2 = A1/n2 \+ A2/n2"):
        run(cells_csv=cube().replace("A2,n2,10,1", "A2,n2,11,1"))


def test_tolerance_lets_rounded_cells_pass(run):
    rows = cube().replace("A2,n2,10,1", "A2,n2,11,1")
    assert codes(run(JOB + "    tolerance: 1\n", cells_csv=rows)) == {"A2/n2", "B1/s1", "B1/South"}


def test_the_attackers_knowledge_comes_from_the_job(run):
    found = run(JOB + "attack: {percent: 5}\n")
    cell = found.tables["turnover"].find("A2/n2")
    assert (found.needs.world.lower[cell], found.needs.world.upper[cell]) == (9.5, 10.5)
    assert found.needs.upper[cell] == 0.5


def test_negative_values_need_an_unbounded_attack(run):
    rows = "nace,region,turnover,firms\nTotal,All,4,9\nA,All,6,5\nB,All,-2,4\n"
    with pytest.raises(InputError, match=r"cells\.csv line 4: the value of B/All lies outside"):
        run(cells_csv=rows)
    found = run(JOB + "attack: {lower: unbounded}\n", cells_csv=rows)
    assert found.needs.world.lower.tolist() == [-np.inf] * 3


def test_unprotectable_cells_are_a_warning(run):
    rows = "nace,region,turnover,firms,lo,up\nTotal,All,10,9,10,10\nA,All,6,2,6,6\nB,All,4,4,,\n"
    found = run(JOB.replace("count: firms", "count: firms, lower: lo, upper: up"), cells_csv=rows)
    assert found.summary()["set"]["unprotectable"] == 1
    assert found.warnings() == [
        "1 unsafe cells are unprotectable, whatever is suppressed, and so the set cannot be released: 'turnover: A/All'"
    ]


def test_summary(run):
    summary = run(LINKED, regions_csv=REGIONS).summary()
    cells = len(cube().splitlines()) - 1
    assert summary["cellguard"] == version("cellguard")
    assert summary["step"] == "assess"
    assert summary["tables"] == {
        "turnover": {
            "release": "here",
            "cells": cells,
            "primary": 5,
            "by_rule": {"min_frequency 3": 3},
            "unprotectable": 0,
        },
        "by_region": {
            "release": "here",
            "cells": 6,
            "primary": 2,
            "by_rule": {"min_frequency 16": 2},
            "unprotectable": 0,
        },
    }
    assert summary["set"]["cells"] == cells
    assert summary["set"]["primary"] == 5
    assert summary["insiders"] == "not checked"
    assert summary["warnings"] == []
    assert set(summary["seconds"]) == {
        "reading the tables",
        "linking the tables",
        "applying the rules",
        "setting protection levels",
    }


def test_the_summary_is_json(run):
    summary = run().summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_two_forms_of_one_rule_are_counted_apart(run):
    job = JOB.replace("[{min_frequency: 3}]", "[{min_frequency: {n: 3, inclusive: true}}, {min_frequency: 3}]")
    by_rule = run(job).summary()["tables"]["turnover"]["by_rule"]
    assert by_rule == {"min_frequency 3, inclusive": 5, "min_frequency 3": 3}


def test_each_step_is_told(write, tmp_path):
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    told = []
    found = assess_job(Job.load(tmp_path / "job.yaml"), within=Run(lambda event: told.append(event.text)))
    assert told == list(found.seconds)


def test_relative_paths_start_from_the_job_file(write, tmp_path, monkeypatch):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    text = (
        JOB.replace("cells.csv", "../cells.csv")
        .replace("nace.csv", "../nace.csv")
        .replace("region.csv", "../region.csv")
    )
    (tmp_path / "jobs" / "job.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert codes(assess_job(Job.load("../jobs/job.yaml"))) == {"A2/n2", "B1/s1", "B1/South"}


def test_a_job_may_be_plain_data(write, tmp_path):
    data = {
        "version": 1,
        "dimensions": {"industry": {"column": "nace", "levels": "nace.csv"}, "region": {"parents": "region.csv"}},
        "tables": [
            {
                "name": "turnover",
                "by": ["industry", "region"],
                "value": "turnover",
                "cells": {"source": "cells.csv", "count": "firms"},
                "rules": [{"min_frequency": 3}],
            }
        ],
    }
    assert codes(assess_job(Job.parse(data, folder=tmp_path))) == {"A2/n2", "B1/s1", "B1/South"}


def test_an_unused_dimension_is_not_even_read(run):
    job = JOB.replace("dimensions:\n", "dimensions:\n  size: {levels: nowhere.csv}\n")
    assert codes(run(job)) == {"A2/n2", "B1/s1", "B1/South"}


@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        ("cells.csv", "nowhere.csv", InputError, "no file .*nowhere.csv"),
        ("levels: nace.csv", "levels: nowhere.csv", InputError, "no file .*nowhere.csv"),
        (
            "by: [industry, region]",
            "by: [industry, regoin]",
            InputError,
            "no table has a dimension 'region'; did you mean 'regoin'",
        ),
        ("column: nace", "column: nase", InputError, "no column 'nase'; did you mean 'nace'"),
        ("value: turnover", "value: turnovr", InputError, "no column 'turnovr'; did you mean 'turnover'"),
        ("count: firms", "count: firm", InputError, "no column 'firm'; did you mean 'firms'"),
        (
            ", count: firms",
            "",
            InputError,
            "table 'turnover': the rule min_frequency 3 needs the number of respondents",
        ),
        ("min_frequency: 3", "p_percent: 10", InputError, "p_percent 10 needs the 2 largest contributions"),
        ("{parents: region.csv}", "{parents: region.csv, total: Sum}", HierarchyError, "the total is 'All'"),
    ],
)
def test_what_the_job_names_must_be_there(run, old, new, error, said):
    assert old in JOB
    with pytest.raises(error, match=said):
        run(JOB.replace(old, new))


def test_two_tables_of_one_name_are_refused(run):
    with pytest.raises(JobError, match="is named 'turnover' too"):
        run(JOB + JOB[JOB.index("  - name") :])
