"""What keyed answers tell together, against Bayes by brute force, and how cells add up."""

from itertools import product

import numpy as np
import pytest

from cellguard.methods.keys.answers.boxes import Sum, contains, sums_of
from cellguard.methods.keys.answers.told import Cell, judge
from cellguard.methods.keys.design import Design

TABLE = Design(3, 2.0).table()
CHANCES = TABLE.chances()
D = TABLE.deviation


def chance(true, published):
    """Return the probability that a true count is published so."""
    if true < 0 or abs(published - true) > D:
        return 0.0
    return float(CHANCES[int(TABLE.rows(np.array([true]))[0]), published - true + D])


def noisy(random, true):
    row = CHANCES[int(TABLE.rows(np.array([true]))[0])]
    return true + int(random.choice(2 * D + 1, p=row / row.sum())) - D


def brute_force(published, inner, threshold, most=40):
    """Return the largest posterior of a small count of any cell, all inner counts being as likely beforehand.

    Cells are bit masks over the inner cells; two with the same records, since all others between them are empty, have
    the same noise.
    """
    weight = {}
    for counts in product(range(most), repeat=inner):
        likely, seen = 1.0, {}
        for mask, shown in published.items():
            records = tuple(i for i in range(inner) if mask >> i & 1 and counts[i])
            true = sum(counts[i] for i in records)
            if records in seen:
                likely *= seen[records] == shown
            else:
                seen[records] = shown
                likely *= chance(true, shown)
            if not likely:
                break
        if likely:
            weight[counts] = likely
    total, worst = sum(weight.values()), 0.0
    for mask in {*published, *(1 << i for i in range(inner))}:
        for few in range(1, threshold):
            here = sum(
                w for counts, w in weight.items() if sum(c for i, c in enumerate(counts) if mask >> i & 1) == few
            )
            worst = max(worst, here / total)
    return worst


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("listed", [(0b11, 0b01), (0b111, 0b001, 0b010), (0b11, 0b01, 0b10)])
def test_posteriors_are_those_of_bayes(seed, listed):
    random = np.random.default_rng([seed, sum(listed)])
    inner = max(listed).bit_length()
    counts = [int(random.integers(4, 12)), *(int(random.integers(0, 4)) for _ in range(inner - 1))]
    true = {mask: sum(c for i, c in enumerate(counts) if mask >> i & 1) for mask in listed}
    by_records, published = {}, {}
    for mask in listed:
        records = tuple(i for i in range(inner) if mask >> i & 1 and counts[i])
        by_records.setdefault(records, noisy(random, true[mask]) if records else 0)
        published[mask] = by_records[records]
    cells = {(mask,): Cell(true[mask], published[mask], filled=False) for mask in listed}
    told = judge(cells, list(cells), TABLE, 3)
    assert told.estimated == 0
    assert told.largest == pytest.approx(brute_force(published, inner, 3), abs=1e-6)


def test_a_small_difference_by_several_variables_is_judged():
    outer, inner = (0b11, 0b11), (0b01, 0b01)
    same = {outer: Cell(21, 21, True), inner: Cell(20, 18, True)}
    told = judge(same, [inner], TABLE, 3)
    likely = {d: sum(chance(b + d, 21) * chance(b, 18) for b in range(10, 30)) if d else 0.0 for d in range(2 * D + 10)}
    assert told.pairs == pytest.approx(max(likely[1], likely[2]) / sum(likely.values()), abs=1e-9)
    assert judge({outer: Cell(21, 21, True), inner: Cell(10, 11, True)}, [inner], TABLE, 3).pairs == 0


def test_overlapping_sets_are_subtracted_one_by_one():
    found = sums_of([(0b111,), (0b011,), (0b110,)])
    assert Sum((0b111,), ((0b011,), (0b100,))) in found and Sum((0b111,), ((0b110,), (0b001,))) in found
    assert not contains((0b011,), (0b111,))
