"""Sets taken for vast are attacked in blocks: the verdict is the same, and every witness is a move of the whole set."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack import block_proofs, deciding
from cellguard.attack.audit import audit
from cellguard.methods.suppress.suppress import suppress


def cube(seed):
    """Turnover of few firms in a table of three dimensions, many of whose cells are unsafe."""
    rng = np.random.default_rng(seed)
    firms = 150
    data = {
        name: [f"{name}{i}" for i in rng.integers(0, size, firms)] for name, size in zip("abc", (6, 5, 4), strict=True)
    }
    data["x"] = np.maximum(1, np.rint(np.exp(rng.normal(5, 1.5, firms)))).tolist()
    records = cg.records(data, by=list("abc"), values=["x"])
    return cg.tabulate(records, by=list("abc"), value="x", rules=cg.PPercent(10))


@pytest.mark.parametrize("seed", range(2))
def test_blocks_change_no_verdict(seed, monkeypatch):
    needs = cg.require(cg.assess(cube(seed), [cg.PPercent(10)]))
    rng = np.random.default_rng(seed)
    safe = suppress(needs, effort="quick").pattern
    secondary = np.flatnonzero(safe.secondary)
    published = rng.choice(secondary, len(secondary) // 10, replace=False)
    unsafe = type(safe)(safe.tables, safe.primary, safe.secondary & ~np.isin(np.arange(len(safe.secondary)), published))
    before = [audit(needs, pattern) for pattern in (safe, unsafe)]
    monkeypatch.setattr(deciding, "is_vast", lambda matrix: True)
    monkeypatch.setattr(deciding, "pool", None)
    monkeypatch.setattr(block_proofs, "_POOLED", (5, 40))
    monkeypatch.setattr(block_proofs, "_ALONE", (10,))
    for pattern, other in zip((safe, unsafe), before, strict=True):
        judged = audit(needs, pattern)
        assert judged.verdict == other.verdict
        assert (judged.failing == other.failing).all()
        assert len(judged.decided.moves) > 1
    assert before[0].verdict == "safe" and before[1].verdict == "unsafe"


@pytest.mark.parametrize("seed", range(2))
def test_points_in_the_middle_prove_what_is_so_and_nothing_else(seed, monkeypatch):
    needs = cg.require(cg.assess(cube(seed), [cg.PPercent(10)]))
    safe = suppress(needs, effort="quick").pattern
    unsafe = type(safe)(safe.tables, safe.primary, safe.secondary & (np.arange(len(safe.secondary)) % 8 > 0))
    before = [audit(needs, pattern) for pattern in (safe, unsafe)]
    monkeypatch.setattr(deciding, "is_vast", lambda matrix: True)
    for step in ("pool", "prove_in_blocks", "_probe"):
        monkeypatch.setattr(deciding, step, lambda *given, **named: None)
    for pattern, other in zip((safe, unsafe), before, strict=True):
        judged = audit(needs, pattern)
        open_ = judged.failing | judged.undecided
        assert not (other.failing & ~open_).any()
        assert (open_ & ~other.failing).sum() < 0.1 * needs.primary.sum()
    assert before[0].verdict == "safe" and before[1].verdict == "unsafe"
