"""What a run tells while it works goes into logs: counts and shares, never a cost or a value."""

import re
from threading import Event, Thread

import numpy as np
import pytest

from cellguard.errors import Stopped
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

    def listen(event):
        told.append(event.text)

    within = Run.within(20, listen=listen)
    outcome = run(job_of(tmp_path, 1, dimensions, attack=attack, **protect), within=within)
    assert outcome.release is not None and outcome.summary["cost"] > 0
    OutputFolder(tmp_path / "out").write(outcome)
    audit_folder(tmp_path / "out", intervals=True, within=Run(listen))
    assert len(told) > 5
    for message in told:
        assert "cost" not in message.lower() and "value" not in message.lower(), message
        assert not revealing(message), message


def test_the_search_tells_how_far_it_is(tmp_path):
    told = []
    within = Run.within(20, listen=lambda event: told.append(event.text))
    outcome = run(job_of(tmp_path, 1, 2, attack={"insiders": False}, effort="best"), within=within)
    hidden = outcome.summary["set"]["secondary"]
    last = [message for message in told if "secondaries" in message][-1]
    assert f"{hidden:,} secondaries" in last and "% above the optimum" in last


def phases_of(events):
    """The numbers of each phase, from one beginning of it to the next."""
    found, open_ = [], {}
    for event in events:
        if event.text == event.phase:
            open_[event.phase] = []
            found.append((event.phase, open_[event.phase]))
        elif event.done is not None:
            open_[event.phase].append((event.done, event.total))
    return found


@pytest.mark.parametrize("attack", [{"insiders": False}, {"insiders": True}])
def test_a_phase_never_goes_back_and_ends_where_it_said(attack, tmp_path):
    events = []
    within = Run(events.append)
    outcome = run(job_of(tmp_path, 1, 3, attack=attack), within=within)
    OutputFolder(tmp_path / "out").write(outcome, run=within)
    phases = phases_of(events)
    for phase, steps in phases:
        assert len({total for _, total in steps}) <= 1, phase
        assert steps == sorted(steps) and all(done <= total for done, total in steps), phase
    names = [phase for phase, steps in phases if steps]
    assert {"reading the tables", "making the tables", "choosing the cells to suppress", "auditing"} <= set(names)
    assert [steps[-1] for phase, steps in phases if phase == "reading the tables"] == [(700, 700)]
    assert names[-1] == "writing" and phases[-1][1][-1][0] == phases[-1][1][-1][1]


def in_a_thread(job, within):
    """Run a job in a thread of its own; return the thread and where its result, or error, will be."""
    ended = {}

    def work():
        try:
            ended["outcome"] = run(job, within=within)
        except Stopped as stop:
            ended["stopped"] = str(stop)

    thread = Thread(target=work)
    thread.start()
    return thread, ended


def stopped_when(job, tells, *, at_once):
    """Run a job in a thread, and stop it from here when an event tells of something."""
    heard, going_on = Event(), Event()

    def listen(event):
        if tells(event) and not heard.is_set():
            heard.set()
            going_on.wait(60)

    within = Run(listen)
    thread, ended = in_a_thread(job, within)
    assert heard.wait(120)
    within.stop(at_once=at_once)
    going_on.set()
    thread.join(120)
    assert not thread.is_alive()
    return ended


MOMENTS = {
    "reading": lambda event: event.phase == "reading the tables" and event.done is not None,
    "first pattern": lambda event: event.phase == "choosing the cells to suppress",
    "polishing": lambda event: "secondaries" in event.text,
    "auditing": lambda event: event.phase == "auditing",
}


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_stopped_from_another_thread_it_gives_what_is_proven_or_nothing(moment, at_once, tmp_path):
    job = job_of(tmp_path, 1, 2, attack={"insiders": False}, effort="best")
    ended = stopped_when(job, MOMENTS[moment], at_once=at_once)
    if moment in {"polishing", "auditing"} and not at_once:
        outcome = ended["outcome"]
        assert outcome.verdict.kind == "safe" and outcome.release is not None
        assert outcome.summary["deterministic"] is (moment == "auditing")
    else:
        assert ended == {"stopped": "stopped" + ", and no safe pattern was found yet" * (moment in SEARCHING)}


SEARCHING = {"first pattern", "polishing"}


def test_a_cost_in_a_message_would_be_found():
    assert revealing("round 13: cost 2.06621e+08, at most 1.0% above the optimum") == ["2.06621e+08"]
    assert revealing("repaired: cost 1,234,567.5") and not revealing("12,345 cells left to prove (3 of 17 chunks)")
