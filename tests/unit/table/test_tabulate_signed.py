"""Facts of contributions of either sign in every cell, margins too, against plain sums of each holding."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.rules.linear import PPercent
from cellguard.rules.signed import EffectiveContributors, Signed
from cellguard.rules.simple import MinFrequency
from cellguard.table import gathering
from cellguard.table.fact import NonZero
from cellguard.table.negative import Negative
from cellguard.table.signed_cells import signed_contributions
from cellguard.table.signed_facts import Extremes

RULES = [Signed(PPercent(10), h=4), EffectiveContributors(3), MinFrequency(3, nonzero=True)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [4_000_000, 7], ids=["at once", "in parts"])
def test_every_fact_of_every_cell(seed, most, monkeypatch):
    monkeypatch.setattr(gathering, "_MOST", most)
    rng = np.random.default_rng(seed)
    rows = 90
    data = {"r": rng.choice(list("NSW"), rows), "s": rng.choice(list("abcd"), rows)}
    data |= {"x": rng.integers(-4, 5, rows) / rng.choice([1, 4]), "owner": rng.integers(0, 35, rows)}
    firms = cg.records(data, by=["r", "s"], values=["x"], holding="owner")
    table = cg.tabulate(firms, by=["r", "s"], value="x", rules=RULES, negative=Negative())
    cells, nonzero = [], []
    for number in range(len(table)):
        codes = table.cell_name(number).split("/")
        inside = np.all([(data[d] == code) | (code == "Total") for d, code in zip("rs", codes, strict=True)], axis=0)
        owners = np.unique(data["owner"][inside])
        cells.append([data["x"][inside & (data["owner"] == owner)].sum() for owner in owners])
        leaves = {}
        for i in np.flatnonzero(inside):
            key = data["owner"][i], data["r"][i], data["s"][i]
            leaves[key] = leaves.get(key, 0) + data["x"][i]
        nonzero.append(len({owner for (owner, *_), value in leaves.items() if value}))
    expected = signed_contributions(*cells, extremes=4)
    for fact in table.facts:
        if isinstance(fact, Extremes):  # of those equally far any may be first
            assert np.abs(table.facts[fact]) == pytest.approx(np.abs(expected[fact]))
        elif fact != NonZero():
            assert table.facts[fact] == pytest.approx(expected[fact], abs=1e-9)
    assert table.facts[NonZero()].tolist() == nonzero
    for rule in RULES[:2]:
        assert rule.unsafe(table.facts).tolist() == rule.unsafe(expected).tolist()


def test_a_table_without_negative_contributions_keeps_no_signs():
    """Nothing changes in the stored facts of other tables."""
    firms = cg.records({"r": list("AAB"), "x": [5, 2, 1]}, by=["r"], values=["x"])
    table = cg.tabulate(firms, by=["r"], value="x", rules=PPercent(10))
    assert {str(fact) for fact in table.facts} == {"Total()", "Count()", "Top(n=2)"}


def test_notices_are_among_the_warnings(tmp_path):
    lines = ["r,x", *(f"A,{x}" for x in (100, 100, 100, 101, -6)), *(f"B,{x}" for x in (40, 30, 20, -35, -20, 5))]
    (tmp_path / "firms.csv").write_text("\n".join(lines))
    rule = {"signed": {"usual": {"p_percent": 10}, "sign_ratio": 0.001}}
    table = {"name": "t", "by": ["r"], "value": "x", "negative": "absolute", "rules": [rule]}
    job = {"version": 1, "microdata": {"source": "firms.csv"}, "tables": [table], "attack": {"lower": "unbounded"}}
    from cellguard.pipeline import assess_job

    warnings = assess_job(cg.Job.parse(job, folder=tmp_path)).warnings()
    assert "table 't': 1 cell safe only since no contribution stands out; check by hand ('A')" in warnings
