"""What the audit cannot prove goes back to the engine, until it is proven."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.attack.reliance import through_short_moves
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.method import Suppress
from cellguard.methods.suppress.reinforce import SLACKS, can_be_reinforced, not_proven, reinforced
from cellguard.methods.suppress.suppress import suppress
from cellguard.pipeline import run
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.pattern import Pattern


def grid(seed, rows=5, columns=6):
    """A table of skewed values with totals, and respondents of which some cells have few."""
    rng = np.random.default_rng(seed)
    value, count = np.rint(np.exp(rng.normal(4, 1.5, (rows, columns)))), rng.integers(1, 9, (rows, columns))
    full = [np.pad(part, ((0, 1), (0, 1))) for part in (value, count)]
    for part in full:
        part[-1] = part.sum(axis=0)
        part[:, -1] = part.sum(axis=1)
    names = [*(f"r{i}" for i in range(rows)), "Total"], [*(f"c{i}" for i in range(columns)), "Total"]
    return {
        "r": np.repeat(names[0], columns + 1).tolist(),
        "s": names[1] * (rows + 1),
        "x": full[0].ravel().tolist(),
        "n": full[1].ravel().tolist(),
    }


def needs_of(seed, **shape):
    table = cg.cells(grid(seed, **shape), by=["r", "s"], value="x", count="n")
    return cg.require(cg.assess(table, cg.MinFrequency(3)))


def too_thin(needs):
    """The unsafe cells and nothing else, as if an engine had chosen that."""
    chosen = suppress(needs)
    return replace(chosen, pattern=Pattern(needs.tables, needs.primary, np.zeros(len(needs.tables), bool)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slack", SLACKS)
def test_what_is_not_proven_gets_more_cells_until_it_is(seed, slack):
    needs = needs_of(seed)
    chosen = too_thin(needs)
    judged = audit(needs, chosen.pattern)
    assert judged.verdict == "unsafe" and can_be_reinforced(judged)
    wider = reinforced(judged, chosen, slack, run=UNWATCHED)
    assert not (needs.primary & wider.pattern.secondary).any()
    assert audit(needs, wider.pattern).verdict == "safe"
    assert wider.cost == pytest.approx(chosen.costs[wider.pattern.secondary].sum())


def test_what_is_proven_is_left_alone():
    needs = needs_of(1)
    judged = audit(needs, suppress(needs).pattern)
    assert not can_be_reinforced(judged) and not not_proven(judged).any()


def job_of(folder: Path, **more) -> Job:
    data = grid(2)
    rows = ["r,s,x,n", *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]
    (folder / "t.csv").write_text("\n".join(rows))
    table = {"name": "t", "by": ["r", "s"], "value": "x", "cells": {"source": "t.csv", "count": "n"}}
    table |= {"rules": [{"min_frequency": 3}]}
    text = {"version": 1, "tables": [table], **more}
    return Job.parse(json.loads(json.dumps(text)), folder=folder)


def test_a_job_whose_engine_hides_too_little_is_released_after_all(tmp_path, monkeypatch):
    """The audit is in the loop, whoever chose the pattern, and the insiders are looked at again."""
    monkeypatch.setattr(Suppress, "choose_by_turns", lambda self, sums, *_: too_thin(sums.assessment.needs))
    for attack in ({"insiders": False}, {"insiders": True}):
        outcome = run(job_of(tmp_path, attack=attack))
        assert outcome.verdict.kind == "safe" and outcome.release is not None
        assert outcome.summary["set"]["secondary"] > 0


def test_not_proven_names_the_cells_and_what_to_do(tmp_path, monkeypatch):
    """Where more slack did not help either, the headline says which cells, and what would."""
    monkeypatch.setattr(Suppress, "reinforce", lambda self, *_: None)
    attack = "cellguard.methods.suppress.pattern_method.audit"
    monkeypatch.setattr(attack, lambda needs, *a, **k: replace(audit(needs, *a, **k), undecided=needs.primary))
    outcome = run(job_of(tmp_path, attack={"insiders": False}))
    assert outcome.release is None and outcome.verdict.kind == "undecided"
    text = outcome.verdict.text
    assert (
        text.startswith("NOT PROVEN: ")
        and "status: secondary" in text
        and "t: r0/c1; " in text
        and " and 1 more: " in text
    )


@pytest.mark.parametrize("seed", range(20))
def test_small_sets_go_to_the_optimum_by_default(seed):
    found = suppress(needs_of(seed, rows=6 + seed % 9, columns=7 + seed % 6), ("value", "constant")[seed % 2])
    assert found.gap == 0 and found.cost > 0


@pytest.mark.parametrize("seed", range(4))
def test_an_unsafe_cell_is_protected_through_the_cells_that_the_proof_names(seed):
    """With nothing else suppressed but what a short move takes, its cell still has its protection levels."""
    needs = needs_of(seed, rows=6, columns=7)
    judged = audit(needs, suppress(needs).pattern)
    through = through_short_moves(judged, 40)
    assert len(through) > 0.5 * needs.primary.sum()
    for cell, others in through.items():
        alone = np.arange(len(needs.primary)) == cell
        asked = {name: np.where(alone, getattr(needs, name), 0.0) for name in ("lower", "upper", "sliding")}
        hidden = np.zeros(len(alone), bool)
        hidden[others] = True
        single = replace(needs, primary=alone, **asked)
        assert audit(single, Pattern(needs.tables, alone, hidden & ~alone)).verdict == "safe"


@pytest.mark.parametrize(("there", "notices"), [(0.001, 1), (1e6, 0)])
def test_a_set_beyond_the_machine_says_so_before_the_search(there, notices, tmp_path, monkeypatch):
    monkeypatch.setattr("cellguard.methods.suppress.pattern_method.memory_there", lambda: there)
    told = []
    run(job_of(tmp_path, attack={"insiders": False}), within=Run(told.append))
    expected = next(event for event in told if event.seconds is not None)
    assert "GiB of memory" in expected.text and expected.phase == "choosing the cells to suppress"
    assert sum(event.notice for event in told) == notices == ("Warning" in expected.text)
    assert not any(event.phase == "auditing" for event in told[: told.index(expected)])


def test_a_proof_that_nobody_has_seen_end_is_said_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr("cellguard.methods.suppress.time_estimate.TimeEstimate.proof_is_unknown", True)
    told = []
    run(job_of(tmp_path, attack={"insiders": False}), within=Run(told.append))
    (notice,) = (event for event in told if event.notice)
    assert notice.phase == "choosing the cells to suppress" and "no proof of so many counts" in notice.text
