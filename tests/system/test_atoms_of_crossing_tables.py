"""Crossing tables that are too large to move as a whole: proofs in which more of their atoms move are verified."""

from __future__ import annotations

import pytest

from cellguard.attack import audit
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.engines import system
from cellguard.pipeline import run
from cellguard.verifier.verify import verify

from fuzz.generator import draw_case


@pytest.mark.parametrize("seed", [3_500_048, 3_500_153, 3_500_199])  # where atoms with a value do not prove all needs
def test_atoms_that_needs_ask_for_are_part_of_the_proof(tmp_path, monkeypatch, seed):
    widened, wide = audit.widened, []
    for module in (audit, system):
        monkeypatch.setattr(module, "MANY_CROSSING", 3)
    monkeypatch.setattr("cellguard.inputs.latent.MOST", 0)  # so that the crossing table is between the cells
    monkeypatch.setattr(audit, "widened", lambda *args, **more: wide.append(widened(*args, **more)) or wide[-1])
    case = draw_case(seed)
    case.write_files(tmp_path)
    outcome = run(Job.parse({**case.job, "attack": {**case.job.get("attack", {}), "insiders": False}}, folder=tmp_path))
    assert outcome.verdict.kind == "safe"
    assert wide[-1].world.moving.sum() > outcome.protected.audit.needs.world.thinned().moving.sum()
    OutputFolder(tmp_path / "out").write(outcome)
    assert verify(tmp_path / "out/internal/certificate.json").valid
