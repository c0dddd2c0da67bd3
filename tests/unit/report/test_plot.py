"""Small pictures without matplotlib: places, axes and words."""

import re
from xml.etree import ElementTree as ET

import pytest

from cellguard.report.plot import Plot, ticks


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-100.0, 17.0), (0.997, 1.003), (0.0, 3e6), (-1e-9, 2e-9)])
def test_ticks_are_few_and_inside(low, high):
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 8
    assert all(low - 1e-9 * abs(low) <= mark <= high + 1e-9 * abs(high) for mark in marks)
    assert marks == sorted(set(marks))


def test_every_mark_lies_inside_and_in_order():
    plot = Plot((0.0, 10.0), (0.0, 5.0), ("across < 10", "up & on"))
    plot.points([(0, 0), (10, 5)], "#000", cross=False)
    plot.points([(5, 2.5)], "#f00", cross=True)
    plot.bars([0, 5, 10], [1, 5], "#00f")
    plot.line((0, 0), (5, 5))
    made = ET.fromstring(plot.svg("words & more"))  # noqa: S314 - our own text
    assert made.get("aria-label") == "words & more"
    discs = [(float(e.get("cx")), float(e.get("cy"))) for e in made.iter() if e.tag.endswith("circle")]
    assert discs[0][0] < discs[1][0] and discs[0][1] > discs[1][1]
    assert all(0 <= x <= 620 and 0 <= y <= 300 for x, y in discs)
    bars = [e for e in made.iter() if e.tag.endswith("rect")][1:]
    assert [round(float(b.get("height")) / float(bars[0].get("height")), 1) for b in bars] == [1.0, 5.0]
    assert re.search("across &lt; 10", plot.svg(""))


def test_an_axis_of_one_value_has_a_length():
    plot = Plot((3.0, 3.0), (0.0, 0.0), ("", ""))
    assert plot.across[0] < 3 < plot.across[1] and plot.up[0] == 0 < plot.up[1]
