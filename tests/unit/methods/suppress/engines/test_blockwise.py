"""Sets taken for vast: pools and flows of blocks lead to safe patterns too."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines import blockwise, oracle
from cellguard.methods.suppress.engines.blockwise import flow_by_blocks
from cellguard.methods.suppress.suppress import suppress


def sparse(seed):
    """Turnover of few firms in a table of three dimensions, most of whose cells are unsafe."""
    rng = np.random.default_rng(seed)
    firms = 160
    data = {
        name: [f"{name}{i}" for i in rng.integers(0, size, firms)] for name, size in zip("abc", (6, 5, 4), strict=True)
    }
    data["x"] = np.maximum(1, np.rint(np.exp(rng.normal(5, 1.5, firms)))).tolist()
    records = cg.records(data, by=list("abc"), values=["x"])
    return cg.tabulate(records, by=list("abc"), value="x", rules=cg.PPercent(10))


@pytest.mark.parametrize("seed", [6, 7, 11])
def test_a_vast_set_ends_safe(seed, monkeypatch):
    monkeypatch.setattr(oracle, "is_vast", lambda matrix: True)
    monkeypatch.setattr(oracle, "POLICY", replace(oracle.POLICY, pooled_worth=1, pooled_few=4))
    monkeypatch.setattr(blockwise, "POLICY", replace(blockwise.POLICY, block_rows=(4, 12), block_worth=0))
    left = []

    def flows(propagation, neighbours, hidden, open_, *given):
        left.append(len(open_))
        return flow_by_blocks(propagation, neighbours, hidden, open_, *given)

    monkeypatch.setattr("cellguard.methods.suppress.engines.search.flow_by_blocks", flows)
    needs = cg.require(cg.assess(sparse(seed), [cg.PPercent(10)]))
    assert needs.primary.sum() > 50
    chosen = suppress(needs, effort="quick")
    assert audit(needs, chosen.pattern).verdict == "safe"
    assert len(left) == 1
