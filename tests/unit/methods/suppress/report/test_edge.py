"""Margins of intervals, and cells that a rule just lets pass."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.report import edge
from cellguard.methods.suppress.report.interval_chart import BOTTOM, LEFT, RIGHT, TOP, widths_chart
from cellguard.methods.suppress.result import exact_intervals
from cellguard.table.pattern import Pattern
from unit.methods.suppress.report import cases


@pytest.fixture(scope="module")
def audit():
    return cases.protect(cases.table())[1]


def test_intervals_worked_out_now_are_those_of_the_audit(audit):
    plain = cg.audit(audit.needs, audit.pattern)
    assert not plain.exact.all()
    now, before = exact_intervals(plain), exact_intervals(audit)
    assert np.array_equal(now.lower, before.lower) and np.array_equal(now.upper, before.upper)
    assert np.array_equal(now.hidden, audit.pattern.unknown)


def test_many_intervals_are_left_alone(audit):
    assert exact_intervals(cg.audit(audit.needs, audit.pattern), most=1) is None


def test_a_margin_is_the_least_of_all_sides(audit):
    found = exact_intervals(audit)
    margin, needs, value = edge.margins(audit, found), audit.needs, audit.needs.tables.value
    for cell in np.flatnonzero(needs.primary):
        sides = []
        if needs.lower[cell] > 0:
            sides.append((value[cell] - found.lower[cell]) / needs.lower[cell])
        if needs.upper[cell] > 0:
            sides.append((found.upper[cell] - value[cell]) / needs.upper[cell])
        if needs.sliding[cell] > 0:
            sides.append((found.upper[cell] - found.lower[cell]) / needs.sliding[cell])
        assert margin[cell] == pytest.approx(min(sides)) and margin[cell] >= 1 - 1e-9
    assert np.isinf(margin[~needs.primary]).all()
    tight = edge.tightest(audit, found, 3)
    assert margin[tight].tolist() == sorted(margin[np.isfinite(margin)])[:3]


def test_a_secondary_without_room_is_told():
    t = cg.cells(
        {"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]}, by=["r"], value="x", count="n"
    )
    needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    safe = Pattern(needs.tables, needs.primary, np.array([False, False, False, True]))
    audit = cg.audit(needs, safe, intervals=True)
    assert edge.points(audit, exact_intervals(audit)).tolist() == []
    square = {"r": ["Total", "Total", "N", "N"], "s": ["Total", "a", "Total", "a"], "x": [5, 5, 5, 5]}
    linked = cg.link(cg.cells(square, by=["r", "s"], value="x"))
    nothing = cg.require(cg.assess(linked, []))
    alone = Pattern(linked, np.zeros(4, bool), np.array([False, False, False, True]))
    judged = cg.audit(nothing, alone, intervals=True)
    assert edge.points(judged, exact_intervals(judged)).tolist() == [3]


def test_cells_near_a_rule_are_the_nearest_safe_ones():
    columns = {"r": ["Total", "a", "b", "c", "d"], "x": [400, 100, 100, 100, 100], "n": [22, 2, 3, 7, 10]}
    columns |= {"x1": [90, 90, 80, 60, 40], "x2": [80, 9, 9, 20, 30]}
    t = cg.cells(columns, by=["r"], value="x", count="n", top=["x1", "x2"])
    findings = cg.assess(t, [cg.MinFrequency(3), cg.PPercent(10), cg.Dominance(1, 85)])
    shown = ~findings.primary
    near = edge.nearly_unsafe(findings.by_table[0], shown, most=2)
    assert [(m.rule, t.cell_name(m.cell)) for m in near] == [(0, "b"), (0, "c"), (1, "b"), (1, "c"), (2, "b"), (2, "c")]
    assert [m.figure for m in near[:2]] == [3.0, 7.0]
    assert [m.figure for m in near[4:]] == pytest.approx([80.0, 60.0])


def test_a_hidden_or_waived_cell_is_not_near_a_rule(audit):
    findings = cases.protect(cases.table())[0]
    published = audit.pattern.status(0) == "published"
    for miss in edge.nearly_unsafe(findings.by_table[0], published):
        assert published[miss.cell] and not findings.primary[miss.cell]
    nobody = replace(findings.by_table[0], rules=(), sensitivity=(), unsafe=())
    assert edge.nearly_unsafe(nobody, published) == []


def test_the_chart_has_a_dot_per_unsafe_cell_above_the_line_of_what_is_just_enough(audit):
    intervals = exact_intervals(audit)
    chart = widths_chart(audit, intervals)
    width = intervals.upper - intervals.lower
    drawn = audit.needs.primary & np.isfinite(width)
    assert len(chart["marks"]) == drawn.sum() > 1 and f"{drawn.sum()} unsafe cells" in chart["words"]
    across, down = RIGHT - LEFT, BOTTOM - TOP
    assert all((BOTTOM - y) / down >= (x - LEFT) / across - 0.01 for x, y in chart["marks"])
