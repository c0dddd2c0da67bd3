"""The canvas of all pictures: one size, one ink, one way to name ticks. Needs the extra `report` (matplotlib)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellguard.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people with any kind of colour blindness distinguish (Okabe and Ito 2008); marks differ in shape too.
PRIMARY, SECONDARY, THIRD, INK, LINE = "#d55e00", "#0072b2", "#009e73", "#18222d", "#c5ccd4"
_MOST_MARKED = 60
_LONGEST = 28


def short(text: str) -> str:
    """Cut a name that is too long for an axis."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def single(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, in inches."""
    figure = blank(width, height)
    return figure, plain(figure.add_subplot())


def paired(width: float, height: float) -> tuple[Figure, tuple[Axes, Axes]]:
    """Return a figure with two pairs of axes side by side."""
    figure = blank(width, height)
    return figure, (plain(figure.add_subplot(1, 2, 1)), plain(figure.add_subplot(1, 2, 2)))


def blank(width: float, height: float) -> Figure:
    """Return an empty figure; it belongs to no window and to no global state."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise InputError("pictures need matplotlib; get it with: pip install 'cellguard[report]'") from None
    return Canvas(figsize=(min(max(width, 4.5), 40), min(max(height, 2.2), 60)), layout="constrained")


def plain(axes: Axes) -> Axes:
    """Draw axes in grey."""
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=INK, labelsize=8, length=2, color=LINE)
    return axes


def name_ticks(axis: object, names: list[str], *, left: bool = False) -> None:
    """Name ticks; where there are many, only so many of them that they can be read."""
    step = max(1, -(-len(names) // _MOST_MARKED))
    axis.set_ticks(list(range(0, len(names), step)), labels=[literal(n) for n in names[::step]])  # type: ignore[attr-defined]
    if left:
        axis.set_tick_params(labelfontfamily="monospace")  # type: ignore[attr-defined]


def literal(text: str) -> str:
    """Write a code as it is: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")


def entitle(axes: Axes, text: str, more: str) -> None:
    """Write a title, and a second line below it."""
    axes.set_title(literal(text) + (f"\n{literal(more)}" if more else ""), fontsize=11, loc="left", color=INK, pad=10)
