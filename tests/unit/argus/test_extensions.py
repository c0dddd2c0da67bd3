"""What follows `<CELLGUARD>` does what its words say."""

import shutil

import pytest
import yaml

from cellguard.pipeline import verify

from argus_batches import TAB_RDA, micro_batch, micro_folder, run_batch, statuses, tab_batch, tab_folder

OUT = '<WRITETABLE> (1,3,AS+,"o.csv")'
HIDDEN = {3, 4, 5, 6, 9, 11, 12}


def job_of(folder):
    return yaml.safe_load((folder / "b.cellguard" / "job.yaml").read_text())


def test_an_earlier_release_keeps_its_cells_suppressed(tmp_path):
    run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", OUT))
    first = {cell for cell, status in statuses(tmp_path / "o.csv").items() if status in HIDDEN}
    shutil.move(tmp_path / "b.cellguard", tmp_path / "last")
    # Other costs make another pattern the best one, and both together would give cells away.
    (tmp_path / "c.hst").write_text("".join(f"{a},{b},c,100000\n" for a, b in first if (a, b) != ("N", "b")))
    costs = '<APRIORI> "c.hst",1,",",0,0'
    run_batch(tmp_path, tab_batch("MAN(20)", costs, "<SUPPRESS> OPT(1,1)", OUT))
    assert {cell for cell, status in statuses(tmp_path / "o.csv").items() if status in HIDDEN} != first
    previous = '<CELLGUARD> PREVIOUS "last"'
    run_batch(tmp_path, tab_batch("MAN(20)", costs, previous, "<SUPPRESS> OPT(1,1)", OUT))
    assert {cell for cell, status in statuses(tmp_path / "o.csv").items() if status in HIDDEN} >= first
    assert job_of(tmp_path)["previous"] == [{"folder": str((tmp_path / "last" / "results").resolve())}]
    assert verify(tmp_path / "b.cellguard" / "results").valid


@pytest.mark.parametrize(
    ("name", "words"),
    [("none", "line 6, column 1: PREVIOUS: there is no folder"), ("b.cellguard", "copy it to another")],
)
def test_an_earlier_release_must_be_there_and_stay(tmp_path, name, words):
    run_batch(tab_folder(tmp_path), tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)"))
    text = tab_batch("MAN(20)", f'<CELLGUARD> PREVIOUS "{name}"', "<SUPPRESS> OPT(1,1)", OUT)
    assert words in run_batch(tmp_path, text, expect=2)
    assert (tmp_path / "b.cellguard" / "job.yaml").is_file()


def test_respondents_attack_if_the_batch_asks_for_it(tmp_path):
    for line, insiders in (("<CELLGUARD> EFFORT quick", False), ("<CELLGUARD> INSIDERS on", True)):
        said = run_batch(
            micro_folder(tmp_path), micro_batch('"Region"|"Turnover"', "P(20,1)", line, "<SUPPRESS> OPT(1,1)")
        )
        assert job_of(tmp_path)["attack"]["insiders"] is insiders and ("insiders not checked" in said) is not insiders
    assert job_of(tmp_path)["tables"][0]["protect"]["effort"] == "best"
    run_batch(
        tmp_path, micro_batch('"Region"|"Turnover"', "P(20,1)", "<CELLGUARD> SINGLETONS 1", "<SUPPRESS> OPT(1,1)")
    )
    assert job_of(tmp_path)["attack"]["insiders"] is True


def test_alternatives_are_protected_each_by_itself(tmp_path):
    tab_folder(tmp_path)
    second = tab_batch("MAN(20)").split("<READTABLE>")[0]
    both = second + tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", "<SUPPRESS> OPT(2,1)")
    run_batch(tmp_path, both)
    assert len(job_of(tmp_path)["tables"]) == 2
    run_batch(tmp_path, both + "<CELLGUARD> TABLES alternatives\n")
    jobs = sorted((tmp_path / "b.cellguard").glob("*/job.yaml"))
    assert [len(yaml.safe_load(path.read_text())["tables"]) for path in jobs] == [1, 1]


def test_parts_between_clear_are_said_to_be_unproven_together(tmp_path):
    part = tab_batch("MAN(20)", "<SUPPRESS> OPT(1,1)", OUT)
    said = run_batch(tab_folder(tmp_path), part + "<CLEAR>\n" + part.replace("o.csv", "p.csv"))
    assert "Not proven: what tables before and after <CLEAR> tell together" in said
    assert (tmp_path / "o.csv").read_text() == (tmp_path / "p.csv").read_text()


def test_more_than_four_dimensions(tmp_path):
    names = [f"V{i}" for i in range(5)]
    rows = [(*format(i, "05b"), 10 + i % 7, 2 if i in {3, 20} else 9) for i in range(32)]
    rda = TAB_RDA.split("Region")[0] + "".join(f"{n}\n <RECODEABLE>\n" for n in names)
    tab_folder(tmp_path, rows=rows, rda=rda + "Value\n <NUMERIC>\nFirms\n <FREQUENCY>\n")
    specify = "".join(f'"{n}"' for n in names) + '|"Value"'
    said = run_batch(tmp_path, tab_batch("FREQ(3,10)", "<SUPPRESS> MOD(1,1,0,0,0)", OUT, read="1", specify=specify))
    assert "243 cells, 2 unsafe" in said and verify(tmp_path / "b.cellguard" / "results").valid
