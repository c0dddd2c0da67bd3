"""Sets taken for vast: pools and flows of blocks lead to safe patterns too."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.engines import oracle
from cellguard.methods.suppress.engines.blockwise import flow_by_blocks
from cellguard.methods.suppress.engines.policy import Policy
from cellguard.methods.suppress.suppress import suppress
from engine_policies import with_policy


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
    policy = Policy(pooled_worth=1, pooled_few=4, block_rows=(4, 12), block_worth=0)
    left = []

    def flows(propagation, neighbours, hidden, open_, *given):
        left.append(len(open_))
        return flow_by_blocks(propagation, neighbours, hidden, open_, *given)

    monkeypatch.setattr("cellguard.methods.suppress.engines.search.flow_by_blocks", flows)
    needs = cg.require(cg.assess(sparse(seed), [cg.PPercent(10)]))
    assert needs.primary.sum() > 50
    chosen = suppress(needs, effort="quick", engine=with_policy(policy))
    assert audit(needs, chosen.pattern).verdict == "safe"
    assert len(left) == 1
