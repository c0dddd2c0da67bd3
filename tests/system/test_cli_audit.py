"""`cellguard audit` and `cellguard verify`, end to end, as a user runs them."""

import json
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from cellguard.faces.cli.main import main
from unit.io import made_folders

PROVINCES = """\
province,n
Total,417
North,63
Groningen,21
Friesland,x
Drenthe,23
Rest,354
Flevoland,..
Other,342
"""
TREE = "region,province\nNorth,Groningen\nNorth,Friesland\nNorth,Drenthe\nRest,Flevoland\nRest,Other\n"
TRUE = "region,shown,mark,turnover\nTotal,7100,,7100\nN,,P,3417\nS,,S,1283\nW,2400,,2400\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in the temporary folder, within this process, which saves the time of starting one."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["cellguard", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, stop.value.code, shown.out, shown.err)

    return call


@pytest.fixture
def job(tmp_path):
    return made_folders.write_job(tmp_path, "plain").name


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_folders.make(tmp_path_factory.mktemp("made"), "plain")


def unsafe(folder):
    """Nothing but the primary is hidden any more. Its value is 20; its interval is no secret to an attacker."""
    path = folder / "t.csv"
    path.write_text(path.read_text().replace("secondary", ""))


# A job.


def test_a_safe_job_is_released_and_verified(run, tmp_path, job):
    done = run("audit", job, "--out", "out")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Safe against outsiders only; insiders not checked: ")
    assert "Written: release and certificate: out" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(
        "Insiders not checked; sums of suppressed cells (unions) not checked"
    )
    assert stat.S_IMODE((tmp_path / "out" / "internal").stat().st_mode) == 0o700
    for target in ("out", "out/internal/certificate.json"):
        checked = run("verify", target)
        assert checked.returncode == 0 and checked.stdout.count("ok  ") == 10
        assert "Valid." in checked.stdout and "not a signature" in checked.stdout
    again = run("audit", "out")
    assert again.returncode == 0 and again.stdout.startswith("Safe against outsiders only")


def test_an_unsafe_job_writes_nothing_and_says_why(run, tmp_path, job):
    unsafe(tmp_path)
    done = run("audit", job, "--out", "out")
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.startswith("UNSAFE")
    assert "t: N/a: known exactly, 20\n  N/a = Total/a - S/a - W/a, all published" in done.stdout
    assert {p.name for p in tmp_path.iterdir()} == {"job.yaml", "t.csv"}


def test_json_is_all_that_is_printed(run, tmp_path, job):
    done = run("audit", job, "--json")
    summary = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert summary["verdict"] == "safe" and summary["failing"] == [] and summary["insiders"] == "not checked"
    counts = {"cells": 16, "published": 7, "primary": 1, "secondary": 8, "unpublished": 0, "failing": 0}
    assert counts.items() <= summary["tables"]["t"].items()
    unsafe(tmp_path)
    done = run("audit", job, "--json", "--threads", "2")
    (failure,) = json.loads(done.stdout)["failing"]
    assert done.returncode == 1
    assert failure["cell"] == "t: N/a" and (failure["lower"], failure["upper"]) == (20, 20)


def test_quiet_says_nothing(run, tmp_path, job):
    done = run("audit", job, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_intervals_go_to_a_file_for_its_owner_only(run, tmp_path, job):
    done = run("audit", job, "--intervals", "ends.csv")
    assert done.returncode == 0 and "ends.csv (confidential)" in done.stdout
    path = tmp_path / "ends.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = path.read_text().splitlines()
    assert lines[0] == "cell,lower,upper" and len(lines) == 10
    assert lines[1] == "t: N/a,0,81"
    assert run("audit", job, "--intervals", "ends.csv").returncode == 2


def test_an_existing_folder_needs_force(run, tmp_path, job):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    for force in ((), ("--force",)):
        done = run("audit", job, "--out", "out", *force)
        assert done.returncode == 2 and "is no output folder" in done.stderr
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]
    (tmp_path / "out" / "mine").unlink()
    assert run("audit", job, "--out", "out", "--force").returncode == 0
    assert "--force" in run("audit", job, "--out", "out").stderr
    assert run("audit", job, "--out", "out", "--force").returncode == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"release", "internal"}
    assert {p.name for p in tmp_path.iterdir()} == {"job.yaml", "t.csv", "out"}


def test_an_interrupt_leaves_nothing_half_written(tmp_path, job):
    """SIGINT arrives while the certificate is being written, after release and internal files."""
    code = (
        "import time, cellguard.methods.suppress.pattern_method as o, cellguard.faces.cli.main as m, sys\n"
        "def wait(*a, **k): open('ready', 'w').close(); time.sleep(60)\n"
        "o.write_certificate = wait\n"
        f"sys.argv = ['cellguard', 'audit', '{job}', '--out', 'out']\n"
        "m.main()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "ready").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.strip() == "cellguard: interrupted; nothing was released"
    assert {p.name for p in tmp_path.iterdir()} == {"job.yaml", "t.csv", "ready"}


# A folder.


def test_a_folder_whose_pattern_was_weakened_fails(run, tmp_path, made):
    out = shutil.copytree(made, tmp_path / "out")
    path = out / "internal" / "t.csv"
    path.write_text(path.read_text().replace("secondary", "published"))
    done = run("audit", "out")
    assert done.returncode == 1 and "N/a = Total/a - S/a - W/a, all published" in done.stdout
    assert run("verify", "out").returncode == 1


def test_verify_finds_halves_that_were_moved(run, tmp_path, made):
    out = shutil.copytree(made, tmp_path / "out")
    (out / "release").rename(tmp_path / "shown")
    assert run("verify", "out").returncode == 1
    assert run("verify", "out", "--release", "shown").returncode == 0
    (out / "internal").rename(tmp_path / "kept")
    shutil.copy(tmp_path / "kept" / "certificate.json", tmp_path)
    done = run("verify", "certificate.json", "--release", "shown", "--internal", "kept", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["valid"] and len(found["checks"]) == 10


def test_verify_tells_which_check_fails(run, tmp_path, made):
    out = shutil.copytree(made, tmp_path / "out")
    path = out / "release" / "t.csv"
    path.write_text(path.read_text().replace("N,a,,c", "N,a,20,"))
    done = run("verify", "out")
    assert done.returncode == 1
    assert "FAIL 3." in done.stdout and "FAIL 4." in done.stdout and "FAIL 9." in done.stdout
    assert "NOT VALID: do not publish." in done.stdout


# Tables made elsewhere.


def test_a_table_made_elsewhere_is_attacked_through_its_tree(run, tmp_path):
    (tmp_path / "t.csv").write_text(PROVINCES)
    (tmp_path / "tree.csv").write_text(TREE)
    words = ("--dim", "province:levels=tree.csv", "--value", "n", "--count")
    done = run("audit", "--table", "t.csv", *words)
    assert done.returncode == 1
    assert "8 distinct cells, 2 suppressed, 2 disclosed." in done.stdout
    assert "Friesland: known exactly, 19\n  Friesland = North - Groningen - Drenthe, all published" in done.stdout
    flat = PROVINCES.replace("North,63\n", "").replace("Rest,354\n", "")
    (tmp_path / "t.csv").write_text(flat)
    done = run("audit", "--table", "t.csv", "--dim", "province", "--value", "n", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["verdict"] == "not exactly disclosed"
    assert [(i["lower"], i["upper"]) for i in found["intervals"]] == [(0, 31), (0, 31)]


def test_a_total_from_elsewhere_gives_both_away(run, tmp_path):
    (tmp_path / "t.csv").write_text("r,s,value\na,p,x\na,q,x\nb,p,12\nb,q,8\na,Total,20\nb,Total,20\n")
    (tmp_path / "known.csv").write_text("r,s,value\nTotal,p,13\n")
    table = ("audit", "--table", "t.csv", "--dim", "r:parents=r.csv", "--dim", "s")
    (tmp_path / "r.csv").write_text("code,parent\nTotal,\na,Total\nb,Total\n")
    assert run(*table).returncode == 0
    done = run(*table, "--known", "known.csv", "--intervals", "ends.csv")
    assert done.returncode == 1
    assert (tmp_path / "ends.csv").read_text() == "cell,lower,upper\nt: a/p,1,1\nt: a/q,19,19\n"


def test_tables_are_linked_through_the_margin_that_they_share(run, tmp_path):
    (tmp_path / "rs.csv").write_text(
        "r,s,value\nTotal,Total,5\na,Total,x\nb,Total,x\nTotal,p,2\nTotal,q,3\na,p,x\na,q,x\nb,p,0\nb,q,0\n"
    )
    (tmp_path / "rt.csv").write_text("r,t,value\nTotal,Total,5\na,Total,5\nb,Total,0\n")
    tables = ("--table", "rs.csv", "--dim", "r", "--dim", "s")
    done = run("audit", *tables, "--table", "rt.csv", "--dim", "t", "--json")
    assert done.returncode == 1
    ends = {i["cell"]: (i["lower"], i["upper"]) for i in json.loads(done.stdout)["intervals"]}
    assert ends == {"rs: a/p": (2, 2), "rs: a/q": (3, 3)}


# Everybody in c0 has a0, everybody in c1 has b0 and everybody in c2 has a1: that tells a by b, in no single table.
CROSSING = {
    "ab": "Total,Total,22\na0,Total,9\na1,Total,13\nTotal,b0,12\nTotal,b1,10\na0,b0,x\na0,b1,x\na1,b0,x\na1,b1,x\n",
    "ac": "Total,Total,22\na0,Total,9\na1,Total,13\nTotal,c0,5\nTotal,c1,9\nTotal,c2,8\n"
    "a0,c0,5\na0,c1,4\na1,c1,5\na1,c2,8\n",
    "bc": "Total,Total,22\nb0,Total,12\nb1,Total,10\nTotal,c0,5\nTotal,c1,9\nTotal,c2,8\n"
    "b0,c0,2\nb1,c0,3\nb0,c1,9\nb0,c2,1\nb1,c2,7\n",
}


@pytest.mark.parametrize("kind", [("--count",), ()], ids=["counts", "values"])
def test_tables_that_cross_disclose_what_none_of_them_does(run, tmp_path, kind):
    for name, rows in CROSSING.items():
        (tmp_path / f"{name}.csv").write_text(f"{name[0]},{name[1]},value\n{rows}")
    words = ("--dim", "a", "--dim", "b", "--dim", "c", "--json", *kind)
    done = run("audit", "--table", "ab.csv", "--table", "ac.csv", *words)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "not exactly disclosed")
    done = run("audit", "--table", "ab.csv", "--table", "ac.csv", "--table", "bc.csv", *words)
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"]) == (1, "unsafe")
    ends = {i["cell"]: (i["lower"], i["upper"]) for i in found["intervals"]}
    assert ends == {"ab: a0/b0": (6, 6), "ab: a0/b1": (3, 3), "ab: a1/b0": (6, 6), "ab: a1/b1": (7, 7)}


@pytest.mark.parametrize(("percent", "code"), [(10, 0), (30, 0), (38, 1)])
def test_protection_is_judged_where_the_true_values_are_known(run, tmp_path, percent, code):
    """S can give N at most 1283, which is 37.5 % of 3417."""
    (tmp_path / "t.csv").write_text(TRUE)
    words = ("--value", "shown", "--flag", "mark", "--true", "turnover", "--primary", "P", "--percent", percent)
    done = run("audit", "--table", "t.csv", "--dim", "region", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("Safe against outsiders only" if code == 0 else "UNSAFE")


def test_without_primary_every_flagged_cell_is_one(run, tmp_path):
    (tmp_path / "t.csv").write_text(TRUE)
    words = ("--value", "shown", "--flag", "mark", "--true", "turnover", "--json")
    summary = json.loads(run("audit", "--table", "t.csv", "--dim", "region", *words).stdout)
    assert summary["set"]["primary"] == 2 and summary["verdict"] == "safe"


STATUSES = {
    "intermediate": ("S", "U", "M"),
    "in small letters": ("s", "u", "m"),
    "SBS": ("V", "A", "D"),
    "SBS by p%": ("V", "F", "D"),
    "code-value": ("1", "5", "11"),
    "sdcTable": ("s", "u", "x"),
    "G-Confid": ("S", "P", "X"),
}


@pytest.mark.parametrize("kind", STATUSES)
def test_the_statuses_of_other_tools_are_known(run, tmp_path, kind):
    """Every cell has a status, and only two of them mean suppressed; values may be there or not."""
    safe, primary, secondary = STATUSES[kind]
    for gone in (("20", "30"), ("", ""), ("x", "x")):
        (tmp_path / "t.csv").write_text(
            f"region,value,status\nTotal,100,{safe}\nN,{gone[0]},{primary}\nS,50,{safe}\nW,{gone[1]},{secondary}\n"
        )
        done = run("audit", "--table", "t.csv", "--dim", "region", "--flag", "status", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert [(i["cell"], i["lower"], i["upper"]) for i in found["intervals"]] == [("t: N", 0, 50), ("t: W", 0, 50)]
        (tmp_path / "t.csv").write_text(
            f"region,value,status\nTotal,100,{safe}\nN,{gone[0]},{secondary}\nS,50,{safe}\nW,30,{safe}\n"
        )
        done = run("audit", "--table", "t.csv", "--dim", "region", "--flag", "status")
        assert done.returncode == 1 and "N: known exactly, 20" in done.stdout


def test_protected_and_empty_cells_of_tau_argus_are_published(run, tmp_path):
    (tmp_path / "t.csv").write_text("region,value,status\nTotal,100,P\nN,,U\nS,50,S\nW,,M\nE1,-,E\nE2,0,Z\nP,10,P\n")
    done = run("audit", "--table", "t.csv", "--dim", "region", "--flag", "status", "--json")
    assert done.returncode == 0, done.stderr
    ends = {i["cell"]: (i["lower"], i["upper"]) for i in json.loads(done.stdout)["intervals"]}
    assert ends == {"t: N": (0, 40), "t: W": (0, 40)}


@pytest.mark.parametrize("marks", [("x", "x", "x"), ("", "", ""), ("c", "c", "c")])
def test_tables_of_which_nothing_is_published_are_refused(run, tmp_path, marks):
    (tmp_path / "t.csv").write_text("region,value,mark\n" + "".join(f"{r},7,{m}\n" for r, m in zip(
        ("Total", "N", "S"), ("U", "U", "U"), strict=True)))  # fmt: skip
    (tmp_path / "v.csv").write_text("region,value\n" + "".join(f"{r},{m}\n" for r, m in zip(
        ("Total", "N", "S"), marks, strict=True)))  # fmt: skip
    flagged = ("--table", "t.csv", "--dim", "region", "--flag", "mark")
    for words in (flagged, (*flagged, "--true", "value"), ("--table", "v.csv", "--dim", "region")):
        done = run("audit", *words)
        assert done.returncode == 2 and "every cell of these tables is suppressed" in done.stderr, words
        assert "7" not in done.stderr and "--suppressed" in done.stderr


def test_statuses_that_tools_use_in_different_ways_are_asked_about(run, tmp_path):
    rows = "Total,100,S\nN,20,P\nS,50,S\nW,30,P\n"
    (tmp_path / "t.csv").write_text("region,value,status\n" + rows)
    words = ("audit", "--table", "t.csv", "--dim", "region", "--flag", "status")
    done = run(*words)
    assert done.returncode == 2 and "--suppressed" in done.stderr and "τ-ARGUS and G-Confid" in done.stderr
    done = run(*words, "--suppressed", "p", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["set"]["suppressed"] == 2
    done = run(*words, "--suppressed", "U")
    assert done.returncode == 2 and "no entry of the column 'status'" in done.stderr
    done = run("audit", "--table", "t.csv", "--dim", "region", "--suppressed", "U")
    assert done.returncode == 2 and "--flag" in done.stderr


@pytest.mark.parametrize("primary", ["X", "P"])
def test_published_cells_with_a_status_beside_one_without(run, tmp_path, primary):
    """S means published to G-Confid and sdcTable; that E has no status does not make it a mark of suppressed cells."""
    rows = f"Total,100,S\nN,,{primary}\nS,50,S\nW,50,S\nE,0,\n"
    (tmp_path / "t.csv").write_text("region,value,status\n" + rows)
    words = ("audit", "--table", "t.csv", "--dim", "region", "--flag", "status")
    done = run(*words)
    assert done.returncode == 2 and "a column of flags and" in done.stderr and "--suppressed" in done.stderr
    assert run(*words, "--suppressed", primary).returncode == 1  # nothing is left for N
    (tmp_path / "t.csv").write_text("region,value,status\n" + rows.replace("100,S", "100,").replace("50,S", ",S"))
    assert run(*words).returncode == 0  # primary and secondary cells, and neither shows a value


def test_a_set_without_a_primary_is_not_called_safe(run, tmp_path):
    (tmp_path / "t.csv").write_text(TRUE)
    words = ("--value", "shown", "--flag", "mark", "--true", "turnover", "--primary", "U")
    done = run("audit", "--table", "t.csv", "--dim", "region", *words)
    assert done.returncode == 2 and "no suppressed cell has such a flag" in done.stderr
    (tmp_path / "t.csv").write_text(TRUE.replace(",P,", ",,").replace(",S,", ",,").replace("N,,", "N,3417,"))
    done = run("audit", "--table", "t.csv", "--dim", "region", "--value", "turnover", "--true", "turnover")
    assert done.returncode == 2 and "no cell of these tables is suppressed" in done.stderr


# Faults, and what they must not tell.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either an output folder or a job"),
        (["nowhere"], "no file or folder 'nowhere'"),
        (["."], "is no output folder"),
        (["job.yaml", "--table", "t.csv"], "give either"),
        (["--table", "t.csv"], "name them with --dim"),
        (["--table", "t.csv", "--dim", "regoin"], "no table has such a column; did you mean 'region'?"),
        (["--table", "t.csv", "--dim", "region:level=x"], "unknown word 'level'; did you mean 'levels'?"),
        (["--table", "t.csv", "--dim", "region:digits=1,a"], "digits"),
        (["--table", "t.csv", "--dim", "region:parents=no.csv"], "no file"),
        (
            ["--table", "t.csv", "--dim", "region", "--value", "trunover"],
            "no column 'trunover'; did you mean 'turnover'?",
        ),
        (["--table", "t.csv", "--dim", "region", "--value", "mark"], "not a number"),
        (["--table", "t.csv", "--dim", "region", "--value", "turnover", "--flag", "no"], "no column 'no'"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--upper", "100"], "no table fits"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--lower", "9", "--upper", "1"], "below upper"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--out", "out"], "--out goes with a job"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--known", "no.csv"], "no.csv"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--true", "turnover", "--primary", "P"], "--flag"),
        (["--table", "t.csv", "--dim", "region", "--value", "shown", "--true", "nothing"], "no column 'nothing'"),
        (["--table", "bad.csv", "--dim", "region", "--value", "turnover"], "do not hold"),
        (["job.yaml", "--threads", "0"], "--threads"),
        (["job.yaml", "--nonsense"], "--nonsense"),
    ],
)
def test_faults_are_told_without_values(run, tmp_path, job, arguments, words):
    (tmp_path / "t.csv").write_text(TRUE)
    (tmp_path / "bad.csv").write_text(TRUE.replace(",1283", ",1284"))
    done = run("audit", *arguments)
    assert done.returncode == 2
    assert words in done.stderr and done.stdout == ""
    assert not any(value in done.stderr for value in ("3417", "1283", "1284", "2400", "7100"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("certificate.json", "{"),
        ("certificate.json", '{"attack": 3417, "tables": [3417], "equations": []}'),
        ("t.csv", "region,size\n3417,1283\n"),
        ("t.csv", None),
        ("hierarchies/size.csv", "hierarchy,code,parent,label\n0,3417,1283,\n"),
        ("facts/t.parquet", "3417"),
        ("job.yaml", "{3417: [1283"),
        ("certificate.parquet", "3417"),
    ],
)
def test_damaged_folders_tell_no_values(run, tmp_path, made, name, text):
    out = shutil.copytree(made, tmp_path / "out")
    path = out / "internal" / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    for command, codes in (("audit", (0, 2)), ("verify", (1,))):
        done = run(command, "out")
        assert done.returncode in codes, (command, done.stderr)
        assert "internal error" not in done.stderr
        assert not any(value in done.stderr + done.stdout for value in ("3417", "1283"))


def test_verify_of_nothing(run, tmp_path):
    for target, cure in (("nowhere", "name the output folder"), (".", "certificate.json")):
        done = run("verify", target)
        assert done.returncode == 2 and cure in done.stderr


def test_a_folder_that_cannot_be_written_is_told(run, tmp_path, job):
    (tmp_path / "file").touch()
    done = run("audit", job, "--out", "file/out")
    assert done.returncode == 2 and "cannot write" in done.stderr


def test_tables_without_dimension_name_or_suppressed_cell_are_refused_with_a_hint(run, tmp_path):
    (tmp_path / "t.csv").write_text("region,value\nTotal,10\nN,4\nS,6\n")
    for options, hint in [
        ([], "name them with --dim COLUMN; the columns are 'region', 'value'"),
        (["--dim", ""], "--dim names no column; the columns are"),
        (["--dim", ":total=Total"], "--dim :total=Total names no column"),
        (["--dim", "region", "--value", " "], "--value names no column"),
        (["--dim", "region"], "no cell of these tables is suppressed"),
    ]:
        done = run("audit", "--table", "t.csv", *options)
        assert done.returncode == 2 and hint in done.stderr
