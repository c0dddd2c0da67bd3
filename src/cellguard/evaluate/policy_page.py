"""The R-U map of policies as a picture and as a page. Confidential."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellguard.evaluate.policies import EVERYTHING, NOTHING, RiskUtility
from cellguard.evaluate.utility import Utility
from cellguard.report.canvas import INK, LINE, PRIMARY, SECONDARY, entitle, single
from cellguard.report.evaluation import evaluation_page, part, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEASURES = ("hidden", "hidden_value", "distortion", "deviation", "hellinger", "rank", "association")
_HEADS = ("Hidden cells", "Hidden value", "Distortion", "AAD", "Hellinger", "Rank", "Association")


def risk_utility_figure(compared: RiskUtility) -> Figure:
    """Draw the policies by utility and risk, the frontier, and the largest tolerated risk."""
    figure, axes = single(7, 4.5)
    frontier = compared.frontier
    axes.plot([p.utility for p in frontier], [p.risk for p in frontier], "--", color=LINE, linewidth=1.2)
    axes.axhline(compared.tolerated, color=INK, linewidth=0.8)
    best = compared.recommended
    for number, point in enumerate(compared.points, 1):
        if point.fault:
            continue
        end = point.name in {EVERYTHING, NOTHING}
        colour = INK if end else PRIMARY if point is best else SECONDARY
        axes.plot([point.utility], [point.risk], "s" if end else "o", color=colour, markersize=6)
        above = (4, 5 + 9 * (number % 3))  # policies without risk lie side by side
        axes.annotate(str(number), (point.utility, point.risk), above, textcoords="offset points", fontsize=8)
    axes.set_xlim(-0.03, 1.08)
    axes.set_ylim(-0.05, 1.08)
    axes.set_xlabel("utility: share of the cells' information that is published", fontsize=9)
    axes.set_ylabel("risk: mean share of the needs that is missing", fontsize=9)
    entitle(axes, "Risk against utility", "numbers as in the table; line: the tolerated risk; dashed: the frontier")
    return figure


def policy_rows(compared: RiskUtility) -> tuple[list[str], list[list[object]]]:
    """Return the names of columns, and one row per policy and table. Confidential."""
    rows: list[list[object]] = []
    for point in compared.points:
        whole = [point.utility, point.risk, point.too_near, round(point.seconds, 2), point.fault]
        rows += [[point.name, name, *whole, *_losses(utility)] for name, utility in point.by_table.items()]
        if not point.by_table:
            rows.append([point.name, "", *whole, *([""] * len(_MEASURES))])
    return ["policy", "table", "utility", "risk", "too_near", "seconds", "fault", *_MEASURES], rows


def _losses(utility: Utility) -> list[float | None]:
    return [utility.plain()[measure] for measure in _MEASURES]


def policy_page(compared: RiskUtility, title: str) -> str:
    """Return the comparison of policies as a page. Confidential."""
    rows = [
        (
            f"{number}. {point.name}",
            "nothing released" if point.fault else f"{100 * point.utility:.1f} %",
            "" if point.fault else f"{100 * point.risk:.1f} %",
            "" if point.fault else f"{point.too_near:,}",
            f"{point.seconds:.1f}",
            "recommended" if point is compared.recommended else point.fault,
        )
        for number, point in enumerate(compared.points, 1)
    ]
    heads = ("Policy", "Utility", "Risk", "Cells too near", "CPU s", "")
    losses = [
        (f"{point.name}: {name}", *map(_figure, _losses(utility)))
        for point in compared.points
        for name, utility in point.by_table.items()
    ]
    keys = list(dict.fromkeys(cell for point in compared.points for cell in point.shown))
    shown = [(point.name, *(point.shown.get(cell, "") for cell in keys)) for point in compared.points if point.shown]
    drawn = ("R-U map", risk_utility_figure(compared))
    sections = [
        part("map", "Risk and utility", words=(compared.words(),), tables=[table(heads, rows)], figures=[drawn]),
        part("losses", "What each policy loses", tables=[table(("Policy and table", *_HEADS), losses)]),
        *([part("cells", "Chosen cells", tables=[table(("Policy", *keys), shown)])] if keys else []),
    ]
    unsafe = f"{compared.unsafe:,} cells that the job's own rules call unsafe"
    intro = f"The risk of every policy is measured by the {unsafe}."
    return evaluation_page(title, "Comparison of policies", intro, sections, confidential=True)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"
