"""Batches that are wrong or hostile end with status 2, a line and a cure, and nothing is written."""

import pytest

from cellguard.argus.program import main

from argus_batches import TAB, TAB_RDA, micro_batch, micro_folder, run_batch, tab_batch, tab_folder

OUT = '<WRITETABLE> (1,3,AS+,"o.csv")'
SUPPRESS = "<SUPPRESS> OPT(1,1)"


def refused(folder, text, *words):
    """Run a batch that must fail; nothing but the logbook may be new, and no file changed."""
    (folder / "b.arb").write_text(text)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "log.txt"}
    said = run_batch(folder, text, expect=2)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "log.txt"}
    assert after == before
    assert "nothing was written" in said
    for word in words:
        assert word in said, said
    return said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../../evil.csv", "leads out of the folder of the batch"),
        ("/etc/cron.d/evil", "is outside of the folder of the batch"),
        ("/nowhere/o.csv", "there is no folder '/nowhere'"),
        ("..", "names no file"),
        ("C:\\", "names no file"),
        ("b.arb", "is one of the files that the batch reads"),
        ("b.cellguard", "is the folder of the job and its proof"),
    ],
)
def test_results_go_where_they_may(tmp_path, name, words):
    text = tab_batch("MAN(20)", SUPPRESS, f'<WRITETABLE> (1,3,AS+,"{name}")')
    refused(tab_folder(tmp_path), text, "b.arb line 7, column 1", words)


@pytest.mark.parametrize("name", ["cells.tab", "about_cells.rda"])
@pytest.mark.parametrize("command", ['<WRITETABLE> (1,3,AS+,"{}")', '<VERSIONINFO> "{}"', '<LOGBOOK> "{}"'])
def test_no_command_writes_over_the_data(tmp_path, command, name):
    refused(tab_folder(tmp_path), tab_batch("MAN(20)", SUPPRESS, command.format(name)), name)


def test_a_logbook_is_only_added_to_a_logbook(tmp_path):
    profile = tmp_path / "profile.txt"
    profile.write_text("export PATH=/bin\n")
    text = tab_batch("MAN(20)", SUPPRESS, OUT)
    refused(tab_folder(tmp_path), text + '<LOGBOOK> "profile.txt"\n// $(evil)\n', "line 8", "is no logbook")
    profile.write_text("26-jul-2018 14:00:52 : \n")
    run_batch(tmp_path, text + '<LOGBOOK> "profile.txt"\n')
    assert "Start of batch procedure" in profile.read_text() and "Start of batch" in (tmp_path / "log.txt").read_text()


def test_two_commands_do_not_write_the_same_file(tmp_path):
    more = ('<WRITETABLE> (1,5,AS+,"o.tab")', '<WRITETABLE> (1,3,AS+,"o.rda")')
    refused(tab_folder(tmp_path), tab_batch("MAN(20)", SUPPRESS, *more), "line 7", "o.rda is used by line 8, too")
    refused(tmp_path, tab_batch("MAN(20)", SUPPRESS, '<WRITETABLE> (1,3,AS+,"log.txt")'), "used by the logbook")


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text("mine")
    (tmp_path / "in" / "o.csv").symlink_to(secret)
    run_batch(tab_folder(tmp_path / "in"), tab_batch("MAN(20)", SUPPRESS, OUT))
    assert secret.read_text() == "mine" and not (tmp_path / "in" / "o.csv").is_symlink()
    assert (tmp_path / "in" / "o.csv").stat().st_mode & 0o077 == 0  # it has the values of suppressed cells


def test_nothing_is_written_if_one_file_cannot_be(tmp_path):
    (tmp_path / "p.csv").mkdir()
    more = (OUT, '<WRITETABLE> (1,2,AS+,"p.csv")')
    (tab_folder(tmp_path) / "b.arb").write_text(tab_batch("MAN(20)", SUPPRESS, *more))
    said = run_batch(tmp_path, tab_batch("MAN(20)", SUPPRESS, *more), expect=2)
    assert "line 8" in said and "is a folder" in said and not (tmp_path / "o.csv").exists()


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path):
    (tmp_path / "b.cellguard").mkdir()
    (tmp_path / "b.cellguard" / "mine.txt").write_text("mine")
    refused(tab_folder(tmp_path), tab_batch("MAN(20)", SUPPRESS, OUT), "is in the way")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("P(nan,1)", "column 16: an argument of P must be a number"),
        ("P(inf,1)", "must be a number"),
        ("P(1e308,1)", "must be a number"),
        ("P(10,1.5)", "n of P is a whole number"),
        ("NK(1.5,80)", "n of NK is a whole number"),
        ("NK(1,200)", "no share exceeds 100"),
        ("FREQ(99999999999,10)", "n of FREQ is a whole number"),
        ("MAN(nan)", "an argument of MAN must be a number"),
    ],
)
def test_rules_take_plain_numbers(tmp_path, rule, words):
    refused(tab_folder(tmp_path), tab_batch(rule, SUPPRESS, OUT), "b.arb line 4", words)


@pytest.mark.parametrize(
    ("column", "entry", "words"),
    [
        (2, "1e400", "the number is too large"),
        (2, "nan", "not a number"),
        (3, "-4", "field 4: a frequency is below 0"),
        (7, "-5", "field 8: a protection level is below 0"),
        (8, "-5", "field 9: a protection level is below 0"),
    ],
)
def test_faults_of_numbers_have_line_and_column(tmp_path, column, entry, words):
    rows = [tuple(entry if i == column and row[:2] == ("N", "b") else x for i, x in enumerate(row)) for row in TAB]
    refused(tab_folder(tmp_path, rows=rows), tab_batch("MAN(20)", SUPPRESS, OUT), "cells.tab line 6", words)


def test_levels_of_nothing_are_one_unit_of_the_last_decimal(tmp_path):
    rows = [(*row[:7], 0, 0) if row[6] == "u" else row for row in TAB]
    run_batch(tab_folder(tmp_path, rows=rows), tab_batch("MAN(20)", SUPPRESS, '<WRITETABLE> (1,5,AS+,"i.tab")'))
    line = next(row for row in (tmp_path / "i.tab").read_text().splitlines() if row.startswith('"N";"b"'))
    assert line.endswith(";U;0;1")


@pytest.mark.parametrize(
    ("junk", "words"),
    [(bytes(range(256)) * 40, "no text file"), (b"\x00" * 500, "no text file"), (b"", "the file is empty")],
)
@pytest.mark.parametrize("name", ["cells.tab", "about_cells.rda"])
def test_junk_is_told(tmp_path, name, junk, words):
    tab_folder(tmp_path).joinpath(name).write_bytes(junk)
    words = "no variables" if name.endswith("rda") and not junk else words
    refused(tmp_path, tab_batch("MAN(20)", SUPPRESS, OUT), words)


@pytest.mark.parametrize("name", ["cells.tab", "about_cells.rda", "a.hst"])
def test_a_missing_file_has_the_line_that_names_it(tmp_path, name):
    text = tab_batch("MAN(20)", '<APRIORI> "a.hst",1,",",0,0', SUPPRESS, OUT)
    (tab_folder(tmp_path) / "a.hst").write_text("N,s,s\n")
    (tmp_path / name).unlink()
    line = next(i for i, x in enumerate(text.splitlines(), 1) if name in x)
    refused(tmp_path, text, f"b.arb line {line}, column", f"{name}' could not be found; put it beside the batch")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<OPENTABLEDATA> "cells.tab"\n' + tab_batch("MAN(20)", OUT), "line 2, column 1: <OPENTABLEDATA> comes after"),
        ('<OPENMICRODATA> "cells.tab"\n' + tab_batch("MAN(20)", OUT), "are read in another way; write <READMICRODATA>"),
        ("<SUPPRESS> OPT(1,1)\n" + tab_batch("MAN(20)", OUT), "line 1, column 1: the data have not been read yet"),
        (tab_batch("MAN(20)", SUPPRESS, '<APRIORI> "a.hst",1,","'), "line 7, column 1: table 1 is suppressed already"),
        (tab_batch("MAN(20)", "<SUPPRESS> OPT(-1,1)"), "there is no table -1"),
        (tab_batch("MAN(20)", "<SUPPRESS> OPT(nan,1)"), "the number of the table must be a number"),
        (tab_batch("MAN(20)", f"<SUPPRESS> OPT({'9' * 30},1)"), "must be a number"),
        ('<SPECIFYTABLE> "' + "a" * 10**6, "line 1, column 16: a quotation mark opens here"),
    ],
)
def test_commands_out_of_order_are_told(tmp_path, text, words):
    refused(tab_folder(tmp_path), text, words)


def test_a_recoding_after_suppression_is_refused(tmp_path):
    text = micro_batch('"Region""Size"|"Turnover"', "FREQ(3,20)", SUPPRESS, "<RECODE> 1, Region, 1")
    refused(micro_folder(tmp_path), text, "line 7, column 1: table 1 is suppressed already")


@pytest.mark.parametrize("tree", ["N\n@N1\n@@N\n", "N\n@N1\n@N2\nS\n@N1\n@S1\n@S2\n", "@@N\n", "Total\nN\n"])
def test_broken_trees_are_told(tmp_path, tree):
    micro_folder(tmp_path).joinpath("region.hrc").write_text(tree)
    refused(tmp_path, micro_batch('"Region""Size"|"Turnover"', "FREQ(3,20)", SUPPRESS, OUT), "region.hrc line")


def test_a_table_is_not_published_beside_one_that_hides_its_cells(tmp_path):
    tab_folder(tmp_path)
    rows = [(row[0], *row[2:5]) for row in TAB if row[1] == "b"]
    (tmp_path / "b.tab").write_text(
        "\n".join(",".join(map(str, ("Total" if r[0] == "Total" else r[0], *r[1:]))) for r in rows)
    )
    (tmp_path / "b.rda").write_text(
        '<SEPARATOR> ","\nRegion\n <RECODEABLE>\nValue\n <NUMERIC>\nFirms\n <FREQUENCY>\nFirst\n <MAXSCORE>\n'
    )
    text = tab_batch("MAN(20)", read="0")
    both = text.replace(
        "<READTABLE>",
        '<OPENTABLEDATA> "cells.tab"\n<OPENMETADATA> "about_cells.rda"\n'
        '<SPECIFYTABLE> "Region""Size"|"Value"\n<SAFETYRULE> FREQ(1,10)\n<READTABLE>',
    )
    public = '<WRITETABLE> (2,3,AS-,"two.csv")'
    refused(tmp_path, both + f"{SUPPRESS}\n{OUT}\n{public}\n", "table 2 has not been suppressed, and is not safe")
    run_batch(tmp_path, both + f"<SUPPRESS> MOD(0,1,0,0,0)\n{OUT}\n{public}\n")
    assert ",x\n" in (tmp_path / "two.csv").read_text()


def test_a_table_written_before_it_is_suppressed_has_no_secondaries_and_is_not_public(tmp_path):
    early = '<WRITETABLE> (1,3,AS+,"early.csv")'
    said = run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", early, SUPPRESS, OUT))
    assert ",11\n" not in (tmp_path / "early.csv").read_text() and ",11\n" in (tmp_path / "o.csv").read_text()
    assert "early.csv as code, value. It is not suppressed" in said
    text = tab_batch("MAN(20)", early.replace("AS+", "AS-"), SUPPRESS)
    (tmp_path / "early.csv").unlink()
    run_batch(tmp_path, text, expect=2)
    assert not (tmp_path / "early.csv").exists()


def test_comments_and_empty_cells_of_other_files_change_nothing(tmp_path):
    rows = [row for row in TAB if row[:2] != ("W", "s") and row[:2] != ("W", "b")]
    rows += [("W", "b", 90, 8, 40, 20, "s", "", ""), *[]]
    rows = [(*row[:2], row[2] - 40, *row[3:]) if row[:2] == ("Total", "s") else row for row in rows]
    rows = [(*row[:2], row[2] + 40, *row[3:]) if row[:2] == ("Total", "b") else row for row in rows]
    tab_folder(tmp_path, rows=rows, rda="// made by hand\n" + TAB_RDA.replace("Size\n", "// the second\nSize\n", 1))
    (tmp_path / "a.hst").write_text("// statements\nW,s,u\nS,s,p\n")
    said = run_batch(tmp_path, tab_batch("MAN(20)", '<APRIORI> "a.hst",1,",",0,0', OUT))
    assert "1 statements about table 1; 1 are about empty cells, and change nothing" in said


def test_arguments_may_be_left_open(tmp_path):
    (tab_folder(tmp_path) / "b.arb").write_text(tab_batch("MAN(20)", OUT))
    assert main([str(tmp_path / "b.arb"), "-", "-", str(tmp_path)], say=lambda line: None) == 0
    assert not (tmp_path / "-").exists() and (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(("kind", "options"), [(1, "SE+"), (2, "SE-"), (6, "TR+")])
def test_tables_that_are_nearly_empty_are_not_written_cell_by_cell(tmp_path, kind, options):
    rows = [(f"r{i}", f"c{i}", 1, 1, 1, 0, "s", "", "") for i in range(5000)]
    text = tab_batch("MAN(20)", f'<WRITETABLE> (1,{kind},AS+{options},"o.csv")', read="1")
    refused(tab_folder(tmp_path, rows=rows), text, "line 6", "25,010,001 combinations", "with SE+")
    run_batch(tmp_path, text.replace(f"(1,{kind},AS+{options}", "(1,3,AS+SE+"))
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 15_001


def test_more_combinations_than_can_be_counted_are_refused(tmp_path):
    rows = [(*(f"{v}{i}" for v in range(6)), 1) for i in range(2000)]
    rda = '<SEPARATOR> ","\n' + "".join(f"V{i}\n <RECODEABLE>\n" for i in range(6)) + "Value\n <NUMERIC>\n"
    specify = "".join(f'"V{i}"' for i in range(6)) + '|"Value"'
    tab_folder(tmp_path, rows=rows, rda=rda)
    refused(tmp_path, tab_batch("MAN(20)", OUT, specify=specify), "more combinations of codes than can be counted")
