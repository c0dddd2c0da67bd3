"""Work is logged under ``cellguard`` where a program asks for it: silent by default, without a value."""

import logging
import subprocess
import sys

import cellguard as cg

FIRMS = {"region": ["N"] * 3 + ["S"] * 4 + ["W"] * 4, "turnover": [91817, 8, 2, 30, 40, 35, 30, 20, 20, 20, 20]}


def test_steps_are_logged_without_a_value(caplog):
    with caplog.at_level(logging.DEBUG, logger="cellguard"):
        cg.protect(FIRMS, by=["region"], value="turnover", rules=[cg.PPercent(10)])
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("cellguard")]
    assert any(line.startswith("auditing took") for line in lines)
    assert not any("91817" in line or "91,817" in line or "91827" in line for line in lines)


def test_nothing_is_heard_unless_a_program_listens():
    code = f"import cellguard as cg; cg.protect({FIRMS!r}, by=['region'], value='turnover', rules=[cg.PPercent(10)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "cellguard", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("Usage: python -m cellguard")
