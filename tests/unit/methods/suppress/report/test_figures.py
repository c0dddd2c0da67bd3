"""Pictures: right marks in the right places, saved without a screen and without pyplot."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import cellguard as cg
from cellguard.errors import InputError
from cellguard.report.canvas import PRIMARY, SECONDARY
from cellguard.table.pattern import Pattern
from unit.methods.suppress.report import cases


@pytest.fixture(scope="module")
def audit():
    return cases.protect(cases.table())[1]


def saved(figure, kind):
    file = io.BytesIO()
    figure.savefig(file, format=kind)
    return file.getvalue()


def points(axes, colour):
    """Where marks with edges of one colour are, as (column, row)."""
    from matplotlib.colors import to_hex

    for marks in axes.collections:
        edges = marks.get_edgecolors()
        if len(edges) and to_hex(edges[0]) == colour:
            return {tuple(map(int, xy)) for xy in marks.get_offsets()}
    return set()


def test_every_picture_can_be_saved_as_png_and_svg(audit):
    for figure in (cg.heat_map(audit.pattern), cg.interval_plot(audit), cg.loss_by_level(audit.pattern)):
        assert isinstance(figure, Figure)
        assert saved(figure, "png").startswith(b"\x89PNG")
        assert b"<svg" in saved(figure, "svg")


def test_marks_of_a_heat_map_stand_on_the_hidden_cells(audit):
    table, pattern = audit.needs.tables.tables[0], audit.pattern
    axes = cg.heat_map(pattern).axes[0]
    for mask, colour in ((pattern.primary, PRIMARY), (pattern.secondary, SECONDARY)):
        expected = {(int(table.codes[1][i]), int(table.codes[0][i])) for i in np.flatnonzero(mask)}
        assert expected and points(axes, colour) == expected


def test_further_dimensions_stand_at_their_total_or_where_asked():
    table = cases.table(axes=(("A1", "A2", "B1", "B2"), ("N", "S"), ("x", "y")))
    pattern = cases.protect(table)[1].pattern
    cells = {w: cg.heat_map(pattern, where={"d3": w} if w else {}) for w in ("", "Total", "x")}
    assert saved(cells[""], "png") == saved(cells["Total"], "png")
    mask = pattern.primary & (table.codes[2] == table.dimensions[2].position["x"])
    expected = {(int(table.codes[1][i]), int(table.codes[0][i])) for i in np.flatnonzero(mask)}
    assert points(cells["x"].axes[0], PRIMARY) == expected


@pytest.mark.parametrize("where", [{"d3": "z"}, {"d2": "N"}, {"nowhere": "x"}])
def test_a_wrong_place_is_refused_with_a_hint(where):
    pattern = cases.protect(cases.table(axes=(("A1", "B1"), ("N", "S"), ("x", "y"))))[1].pattern
    with pytest.raises(InputError, match=r"no code|not a further dimension"):
        cg.heat_map(pattern, where=where)


def test_a_table_by_one_dimension_and_an_unknown_name(audit):
    one = cases.protect(cases.table(axes=(("A1", "A2", "B1", "B2"),)))[1]
    assert saved(cg.heat_map(one.pattern), "png")
    for draw in (cg.heat_map, cg.loss_by_level):
        with pytest.raises(InputError, match="did you mean 'turnover'"):
            draw(audit.pattern, "turnovers")


def test_interval_lines_end_where_the_intervals_end(audit):
    axes = cg.interval_plot(audit, most=1000).axes[0]
    table, value = audit.needs.tables.tables[0], audit.needs.tables.value
    names = [label.get_text() for label in axes.get_yticklabels()]
    hidden = [table.cell_name(int(c)) for c in np.flatnonzero(audit.pattern.hidden)]
    assert sorted(names) == sorted(hidden)
    lines = {
        round(line.get_ydata()[0]): line.get_xdata()
        for line in axes.lines
        if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.2
    }
    for y, name in enumerate(names):
        cell = table.find(name)
        ends = [(end[cell] - value[cell]) / value[cell] * 100 for end in (audit.lower, audit.upper)]
        assert list(lines[y]) == pytest.approx(np.clip(ends, -120, 120).tolist())


def test_intervals_must_be_exact(audit):
    with pytest.raises(InputError, match="intervals=True"):
        cg.interval_plot(cg.audit(audit.needs, audit.pattern))


def test_bars_of_levels_are_the_shares(audit):
    from cellguard.methods.suppress.report.losses import losses_by_level

    axes = cg.loss_by_level(audit.pattern).axes
    losses = losses_by_level(audit.pattern, 0)[::-1]
    widths = [bar.get_width() for bar in axes[0].patches]
    assert widths[: len(losses)] == pytest.approx([100 * loss.primary / loss.cells for loss in losses])
    assert widths[len(losses) :] == pytest.approx([100 * loss.secondary / loss.cells for loss in losses])


def test_codes_with_dollar_signs_are_no_formulas():
    table = cg.cells({"r": ["Total", "$x^$", "b$"], "x": [9, 4, 5]}, by=["r"], value="x")
    nothing = np.zeros(3, bool)
    assert saved(cg.heat_map(Pattern(cg.link(table), ~nothing, nothing)), "png")


def test_pictures_leave_pyplot_alone_and_importing_loads_nothing(tmp_path):
    code = (
        "import sys, numpy as np, cellguard as cg\n"
        "assert 'matplotlib' not in sys.modules\n"
        "t = cg.cells({'r': ['Total', 'N'], 'x': [5, 5]}, by=['r'], value='x')\n"
        "assert 'matplotlib' not in sys.modules and 'jinja2' not in sys.modules\n"
        "none = np.zeros(2, bool)\n"
        "cg.heat_map(cg.Pattern(cg.link(t), none, none)).savefig(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x.png"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_without_matplotlib_one_is_told_how_to_get_it(monkeypatch, audit):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'cellguard\[report\]'"):
        cg.heat_map(audit.pattern)
