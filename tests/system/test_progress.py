"""What a run tells while it works goes into logs: counts and shares, never a cost or a value."""

import re

import numpy as np
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run
from cellguard.run_context import Run

LARGE = 1_000_000  # every value is above it, and so is every sum; no count of a small job is
NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s*%)?")


def records(tmp_path, seed, dimensions):
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(dimensions)]
    lines = []
    for _ in range(700):
        codes = [f"c{int(7 * rng.random() ** 2)}" for _ in names]
        lines.append(",".join([*codes, str(int(LARGE * (1 + rng.lognormal(0, 1.5))))]))
    (tmp_path / "r.csv").write_text(",".join([*names, "x"]) + "\n" + "\n".join(lines) + "\n")
    return names


def job_of(tmp_path, seed=1, dimensions=2, *, attack=None, **protect):
    by = records(tmp_path, seed, dimensions)
    table = {"name": "t", "by": by, "value": "x", "rules": [{"min_frequency": 3}, {"p_percent": 10}]}
    spec = {"version": 1, "microdata": {"source": "r.csv"}, "tables": [table | {"protect": protect}]}
    return Job.parse(spec | ({"attack": attack} if attack else {}), folder=tmp_path)


def revealing(message):
    """The numbers of a message that are neither a share in percent nor a count that a small job can have."""
    found = NUMBER.findall(message)
    return [n for n, share in found if not share and ("e" in n.lower() or float(n.replace(",", "")) >= LARGE / 10)]


@pytest.mark.parametrize(
    ("dimensions", "attack", "protect"),
    [
        (2, {"insiders": False}, {"effort": "best"}),
        (2, {"insiders": False}, {"engine": "optimal"}),
        (3, {"insiders": False}, {}),
        (2, {"insiders": True}, {}),
        (2, {"insiders": False}, {"cost": {"box_cox": 0.5}, "effort": "quick"}),
        (2, {"insiders": False}, {"cost": "constant", "engine": "gauss"}),
    ],
)
def test_progress_tells_no_cost_and_no_value(dimensions, attack, protect, tmp_path):
    told = []
    within = Run.within(20, tell=told.append)
    outcome = run(job_of(tmp_path, 1, dimensions, attack=attack, **protect), within=within)
    assert outcome.release is not None and outcome.summary["cost"] > 0
    OutputFolder(tmp_path / "out").write(outcome)
    audit_folder(tmp_path / "out", intervals=True, within=Run(told.append))
    assert len(told) > 5
    for message in told:
        assert "cost" not in message.lower() and "value" not in message.lower(), message
        assert not revealing(message), message


def test_the_search_tells_how_far_it_is(tmp_path):
    told = []
    outcome = run(
        job_of(tmp_path, 1, 2, attack={"insiders": False}, effort="best"), within=Run.within(20, tell=told.append)
    )
    hidden = outcome.summary["set"]["secondary"]
    last = [message for message in told if "secondaries" in message][-1]
    assert f"{hidden:,} secondaries" in last and "% above the optimum" in last


def test_a_cost_in_a_message_would_be_found():
    assert revealing("round 13: cost 2.06621e+08, at most 1.0% above the optimum") == ["2.06621e+08"]
    assert revealing("repaired: cost 1,234,567.5") and not revealing("12,345 cells left to prove (3 of 17 chunks)")
