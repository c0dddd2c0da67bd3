"""Maps and risk-utility curves as pictures (matplotlib): save them as SVG, PNG or whatever matplotlib writes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.geometry.tiling import Shape
from cellguard.methods.maps.measures import Measures
from cellguard.methods.maps.report.classes import breaks, class_of, names
from cellguard.reading.coordinates import in_degrees
from cellguard.report.canvas import INK, PRIMARY, SECONDARY, THIRD, blank, entitle, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure

_COLOURS = {"group": SECONDARY, "nearest": THIRD, "everybody": PRIMARY, "optimal": INK}
_MARKS = {"group": "o", "nearest": "^", "everybody": "s", "optimal": "x"}
CLASSES = ("#ffffcc", "#d9f0a3", "#addd8e", "#78c679", "#41ab5d", "#238443", "#006837", "#003d1f")
_KM = 1000


def map_figure(
    shapes: Sequence[Shape],
    value: FloatArray,
    *,
    title: str = "",
    starts: Sequence[float] | None = None,
    whole: bool = True,
    crs: str | None = None,
    raised: BoolArray | None = None,
) -> Figure:
    """Draw cells by the classes of their values, with axes, and a scale bar where coordinates are metres.

    ``starts`` are where the classes begin, so that two maps can be compared; ``raised`` cells have an outline.

    >>> from cellguard.geometry.hexgrid import Grid
    >>> shapes = Grid.of_size(500.0).shapes(np.array([0, 1]), np.array([0, 0]))
    >>> type(map_figure(shapes, np.array([3.0, 9.0]), crs="EPSG:3035")).__name__
    'Figure'
    """
    figure = blank(7.6, 6.0)
    from matplotlib.patches import Patch

    axes = plain(figure.add_subplot())
    starts = breaks(value) if starts is None else starts
    palette = [CLASSES[round(k * (len(CLASSES) - 1) / max(len(starts) - 1, 1))] for k in range(len(starts))]
    colours = [palette[k] for k in class_of(value, starts).tolist()]
    axes.add_collection(_collection(shapes, facecolors=colours, edgecolors="#8b96a2", linewidths=0.15))
    handles = [
        Patch(facecolor=c, edgecolor=INK, linewidth=0.3, label=n)
        for c, n in zip(palette, names(starts, whole=whole), strict=True)
    ]
    if raised is not None and raised.any():
        some = [shapes[i] for i in np.flatnonzero(raised).tolist()]
        axes.add_collection(_collection(some, facecolors="none", edgecolors=PRIMARY, linewidths=0.9))
        handles.append(Patch(facecolor="none", edgecolor=PRIMARY, label="raised"))
    axes.set_aspect("equal")
    axes.autoscale_view()
    _placed(axes, crs)
    entitle(axes, title, "")
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    return figure


def _collection(shapes: Sequence[Shape], **how: Any) -> Collection:  # noqa: ANN401
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    if all(len(shape) == 1 and len(shape[0]) == 1 for shape in shapes):
        return PolyCollection([shape[0][0] for shape in shapes], **how)
    rings = [[Path(np.vstack([ring, ring[:1]]), closed=True) for part in shape for ring in part] for shape in shapes]
    return PathCollection([Path.make_compound_path(*paths) for paths in rings], **how)


def _placed(axes: Axes, crs: str | None) -> None:
    """Name the axes, and add north and a bar of a round length where the coordinate system says what they are."""
    degrees = crs is not None and in_degrees(crs)
    axes.set_xlabel("longitude" if degrees else "x" if crs is None else f"x, m ({crs})", fontsize=8)
    axes.set_ylabel("latitude" if degrees else "y" if crs is None else "y, m", fontsize=8)
    axes.ticklabel_format(style="plain", useOffset=False)
    axes.locator_params(nbins=6)
    if crs is None:
        return
    arrow = {"arrowstyle": "->", "color": INK}
    axes.annotate(
        "N", (0.97, 0.98), (0.97, 0.88), "axes fraction", ha="center", color=INK, fontsize=9, arrowprops=arrow
    )
    if degrees:
        return
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    low -= 0.06 * (high - low)
    axes.set_ylim(low, high)
    length = round_length((right - left) / 4)
    x, y = left + 0.03 * (right - left), low + 0.02 * (high - low)
    axes.plot([x, x + length], [y, y], color=INK, linewidth=2.5, solid_capstyle="butt")
    said = f"{length / _KM:g} km" if length >= _KM else f"{length:g} m"
    axes.text(x + length / 2, y + 0.012 * (high - low), said, ha="center", va="bottom", fontsize=8, color=INK)


def round_length(most: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... that is not above a length.

    >>> round_length(730.0), round_length(0.3)
    (500.0, 0.2)
    """
    size = 10.0 ** np.floor(np.log10(most))
    return float(max(step * size for step in (1, 2, 5) if step * size <= most))


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
