"""Batches about ready-made tables, the formats that are written, and what stops a batch before anything is written."""

import csv
import re
from pathlib import Path

import pytest

from cellguard.argus.exporting import export_job
from cellguard.argus.linting import lint
from cellguard.argus.logbook import Logbook
from cellguard.argus.program import main
from cellguard.inputs.third_party_tables import ThirdParty
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job, audit_third_party, verify
from cellguard.suggest.init import suggest_job

from argus_batches import TAB, TAB_RDA, run_batch, statuses, tab_batch, tab_folder

WRITE = '<WRITETABLE> (1,3,AS+,"o.csv")'


def opened(data, about, specify, rule="MAN(20)"):
    """The lines of a batch that open a table."""
    lines = [f'<OPENTABLEDATA> "{data}"', f'<OPENMETADATA> "{about}"', f"<SPECIFYTABLE> {specify}"]
    return "\n".join([*lines, f"<SAFETYRULE> {rule}", ""])


def test_given_statuses_and_levels_are_kept(tmp_path):
    run_batch(
        tab_folder(tmp_path), tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", WRITE, '<WRITETABLE> (1,5,AS+,"i.tab")')
    )
    found = statuses(tmp_path / "o.csv")
    assert found["N", "b"] == 9 and 11 in found.values() and found["Total", "Total"] == 1
    line = next(row for row in (tmp_path / "i.tab").read_text().splitlines() if row.startswith('"N";"b"'))
    assert line.endswith(";U;20;30") and verify(tmp_path / "b.cellguard" / "results").valid


def test_unsafe_cells_without_levels_get_the_margin(tmp_path):
    rows = [(*row[:7], "", "") if row[6] == "u" else row for row in TAB]
    run_batch(tab_folder(tmp_path, rows=rows), tab_batch("MAN(25)", '<WRITETABLE> (1,5,AS+,"i.tab")'))
    line = next(row for row in (tmp_path / "i.tab").read_text().splitlines() if row.startswith('"N";"b"'))
    assert line.endswith(";U;20;20")


def test_rules_replace_given_statuses(tmp_path):
    run_batch(tab_folder(tmp_path), tab_batch("P(30,1)|FREQ(4,10)", WRITE))
    found = statuses(tmp_path / "o.csv")
    wanted = {row[:2]: 3 for row in TAB if 0.3 * row[4] > row[2] - row[4] - row[5]}
    wanted |= {row[:2]: 5 for row in TAB if row[:2] not in wanted and row[3] < 4}
    assert {cell: status for cell, status in found.items() if status != 1} == wanted and len(wanted) > 1


@pytest.mark.parametrize("blank", ["", ".", "-"])
def test_a_blank_second_contribution_is_none_or_as_large_as_can_be(tmp_path, blank):
    rows = [(*row[:5], blank if row[:2] == ("W", "s") else row[5], *row[6:]) for row in TAB]
    said = run_batch(tab_folder(tmp_path, rows=rows), tab_batch("P(10,1)", WRITE))
    # With three firms, of which the largest has 20 of 40, the second may have 20, and then there is no third.
    assert statuses(tmp_path / "o.csv")["W", "s"] == 3 and "1 largest contributions are blank" in said


@pytest.mark.parametrize(("separator", "comma"), [(";", True), (";", False), (",", False), ("\t", False)])
def test_separators_and_decimal_commas(tmp_path, separator, comma):
    rows = [(*row[:2], row[2] + 0.0, *row[3:]) for row in TAB]
    run_batch(tab_folder(tmp_path, rows=rows, separator=separator, comma=comma), tab_batch("MAN(20)", WRITE))
    assert statuses(tmp_path / "o.csv")["N", "b"] == 9


def test_quotation_marks_as_r_writes_them(tmp_path):
    curly = [re.sub('"([^"]*)"', "\u201c\\1\u201d", text) for text in (TAB_RDA, tab_batch("MAN(20)", WRITE))]
    tab_folder(tmp_path, rda=curly[0])
    run_batch(tmp_path, curly[1])
    assert statuses(tmp_path / "o.csv")["N", "b"] == 9


def test_totals_that_are_missing_are_computed(tmp_path):
    rows = [row for row in TAB if "Total" not in row[:2] or row[:2] == ("Total", "s")]
    said = run_batch(tab_folder(tmp_path, rows=rows), tab_batch("P(30,1)", WRITE, read="1"))
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert '"Total","Total",300,1' in lines and "5 totals were missing or no sums" in said


def test_sums_that_do_not_fit_are_refused_or_allowed(tmp_path):
    rows = [(*row[:2], row[2] + (row[:2] == ("S", "Total")), *row[3:]) for row in TAB]
    more = ("<SUPPRESS> OPT(1,1)", WRITE)
    said = run_batch(tab_folder(tmp_path, rows=rows), tab_batch("MAN(20)", *more, read="0"), expect=2)
    assert "S/Total" in said and not (tmp_path / "o.csv").exists()
    run_batch(tmp_path, tab_batch("MAN(20)", *more, read="2"))
    assert (tmp_path / "o.csv").exists()


def test_linked_tables_share_their_cells(tmp_path):
    tab_folder(tmp_path)
    one = opened("cells.tab", "about_cells.rda", '"Region""Size"|"Value"')
    other = [(row[0], *row[2:]) for row in TAB if row[1] == "Total"]
    (tmp_path / "regions.tab").write_text("\n".join(",".join(map(str, row)) for row in other))
    (tmp_path / "regions.rda").write_text(TAB_RDA.replace('Size\n  <RECODEABLE>\n  <TOTCODE> "Total"\n', ""))
    two = opened("regions.tab", "regions.rda", '"Region"|"Value"')
    end = '<READTABLE> 1\n<SUPPRESS> MOD(0,5,1,1,1)\n<WRITETABLE> (1,3,AS+,"o1.csv")\n<WRITETABLE> (2,3,AS+,"o2.csv")\n'
    run_batch(tmp_path, one + two + end)
    first, second = statuses(tmp_path / "o1.csv"), statuses(tmp_path / "o2.csv")
    hidden = {3, 4, 5, 6, 9, 11, 12}
    assert all((status in hidden) == (first[region, "Total"] in hidden) for (region,), status in second.items())


def test_tables_whose_codes_differ_are_not_published_together(tmp_path):
    tab_folder(tmp_path)
    (tmp_path / "t.hrc").write_text("N\n@N1\n@N2\nS\nW\n")
    tree = TAB_RDA.replace("Region\n", 'Region\n  <HIERARCHICAL>\n  <HIERCODELIST> "t.hrc"\n', 1)
    (tmp_path / "tree.rda").write_text(tree)
    rows = [*TAB, ("N1", "Total", 60, 5, 20, 10, "s", "", ""), ("N2", "Total", 50, 7, 30, 10, "s", "", "")]
    (tmp_path / "tree.tab").write_text(
        "\n".join(",".join(map(str, row)) for row in rows if row[1] == "Total" or row[0] == "Total")
    )
    text = ""
    for data, about in (("cells.tab", "about_cells.rda"), ("tree.tab", "tree.rda")):
        text += opened(data, about, '"Region""Size"|"Value"')
    said = run_batch(tmp_path, text + "<READTABLE> 2\n<SUPPRESS> MOD(0,5)\n", expect=2)
    assert "with different codes" in said and "TABLES alternatives" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("N", "s", 30, 0, 9, 8, "s", "", ""),
            "cells.tab line 5, field 4: the frequency is 0, but the response is not",
        ),
        (
            ("N", "s", 30, 8, 8, 9, "s", "", ""),
            "cells.tab line 5, field 6: a contribution is larger than the one before",
        ),
        (("N", "x y", 30, 8, 9, 8, "s", "", ""), ""),
        (("N", "s", "much", 8, 9, 8, "s", "", ""), "line 5, variable 'Value': not a number"),
        (("N", "s", 30, 8, 9, 8, "q", "", ""), "line 5, field 7: unknown status 'q'; known are"),
        (("N", "b", 30, 8, 9, 8, "s", "", ""), "cells.tab line 6: the same cell as line 5"),
    ],
)
def test_faults_of_tables_have_line_and_field(tmp_path, change, words):
    rows = [change if row[:2] == ("N", "s") else row for row in TAB]
    rule = "P(10,1)" if "contribution" in words else "MAN(20)"
    said = run_batch(tab_folder(tmp_path, rows=rows), tab_batch(rule, "<SUPPRESS> OPT(1,1)", WRITE), expect=2)
    assert words in said and "nothing was written" in said and not (tmp_path / "o.csv").exists()


def test_windows_paths_are_looked_for_beside_the_batch(tmp_path):
    text = tab_batch("MAN(20)", r'<WRITETABLE> (1,3,AS+,"C:\out\o.csv")')
    text = text.replace('"cells.tab"', r'"\\server\share\my data\CELLS.TAB"')
    said = run_batch(tab_folder(tmp_path), text)
    assert r"\\server\share\my data\CELLS.TAB is not here; " in said and r"C:\out\o.csv cannot be written here" in said
    assert (tmp_path / "o.csv").exists()


def test_no_file_that_is_read_is_written_over(tmp_path):
    before = tab_folder(tmp_path).joinpath("about_cells.rda").read_text()
    said = run_batch(tmp_path, tab_batch("MAN(20)", '<WRITETABLE> (1,5,AS+,"about_cells.tab")'), expect=2)
    assert "about_cells.rda is one of the files that the batch reads" in said
    assert (tmp_path / "about_cells.rda").read_text() == before


def test_what_is_not_suppressed_is_not_published(tmp_path):
    said = run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", '<WRITETABLE> (1,1,SE-,"o.csv")'), expect=2)
    assert "has not been suppressed, and is not safe as it is" in said and not (tmp_path / "o.csv").exists()


def test_the_window_is_not_here(tmp_path):
    assert "no window here" in run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", "<GOINTERACTIVE>", WRITE), expect=1)
    assert not (tmp_path / "o.csv").exists()


def written(folder, kind, options, *more):
    run_batch(
        tab_folder(folder),
        tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", f'<WRITETABLE> (1,{kind},{options},"o.x")', *more),
    )
    return Path(folder, "o.x").read_text()


def test_csv_files_hide_what_is_suppressed(tmp_path):
    lines = written(tmp_path, 1, "QU+").splitlines()
    assert lines[0] == ',"Total","b","s"' and lines[1] == '"Total",300,180,120'
    assert next(line for line in lines if line.startswith('"N"')).split(",")[2] == "x" and "80" not in lines[2].split(
        ","
    )


def test_pivot_files_have_the_columns_that_clients_read(tmp_path):
    rows = list(csv.DictReader(written(tmp_path, 2, "AS+").splitlines()))
    assert list(rows[0]) == ["Region", "Size", "Value", "Status"] and len(rows) == 12
    assert {row["Status"] for row in rows} == {"1", "9", "11"}


def test_sbs_files_have_the_columns_that_clients_read(tmp_path):
    rows = list(csv.reader(written(tmp_path, 4, "AS+SE+HL+").splitlines()))
    assert len(rows) == 12 and {row[6] for row in rows} == {"V", "B", "D"}
    unsafe = next(row for row in rows if row[6] == "B")
    assert unsafe == ["N", "0", "b", "0", "80", "4", "B", f"{100 * 74 / 80:.1f}"]


def test_intermediate_files_are_read_again(tmp_path):
    run_batch(
        tab_folder(tmp_path), tab_batch("P(30,1)", "<SUPPRESS> OPT(1,1)", WRITE, '<WRITETABLE> (1,5,AR+,"i.tab")')
    )
    again = opened("i.tab", "i.rda", '"Region""Size"|"Value"|"Value_Shadow"|"Value_Cost"', "")
    again += '<READTABLE>\n<WRITETABLE> (1,3,AS+,"again.csv")\n'
    run_batch(tmp_path, again, name="again.arb")
    kind = {1: "S", 2: "S", 3: "U", 9: "U", 11: "M"}
    first, second = ({c: kind[s] for c, s in statuses(tmp_path / name).items()} for name in ("o.csv", "again.csv"))
    assert first == second and "M" in first.values()


def test_the_audit_reads_results_by_letters_and_by_numbers(tmp_path):
    more = (WRITE.replace("AS+", "AS+FL+"), '<WRITETABLE> (1,5,AS+,"i.tab")', '<WRITETABLE> (1,3,FL+,"x.csv")')
    run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", *more))
    found = []
    for name, flag in (("o.csv", "Status"), ("i.tab", "StatusVar"), ("x.csv", None)):
        given = ThirdParty([tmp_path / name], ["Region", "Size"], "Value", flag=flag)
        found.append(audit_third_party(given))
    assert [one["set"]["suppressed"] for one in found] == [4, 4, 4]
    assert {one["verdict"] for one in found} == {"not exactly disclosed"}


def test_jj_files_have_all_cells_and_relations_that_hold(tmp_path):
    lines = written(tmp_path, 6, "TR-").splitlines()
    cells = [line.split() for line in lines[2 : 2 + int(lines[1])]]
    assert lines[0] == "0" and len(cells) == 12 and {cell[3] for cell in cells} == {"s", "u", "m"}
    value = [float(cell[1]) for cell in cells]
    relations = lines[3 + len(cells) :]
    assert len(relations) == int(lines[2 + len(cells)]) == 3 + 4
    for line in relations:
        head, terms = line.split(":")
        parts = terms.split()
        total = sum(value[int(i)] * int(sign.strip("()")) for i, sign in zip(parts[::2], parts[1::2], strict=True))
        assert total == 0 and int(head.split()[1]) == len(parts) // 2
    for cell in cells:
        low, high, lower, upper = map(float, cell[4:8])
        assert low <= float(cell[1]) - lower and float(cell[1]) + upper <= high
    assert Path(tmp_path, "o.x.frq").read_text().splitlines()[0] == "30 0"


def test_a_job_is_suggested_with_the_statuses_levels_and_costs_of_a_table(tmp_path):
    tab_folder(tmp_path)
    suggested = suggest_job(tmp_path / "cells.tab", rda=tmp_path / "about_cells.rda")
    cells = suggested.job["tables"][0]["cells"]
    assert (cells["count"], cells["need_lower"], cells["need_upper"]) == ("Firms", "Low", "High")
    assert suggested.files["cells_statuses.csv"] == "Region,Size,status\nN,b,must_suppress\n"
    for name, text in suggested.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "job.yaml").write_text(suggested.text.replace("{p_percent: 10}", "{min_frequency: 1}"))
    needs = assess_job(Job.load(tmp_path / "job.yaml")).needs
    assert needs.primary.sum() >= 1 and needs.upper.max() == 30


def test_checking_a_batch_reports_every_fault_with_its_place(tmp_path):
    tab_folder(tmp_path)
    (tmp_path / "t.hrc").write_text("N\n@@N1\n")
    (tmp_path / "about_cells.rda").write_text(TAB_RDA.replace("Region\n", 'Region\n  <HIERCODELIST> "t.hrc"\n', 1))
    (tmp_path / "a.hst").write_text("N,u\n")
    (tmp_path / "b.arb").write_text(
        tab_batch("MAN(20)", '<APRIORI> "a.hst",1,",",0,0', specify='"Region""Sise"|"Value"')
    )
    said = []
    assert lint(tmp_path / "b.arb", None, said.append) == 2
    text = "\n".join(said)
    assert "line 3 of the batch, column 25: about_cells.rda has no variable 'Sise'" in text
    assert "t.hrc line 2, column 1: the code is 2 levels below the line before it" in text
    assert "a.hst line 1, column 1: expected 2 codes and a command" in text and said[-1] == "3 faults"


def test_a_batch_without_faults_is_said_to_have_none(tmp_path):
    tab_folder(tmp_path)
    (tmp_path / "b.arb").write_text(tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", WRITE))
    assert lint(tmp_path / "b.arb", None, lambda text: None) == 0 and not (tmp_path / "o.csv").exists()


JOB = """version: 1
tables:
  - name: firms
    by: [Region, Size]
    value: Value
    cells: {source: cells.csv, count: Firms, top: [First, Second]}
    rules: [{p_percent: 30}, {min_frequency: 4}]
"""


def test_a_job_becomes_a_batch_with_the_same_unsafe_cells_and_cost(tmp_path):
    header = "Region,Size,Value,Firms,First,Second\n"
    (tmp_path / "cells.csv").write_text(header + "\n".join(",".join(map(str, row[:6])) for row in TAB))
    (tmp_path / "job.yaml").write_text(JOB)
    assert export_job(tmp_path / "job.yaml", tmp_path / "batch", lambda text: None) == 0
    text = (tmp_path / "batch" / "job.arb").read_text()
    assert "p_percent 30; min_frequency 4" in text
    run_batch(tmp_path / "batch", text, name="job.arb")
    found = list(csv.DictReader((tmp_path / "batch" / "firms_protected.csv").read_text().splitlines()))
    import cellguard as cg

    ours = cg.run(cg.Job.load(tmp_path / "job.yaml")).summary["tables"]["firms"]
    assert sum(row["Status"] in {"3", "5", "9"} for row in found) == ours["primary"]
    assert sum(row["Status"] in {"11", "12"} for row in found) == ours["secondary"]


def test_the_program_takes_the_arguments_of_the_one_it_replaces(tmp_path):
    tab_folder(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for name in ("cells.tab", "about_cells.rda"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    (tmp_path / "b.arb").write_text(
        '<LOGBOOK> "other.txt"\n<VERSIONINFO> "v.txt"\n' + tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", WRITE)
    )
    (tmp_path / "tmp").mkdir()
    args = [str(tmp_path / name) for name in ("b.arb", "log.txt", "tmp", "elsewhere")]
    assert main(args, say=lambda text: None) == 0
    log = (tmp_path / "log.txt").read_text()
    assert (
        "Command: <SUPPRESS> OPT(1,1)" in log and "End of TauArgus run" in log and not (tmp_path / "other.txt").exists()
    )
    assert (tmp_path / "elsewhere" / "o.csv").exists() and "version" in (tmp_path / "elsewhere" / "v.txt").read_text()
    assert (tmp_path / "b.cellguard").stat().st_mode & 0o077 == 0


def test_a_batch_that_is_not_there(tmp_path):
    said = []
    assert main([str(tmp_path / "no.arb"), str(tmp_path / "log.txt")], say=said.append) == 2
    assert "could not be opened" in "\n".join(said)


def test_logbooks_are_continued(tmp_path):
    for _ in range(2):
        logbook = Logbook(tmp_path / "log.txt")
        logbook.write("one\ntwo")
        logbook.close()
    assert (tmp_path / "log.txt").read_text().count("End of TauArgus run") == 2
