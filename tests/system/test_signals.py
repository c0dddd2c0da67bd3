"""Signals come at any moment, also when a library cannot bear an exception."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cellguard.faces.cli.protecting import _stoppable

START = """
    import os, signal, sys, time, weakref
    from cellguard.faces.cli.signals import ignore, listen
    came = listen()
"""


def run(code, *, cwd="."):
    text = textwrap.dedent(START) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True, timeout=60)


def test_ctrl_c_while_a_module_loads_waits_for_it(tmp_path):
    Path(tmp_path, "slow.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('loaded')\nvalue = 3\n"
    )
    done = run(
        """
        sys.path.insert(0, ".")
        try:
            import slow
            time.sleep(5)
        except KeyboardInterrupt:
            print("stopped", slow.value)
        """,
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["loaded", "stopped", "3"], done.stderr


def test_ctrl_c_in_a_finalizer_is_not_lost():
    done = run(
        """
        class Thing: pass
        thing = Thing()
        weakref.finalize(thing, os.kill, os.getpid(), signal.SIGINT)
        try:
            del thing
            time.sleep(5)
        except KeyboardInterrupt:
            print("stopped")
        """
    )
    assert done.stdout.split() == ["stopped"] and not done.stderr


def test_a_request_to_end_while_a_module_loads_waits_for_it(tmp_path):
    Path(tmp_path, "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('loaded')\n")
    done = run("sys.path.insert(0, '.')\nimport slow\ntime.sleep(5)\n", cwd=tmp_path)
    assert done.stdout.split() == ["loaded"] and done.returncode == 143 and not done.stderr


def test_ctrl_c_elsewhere_is_heard_at_once_and_at_the_end_not_at_all():
    done = run(
        """
        try:
            os.kill(os.getpid(), signal.SIGINT)
            print("not reached")
        except KeyboardInterrupt:
            print("stopped")
        ignore()
        os.kill(os.getpid(), signal.SIGINT)
        print("done", len(came))
        """
    )
    assert done.stdout.split() == ["stopped", "done", "1"], done.stderr


def test_ctrl_c_after_the_folder_took_its_place_does_not_deny_it(tmp_path, capsys):
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), _stoppable(folder):
        raise KeyboardInterrupt
    with pytest.raises(SystemExit) as end, _stoppable(folder):
        (folder / "release").mkdir(parents=True)
        raise KeyboardInterrupt
    assert end.value.code == 0 and "out is whole" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt), _stoppable(folder):
        raise KeyboardInterrupt


def test_ctrl_c_in_a_search_takes_its_best_pattern_and_a_second_one_ends_all(tmp_path):
    rows = [
        f"{r},{s},{100 + 7 * i * j}" for i, r in enumerate("abcdefgh") for j, s in enumerate("klmnop") for _ in "xy"
    ]
    Path(tmp_path, "r.csv").write_text("\n".join(["r,s,x", *rows]) + "\n")
    job = "version: 1\nmicrodata: {source: r.csv}\nattack: {insiders: false}\ntables:\n"
    Path(tmp_path, "job.yaml").write_text(job + "  - {name: t, by: [r, s], value: x, rules: [{min_frequency: 3}]}\n")
    code = """
        from cellguard.methods.suppress.engines.search import Search
        def keep(self, hidden, kept=Search.keep):
            better = kept(self, hidden)
            for _ in range(TIMES):
                os.kill(os.getpid(), signal.SIGINT)
            self.run.check()
            return better
        Search.keep = keep
        sys.argv = ["cellguard", "protect", "job.yaml", "--out", "out", "--json"]
        from cellguard.faces.cli.main import main
        main(came)
    """
    once = run(code.replace("TIMES", "1"), cwd=tmp_path)
    assert once.returncode == 0 and '"deterministic": false' in once.stdout, once.stderr
    assert (tmp_path / "out" / "release").is_dir()
    twice = run(code.replace("TIMES", "2").replace('"out", "--json"', '"other", "--json"'), cwd=tmp_path)
    assert twice.returncode == 1 and "interrupted; nothing was released" in twice.stderr, twice.stdout
    assert not (tmp_path / "other").exists()
