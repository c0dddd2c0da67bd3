"""Tables with several concentration rules: every cell is as sensitive as the strictest of them says."""

import numpy as np
import pytest

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.cells.sensitivity import dominated, needs_of, supersensitive
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule

from perturb_data import brute_need

RULES = NoiseRule(1, 50), NoiseRule(2, 90)
CELLS = {
    "half": [510, 200, 150, 140],  # (1, 50) only
    "pair": [480, 480, 20, 20],  # (2, 90) only
    "both": [900, 60, 20, 20],
    "none": [300, 250, 250, 200],
}


def table(rules, cells=CELLS):
    rows = [(name, value) for name, values in cells.items() for value in values]
    records = respondents({"c": [name for name, _ in rows]}, {"x": [float(v) for _, v in rows]})
    dimension = Dimension("c", flat(list(cells)))
    return calibration_table(records, [dimension], "x", rule=rules[0], others=rules[1:])


def test_the_strictest_rule_counts():
    here = table(RULES)
    needs = needs_of(here)
    for name, values in CELLS.items():
        wanted = max(brute_need(values, range(len(values)), [1] * len(values), rule) for rule in RULES)
        assert needs.need[here.table.find(name)] == pytest.approx(wanted)
    sensitive = {name for name in CELLS if needs.sensitive[here.table.find(name)]}
    assert sensitive == {"half", "pair", "both"}
    assert {name for name in CELLS if dominated(here)[here.table.find(name)]} == sensitive
    assert {n for n in CELLS if supersensitive(needs)[here.table.find(n)]} == set()  # (1, 90), the larger k
    apart = [set(np.flatnonzero(needs_of(table([rule])).sensitive).tolist()) for rule in RULES]
    assert set(np.flatnonzero(needs.sensitive).tolist()) == apart[0] | apart[1]


def test_checks_look_at_every_rule():
    """What is safe by one rule may be unsafe by the other; only noise for both is enough."""
    cells = {name: [v for value in CELLS[name] for v in (value,)] for name in ("pair", "none")}
    for rules, findings in (((RULES[0],), 0), (RULES, 1)):
        here = table(rules, cells)
        made = make_multipliers(here.records, [here], Settings(method="opt", opt=Opt(cap=0.001)), seed=1)
        assert len([f for f in check_tables([here], made).open if f.kind == "sensitive"]) == findings
    served = make_multipliers(here.records, [here], Settings(method="opt", opt=Opt(cap=0.3)), seed=1)
    assert not [f for f in check_tables([here], served).open if f.kind == "sensitive"]
