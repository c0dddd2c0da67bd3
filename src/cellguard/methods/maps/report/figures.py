"""Maps and risk-utility curves as pictures (matplotlib): save them as SVG, PNG or whatever matplotlib writes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.geometry.hexgrid import SQRT3, Grid
from cellguard.methods.maps.measures import Measures
from cellguard.report.canvas import INK, PRIMARY, SECONDARY, THIRD, blank, entitle, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"group": SECONDARY, "nearest": THIRD, "everybody": PRIMARY, "optimal": INK}
_MARKS = {"group": "o", "nearest": "^", "everybody": "s", "optimal": "x"}


def map_figure(q: LongArray, r: LongArray, value: FloatArray, *, title: str = "", most: float | None = None) -> Figure:
    """Draw hexagons by their values; ``most`` is where the colours end, so that two maps can be compared.

    >>> type(map_figure(np.array([0, 1]), np.array([0, 0]), np.array([3.0, 9.0]))).__name__
    'Figure'
    """
    figure = blank(7.0, 6.0)
    from matplotlib.collections import PolyCollection

    axes = figure.add_subplot()
    corners = Grid(1.0, SQRT3).corners(q, r)
    shapes = PolyCollection(list(corners), array=value, cmap="YlGn", edgecolors="face", linewidths=0.1)
    shapes.set_clim(0, most if most is not None else float(value.max(initial=1.0)))
    axes.add_collection(shapes)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()
    entitle(axes, title, "")
    figure.colorbar(shapes, ax=axes, shrink=0.6)
    return figure


def risk_utility_figure(measures: Mapping[str, Measures]) -> Figure:
    """Draw U1 and U3 against R1, and U3 against u, for each algorithm. Confidential.

    >>> from cellguard.methods.maps.measures import measure
    >>> from cellguard.methods.maps.transfers import Transfers
    >>> one = measure(np.array([1, 5]), np.array([3, 3]), Transfers.of([1], [0], [2], [1]))
    >>> len(risk_utility_figure({"group": one}).axes)
    3
    """
    figure = blank(11.0, 3.6)
    pairs = (("R1", "U1, %"), ("R1", "U3"), ("u", "U3"))
    for number, (across, up) in enumerate(pairs, 1):
        axes = plain(figure.add_subplot(1, 3, number))
        for name, one in measures.items():
            x, y = (one.u.astype(float) if across == "u" else one.r1), (one.u1 if up.startswith("U1") else one.u3)
            kept = np.isfinite(x)
            axes.plot(x[kept], y[kept], _MARKS[name], color=_COLOURS[name], label=name, markersize=5, alpha=0.7)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def picture(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of a file, always the same for the same figure."""
    import matplotlib as mpl

    out = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "cellguard"}):
        figure.savefig(out, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return out.getvalue()
