"""Pictures as matplotlib figures: a table with its marks, the attacker's intervals, and losses by level.

They need the extra `report`. A figure belongs to no window and to no global state: save it with ``figure.savefig``.
All but those of a release are confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cellguard.attack.audit import Audit
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.suppress.report.losses import level_name, losses_by_level
from cellguard.report.canvas import INK, PRIMARY, SECONDARY, entitle, name_ticks, paired, short, single
from cellguard.table.facts import FloatArray
from cellguard.table.pattern import Pattern
from cellguard.table.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOWHERE: Mapping[str, str] = {}


def heat_map(pattern: Pattern, table: str | None = None, *, where: Mapping[str, str] = NOWHERE) -> Figure:
    """Draw a table: the darker a cell, the larger its value; primary cells have a disc, secondary ones a ring.

    Rows are the first dimension and columns the second. Empty combinations are white. Confidential.

    Parameters
    ----------
    pattern
        The pattern to draw.
    table
        The name of the table; by default the first one.
    where
        The codes of the further dimensions; by default their totals.

    Returns
    -------
    Figure
        A figure of matplotlib.

    Raises
    ------
    InputError
        If a table, dimension or code is unknown.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> type(cg.heat_map(cg.suppress(needs).pattern)).__name__
    'Figure'
    """
    number = _number(pattern, table)
    here = pattern.tables.tables[number]
    rows, columns, cells = _slice(here, where)
    figure, axes = single(2.4 + 0.42 * len(columns), 1.4 + 0.26 * len(rows))
    values = np.full((len(rows), len(columns)), np.nan)
    shown = cells >= 0
    values[shown] = np.log10(1.0 + np.abs(here.value[cells[shown]]) / here.unit)
    axes.imshow(
        values, cmap="Greys", aspect="auto", vmin=0.0, vmax=1.6 * max(float(np.nanmax(values, initial=1.0)), 1.0)
    )
    of_set = pattern.tables.cells_of[number]
    size = float(np.clip(2400 / max(len(rows), len(columns)), 6, 90))
    for mask, colour, filled in ((pattern.primary, PRIMARY, True), (pattern.secondary, SECONDARY, False)):
        at = np.argwhere(shown & mask[of_set[np.maximum(cells, 0)]])
        face = colour if filled else "none"
        axes.scatter(at[:, 1], at[:, 0], s=size, facecolors=face, edgecolors=colour, linewidths=1.5)
    first = here.dimensions[0]
    indented = ["\u00a0\u00a0" * int(first.level[c]) + short(first.codes[c]) for c in rows]
    name_ticks(axes.yaxis, [name.ljust(max(map(len, indented)), "\u00a0") for name in indented], left=True)
    if len(here.dimensions) > 1:
        second = here.dimensions[1]
        name_ticks(axes.xaxis, [short(second.codes[c]) for c in columns])
    else:
        axes.set_xticks([])
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", rotation=90 if len(columns) > 8 else 0)
    entitle(axes, f"{here.name}: {here.response}", _said(here, where))
    _legend(figure)
    return figure


def interval_plot(audit: Audit, table: str | None = None, *, most: int = 40) -> Figure:
    """Draw the feasibility intervals of suppressed cells, in percent of the value, against their protection levels.

    A thin line is the interval, a thick one the protection level; an arrow means that there is no end or that it is
    further away. The cells with the narrowest intervals are shown. Confidential.

    Parameters
    ----------
    audit
        An audit with exact intervals: ``audit(needs, pattern, intervals=True)``.
    table
        The name of the table; by default the first one.
    most
        How many cells are shown.

    Returns
    -------
    Figure
        A figure of matplotlib.

    Raises
    ------
    InputError
        If the table is unknown, or the audit has no exact intervals.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> type(cg.interval_plot(cg.audit(needs, cg.suppress(needs).pattern, intervals=True))).__name__
    'Figure'
    """
    if not audit.exact.all():
        raise InputError("the exact intervals are not there; audit with intervals=True")
    number = _number(audit.pattern, table)
    tables = audit.needs.tables
    here, of_set = tables.tables[number], tables.cells_of[number]
    hidden = np.flatnonzero(audit.pattern.hidden[of_set] & ~here.unpublished)
    value = np.maximum(np.abs(tables.value[of_set]), here.unit)
    width = (audit.upper - audit.lower)[of_set] / value
    chosen = hidden[np.argsort(width[hidden], kind="stable")[:most]][::-1]
    figure, axes = single(7.5, 1.4 + 0.24 * max(len(chosen), 1))
    for y, cell in enumerate(chosen.tolist()):
        _draw_interval(axes, y, audit, int(of_set[cell]), float(value[cell]))
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_xlim(-_FAR, _FAR)
    axes.set_ylim(-0.6, max(len(chosen), 1) - 0.4)
    name_ticks(axes.yaxis, [short(here.cell_name(int(c))) for c in chosen], left=True)
    axes.set_xlabel("distance from the true value, in percent of it", fontsize=9)
    some = f"the {len(chosen)} narrowest of {len(hidden)} suppressed cells" if len(hidden) > len(chosen) else ""
    entitle(axes, f"{here.name}: what an outsider can work out", some)
    _legend(figure)
    return figure


_FAR = 120.0


def _draw_interval(axes: Axes, y: int, audit: Audit, cell: int, value: float) -> None:
    primary = bool(audit.pattern.primary[cell])
    colour = PRIMARY if primary else SECONDARY
    true = float(audit.needs.tables.value[cell])
    low, high = ((float(end[cell]) - true) / value * 100 for end in (audit.lower, audit.upper))
    axes.plot([max(low, -_FAR), min(high, _FAR)], [y, y], color=colour, linewidth=1.2)
    for end, far, sign in ((low, low < -_FAR, "<"), (high, high > _FAR, ">")):
        axes.plot([np.clip(end, -0.985 * _FAR, 0.985 * _FAR)], [y], sign if far else "|", color=colour, markersize=5)
    if primary:
        need = [-audit.needs.lower[cell] / value * 100, audit.needs.upper[cell] / value * 100]
        axes.plot(need, [y, y], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
    axes.plot([0], [y], "o", color=colour, markersize=5, markerfacecolor=colour if primary else "white")


def loss_by_level(pattern: Pattern, table: str | None = None) -> Figure:
    """Draw for each combination of levels which share of its cells, and of its value, is suppressed. Confidential.

    Parameters
    ----------
    pattern
        The pattern to draw.
    table
        The name of the table; by default the first one.

    Returns
    -------
    Figure
        A figure of matplotlib.

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> type(cg.loss_by_level(cg.suppress(needs).pattern)).__name__
    'Figure'
    """
    number = _number(pattern, table)
    here = pattern.tables.tables[number]
    losses = losses_by_level(pattern, number)[::-1]
    figure, (left, right) = paired(9.0, 1.6 + 0.3 * len(losses))
    names = [" × ".join(level_name(depth) for depth in loss.level) for loss in losses]
    cells = [(loss.primary, loss.secondary, loss.cells) for loss in losses]
    worth = [(loss.primary_value, loss.secondary_value, loss.value) for loss in losses]
    for axes, parts, what in ((left, cells, "share of the cells"), (right, worth, "share of the value")):
        _draw_shares(axes, np.array(parts, float), what)
    name_ticks(left.yaxis, names, left=True)
    right.set_yticks([])
    entitle(left, f"{here.name}: suppressed by level", " × ".join(d.name for d in here.dimensions))
    _legend(figure)
    return figure


def _draw_shares(axes: Axes, parts: FloatArray, what: str) -> None:
    whole = np.where(parts[:, 2] == 0, 1.0, parts[:, 2])
    primary, secondary = 100 * parts[:, 0] / whole, 100 * parts[:, 1] / whole
    y = np.arange(len(parts))
    axes.barh(y, primary, color=PRIMARY, height=0.6)
    axes.barh(y, secondary, left=primary, color="white", edgecolor=SECONDARY, hatch="////", height=0.6, linewidth=1)
    for at, total in enumerate((primary + secondary).tolist()):
        axes.text(total + 1.5, at, f"{total:.1f} %", va="center", fontsize=8, color=INK)
    axes.set_xlim(0, 118)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel(f"suppressed, in percent: {what}", fontsize=9)


def _number(pattern: Pattern, table: str | None) -> int:
    """Return the position of a table in its set; the first one if none is named."""
    names = [t.name for t in pattern.tables.tables]
    if table is not None and table not in names:
        raise InputError(f"no table {table!r}{did_you_mean(table, names)}")
    return 0 if table is None else names.index(table)


def _slice(table: Table, where: Mapping[str, str]) -> tuple[list[int], list[int], npt.NDArray[np.int64]]:
    """Return the codes of rows and columns that occur, and for each pair of them the cell's position, or -1."""
    others = {d.name: d for d in table.dimensions[2:]}
    for name, code in where.items():
        if name not in others:
            raise InputError(f"`where` names {name!r}, which is not a further dimension{did_you_mean(name, others)}")
        if code not in others[name].position:
            raise InputError(f"no code {code!r} in dimension {name!r}{did_you_mean(code, others[name].codes)}")
    chosen = np.ones(len(table), bool)
    for dimension, column in zip(table.dimensions[2:], table.codes[2:], strict=True):
        chosen &= column == dimension.position[where.get(dimension.name, dimension.total)]
    at = np.flatnonzero(chosen)
    first = table.codes[0][at]
    second = table.codes[1][at] if len(table.dimensions) > 1 else np.zeros_like(first)
    rows, down = np.unique(first, return_inverse=True)
    columns, across = np.unique(second, return_inverse=True)
    cells = np.full((len(rows), len(columns)), -1, np.int64)
    cells[down.ravel(), across.ravel()] = at
    if not len(at):
        raise InputError(f"table {table.name!r} has no cell there: every combination is empty")
    return rows.tolist(), columns.tolist(), cells


def _said(table: Table, where: Mapping[str, str]) -> str:
    return ", ".join(f"{d.name} = {where.get(d.name, d.total)}" for d in table.dimensions[2:])


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=PRIMARY, label="primary"),
        Line2D([], [], marker="o", linestyle="", color=SECONDARY, markerfacecolor="white", label="secondary"),
    ]
    figure.legend(handles=marks, loc="outside lower right", ncols=2, frameon=False, fontsize=8)
