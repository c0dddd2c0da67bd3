"""What `protect` calls safe, `verify` calls valid: jobs on which the two once differed."""

import csv

import pyarrow.parquet as pq
import pytest

from cellguard.inputs import latent
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.verifier.verify import verify

from fuzz.generator import draw_any, draw_case


def write_codes(folder, **parents):
    for name, tree in parents.items():
        lines = [f"{code},{parent}" for code, parent in [("Total", ""), *tree.items()]]
        (folder / f"{name}.csv").write_text("\n".join(["code,parent", *lines]))


def protected(folder, **said):
    job = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "output": {"formats": ["csv"]}, **said}
    outcome = run(Job.parse(job, folder=folder))
    assert outcome.protected.audit.verdict == "safe"
    OutputFolder(folder / "out").write(outcome)
    return outcome


def refused(folder):
    checks = verify(folder / "out/internal/certificate.json").checks
    return [f"{check.name}: {check.detail}" for check in checks if not check.passed]


def rows_of(folder, name):
    with (folder / "out/release" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_values_behind_two_tables_are_exact_where_the_records_are(tmp_path):
    """Published with more decimals than they have, values had cells between them that missed by what was rounded."""
    (tmp_path / "r.csv").write_text("id,d0,d1,y,z\ni0,d0b,d1b,1.4,7.2\n")
    write_codes(tmp_path, d0={"d0a": "Total", "d0b": "Total"}, d1={"d1a": "Total", "d1b": "Total"})
    shares = {"all": [{"min_frequency": 4}, {"max_share": 70}]}
    tables = [
        {"name": "t0", "by": ["d0"], "value": "y", "rules": [shares], "zeros": "possible"},
        {"name": "t1", "by": ["d1"], "value": "z", "rules": [{"min_frequency": 3}]},
    ]
    protected(tmp_path, dimensions={d: {"parents": f"{d}.csv"} for d in ("d0", "d1")}, tables=tables)
    assert refused(tmp_path) == []
    between = pq.read_table(tmp_path / "out/internal/world.parquet").column("value").to_pylist()
    assert between == [140_000]


def test_tables_that_were_rounded_one_by_one_are_valid(tmp_path):
    """Ready-made cells of one decimal, published with two, miss each other by half a unit of what was given."""
    (tmp_path / "of_a.csv").write_text("a,x,n\na1,2.4,1\na2,7.6,8\n")
    (tmp_path / "of_b.csv").write_text("b,x,n\nb1,3.3,2\nb2,6.9,7\n")
    table = {"value": "x", "decimals": 2, "rules": [{"min_frequency": 3}]}
    tables = [{"name": d, "by": [d], "cells": {"source": f"of_{d}.csv", "count": "n"}, **table} for d in ("a", "b")]
    write_codes(tmp_path, a={"a1": "Total", "a2": "Total"}, b={"b1": "Total", "b2": "Total"})
    protected(tmp_path, microdata=None, dimensions={d: {"parents": f"{d}.csv"} for d in ("a", "b")}, tables=tables)
    assert refused(tmp_path) == []


def count_by_two(folder, d0, tables, *, y=0, insiders=True):
    """Counts by both dimensions, and other tables of values; d1b is of another level than d1a."""
    codes = [codes for codes, many in RECORDS.items() for _ in range(many)]
    lines = [f"{i},{a},{b},{y if (a, b) == ('d0b', 'd1b') else 10}" for i, (a, b) in enumerate(codes)]
    (folder / "r.csv").write_text("\n".join(["id,d0,d1,y", *lines]))
    write_codes(folder, d0=d0, d1={"d1G": "Total", "d1b": "Total", "d1a": "d1G"})
    counts = {"name": "n", "by": ["d1", "d0"], "value": "count", "rules": [{"min_frequency": 2}]}
    values = [{"by": ["d1"], "value": "y", "rules": [{"min_frequency": 2}], **said} for said in tables]
    dimensions = {d: {"parents": f"{d}.csv"} for d in ("d0", "d1")}
    protected(folder, dimensions=dimensions, tables=[counts, *values], attack={"insiders": insiders})


RECORDS = {("d0b", "d1b"): 1, ("d0a", "d1b"): 1, ("d0a", "d1a"): 5, ("d0b", "d1a"): 5, ("d0c", "d1a"): 5}


def test_codes_that_no_row_shows_bound_no_count(tmp_path):
    """Of the two with d1b one is known to have d0a; that the other has d0G is told by no row that is released."""
    tree = {"d0G": "Total", "d0a": "Total", "d0b": "d0G", "d0c": "d0G"}
    listed, rest = {"name": "a", "where": {"d0": ["d0a"]}}, {"name": "g", "where": {"d0": ["d0G"]}}
    count_by_two(tmp_path, tree, [listed, {**rest, "publish": {"d1": [0, 2]}}])
    assert refused(tmp_path) == []


@pytest.mark.parametrize(("most", "insiders", "shown"), [(0, False, ["103", "100"]), (latent.MOST, True, ["103", ""])])
def test_a_value_that_readers_work_out_tells_that_somebody_is_there(tmp_path, monkeypatch, most, insiders, shown):
    """All of d0G less those with d1a leaves a value: so each of the two with d1b would be known, were it known that
    they are two.

    The one respondent of d1b in d0G waives protection there, so that its value may be worked out. Where the crossing
    table is judged, its cell d1b/d0b is protected: that says more of the respondent, which waived nothing there.
    """
    monkeypatch.setattr(latent, "MOST", most)
    tree = {"d0G": "Total", "d0a": "Total", "d0b": "d0G", "d0c": "d0G"}
    (tmp_path / "waived.csv").write_text("d1,status\nd1b,waived\n")
    listed, rest = {"name": "a", "where": {"d0": ["d0a"]}}, {"name": "g", "where": {"d0": ["d0G"]}}
    rest |= {"publish": {"d1": [0, 2]}, "apriori": "waived.csv"}
    count_by_two(tmp_path, tree, [listed, rest], y=3, insiders=insiders)
    assert [row["value"] for row in rows_of(tmp_path, "g")] == shown
    flags = {(row["d1"], row["d0"]): row["flag"] for row in rows_of(tmp_path, "n")}
    assert flags["d1b", "Total"] == "c"
    assert refused(tmp_path) == []


def test_whom_one_table_is_about_is_no_code_of_another(tmp_path):
    """A table about two codes together gives the others no row of both, be it published or hidden."""
    two = {"name": "y", "where": {"d0": ["d0c", "d0b"]}}
    count_by_two(tmp_path, dict.fromkeys(("d0a", "d0b", "d0c"), "Total"), [two])
    assert {row["d0"] for row in rows_of(tmp_path, "y")} == {"d0c, d0b"}
    assert {row["d0"] for row in rows_of(tmp_path, "n")} == {"Total", "d0a", "d0b", "d0c"}
    assert refused(tmp_path) == []


def test_all_others_may_have_a_code_of_their_own(tmp_path):
    """A rule about rows adds no row where a second grouping of the job already has the others of a category."""
    (tmp_path / "r.csv").write_text("id,d2\ni4,d2b\ni7,d2a\n")
    write_codes(
        tmp_path,
        d2={"d2G00": "Total", "d2a": "Total", "d2b": "d2G00", "d2c": "d2G00"},
        d2b={"d2H00": "Total", "d2b": "Total", "d2a": "d2H00", "d2c": "d2H00"},
    )
    dimension = {"parents": "d2.csv", "also": [{"name": "other", "parents": "d2b.csv"}]}
    table = {"name": "t1", "by": ["d2"], "value": "count", "rules": [{"lone_other": {"by": "d2"}}]}
    protected(tmp_path, dimensions={"d2": dimension}, tables=[table])
    assert refused(tmp_path) == []


def test_all_others_may_have_a_code_that_nobody_has(tmp_path):
    """Everybody has d1a, so that all others are d1b, a code of the hierarchy of which the table has no row."""
    (tmp_path / "r.csv").write_text("id,d1\ni1,d1a\ni2,d1a\n")
    write_codes(tmp_path, d1={"d1a": "Total", "d1b": "Total"})
    table = {"name": "t0", "by": ["d1"], "value": "count", "rules": [{"attribute_disclosure": {"by": "d1"}}]}
    protected(tmp_path, dimensions={"d1": {"parents": "d1.csv"}}, tables=[table])
    assert refused(tmp_path) == []
    assert {row["d1"] for row in rows_of(tmp_path, "t0")} == {"Total", "d1a"}


def test_records_that_one_holding_has_may_be_counted_in_a_ready_made_copy(tmp_path):
    """Three records of one holding are one respondent of a table from records, and three of a table of cells."""
    codes = ["c1"] * 8 + ["c0"] * 2 + ["c2"] * 3
    holdings = [*"abcdefgh", "a", "i", "j", "j", "j"]
    lines = [f"{i},{c},{h}" for i, (c, h) in enumerate(zip(codes, holdings, strict=True))]
    (tmp_path / "r.csv").write_text("\n".join(["id,c,h", *lines]))
    (tmp_path / "cells.csv").write_text("c,n\nTotal,13\nc0,2\nc1,8\nc2,3\n")
    made = {"name": "made", "by": ["c"], "value": "count", "rules": [{"min_frequency": 2}]}
    ready = {"name": "ready", "by": ["c"], "value": "count", "rules": [{"min_frequency": 3}]}
    ready["cells"] = {"source": "cells.csv", "count": "n"}
    records = {"source": "r.csv", "respondent": "id", "holding": "h"}
    protected(tmp_path, microdata=records, tables=[made, ready])
    assert refused(tmp_path) == []


def test_values_in_two_groupings_beside_counts_are_said_not_to_be_checked(tmp_path):
    """Balt0 less B0 is a value of b0, which no table lists: so somebody is there, which no proof uses."""
    (tmp_path / "n.csv").write_text("b,n\nTotal,21\nB0,7\nB1,4\nb3,10\nBalt0,8\nBalt1,10\nBalt2,3\n")
    (tmp_path / "x.csv").write_text("b,x,n\nB0,48,7\nB1,20,4\nBalt0,50,8\nBalt1,39,10\nBalt2,18,3\n")
    write_codes(
        tmp_path,
        b={"B0": "Total", "B1": "Total", "b3": "Total", "b4": "B0", "b0": "B1", "b1": "B1", "b2": "B1"},
        other={"Balt0": "Total", "Balt1": "Total", "Balt2": "Total"}
        | {"b0": "Balt0", "b4": "Balt0", "b3": "Balt1", "b1": "Balt2", "b2": "Balt2"},
    )
    two = {"parents": "b.csv", "also": [{"name": "other", "parents": "other.csv"}]}
    few = {"by": ["b"], "rules": [{"min_frequency": 2}]}
    tables = [
        {"name": "n", "value": "count", "cells": {"source": "n.csv", "count": "n"}, **few},
        {"name": "x", "value": "x", "cells": {"source": "x.csv", "count": "n"}, **few},
    ]
    grouped = protected(tmp_path, microdata=None, dimensions={"b": two}, tables=tables)
    clusters = [len(response.rooms) for response in grouped.protected.audit.needs.world.constraints.responses]
    assert clusters == [2, 1]  # of the counts also one of counts that no table lists
    assert "counts_and_values" in grouped.summary["not_checked"]
    assert refused(tmp_path) == []


def test_a_published_zero_has_no_sign(tmp_path):
    """Which side of 0 a value was on that rounds to it is nobody's business, and there is one way to write a 0."""
    (tmp_path / "t.csv").write_text("r,x,n\nTotal,29.6,30\nN,-0.4,9\nS,20,12\nW,10,9\n")
    cells = {"source": "t.csv", "count": "n"}
    table = {"name": "t", "by": ["r"], "value": "x", "cells": cells, "rules": [{"min_frequency": 3}], "decimals": 0}
    protected(tmp_path, microdata=None, tables=[table], attack={"lower": "unbounded"})
    assert [row["value"] for row in rows_of(tmp_path, "t")] == ["30", "0", "20", "10"]
    assert refused(tmp_path) == []


def test_a_cell_waived_in_one_table_is_protected_as_the_others_ask(tmp_path):
    """Of a cell that one table waives, the accuracy of that table's rules asks nothing of respondents."""
    rows = [("a", 11), ("b", 1), ("c", 9), ("d", 9), ("e", 8), ("f", 7), ("g", 7), ("h", 7)]
    region = {"a": "N", "b": "N", "c": "S", "d": "S", "e": "S", "f": "W", "g": "W", "h": "W"}
    lines = [f"{who},{region[who]},{x}\n" for who, x in rows]
    (tmp_path / "r.csv").write_text("id,r,x\n" + "".join(lines))
    (tmp_path / "said.csv").write_text("r,status\nN,waived\n")
    tables = [
        {"name": "t0", "by": ["r"], "value": "x", "rules": [{"p_percent": 400}], "apriori": "said.csv"},
        {"name": "t1", "by": ["r"], "value": "x", "rules": [{"dominance": {"n": 1, "k": 60}}]},
    ]
    protected(tmp_path, tables=tables)
    assert refused(tmp_path) == []


def test_a_table_divides_what_others_do_wherever_it_says_that_somebody_may_be(tmp_path):
    """Two tables of one response group their codes differently where one of them says that there is nobody."""
    (tmp_path / "a.csv").write_text(
        "code,parent\nTotal,\nA0,Aup0\na3,A1\nAup0,Total\nA1,Total\na2,A0\na1,Total\na0,A1\n"
    )
    (tmp_path / "b.csv").write_text("code,parent\nTotal,\nb1,B0\nb0,B0\nb3,B0\nB1,Total\nB0,Total\nb4,B0\nb2,B1\n")
    (tmp_path / "t0.csv").write_text("b,n\nTotal,4\nb0,1\nB0,4\nb1,2\nb3,1\n")
    (tmp_path / "t1.csv").write_text(
        "a,b,x,n,x1,x2\nTotal,B0,315,4,185,71\na1,Total,187,2,185,2\nA1,B0,128,2,71,57\nA1,Total,128,2,71,57\n"
        "a1,B0,187,2,185,2\nTotal,Total,315,4,185,71\na0,Total,128,2,71,57\na0,B0,128,2,71,57\n"
    )
    (tmp_path / "t2.csv").write_text(
        "a,b,x,n,x1,x2\na1,Total,187,2,185,2\nA1,B0,128,2,71,57\nTotal,Total,315,4,185,71\nTotal,B0,315,4,185,71\n"
        "A1,Total,128,2,71,57\na1,B0,187,2,185,2\n"
    )
    cells = {"count": "n", "top": ["x1", "x2"]}
    tables = [
        {"name": "t0", "by": ["b"], "value": "count", "zeros": "known", "publish": {"b": [1, 2]}}
        | {"cells": {"source": "t0.csv", "count": "n"}, "rules": [{"min_frequency": 3}]},
        {"name": "t1", "by": ["a", "b"], "value": "x", "cells": {"source": "t1.csv", **cells}}
        | {"rules": [{"statisticon": 10}]},
        {"name": "t2", "by": ["a", "b"], "value": "x", "zeros": "possible", "cells": {"source": "t2.csv", **cells}}
        | {"rules": [{"min_frequency": 3}]},
    ]
    protected(tmp_path, microdata=None, dimensions={d: {"parents": f"{d}.csv"} for d in "ab"}, tables=tables)
    assert refused(tmp_path) == []


def test_a_move_that_others_notice_leaves_them_open(tmp_path):
    """The last move found against respondents from elsewhere is one that a respondent of another cell notices."""
    case = draw_case(7_001_865, draw_any)
    case.write_files(tmp_path)
    outcome = run(Job.parse(dict(case.job), folder=tmp_path))
    assert outcome.verdict.text.startswith("Safe against outsiders and every single respondent")
    OutputFolder(tmp_path / "out").write(outcome)
    assert refused(tmp_path) == []
