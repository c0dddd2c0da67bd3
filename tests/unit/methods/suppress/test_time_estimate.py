"""The guess of `--dry-run`, held against the measured tables, and the measure of work behind the efforts."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, SECOND
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import build_system
from cellguard.methods.suppress.time_estimate import TimeEstimate
from cellguard.run_context import UNWATCHED

# Cells, unsafe, relations per cell, crossing cells, bounds, known zeros; engine, effort; CPU seconds, with the proof
# unless it was not waited for. What no guess fits is left out: `regions-9k`, whose proof takes nine times as long as
# its search, the proof of 53,673 cells, and `counts-firms-c-constant`, since a set does not tell what its cells cost.
MEASURED = [
    (TimeEstimate(959, 385, 2.0), "witness", NORMAL, 0.3),
    (TimeEstimate(1_127, 128, 2.0), "witness", NORMAL, 0.2),
    (TimeEstimate(4_623, 2_295, 2.63), "witness", NORMAL, 5.3),
    (TimeEstimate(6_081, 1_084, 2.54), "witness", NORMAL, 15.2),
    (TimeEstimate(15_568, 8_438, 3.69), "witness", NORMAL, 110),
    (TimeEstimate(65_346, 23_255, 3.74), "witness", NORMAL, 594),
    (TimeEstimate(694, 158, 4.0), "witness", NORMAL, 30),
    (TimeEstimate(694, 158, 4.0, bounded=False), "witness", NORMAL, 5.2),
    (TimeEstimate(5_918, 1_796, 5.0, bounded=False), "witness", NORMAL, 32),
    (TimeEstimate(2_159, 328, 2.0, 115_903), "witness", NORMAL, 33),
    (TimeEstimate(1_494, 175, 2.44, 41_559), "witness", NORMAL, 3.8),
    (TimeEstimate(1_494, 175, 2.44, 41_559, equal=True), "witness", NORMAL, 28.9),
    (TimeEstimate(5_809, 504, 3.37, sure=False, counts=True), "gauss", NORMAL, 0.9),
    (TimeEstimate(4_623, 2_295, 2.63), "witness", QUICK, 1.4),
    (TimeEstimate(5_918, 1_796, 5.0), "witness", QUICK, 12),
    (TimeEstimate(5_918, 1_796, 5.0), "witness", NORMAL, 92),
    (TimeEstimate(106_958, 35_439, 2.6), "witness", QUICK, 40),
    (TimeEstimate(427_521, 149_883, 2.72), "witness", QUICK, 321),
    (TimeEstimate(137_533, 105_562, 3.92), "witness", QUICK, 287),
    (TimeEstimate(15_568, 8_438, 3.69), "witness", QUICK, 66),
    (TimeEstimate(15_400, 3_549, 2.15, sure=False), "gauss", NORMAL, 0.2),
    (TimeEstimate(13_953, 3_549, 2.16), "gauss", NORMAL, 1.0),
    (TimeEstimate(240_000, 47_492, 2.34, sure=False), "gauss", NORMAL, 16.2),
    (TimeEstimate(219_293, 47_492, 2.34), "gauss", NORMAL, 18.9),
    (TimeEstimate(240_000, 96_982, 2.34, sure=False), "gauss", NORMAL, 5.3),
    (TimeEstimate(222_480, 78_006, 2.34), "gauss", NORMAL, 19.9),
    (TimeEstimate(930_000, 208_601, 2.18, sure=False), "gauss", NORMAL, 21.8),
    (TimeEstimate(841_516, 208_601, 2.19), "gauss", NORMAL, 34),
    (TimeEstimate(930_000, 433_589, 2.18, sure=False), "gauss", NORMAL, 11.1),
    (TimeEstimate(850_225, 358_168, 2.19), "gauss", NORMAL, 19),
    (TimeEstimate(60_000, 11_910, 3.33, sure=False), "gauss", NORMAL, 28),
    (TimeEstimate(53_673, 11_910, 3.37), "gauss", NORMAL, 24),
    (TimeEstimate(60_000, 22_560, 3.33, sure=False), "gauss", NORMAL, 16),
    (TimeEstimate(55_867, 17_925, 3.35), "gauss", NORMAL, 19),
    (TimeEstimate(500_000, 103_823, 3.36, sure=False), "gauss", NORMAL, 154),
    (TimeEstimate(500_000, 190_819, 3.36, sure=False), "gauss", NORMAL, 115),
    (TimeEstimate(435_297, 103_823, 3.4), "gauss", NORMAL, 445),
    (TimeEstimate(461_665, 156_682, 3.38), "gauss", NORMAL, 237),
    (TimeEstimate(38_658, 6_246, 3.52, sure=False), "gauss", NORMAL, 9.6),
]


@pytest.mark.parametrize(("load", "engine", "effort", "measured"), MEASURED)
def test_the_guess_is_within_a_factor_of_two_of_what_was_measured(load, engine, effort, measured):
    assert measured / 2 <= load.seconds(engine, effort) <= max(2 * measured, 1.0)


# What respondents add: CPU seconds of search and proof, in all less what outsiders alone take.
INSIDE = [
    (TimeEstimate(4_623, 2_295, 2.63), 11.0),
    (TimeEstimate(6_081, 1_084, 2.54), 4.0),
    (TimeEstimate(15_568, 8_438, 3.69), 170),
    (TimeEstimate(29_778, 24_144, 2.89), 55),
    (TimeEstimate(54_670, 42_373, 2.8), 240),
]


@pytest.mark.parametrize(("load", "measured"), INSIDE)
def test_the_guess_of_what_respondents_add_is_within_a_factor_of_two(load, measured):
    assert measured / 2 <= load.seconds_inside() <= 2 * measured


def test_nothing_to_protect_takes_no_time():
    assert TimeEstimate(10**6, 0, 3.0).seconds("witness", NORMAL) == 1.0


def business(seed, firms):
    """A random table by industry (two levels) and region."""
    rng = np.random.default_rng(seed)
    industry = cg.Hierarchy.from_levels([(f"S{i // 4}", f"d{i}") for i in range(40)])
    rows = {}
    for i, r, x in zip(rng.integers(0, 40, firms), rng.integers(0, 12, firms), rng.lognormal(5, 2, firms), strict=True):
        for a in (f"d{i}", f"S{i // 4}", "Total"):
            for b in (f"m{r}", "Total"):
                rows.setdefault((a, b), []).append(round(float(x)) + 1)
    tops = [[*sorted(v, reverse=True), 0] for v in rows.values()]
    data = {
        "industry": [a for a, _ in rows],
        "region": [b for _, b in rows],
        "x": [sum(v) for v in rows.values()],
        "n": [len(v) for v in rows.values()],
        "x1": [t[0] for t in tops],
        "x2": [t[1] for t in tops],
    }
    region = cg.Hierarchy.flat([f"m{i}" for i in range(12)])
    return cg.cells(data, by={"industry": industry, "region": region}, value="x", count="n", top=["x1", "x2"])


@pytest.mark.parametrize("seed", range(2))
def test_the_work_of_a_first_pattern_is_less_than_the_guess(seed):
    """Work counts are no timings, so this holds on every machine: the first pattern costs a part of what is guessed."""
    needs = cg.require(cg.assess(business(seed, 2_000), [cg.PPercent(10)]))
    search = Search(build_system(needs, np.maximum(needs.tables.value, 1.0)), QUICK, UNWATCHED)
    search.begin(None)
    load = TimeEstimate.of(needs)
    assert load.bounded and load.unsafe > 100
    assert 0 < search.work / SECOND < 2 * load.seconds("witness", QUICK)


# The most that a process had, in GiB, with its tables; the last is a set with a crossing table.
TAKEN = [
    (TimeEstimate(240_000, 47_492, 2.34, counts=True), 0.6),
    (TimeEstimate(222_480, 78_006, 2.34, counts=True), 1.0),
    (TimeEstimate(930_000, 208_601, 2.18, counts=True), 1.1),
    (TimeEstimate(841_516, 208_601, 2.19, counts=True), 1.4),
    (TimeEstimate(53_673, 11_910, 3.37, counts=True), 0.8),
    (TimeEstimate(500_000, 103_823, 3.36, counts=True), 1.6),
    (TimeEstimate(435_297, 103_823, 3.4, counts=True), 2.1),
    (TimeEstimate(427_521, 149_883, 2.72), 2.4),
    (TimeEstimate(5_809, 832, 2.6, counts=True), 0.33),
    (TimeEstimate(1_535, 195, 2.0, 50_000), 0.29),
]


@pytest.mark.parametrize(("load", "taken"), TAKEN)
def test_the_guess_of_memory_is_within_a_factor_of_two_of_what_was_measured(load, taken):
    assert taken / 2 <= load.memory() <= 2 * taken
    assert load.memory(insiders=True) > load.memory()
