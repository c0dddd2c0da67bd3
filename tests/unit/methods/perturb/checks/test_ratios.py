"""Ratios of two responses, and trends, that perturbed tables give away."""

import numpy as np
import pytest

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.checks.disclosed import disclosed
from cellguard.methods.perturb.checks.ratios import ratios
from cellguard.methods.perturb.checks.unknowns import unknowns_of


def check(values, multipliers, unit, region):
    """The ratio findings of one table a response; ``multipliers`` is one a response and unit."""
    records = respondents({"region": region}, values, unit=unit)
    by = [Dimension("region", flat(sorted(set(region))))]
    results = []
    for name in values:
        table = calibration_table(records, by, name, name=name)
        added = records.values[name] * multipliers[name][records.unit]
        results.append(disclosed(unknowns_of([table], {name: added})))
    return results, ratios(results, multipliers)


def test_ratio_of_cuppen():
    # T1 = 40 and T2 = 42; B knows X_B = 20, Z_B = 10 and m_B = 0.9, so m X_A = 22 and m Z_A = 33: a ratio of 2/3.
    m = np.array([1.1, 0.9, 1, 1, 1, 1])
    values = {"X": [20.0, 20, 5, 6, 7, 8], "Z": [30.0, 10, 5, 6, 7, 8]}
    results, found = check(values, {"X": m, "Z": m}, list("ABcdef"), list("NNSSSS"))
    totals = [
        float(next(t for r, t in enumerate(s.unknowns.totals) if s.unknowns.name(r).cell == "N")) for s in results
    ]
    assert totals == [pytest.approx(40), pytest.approx(42)]
    left = [total - 0.9 * own for total, own in zip(totals, (20, 10), strict=True)]
    assert left == [pytest.approx(22), pytest.approx(33)]
    assert left[0] / left[1] == pytest.approx(0.666667, abs=1e-6)
    assert {f.units for f in found} == {("A",), ("B",)}
    assert {str(c) for f in found for c in f.cells} == {"X: N", "Z: N"}
    assert all(f.blocks and "exactly" in f.text for f in found)


def test_attribute_multipliers_perturb_the_ratio():
    m = {"x24": np.array([1.105, 1, 1, 1, 1]), "x25": np.array([1.098, 1, 1, 1, 1])}
    values = {"x24": [100.0, 5, 6, 7, 8], "x25": [105.0, 5, 6, 7, 8]}
    _, found = check(values, m, list("Abcde"), list("NSSSS"))
    assert len(found) == 1
    assert not found[0].blocks
    assert found[0].figures["moved"] == pytest.approx(0.006375, abs=1e-6)


def test_a_multiplier_that_changes_next_to_nothing_perturbs_no_ratio():
    m = {"x24": np.array([1.1, 1, 1, 1, 1]), "x25": np.array([1.1 * (1 + 1e-7), 1, 1, 1, 1])}
    values = {"x24": [100.0, 5, 6, 7, 8], "x25": [105.0, 5, 6, 7, 8]}
    _, (found,) = check(values, m, list("Abcde"), list("NSSSS"))
    assert found.blocks and "to within 0.01 %" in found.text


def test_one_response_alone_gives_no_ratio():
    m = np.array([1.1, 1, 1, 1, 1, 1])
    values = {"X": [9.0, 5, 5, 6, 7, 8], "Z": [0.0, 5, 5, 6, 7, 8]}
    _, found = check(values, {"X": m, "Z": m}, list("ABCDEF"), list("NSSSSS"))
    assert found == []
