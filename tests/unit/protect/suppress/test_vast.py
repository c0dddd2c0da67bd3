"""Sets taken for vast: pools of few targets and flows by interior points lead to safe patterns too."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.protect.suppress import oracle
from cellguard.protect.suppress.flows import joint_flows
from cellguard.protect.suppress.suppress import suppress


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
    rough = []

    def flows(*given, **named):
        rough.append(named["rough"])
        return joint_flows(*given, **named)

    monkeypatch.setattr("cellguard.protect.suppress.search.joint_flows", flows)
    needs = cg.require(cg.assess(sparse(seed), [cg.PPercent(10)]))
    assert needs.primary.sum() > 50
    chosen = suppress(needs, effort="quick")
    assert audit(needs, chosen.pattern).verdict == "safe"
    assert rough == [True]
