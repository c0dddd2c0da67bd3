"""Agreement of rules: printed tables of the thesis, and what a group of cells looks like."""

import math

import numpy as np
import pytest

from cellguard.evaluate.agreement import Agreement, Group


@pytest.mark.parametrize(
    ("table", "kappa", "label"),
    [
        ((75, 124, 112, 689), 0.242556, "fair"),  # thesis, table 3
        ((78, 118, 109, 695), 0.267023, "fair"),  # table 7
        ((177, 22, 19, 782), 0.870659, "almost perfect"),  # table 8, where 0.81 is printed
    ],
)
def test_kappa_of_the_printed_tables(table, kappa, label):
    agreement = Agreement(*table)
    assert agreement.kappa == pytest.approx(kappa, abs=1e-6)
    assert agreement.label == label


def test_kappa_is_not_defined_where_both_rules_are_constant():
    agreement = Agreement.of(np.zeros(5, bool), np.zeros(5, bool))
    assert math.isnan(agreement.kappa)
    assert agreement.label == "not defined"


def test_no_agreement_is_poor():
    half = np.arange(4) < 2
    assert Agreement.of(half, ~half).kappa == -1
    assert Agreement.of(half, ~half).label == "poor"


def test_a_group_is_seen_by_medians_and_sample_deviations():
    group = Group.of(np.array([[6.0, 3.0, 1.0], [8.0, 1.0, 1.0], [5.0, 4.0, 1.0]]), np.full(3, 10.0))
    assert group.typical.tolist() == pytest.approx([0.6, 0.3, 0.1])
    assert group.gap == pytest.approx((3 + 7 + 1) / 3)
    assert group.spread == pytest.approx(np.mean([np.std(row, ddof=1) for row in ((6, 3, 1), (8, 1, 1), (5, 4, 1))]))


def test_an_empty_group_has_no_figures():
    group = Group.of(np.zeros((0, 3)), np.zeros(0))
    assert len(group) == 0
    assert np.isnan(group.typical).all()
