"""Small pictures as SVG text, for pages that every run writes: matplotlib would take longer than the run itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from cellguard.report.canvas import INK, LINE

_WIDTH, _HEIGHT = 620, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 16, 44
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers from ``low`` to ``high``, not more than ``most``.

    >>> ticks(0.83, 1.17), ticks(-100, 20)
    ([0.9, 1.0, 1.1], [-100.0, -80.0, -60.0, -40.0, -20.0, 0.0, 20.0])
    """
    size = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(size * s for s in _STEPS if (high - low) / (size * s) <= most - 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [round(float(at * step), 12) + 0.0 for at in np.arange(first, last + 1)]


@dataclass(eq=False)
class Plot:
    """A picture with two axes; each mark is drawn over those before it."""

    across: tuple[float, float]
    up: tuple[float, float]
    names: tuple[str, str]
    marks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.across, self.up = _widened(*self.across), _widened(*self.up)

    def x(self, value: float) -> float:
        """Return where a value lies from the left."""
        low, high = self.across
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        """Return where a value lies from the top."""
        low, high = self.up
        return round(_HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM), 1)

    def bars(self, edges: Sequence[float], heights: Sequence[float], colour: str) -> None:
        """Draw a histogram."""
        floor = self.y(0)
        for left, right, height in zip(edges, edges[1:], heights, strict=False):
            x, y = self.x(left), self.y(height)
            wide = round(max(self.x(right) - x - 0.5, 0.5), 1)
            self.marks.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{round(floor - y, 1)}" fill="{colour}"/>')

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str = INK) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = ((self.x(x), self.y(y)) for x, y in (start, end))
        self.marks.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>')

    def points(
        self, places: Iterable[tuple[float, float]], colour: str, *, cross: bool = False, size: float = 3
    ) -> None:
        """Draw discs, or crosses."""
        at = [(self.x(x), self.y(y)) for x, y in places]
        if cross:
            lines = [
                f"M{x - size} {y - size}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}" for x, y in at
            ]
            self.marks.append(f'<path d="{"".join(lines)}" stroke="{colour}" stroke-width="1.6" fill="none"/>')
        else:
            self.marks += [f'<circle cx="{x}" cy="{y}" r="{size}" fill="{colour}"/>' for x, y in at]

    def svg(self, words: str) -> str:
        """Return the picture as an element of a page; ``words`` say what it shows."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img"'
        return f'{head} aria-label="{escape(words)}" font-size="11">{"".join([*self._axes(), *self.marks])}</svg>'

    def _axes(self) -> list[str]:
        floor, wall = _HEIGHT - _BOTTOM, _LEFT
        box = f'<rect x="{wall}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" height="{floor - _TOP}"'
        drawn = [f'{box} fill="none" stroke="{LINE}"/>']
        drawn += [_text(self.x(value), floor + 15, f"{value:,g}") for value in ticks(*self.across)]
        for value in ticks(*self.up, most=6):
            y = self.y(value)
            drawn.append(f'<line x1="{wall}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="{LINE}" opacity="0.5"/>')
            drawn.append(_text(wall - 5, y + 4, f"{value:,g}", anchor="end"))
        drawn.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, self.names[0]))
        drawn.append(_text(14, floor / 2, self.names[1], turned=f' transform="rotate(-90 14 {floor / 2})"'))
        return drawn


def _text(x: float, y: float, words: str, *, anchor: str = "middle", turned: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{turned} fill="{INK}">{escape(words)}</text>'


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return an axis that has a length, with a little room at both ends."""
    room = 0.03 * (high - low) if high > low else max(abs(high), 1.0) * 0.1
    return low - (room if low else 0.0), high + room
