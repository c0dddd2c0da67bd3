"""Risk and utility of the algorithms as small pictures for a page: plain data that a template draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.methods.maps.measures import Measures

_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 330, 10, 210
# A shape and a colour per algorithm, so that they differ without colour too.
_SHAPES = {
    "group": ("#0072b2", "M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0"),
    "nearest": ("#009e73", "M{x} {y}m0 -5l5 9h-10z"),
    "everybody": ("#d55e00", "M{x} {y}m-4 -4h8v8h-8z"),
    "optimal": ("#18222d", "M{x} {y}m-4 -4l8 8m0 -8l-8 8"),
}


def plots(measures: Mapping[str, Measures]) -> list[dict[str, Any]]:
    """Return U1 against R1, U3 against R1 and U3 against u, for every algorithm; infinite risks are left out."""
    return [
        _plot("U1 (change in %) against R1 (risk)", "R1", measures, lambda m: (m.r1, m.u1)),
        _plot("U3 (distance) against R1 (risk)", "R1", measures, lambda m: (m.r1, m.u3)),
        _plot("U3 (distance) against u", "u, the count before", measures, lambda m: (m.u.astype(float), m.u3)),
    ]


def mark(name: str, x: float, y: float) -> str:
    """Return the mark of an algorithm at a place, as SVG."""
    colour, shape = _SHAPES[name]
    fill = "none" if name == "optimal" else colour
    return f'<path d="{shape.format(x=x, y=y)}" fill="{fill}" fill-opacity=".6" stroke="{colour}"/>'


def _plot(
    title: str, x: str, measures: Mapping[str, Measures], pick: Callable[[Measures], tuple[FloatArray, FloatArray]]
) -> dict[str, Any]:
    columns = {name: pick(m) for name, m in measures.items()}
    kept = {name: np.isfinite(a) & np.isfinite(b) for name, (a, b) in columns.items()}
    across = _axis(np.concatenate([a[kept[name]] for name, (a, _) in columns.items()]), _LEFT, _RIGHT)
    up = _axis(np.concatenate([b[kept[name]] for name, (_, b) in columns.items()]), _BOTTOM, _TOP)
    points = {
        name: list(zip(across(a[kept[name]]), up(b[kept[name]]), strict=True)) for name, (a, b) in columns.items()
    }
    return {
        "title": title,
        "x": x,
        "marks": "".join(mark(name, *place) for name, places in points.items() for place in places),
        "xticks": across.ticks,
        "yticks": up.ticks,
    }


class _axis:  # noqa: N801 - a function that remembers its ticks
    """From figures to places on paper, from 0 to a round number."""

    def __init__(self, values: FloatArray, start: float, end: float) -> None:
        top = float(values.max()) if len(values) else 1.0
        size = 10.0 ** np.floor(np.log10(top)) if top > 0 else 1.0
        self._top = float(np.ceil(top / size) * size) if top > 0 else 1.0
        self._start, self._end = start, end
        steps = np.linspace(0, self._top, 5)
        self.ticks = list(zip(self(steps), (f"{step:g}" for step in steps.tolist()), strict=True))

    def __call__(self, values: FloatArray) -> list[float]:
        """Return the places of figures."""
        places = self._start + (self._end - self._start) * values / self._top
        return [round(place, 1) for place in places.tolist()]
