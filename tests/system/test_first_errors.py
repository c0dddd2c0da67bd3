"""What a new user does wrong in the first hour, and the words that help: what, where, and the cure."""

from __future__ import annotations

import json
import os
import sys

import pytest

from system.command import run, run_process

RECORDS = "region,size,x\n" + "".join(f"{'NS'[i % 2]},{'ab'[i % 3 % 2]},{10 + i}\n" for i in range(24))
TABLE = "{name: t, by: [region], value: x, rules: [{min_frequency: 3}, {p_percent: 10}]}"
JOB = f"version: 1\nmicrodata: {{source: d.csv}}\ntables:\n  - {TABLE}\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / "d.csv").write_text(RECORDS)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def told(folder, *command):
    done = run(*command, cwd=folder)
    assert done.returncode == 2 and not done.stdout, done.stdout
    return done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: t,", "name: a/b,", "job.yaml line 4: tables[0].name: files are named after a table"),
        ("name: t,", "name: a/b,", "'a_b' would do"),
        (
            "{source: d.csv}",
            "{}",
            "microdata.source: this key is missing; name the file that holds the data, as `source:",
        ),
        (
            "[{min_frequency: 3}, {p_percent: 10}]",
            "{p_percent: 10}",
            "tables[0].rules: must be a list, as `rules: [{min",
        ),
        ("by: [region]", "by: region", "tables[0].by: must be a list, as `by: [industry, region]`"),
        ("d.csv", "d.xls", ".xls files are not read; save it as .xlsx or CSV"),
        ("d.csv", "gone.csv", "no file 'gone.csv'; check its name and its folder"),
    ],
)
def test_a_job_with_a_slip_says_how_to_write_it(here, old, new, words):
    (here / "d.xls").write_bytes(b"\xd0\xcf")
    (here / "job.yaml").write_text(JOB.replace(old, new))
    assert words in told(here, "assess", "job.yaml")


def test_a_job_is_no_certificate(here):
    words = told(here, "verify", "job.yaml")
    assert (
        "job.yaml is a job, and a certificate is checked: name the output folder" in words and "--job job.yaml" in words
    )
    assert "d.csv is no certificate; name an output folder" in told(here, "verify", "d.csv")


def test_values_below_zero_are_told_with_their_line_and_cure(here):
    (here / "d.csv").write_text(RECORDS.replace("N,a,10\n", "N,a,10\nN,b,-4000\n"))
    words = told(here, "assess", "job.yaml")
    assert (
        "d.csv line 3, column 'x'" in words
        and "p_percent 10 only makes sense for values that are not negative" in words
    )
    assert "-4000" not in words and "4000" not in words


def test_two_spellings_of_the_total_are_two_totals(here):
    (here / "c.csv").write_text("region,x,n\nTotal,12,9\nTOTAL,12,9\nN,5,4\nS,7,5\n")
    cells = "{name: t, by: [region], value: x, rules: [{min_frequency: 3}], cells: {source: c.csv, count: n}}"
    (here / "job.yaml").write_text(f"version: 1\ntables:\n  - {cells}\n")
    assert "c.csv: column 'region' holds two totals, 'Total' and 'TOTAL'; keep the rows of one" in told(
        here, "assess", "job.yaml"
    )


def test_codes_with_and_without_a_zero_in_front_are_asked_about(here):
    rows = "".join(f"{('08', '8', '09')[i % 3]},a,{10 + i}\n" for i in range(24))
    (here / "d.csv").write_text("region,size,x\n" + rows)
    found = json.loads(run("assess", "job.yaml", "--json", cwd=here).stdout)["warnings"]
    assert any("1 pair of codes differs only in" in text and "zeros in front (as 08 and 8)" in text for text in found)


@pytest.mark.parametrize(
    ("key", "name", "text", "words"),
    [
        (
            "levels",
            "h.csv",
            "code,parent\nTotal,\nN,Total\nS,Total\n",
            "has the columns code and parent; say `parents`",
        ),
        ("parents", "h.csv", "a,b\nA,N\nA,S\n", "a file with one column per level goes into `levels`"),
        ("levels", "h.hrc", "A\n@N\n@S\n", "a .hrc file goes into `hrc`, not into `levels`"),
        ("hrc", "h.csv", "a,b\nA,N\nA,S\n", "a CSV file goes into `levels` or `parents`"),
    ],
)
def test_a_hierarchy_file_of_the_wrong_kind_is_sent_to_its_key(here, key, name, text, words):
    (here / name).write_text(text)
    (here / "job.yaml").write_text(JOB + f"dimensions:\n  region: {{{key}: {name}}}\n")
    assert words in told(here, "assess", "job.yaml")


def test_a_warning_is_told_once_for_all_tables(here):
    (here / "d.csv").write_text(
        "".join(line + (".123\n" if i else "\n") for i, line in enumerate(RECORDS.splitlines()))
    )
    second = TABLE.replace("name: t", "name: u").replace("region", "size")
    small = "p_percent: {p: 0.1, confirmed: true}"
    (here / "job.yaml").write_text((JOB + f"  - {second}\n").replace("p_percent: 10", small))
    found = json.loads(run("assess", "job.yaml", "--json", cwd=here).stdout)["warnings"]
    assert [text.split(":")[0] for text in found] == ["tables 't', 'u'"] * 2
    (here / "job.yaml").write_text(JOB.replace("value: x", "value: x, decimals: 0"))
    assert json.loads(run("assess", "job.yaml", "--json", cwd=here).stdout)["warnings"] == []


@pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="nothing is forbidden to root")
def test_what_cannot_be_read_or_written_is_told_before_the_search(here):
    (here / "d.csv").chmod(0)
    (here / "shut").mkdir(mode=0o500)
    for out, words in (("out", "cannot read"), ("shut/out", "you may not write to the folder")):
        done = run_process("protect", "job.yaml", "--out", out, cwd=here, obeying=True)
        assert done.returncode == 2 and words in done.stderr and not done.stdout
        (here / "d.csv").chmod(0o600)


def test_a_place_that_allows_no_writing_is_told_before_the_data_are_read(here, monkeypatch):
    from pathlib import Path

    from cellguard.errors import InputError
    from cellguard.io.write import check_folder

    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match=r"permission|cannot|not allowed|write"):
        check_folder(Path(here) / "out", force=False)


def test_explain_and_diff_tell_figures(here):
    for name, p in (("a", 10), ("b", 60)):
        (here / f"{name}.yaml").write_text(
            JOB.replace("p_percent: 10", f"p_percent: {p}").replace("[region]", "[region, size]")
        )
        run("protect", f"{name}.yaml", "--out", name, cwd=here)
    said = run("explain", "a", "N / a", cwd=here).stdout.splitlines()
    assert said[0].startswith("N/a in table 't': x ") and said[0].endswith(" respondents.")
    assert "p_percent 10 (the runner-up can estimate" in said[2] and said[2].endswith(" %, safe")
    assert said[-1] == "N/a is published."
    last = run("diff", "a", "b", cwd=here).stdout.splitlines()
    start = next(i for i, line in enumerate(last) if line.startswith("in all"))
    assert [line.split()[0] for line in last[start + 1 :]] == [
        "cells",
        "primary",
        "secondary",
        "cost",
        "gap",
        "verdict",
    ]


MISTAKES = {
    "unquoted yes": (
        "by: [region]",
        "by: [region], where: {ok: [yes]}",
        "as 'yes' or ['yes', 'no']: without quotes",
    ),
    "unquoted yes in a rule": (
        "[{min_frequency: 3}, {p_percent: 10}]",
        "[{max_fraction: {by: region, sensitive: [yes]}}]",
        "max_fraction: sensitive must be text; put codes",
    ),
    "another version": ("version: 1", "version: 2", "line 1: version: this cellguard reads jobs of `version: 1`"),
    "no version": ("version: 1\n", "", "begin the job with the line `version: 1`"),
    "two roles": ("by: [region]", "by: [region, x]", "'x' has two roles; a column spans tables (`by`), is summed"),
    "a slip in a dimension": (
        "version: 1",
        "version: 1\ndimensions: {regoin: {}}",
        "no table has a dimension 'regoin'; did",
    ),
    "known totals that are not there": ("version: 1", "version: 1\nknown: k.csv", "known: there is no file 'k.csv'"),
    "tabs": ("  - {", "\t- {", "line 4: not valid YAML; indent with blanks, not with tabs"),
    "no job": (JOB, "- a\n", "this is no job. A job has keys such as"),
}


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_job_has_its_cause_place_and_cure(here, old, new, words):
    (here / "job.yaml").write_text(JOB.replace(old, new))
    said = told(here, "assess", "job.yaml")
    assert words in said and "AllBut" not in said and "list[str]" not in said


def test_two_tables_of_one_name_are_named_with_their_line(here):
    (here / "job.yaml").write_text(JOB + f"  - {TABLE}\n")
    assert "job.yaml line 5: tables[1].name: tables[0] is named 't' too; give each" in told(here, "assess", "job.yaml")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("protect", "data.csv"), "a job is a .yaml file, and data.csv is named like data"),
        (("protect", "d.csv"), "d.csv is no job but a data file; run `cellguard init d.csv` first"),
        (("protect", "."), "'.' is a folder, and a job is a .yaml file"),
        (("init", "job.yaml"), "job.yaml is named like a job, and `init` writes one from data"),
        (("init", "bare.csv"), "bare.csv line 1: this is no header but data"),
        (("verify", "nowhere"), "'nowhere' is neither a folder nor a file; name the output folder"),
    ],
)
def test_a_command_that_gets_the_wrong_file_says_what_it_takes(here, command, words):
    (here / "bare.csv").write_text("".join(RECORDS.splitlines(keepends=True)[1:]))
    assert words in told(here, *command)


def test_verify_takes_either_half_of_a_folder_and_names_another_version(here):
    assert run("protect", "job.yaml", "--out", "out", cwd=here).returncode == 0
    for half in ("out", "out/internal", "out/release"):
        assert run("verify", half, cwd=here).returncode == 0
    path = here / "out/internal/certificate.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    lines = run("verify", "out", cwd=here).stdout.splitlines()
    assert "was written by another version of cellguard" in lines[0] and lines[1].endswith("as check 1")
