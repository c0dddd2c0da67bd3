"""Why a cell is hidden is read from the folder, and is what an audit of the whole set would find."""

from dataclasses import replace

import numpy as np
import pytest

from cellguard.attack.audit import audit
from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_explanations import NAME, StoredExplanations, read_explanations
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.explained_cell import _lost_without
from cellguard.pipeline import explain_cell, folders, run, verify

RULES = [{"min_frequency": 3}, {"p_percent": 10}]
KINDS = {
    "values": {"value": "x", "rules": RULES},
    "counts": {"value": "count", "rules": RULES[:1]},
    "small counts": {"value": "count", "rules": [{"min_frequency": {"n": 3, "hide": "small"}}]},
}


def written(folder, kind, attack, *, seed=1, by=("r", "s")):
    """The output folder of a job for random records; some cells of one size are determined by others."""
    rng = np.random.default_rng(seed)
    rows = [
        [*(f"{name}{int(6 * rng.random() ** 2)}" for name in by), str(int(10 * (1 + rng.lognormal(3, 1.5))))]
        for _ in range(400)
    ]
    (folder / "r.csv").write_text("\n".join(",".join(row) for row in [[*by, "x"], *rows]) + "\n")
    table = {"name": "t", "by": list(by), **KINDS[kind]}
    spec = {"version": 1, "microdata": {"source": "r.csv"}, "tables": [table], "attack": attack}
    OutputFolder(folder / "out").write(run(Job.parse(spec, folder=folder)))
    return folder / "out"


def refuse(*_, **__):
    raise AssertionError("the whole set is audited")


@pytest.mark.parametrize(
    ("kind", "attack"),
    [
        ("values", {"insiders": False}),
        ("values", {"insiders": True}),
        ("values", {"insiders": True, "coalition": 2}),
        ("counts", {"insiders": True}),
        ("small counts", {"insiders": False}),
    ],
)
def test_what_a_secondary_protects_is_what_an_audit_without_it_finds(kind, attack, tmp_path):
    for seed, by in enumerate([("r", "s"), ("r", "s", "k")]):
        place = tmp_path / str(seed)
        place.mkdir()
        out = OutputFolder(written(place, kind, attack, seed=seed, by=by))
        stored = out.stored()
        known = read_explanations(out.inside / NAME, stored.needs.tables)
        assert known.relies and known.through
        for cell in np.flatnonzero(stored.pattern.secondary).tolist()[:12]:
            quick, whole = (
                _lost_without(stored.needs, stored.pattern, cell, None, kept) for kept in (known, StoredExplanations())
            )
            assert quick.tolist() == whole.tolist()


@pytest.mark.parametrize("attack", [{"insiders": True}, {"insiders": True, "coalition": 2}])
def test_an_unsafe_cell_is_explained_without_an_audit(attack, tmp_path, monkeypatch):
    out = written(tmp_path, "values", attack)
    needs = OutputFolder(out).stored().needs
    names = [needs.tables.tables[0].cell_name(c) for c in np.flatnonzero(needs.primary).tolist()[:6]]
    kept = (out / "internal" / NAME).read_bytes()
    (out / "internal" / NAME).unlink()
    audited = [explain_cell(out, name) for name in names]
    (out / "internal" / NAME).write_bytes(kept)
    monkeypatch.setattr(folders, "audit", refuse)
    told = [explain_cell(out, name) for name in names]
    for quick, whole in zip(told, audited, strict=True):
        # By which move a cell is protected, and whom a proof names, is its own choice.
        own = [[line for line in lines if not ("through" in line or "can " in line)] for lines in (quick, whole)]
        assert own[0] == own[1]
        near = [line.split("within ")[1].split(" %")[0] for line in quick if "largest other" in line]
        shares = [float(percent.replace(",", "")) for percent in near]
        assert shares == sorted(shares)
    assert any("can estimate the largest other respondent" in line for lines in told for line in lines)


def test_explanations_are_sealed_named_as_unchecked_and_never_trusted_blindly(tmp_path):
    out = written(tmp_path, "values", {"insiders": True})
    found = verify(out)
    assert found.valid and f"internal/{NAME}" in found.not_checked
    assert not list((out / "release").glob("*expla*"))
    name = next(line for line in (out / "internal/t.csv").read_text().splitlines() if ",primary," in line)
    (out / "internal" / NAME).write_bytes(b"PAR1 of something else")
    assert not verify(out).valid
    with pytest.raises(InputError, match=r"explanations\.parquet is damaged"):
        explain_cell(out, "/".join(name.split(",")[:2]))


def whys(out, most):
    """What is said of each secondary of an output folder."""
    stored = OutputFolder(out).stored()
    table, cells = stored.needs.tables.tables[0], stored.needs.tables.cells_of[0]
    secondary = np.flatnonzero(stored.pattern.secondary[cells]).tolist()[:most]
    lines = [explain_cell(out, table.cell_name(row)) for row in secondary]
    return {
        row: next(line for line in said if "is secondary" in line) for row, said in zip(secondary, lines, strict=True)
    }


def test_each_secondary_has_a_reason_of_its_own_and_an_audit_agrees(tmp_path):
    out = written(tmp_path, "values", {"insiders": True}, seed=8)
    stored = OutputFolder(out).stored()
    cells, said = stored.needs.tables.cells_of[0], whys(out, 14)
    reasons = ("Without it these unsafe", "respondents, who know", "could work out sums")
    by_reason = {reason: [row for row, line in said.items() if reason in line] for reason in reasons}
    assert sum(map(len, by_reason.values())) == len(said) and all(by_reason[reason] for reason in reasons[:2])
    for row in by_reason["respondents, who know"]:
        less = stored.pattern.secondary.copy()
        less[cells[row]] = False
        without = replace(stored.pattern, secondary=less)
        assert audit(stored.needs, without).verdict == "safe"
        assert audit(stored.needs, without, insiders=stored.insiders).verdict != "safe"
