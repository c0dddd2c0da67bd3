"""The R-U map of policies as a picture and as a page, under the headings by which Cuppen (2000, 8.2) judges methods.

Confidential.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from cellguard.evaluate.risk_utility import Point, RiskUtility
from cellguard.evaluate.utility import MEASURES, Utility
from cellguard.job.registry import find_method, method_names
from cellguard.methods.suppress.report.losses import level_name
from cellguard.report.canvas import INK, LINE, PRIMARY, SECONDARY, entitle, single
from cellguard.report.evaluation import evaluation_page, part, table
from cellguard.report.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cellguard.seam.method import Method

_HEADS = ("Suppressed cells", "Suppressed value", "Width", "Distortion", "AAD", "Hellinger", "Rank", "Association")


def risk_utility_figure(compared: RiskUtility) -> Figure:
    """Draw the policies by utility and risk, the frontier, and the tolerated risk; rings are insiders' risks."""
    figure, axes = single(7, 4.5)
    frontier = compared.frontier
    axes.plot([p.utility for p in frontier], [p.risk for p in frontier], "--", color=LINE, linewidth=1.2)
    axes.axhline(compared.tolerated, color=INK, linewidth=0.8)
    best = compared.recommended
    for number, point in enumerate(compared.points, 1):
        if not point.measured:
            continue
        end = point.is_end
        colour = INK if end or not point.proven else PRIMARY if point is best else SECONDARY
        mark = "s" if end else "o" if point.proven else "x"
        axes.plot([point.utility], [point.risk], mark, color=colour, markersize=6)
        if not end and point.disclosed_to_insiders >= 0:
            axes.plot([point.utility] * 2, [point.risk, point.inside_risk], "-", color=colour, linewidth=0.8)
            axes.plot([point.utility], [point.inside_risk], "o", mfc="none", color=colour, markersize=8)
        above = (4, 5 + 9 * (number % 3))  # policies without risk lie side by side
        axes.annotate(str(number), (point.utility, point.risk), above, textcoords="offset points", fontsize=8)
    axes.set_xlim(-0.03, 1.08)
    axes.set_ylim(-0.05, 1.15)
    axes.set_xlabel("utility: share of the cells' information that is published", fontsize=9)
    axes.set_ylabel("risk: mean share of the protection levels that is missing", fontsize=9)
    entitle(
        axes,
        "Risk against utility",
        "discs: outsiders; rings: insiders; crosses: not proven or not released; dashed: frontier",
    )
    return figure


def policy_page(compared: RiskUtility, title: str) -> str:
    """Return the comparison of policies as a page. Confidential."""
    sections = [
        _summary(compared),
        _security(compared),
        *_figures(compared),
        *_character(compared),
        *_richness(compared),
        _cost(compared),
    ]
    unsafe = f"{compared.unsafe:,} cells that the job's own rules call unsafe"
    intro = (
        f"The risk of every policy is measured by the {unsafe}. Its verdict is what its own method and rules make of "
        "it, and only what is called safe is recommended."
    )
    return evaluation_page(title, "Comparison of policies", intro, sections, confidential=True)


def _summary(compared: RiskUtility) -> Section:
    rows = [
        (
            f"{number}. {point.name}",
            f"{100 * point.utility:.1f} %" if point.measured else "",
            point.risk_words(),
            "" if point.disclosed_to_insiders < 0 else point.risk_words(inside=True),
            "" if point.is_end else point.verdict,
            "recommended" if point is compared.recommended else point.fault or ("" if point.settled else point.said),
        )
        for number, point in enumerate(compared.points, 1)
    ]
    heads = ("Policy", "Utility", "Outsiders' risk", "Insiders' risk", "Verdict", "")
    drawn = ("R-U map", risk_utility_figure(compared))
    return part(
        "map",
        "Risk and utility",
        words=(compared.words(), *compared.differences),
        tables=[table(heads, rows)],
        figures=[drawn],
    )


def _security(compared: RiskUtility) -> Section:
    rows = [
        (
            point.name,
            f"{point.disclosed:,}",
            "not known" if point.disclosed_to_insiders < 0 else f"{point.disclosed_to_insiders:,}",
            "; ".join(point.open),
        )
        for point in _measured(compared)
    ]
    words = (
        "In how many unsafe cells can an attacker estimate more closely than the job's own rules allow: an outsider, "
        "or a respondent who subtracts its own contributions?",
    )
    heads = ("Policy", "Unsafe for outsiders", "Unsafe for insiders", "Not checked")
    return part("security", "Security", words=words, tables=[table(heads, rows)])


def _figures(compared: RiskUtility) -> list[Section]:
    """Hold against each other what methods of one kind tell of themselves (Cuppen 2000, table 8.1)."""
    told = [point for point in compared.points if point.figures]
    if not told:
        return []
    names = list(dict.fromkeys(name for point in told for name in point.figures))
    rows = [
        (point.name, *(_figure(point.figures.get(name, math.nan)) for name in names), f"{point.seconds:.1f}")
        for point in told
    ]
    words = (
        "Sensitive is a cell by S_N, which asks for so much noise that a coalition cannot estimate the largest "
        "contributor too closely. Loss is the mean absolute noise.",
    )
    heads = ("Policy", *names, "CPU s")
    return [part("noise", "Methods of noise", words=words, tables=[table(heads, rows)])]


def _character(compared: RiskUtility) -> list[Section]:
    """Return what methods are like by themselves."""
    compared_ones = [m for m in method_names() if any(p.name.split(",")[0] == m for p in compared.points)]
    said = {name: cast("type[Method[Any, Any]]", find_method(name)) for name in compared_ones}
    parts = {
        "Robustness": {name: method.robustness for name, method in said.items()},
        "Flexibility": {name: method.flexibility for name, method in said.items()},
    }
    return [
        part(title.lower(), title, words=[f"{name}: {words}" for name, words in told.items() if words])
        for title, told in parts.items()
    ]


def _richness(compared: RiskUtility) -> list[Section]:
    pairs = [(point, name, utility) for point in compared.points for name, utility in point.by_table.items()]
    losses = [(f"{point.name}: {name}", *map(_figure, _losses(utility))) for point, name, utility in pairs]
    levels = [
        (
            f"{point.name}: {name}",
            " by ".join(map(level_name, level.level)),
            f"{level.cells:,}",
            f"{level.suppressed:,}",
            _figure(level.suppressed_value),
            _figure(level.distortion),
        )
        for point, name, utility in pairs
        for level in utility.levels
    ]
    heads = ("Policy and table", "Level", "Cells", "Suppressed", "Suppressed value", "Distortion")
    note = "Width: the median width of the feasibility intervals of suppressed cells, as a share of its value."
    tables = [table(("Policy and table", *_HEADS), losses, note=note)]
    tables += [table(heads, levels, title="By level")] if levels else []
    keys = list(dict.fromkeys(cell for point in compared.points for cell in point.shown))
    shown = [(point.name, *(point.shown.get(cell, "") for cell in keys)) for point in compared.points if point.shown]
    return [
        part("richness", "Richness of information", tables=tables),
        *([part("cells", "Chosen cells", tables=[table(("Policy", *keys), shown)])] if keys else []),
    ]


def _cost(compared: RiskUtility) -> Section:
    rows = [(point.name, f"{point.seconds:.1f}") for point in compared.points if not point.is_end]
    return part("cost", "Cost", tables=[table(("Policy", "CPU s"), rows)])


def _measured(compared: RiskUtility) -> list[Point]:
    return [point for point in compared.points if point.by_table and not point.is_end]


def _losses(utility: Utility) -> list[float]:
    return [getattr(utility, measure) for measure in MEASURES]


def _figure(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "" if math.isnan(value) else "no end"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4f}"
