"""Where results go and inputs come from: what cannot be written or read is refused at once, with exit status 2."""

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cellguard.faces.cli import main as command_line

# All that commands load later must be loaded before a test changes anything, or it keeps the change.
import_module("cellguard.methods.perturb.files.job_respondents")

CELLS = "r,s,x,n\nTotal,Total,100,30\nN,Total,60,7\nS,Total,40,23\nTotal,a,70,21\nN,a,45,2\nS,a,25,19\n"
CELLS += "Total,b,30,9\nN,b,15,5\nS,b,15,4\n"
FIRMS = "id,r,s,x\n" + "".join(f"{i},{'NS'[i % 2]},{'ab'[i % 3 % 2]},{i + 1}\n" for i in range(40))
JOBS = {
    "cells.yaml": """\
version: 1
dimensions: {r: {parents: r.csv, labels: labels.csv}}
tables:
  - {name: t, by: [r, s], value: x, cells: {source: cells.csv, count: n}, apriori: said.csv,
     rules: [{min_frequency: 3}]}
known: known.csv
output: {formats: [csv]}
""",
    "records.yaml": """\
version: 1
microdata: {source: firms.csv, respondent: id}
dimensions: {r: {levels: levels.csv}}
tables:
  - {name: t, by: [r, s], value: x, rules: [{min_frequency: 3}]}
output: {formats: [csv]}
""",
    "perturb.yaml": """\
version: 1
microdata: {source: firms.csv, respondent: id}
tables:
  - {name: t, by: [r], value: x, rules: [{dominance: {n: 3, k: 70}}], protect: {method: perturb}}
output: {formats: [csv]}
""",
}
FILES = {
    "cells.csv": CELLS,
    "firms.csv": FIRMS,
    "r.csv": "code,parent\nTotal,\nN,Total\nS,Total\n",
    "labels.csv": "code,label\nN,North\n",
    "levels.csv": "l\nN\nS\n",
    "said.csv": "r,s,status\nS,b,must_publish\n",
    "known.csv": "r,s\nTotal,b\n",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name, text in (FILES | JOBS).items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home, monkeypatch, capsys):
    monkeypatch.setattr(command_line, "listen", list)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["cellguard", *arguments])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        return ended.value.code, capsys.readouterr().err

    return command


@pytest.fixture
def unread(monkeypatch):
    """Fail if any data are read: what cannot be written must be found out before."""

    def read(*_, **__):
        raise AssertionError("the data were read")

    for name in ("inputs.tables.build_dimensions", "inputs.tables.open_source", "inputs.records.open_records"):
        monkeypatch.setattr(f"cellguard.{name}", read)


def forbid(monkeypatch, *folders):
    """Take away the right to write to folders; root has it whatever their mode says."""
    real = os.access

    def access(path, mode, **more):
        return real(path, mode, **more) and not (mode & os.W_OK and Path(path).resolve() in folders)

    monkeypatch.setattr(os, "access", access)


PROTECT = [("protect", "cells.yaml"), ("protect", "records.yaml"), ("perturb", "perturb.yaml"), ("audit", "cells.yaml")]


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("command", PROTECT, ids="-".join)
class TestOutput:
    def test_a_missing_parent(self, run, home, command):
        assert run(*command, "--out", "no/such/out")[0] == 2
        assert not (home / "no").exists()

    def test_a_parent_that_is_a_file(self, run, command):
        code, said = run(*command, "--out", "cells.csv/out")
        assert code == 2 and "there is no folder 'cells.csv'" in said

    def test_a_folder_that_may_not_be_written_to(self, run, home, monkeypatch, command):
        (home / "locked").mkdir()
        forbid(monkeypatch, home / "locked")
        code, said = run(*command, "--out", "locked/out")
        assert code == 2 and "you may not write to the folder" in said

    def test_an_output_that_may_not_be_replaced(self, run, home, monkeypatch, command):
        (home / "out/internal").mkdir(parents=True)
        (home / "out/internal/job.yaml").write_text("version: 1\n")
        forbid(monkeypatch, home / "out/internal")
        code, said = run(*command, "--out", "out", "--force")
        assert code == 2 and "cannot be replaced" in said and (home / "out/internal/job.yaml").exists()

    def test_a_full_disk(self, run, monkeypatch, command):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))
        code, said = run(*command, "--out", "out")
        assert code == 2 and "there is no room for 'out': about 20 MB are needed" in said


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("arguments", [("assess", "cells.yaml", "--list"), ("audit", "cells.yaml", "--intervals")])
def test_a_list_that_cannot_be_written(run, home, monkeypatch, arguments):
    code, said = run(*arguments, str(home / "cells.csv"))
    assert code == 2 and "exists already" in said
    forbid(monkeypatch, home)
    code, said = run(*arguments, str(home / "list.csv"))
    assert code == 2 and "you may not write to the folder" in said


def test_room_for_all_cells_is_looked_for_before_the_search(run, monkeypatch):
    monkeypatch.setattr("cellguard.io.write._ROOM_PER_CELL", 10**18)
    monkeypatch.setattr("cellguard.methods.suppress.method.suppress", None)  # it is never called
    code, said = run("protect", "cells.yaml", "--out", "out")
    assert code == 2 and "there is no room for 'out'" in said


INPUTS = [
    *(("cells.yaml", name) for name in ("cells.yaml", "cells.csv", "r.csv", "labels.csv", "said.csv", "known.csv")),
    *(("records.yaml", name) for name in ("firms.csv", "levels.csv")),
    ("perturb.yaml", "firms.csv"),
]


def to_folder(path, _):
    path.unlink()
    path.mkdir()


def to_broken_link(path, _):
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


def to_forbidden(path, monkeypatch):
    import builtins
    import io

    real = io.open

    def opened(file, *rest, **more):
        if not isinstance(file, int) and Path(os.fsdecode(file)).name == path.name:
            raise PermissionError(13, "Permission denied")
        return real(file, *rest, **more)

    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr(builtins, "open", opened)


def to_nothing(path, _):
    path.unlink()


@pytest.mark.parametrize("spoil", [to_nothing, to_folder, to_broken_link, to_forbidden], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("job", "name"), INPUTS)
def test_unreadable_input_is_an_input_error(run, home, monkeypatch, job, name, spoil):
    spoil(home / name, monkeypatch)
    code, said = run("perturb" if job == "perturb.yaml" else "protect", job, "--out", "out")
    assert code == 2 and "internal error" not in said and name in said
    assert not (home / "out").exists()


def test_the_jobs_of_these_tests_are_fine(run):
    for job, command in (("cells.yaml", "protect"), ("records.yaml", "protect"), ("perturb.yaml", "perturb")):
        code, said = run(command, job, "--out", f"out-{job}")
        assert code in {0, 1} and "internal" not in said
