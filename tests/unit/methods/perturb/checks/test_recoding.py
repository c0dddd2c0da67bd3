"""Plans of recoding do what they say when somebody follows them, and advice says when another seed would do."""

import numpy as np

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import merge
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.cells.sensitivity import needs_of, supersensitive
from cellguard.methods.perturb.checks.recoding import recoding_plan
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule

INDUSTRIES, SIZES = list("ABCDEFG"), ["1", "2", "3"]


def firms(seed, dominated):
    rng = np.random.default_rng(seed)
    rows = [(i, s, float(rng.integers(50, 150))) for i in INDUSTRIES for s in SIZES for _ in range(8)]
    rows += [(i, s, float(rng.integers(4000, 6000))) for i, s in dominated]
    columns = list(zip(*rows, strict=True))
    return respondents({"industry": columns[0], "size": columns[1]}, {"x": columns[2]})


def tables(records, sizes=SIZES, industries=INDUSTRIES, merged=()):
    by = {"industry": flat(industries), "size": flat(sizes)}
    for name, codes in merged:
        by[name] = merge(by[name], {" + ".join(codes): list(codes)})
    dimensions = {name: Dimension(name, h) for name, h in by.items()}
    both = calibration_table(records, list(dimensions.values()), "x", name="both")
    return [both, calibration_table(records, [dimensions["industry"]], "x", name="industry")]


def count(set_):
    return sum(int(supersensitive(needs_of(t)).sum()) for t in set_)


def test_a_plan_leaves_what_it_says_and_merges_neighbours_once():
    seen = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        places = [(str(rng.choice(INDUSTRIES)), str(rng.choice(SIZES))) for _ in range(int(rng.integers(1, 4)))]
        records = firms(seed, places)
        plan = recoding_plan(tables(records))
        assert plan.before == count(tables(records)) and plan.complete
        assert count(tables(records, merged=plan.merges)) == plan.left <= plan.before
        used = [(name, code) for name, codes in plan.merges for code in codes]
        assert len(used) == len(set(used))
        for name, codes in plan.merges:
            order = INDUSTRIES if name == "industry" else SIZES
            places_ = [order.index(code) for code in codes]
            assert places_ == list(range(places_[0], places_[0] + len(codes)))
        seen += plan.before > 0 and plan.left == 0
    assert seen >= 4


def test_two_neighbours_that_dominate_their_cells_are_one_plan():
    records = firms(1, [("B", "1"), ("C", "1")])
    plan = recoding_plan(tables(records))
    assert plan.left == 0 < plan.before and len(plan.merges) >= 1
    advice = check_tables(tables(records), make_multipliers(records, tables(records), seed=1)).advice
    assert advice[0].startswith("recode: merge ") and "tried out, it leaves none of" in advice[0]


def test_advice_says_when_another_seed_would_do():
    rng = np.random.default_rng(2)
    rows = [(f"r{i:02}", float(x)) for i in range(12) for x in [900, 300, *rng.integers(30, 60, 8)]]
    records = respondents({"r": [r for r, _ in rows]}, {"x": [x for _, x in rows]})
    by = [Dimension("r", flat(sorted({r for r, _ in rows})))]
    for p, words in ((46.0, "another seed would do about once in"), (60.0, "another seed does not help")):
        here = calibration_table(records, by, "x", rule=NoiseRule(2, p=p))
        made = make_multipliers(records, [here], Settings(), seed=3)
        check = check_tables([here], made)
        assert check.verdict == "unsafe"
        assert any(words in line for line in check.advice), check.advice
