"""Pictures of a comparison of rules (figures 2 to 9 of the thesis). Their data are those of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.evaluate.draws import Draws, seen_by
from cellguard.evaluate.rule_study import RuleStudy
from cellguard.report.canvas import INK, PRIMARY, SECONDARY, THIRD, blank, entitle, paired, plain, single
from cellguard.rules.rule import Rule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (PRIMARY, SECONDARY, THIRD, "#cc79a7", "#e69f00", "#56b4e9")
_LINES = ("-", "--", "-.", ":")
_MAP_STEPS = 200
_MOST_LINES = 150


def safe_map(rule: Rule, n: int = 4, steps: int = _MAP_STEPS) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return the map of safe and unsafe cells over the shares of the two largest contributions (figure 2).

    The others share the rest equally. Returned are the shares at the points of one axis, which points (x2, x1) are
    cells at all (x1 is the largest, and no other one is larger than x2), and which of these are unsafe.
    """
    axis = (np.arange(steps) + 0.5) / steps
    second, first = np.meshgrid(axis, axis)
    rest = 1 - first - second
    each = rest / max(n - 2, 1)
    cells = (first >= second) & (rest >= 0) & (each <= second)
    shares = np.stack([first, second, *([each] * (n - 2))], axis=-1)[cells]
    unsafe = np.zeros(cells.shape, bool)
    unsafe[cells] = rule.unsafe(seen_by([rule], Draws(shares)))
    return axis, cells, unsafe


def safe_map_figure(rules: Sequence[Rule], n: int = 4) -> Figure:
    """Draw the map of each rule side by side: grey where a cell is unsafe."""
    figure = blank(3.4 * len(rules), 3.6)
    for number, rule in enumerate(rules, 1):
        axes = plain(figure.add_subplot(1, len(rules), number))
        axis, cells, unsafe = safe_map(rule, n)
        shade = np.where(cells, np.where(unsafe, 0.75, 0.15), np.nan)
        axes.contourf(axis, axis, shade, levels=[0, 0.5, 1], colors=["#eceff2", "#59636e"])
        axes.set_xlim(0, 0.5)
        axes.set_xlabel("share of the second largest", fontsize=9)
        axes.set_ylabel("share of the largest", fontsize=9)
        entitle(axes, str(rule), f"dark: unsafe, of {n} contributions")
    return figure


def borders_figure(rules: Mapping[str, Rule], n: int = 4) -> Figure:
    """Draw where all rules agree and where they do not, over the shares of the two largest (figure 3)."""
    figure, axes = single(6.5, 4.4)
    seen = {name: safe_map(rule, n) for name, rule in rules.items()}
    axis, cells, _ = next(iter(seen.values()))
    unsafe = np.stack([one[2] for one in seen.values()])
    shade = np.where(cells, np.where(unsafe.all(axis=0), 2.5, np.where(unsafe.any(axis=0), 1.5, 0.5)), np.nan)
    axes.contourf(axis, axis, shade, levels=[0, 1, 2, 3], colors=["#ffffff", "#dde3e9", "#98a3ae"])
    axes.contour(axis, axis, cells.astype(float), levels=[0.5], colors=INK, linewidths=0.6)
    for number, (name, one) in enumerate(seen.items()):
        line, colour = _LINES[number % len(_LINES)], _COLOURS[number % len(_COLOURS)]
        border = np.where(cells, one[2].astype(float), np.nan)
        if one[2].any() and (cells & ~one[2]).any():
            axes.contour(axis, axis, border, levels=[0.5], colors=colour, linewidths=1.6, linestyles=line)
        axes.plot([], [], line, color=colour, label=f"{name}: {rules[name]}")
    axes.set_xlim(0, 0.5)
    axes.set_xlabel("share of the second largest", fontsize=9)
    axes.set_ylabel("share of the largest", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    entitle(axes, "Where the borders run", f"of {n} contributions; dark: unsafe by all, light: by some, white: by none")
    return figure


def sensitivity_figure(study: RuleStudy) -> Figure:
    """Draw how many cells each rule calls unsafe against its strictness (figure 4)."""
    figure, axes = single(6.5, 4)
    for number, name in enumerate(study.families):
        line, colour = _LINES[number % len(_LINES)], _COLOURS[number % len(_COLOURS)]
        allowed = study.allowed[name]
        grid = np.array(study.grid)[allowed]
        label = f"{name}: {study.families[name]}"
        axes.plot(grid, study.counts(name)[allowed], line, color=colour, label=label)
        chosen = study.chosen[name]
        axes.plot([chosen.strictness], [chosen.unsafe], "o", color=colour)
    axes.set_xlabel("strictness, in percent", fontsize=9)
    axes.set_ylabel(f"unsafe of {len(study):,} cells", fontsize=9)
    axes.legend(frameon=False, fontsize=8)
    entitle(axes, "How many cells are unsafe", "discs: the strictnesses compared")
    return figure


def contour_figure(counts: Mapping[str, FloatArray], sizes: Sequence[int], grid: Sequence[float], cells: int) -> Figure:
    """Draw for each rule how many cells are unsafe over strictness and number of contributions (figure 5)."""
    figure = blank(3.4 * len(counts), 3.6)
    for number, (name, matrix) in enumerate(counts.items(), 1):
        axes = plain(figure.add_subplot(1, len(counts), number))
        levels = np.linspace(0, cells, 11)
        axes.contourf(list(grid), list(sizes), matrix, levels=levels, cmap="Greys", vmax=1.3 * cells)
        lines = axes.contour(list(grid), list(sizes), matrix, levels=levels[1:-1], colors=INK, linewidths=0.4)
        axes.clabel(lines, fontsize=6)
        axes.set_xlabel("strictness, in percent", fontsize=9)
        if number == 1:
            axes.set_ylabel("contributions per cell", fontsize=9)
        entitle(axes, name, f"unsafe of {cells:,} cells")
    return figure


def agreement_figure(kappas: Mapping[tuple[str, str], FloatArray], sizes: Sequence[int]) -> Figure:
    """Draw how far each pair of rules agrees, over the number of contributions."""
    figure, axes = single(6.5, 3.6)
    for number, ((first, second), values) in enumerate(kappas.items()):
        line, colour = _LINES[number % len(_LINES)], _COLOURS[number % len(_COLOURS)]
        axes.plot(list(sizes), values, line, color=colour, label=f"{first} and {second}")
    axes.axhline(0.0, color=INK, linewidth=0.6)
    axes.set_xticks(list(sizes))
    axes.set_xlabel("contributions per cell", fontsize=9)
    axes.set_ylabel("Cohen's kappa", fontsize=9)
    axes.set_ylim(-0.1, 1.05)
    axes.legend(frameon=False, fontsize=8)
    entitle(axes, "How far rules agree", "each calibrated anew for every number of contributions")
    return figure


def typical_figure(study: RuleStudy, first: str, second: str) -> Figure:
    """Draw the typical cell of either disagreement: the median share of each position (figure 6)."""
    figure, axes = single(5.5, 3.6)
    places = np.arange(1, study.largest.shape[1] + 1)
    for colour, line, (by, not_by) in ((PRIMARY, "-o", (first, second)), (SECONDARY, "--s", (second, first))):
        group = study.group(by, not_by)
        axes.plot(places, group.typical, line, color=colour, label=f"unsafe by {by} only ({len(group)} cells)")
    axes.set_xticks(places, labels=[f"x{place}" for place in places.tolist()])
    axes.set_ylabel("median share", fontsize=9)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=8)
    entitle(axes, f"Where {first} and {second} disagree", "the typical cell of each group")
    return figure


def group_figure(study: RuleStudy, first: str, second: str) -> Figure:
    """Draw the shares of every cell on which two rules disagree (figures 7 to 9)."""
    figure, pair = paired(8.5, 3.6)
    places = np.arange(1, study.largest.shape[1] + 1)
    for axes, (by, not_by) in zip(pair, ((first, second), (second, first)), strict=True):
        group = study.group(by, not_by)
        axes.plot(places, group.shares[:_MOST_LINES].T, color=INK, alpha=0.15, linewidth=0.7)
        axes.plot(places, group.typical, color=PRIMARY, linewidth=2)
        axes.set_xticks(places, labels=[f"x{place}" for place in places.tolist()])
        axes.set_ylim(0, 1)
        entitle(axes, f"unsafe by {by}, safe by {not_by}", f"{len(group)} cells, the typical one in colour")
    return figure
