"""The oracle's rules: levels worked out by hand, and the same verdicts as the product's on cells by chance."""

from random import Random

import pytest

from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from fuzz.cases import Case, Records
from fuzz.judge import rules_of
from fuzz.rules import People, need_of, spelled

PIANO = [81, 5, 2, 2, 2]


def crowd(values, holding=None, **more):
    records = Records(
        {"r": ["a"] * len(values)}, {"x": values}, holding or [str(i) for i in range(len(values))], **more
    )
    return People(Case({}, {}, records), "x", grouped=True).crowd(range(len(values)))


def level(rule, values, **more):
    need = need_of(dict([spelled(rule, None, of_sums=True)]), crowd(values, **more), sum(values), is_count=False)
    return None if need is None else max(need)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"p_percent": 10}, 2.1),
        ({"prior_posterior": {"p": 10, "q": 50}}, 10.2),
        ({"dominance": {"n": 2, "k": 85}}, 9.176471),
        ({"max_share": 80}, 9.2),
        ({"max_share": 90}, None),
        ({"statisticon": 20}, 3.4),
        ({"entropy": 2}, 9.2),  # effectively 1.7
        ({"entropy": 1.5}, None),
        ({"all": [{"p_percent": 10}, {"min_frequency": 6}]}, 9.2),
        ({"all": [{"p_percent": 10}, {"min_frequency": 5}]}, None),
        ({"min_frequency": {"n": 5, "inclusive": True}}, 9.2),
    ],
)
def test_levels(rule, expected):
    found = level(rule, PIANO)
    assert found is None if expected is None else found == pytest.approx(expected)


def test_waivers_requests_and_zeros():
    rule = {"p_percent": {"p": 10, "waivers": True}}
    assert level(rule, PIANO, waiver=["yes", "no", "no", "no", "no"]) is None  # 5 among 87 others
    assert level(rule, PIANO, waiver=["no", "yes", "yes", "yes", "yes"]) == pytest.approx(2.1)
    assert level({"request": 50}, PIANO, request=["yes", "no", "no", "no", "no"]) == pytest.approx(9.2)
    assert level({"request": 50}, PIANO, request=["no", "yes", "yes", "yes", "yes"]) is None
    assert level({"min_frequency": {"n": 3, "nonzero": True}}, [4, 5, 0]) == pytest.approx(0.9)
    assert level({"min_frequency": 3}, [4, 5, 0]) is None


def test_a_holding_counts_once_and_weights_stand_for_others():
    assert crowd([5, 7, 4], ["g", "g", "o"]).sizes == (12, 4)
    assert crowd([5, 7, 4], ["g", "h", "o"], weight=[2, 1, 1]).sizes == (7, 5, 5, 4)
    together = crowd([5, 7, 4], ["g", "g", "o"], weight=[2, 1, 1])
    assert (together.sizes, together.total) == ((12, 4), 21)
    assert crowd([5, -7, -4], ["g", "g", "o"]).sizes == (4, 2)


RULES = [
    {"min_frequency": 3},
    {"min_frequency": {"n": 3, "nonzero": True}},
    {"p_percent": 20},
    {"p_percent": {"p": 20, "waivers": True}},
    {"p_percent": {"p": 20, "coalition": 2}},
    {"prior_posterior": {"p": 20, "q": 60}},
    {"dominance": {"n": 2, "k": 80}},
    {"max_share": 60},
    {"request": 40},
    {"entropy": 3},
    {"statisticon": 20},
]


WITHOUT = {  # what these mean to a rule is not drawn
    "weight": ("statisticon", "entropy", "request", "nonzero", "waivers"),
    "negative": ("nonzero",),
    "plain": (),
}
EACH = [(rule, how) for how, words in WITHOUT.items() for rule in RULES if not any(word in str(rule) for word in words)]


@pytest.mark.parametrize(("rule", "special"), EACH, ids=str)
def test_the_product_finds_the_same_cells_and_levels(rule, special, tmp_path):
    rng = Random(f"{rule} {special}")
    many = 130
    sign = (1, -1) if special == "negative" else (1,)
    records = Records(
        {"r": [f"r{rng.randint(0, 49)}" for _ in range(many)]},
        {"x": [rng.choice(sign) * rng.choice([0, *range(1, 90)]) for _ in range(many)]},
        [f"h{rng.randint(0, 60)}" for _ in range(many)],
        [rng.choice([1, 1, 2, 3]) for _ in range(many)] if special == "weight" else None,
    )
    marks = {who: rng.choice(["yes", "no"]) for who in sorted(set(records.holding))}
    said = [marks[who] for who in records.holding]
    records = Records(records.codes, records.values, records.holding, records.weight, said, said)
    spec = {"name": "t", "by": ["r"], "value": "x", "rules": [rule]}
    spec |= {"negative": "absolute"} if special == "negative" else {}
    roles = {"source": "records.csv", "respondent": "id", **{name: name for name in records.roles}}
    attack = {"insiders": False, "lower": "unbounded"} if special == "negative" else {"insiders": False}
    case = Case({"version": 1, "microdata": roles, "tables": [spec], "attack": attack}, {}, records)
    case.write_files(tmp_path)
    needs = run(Job.parse(dict(case.job), folder=tmp_path)).protected.audit.needs
    table = needs.tables.tables[0]
    people, ours = People(case, "x", grouped=True), rules_of(spec, case)
    unsafe = 0
    for at, code in enumerate(table.dimensions[0].codes[i] for i in table.codes[0]):
        inside = [i for i, own in enumerate(records.codes["r"]) if code in ("Total", own)]
        need = need_of(ours[0], people.crowd(inside), 0, is_count=False)
        assert bool(needs.primary[at]) == (need is not None), code
        if need is not None:
            unsafe += 1
            assert needs.upper[at] == pytest.approx(max(need.level, need.reach)), code
    assert unsafe > 3
