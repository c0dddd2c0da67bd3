"""A list of tables, as INSEE's metadata have it, becomes one job with all that ties its tables."""

from __future__ import annotations

import pytest
import yaml

from cellguard.errors import InputError
from cellguard.job.jobfile import Job
from cellguard.suggest.table_list import job_of_list

from system.command import run

# In the shape of metadata_pizza_lettuce of rtauargus 1.2 (INSEE), whose six tables form three groups.
LIST = """\
table_name,field,hrc_field,indicator,hrc_indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2
T1,france,NA,to_pizza,NA,nuts2,hrc_nuts,size,NA
T2,france,NA,to_pizza,NA,a10,hrc_nace,nuts2,hrc_nuts
T3,france,NA,to_lettuce,hrc_lettuce,a10,hrc_nace,size,NA
T4,france,NA,to_batavia,hrc_lettuce,a10,hrc_nace,size,NA
T5,france,NA,to_arugula,hrc_lettuce,a10,hrc_nace,size,NA
T6,europe,NA,to_batavia,hrc_lettuce,size,NA,,
"""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "hrc_nuts.hrc").write_text("N\n@n1\n@n2\nS\n@s1\n")
    (tmp_path / "hrc_nace.csv").write_text("code,parent\nAll,\nA,All\nB,All\n")
    (tmp_path / "hrc_lettuce.hrc").write_text("to_lettuce\n@to_batavia\n@to_arugula\n")
    return tmp_path


def test_tables_hierarchies_equations_and_groups(here):
    made = job_of_list(here / "list.csv", here)
    job = Job.parse(yaml.safe_load(made.text))
    assert [(t.name, tuple(t.dimensions), t.value, t.population) for t in job.tables][2] == (
        "T3",
        ("a10", "size"),
        "to_lettuce",
        "france",
    )
    assert job.tables[0].cells.source == "T1.csv"
    assert job.dimensions["nuts2"].hrc == "hrc_nuts.hrc" and job.dimensions["a10"].parents == "hrc_nace.csv"
    assert job.equations == ["to_lettuce = to_batavia + to_arugula"]
    assert made.groups == [["T1", "T2"], ["T3", "T4", "T5"], ["T6"]] and made.notes == []


def test_excel_is_read_alike(here):
    openpyxl = pytest.importorskip("openpyxl")
    prover = openpyxl.Workbook()
    for line in LIST.splitlines():
        prover.active.append([entry or None for entry in line.split(",")])
    prover.save(here / "list.xlsx")
    prover.close()
    one, other = (job_of_list(here / name, here).text.split("\n", 2)[2] for name in ("list.csv", "list.xlsx"))
    assert one == other


def test_the_job_runs_from_records(here):
    lines = ["nuts2,size,a10,to_pizza,to_lettuce,to_batavia,to_arugula"]
    for i in range(90):
        batavia, arugula = 5 + i % 7, 3 + i % 5
        codes = ("n1", "n2", "s1")[i % 3], "ab"[i % 4 // 2], "AB"[i % 5 % 2]
        lines.append(",".join(map(str, (*codes, 40 + i, batavia + arugula, batavia, arugula))))
    (here / "records.csv").write_text("\n".join(lines) + "\n")
    (here / "list.csv").write_text("".join(line for line in LIST.splitlines(True) if not line.startswith("T6")))
    done = run("init", "records.csv", "--tables", "list.csv", cwd=here)
    assert done.returncode == 0 and "5 tables in 2 groups that share cells:\n  T1, T2\n  T3, T4, T5\n" in done.stdout
    done = run("protect", "job.yaml", "--out", "out", "-q", cwd=here)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("table_name", "tabel", "no column table_name; a list has table_name, spanning_1"),
        ("spanning_", "by_", "no column spanning_1"),
        ("T2,france,NA,to_pizza,NA,a10", ",france,NA,to_pizza,NA,a10", "list.csv line 3: the table has no name"),
        ("size,NA,,", ",NA,,", "list.csv line 7: no spanning variable is named"),
        ("nuts2,hrc_nuts,size", "nuts2,hrc_nuts,nuts2", "names a spanning variable twice"),
        (
            "a10,hrc_nace,nuts2",
            "a10,hrc_a21,nuts2",
            "has the hierarchy 'hrc_nace' here and 'hrc_a21' in list.csv line 3",
        ),
        ("T2,", "T1,", "is named 'T1' too; give each table a name of its own"),
    ],
)
def test_a_slip_in_the_list_is_named_with_its_row(here, old, new, words):
    (here / "list.csv").write_text(LIST.replace(old, new))
    with pytest.raises(InputError) as fault:
        job_of_list(here / "list.csv", here)
    assert words in str(fault.value)


def test_what_is_not_there_is_noted_and_populations_need_files(here):
    (here / "hrc_nuts.hrc").unlink()
    (here / "list.csv").write_text(LIST.replace("to_arugula", "to_rocket"))
    notes = job_of_list(here / "list.csv", here).notes
    assert "nuts2: the hierarchy 'hrc_nuts' is no file beside the list" in notes[0]
    assert "but no table has to_arugula" in notes[1]
    with pytest.raises(InputError, match="names 2 populations, and one file of records has one"):
        job_of_list(here / "list.csv", here, here / "records.csv")
    assert "name the DATA to look at" in run("init", cwd=here).stderr
