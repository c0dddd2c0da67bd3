"""A comparison of rules as a page, and its figures as plain data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellguard.arrays import FloatArray
from cellguard.evaluate.agreement import Agreement
from cellguard.evaluate.rule_figures import (
    agreement_figure,
    contour_figure,
    group_figure,
    safe_map_figure,
    sensitivity_figure,
    typical_figure,
)
from cellguard.evaluate.rule_study import (
    GRID,
    SIZES,
    Family,
    RuleStudy,
    agreement_over_sizes,
    contours,
    study_rules,
)
from cellguard.evaluate.signed_cases import signed_section
from cellguard.report.evaluation import evaluation_page, part, table
from cellguard.report.section import Section

_EVERYWHERE = ("distribution", "cells", "negatives", "seed", "grid")  # settings that do not depend on the size


def rule_study_data(study: RuleStudy) -> dict[str, Any]:
    """Return calibration, cross tables, kappas and disagreement groups as plain data."""
    pairs = {
        f"{a}-{b}": {
            "both": seen.both,
            f"{a} only": seen.first_only,
            f"{b} only": seen.second_only,
            "neither": seen.neither,
            "kappa": _finite(seen.kappa),
            "label": seen.label,
            "groups": {f"{a} only": _group(study, a, b), f"{b} only": _group(study, b, a)},
        }
        for (a, b), seen in study.agreements.items()
    }
    rules = {
        name: {
            "rule": str(rule),
            "strictness": study.chosen[name].strictness,
            "unsafe": study.chosen[name].unsafe,
            "unsafe_by_strictness": study.counts(name).tolist(),
            "reached": study.chosen[name].reached,
            "missed": study.chosen[name].words,
        }
        for name, rule in study.rules.items()
    }
    return {"cells": len(study), "rules": rules, "pairs": pairs}


@dataclass(frozen=True, eq=False)
class Setting:
    """A comparison on random cells of one distribution and size, and how it goes on for other sizes."""

    drawn: str
    study: RuleStudy
    counts: Mapping[str, FloatArray]
    kappas: Mapping[tuple[str, str], FloatArray]
    grid: Sequence[int] = GRID


def study_setting(
    families: Mapping[str, Family] | None = None,
    *,
    called: str = "",
    **settings: Any,  # noqa: ANN401
) -> Setting:
    """Make the whole comparison on random cells; ``settings`` are those of `study_rules`, ``called`` their name."""
    study = study_rules(families, **settings)
    every = {key: value for key, value in settings.items() if key in _EVERYWHERE}
    wanted = {key: settings[key] for key in ("target",) if key in settings}
    kappas = agreement_over_sizes(families, **every, **wanted)
    drawn = called or f"{settings.get('distribution', 'exponential(1)')}, n = {study.largest.shape[1]}"
    return Setting(drawn, study, contours(families, **every), kappas, settings.get("grid", GRID))


def rule_study_page(settings: Sequence[Setting], *, seed: int = 1, confidential: bool = False) -> str:
    """Return the whole comparison on random cells as a page, setting by setting; last, contributions of either sign."""
    first = settings[0].study
    sections = [_overview(settings, seed)]
    sections += [section for one in settings for section in _setting(one, len(settings) > 1)]
    names = ", ".join(str(family) for family in first.families.values())
    intro = f"On {len(first):,} cells each, drawn from {'; '.join(one.drawn for one in settings)}."
    sections.append(signed_section(seed))
    return evaluation_page(
        f"Rules compared: {names}", "Comparison of rules", intro, sections, confidential=confidential
    )


def _overview(settings: Sequence[Setting], seed: int) -> Section:
    """Return how far each pair of rules agrees, for all that was drawn, and which rules miss the wanted number."""
    pairs = list(settings[0].study.agreements)
    heads = ("Cells", *(f"{first} and {second}" for first, second in pairs), "Wanted number missed by")
    rows = [
        (
            one.drawn,
            *(_kappa(one.study.agreements[pair]) for pair in pairs),
            ", ".join(name for name, chosen in one.study.chosen.items() if not chosen.reached),
        )
        for one in settings
    ]
    words = (
        f"Cohen's kappa of each pair; cells are drawn with the seed {seed}.",
        "The words for kappa are those of Viera and Garrett (2005): poor up to 0, slight up to 0.2, fair up to 0.4, "
        "moderate up to 0.6, substantial up to 0.8, almost perfect above.",
    )
    return part("overview", "Who agrees with whom", words=words, tables=[table(heads, rows)])


def _kappa(seen: Agreement) -> str:
    return "not defined" if math.isnan(seen.kappa) else f"{seen.kappa:.2f} ({seen.label})"


def _setting(one: Setting, several: bool) -> list[Section]:
    study, of = one.study, one.drawn if several else ""
    maps = safe_map_figure(list(study.rules.values()), study.largest.shape[1])
    contour = contour_figure(one.counts, SIZES, one.grid, len(study))
    more = [
        ("Unsafe cells by strictness and size", contour),
        ("Agreement by size", agreement_figure(one.kappas, SIZES)),
    ]
    return [
        _calibration(study, of),
        part(_anchor("maps", of), _title("Safe and unsafe cells", of), figures=[("Which shares are safe", maps)]),
        part(_anchor("sizes", of), _title("More contributions", of), figures=more),
        *agreement_sections(study, of),
    ]


def _anchor(name: str, of: str) -> str:
    return "-".join(filter(None, (name, *re.findall(r"\w+", of))))


def _title(title: str, of: str) -> str:
    return f"{of}: {title}" if of else title


def agreement_sections(study: RuleStudy, of: str = "") -> list[Section]:
    """Return for each pair of rules how far they agree, and what the cells look like on which they do not.

    ``of`` names the cells: a table, or what they are drawn from.
    """
    return [_pair(study, *pair, of) for pair in study.agreements]


def _calibration(study: RuleStudy, of: str) -> Section:
    data = rule_study_data(study)["rules"]
    rows = [(name, said["rule"], f"{said['unsafe']:,}", said["missed"] or "yes") for name, said in data.items()]
    heads = ("Letter", "Rule", "Unsafe cells", "Target reached")
    words = ("The strictness of each rule is chosen so that it calls nearest to the wanted number of cells unsafe.",)
    curve = ("Unsafe cells by strictness", sensitivity_figure(study))
    name, title = _anchor("strictness", of), _title("Equal strictness", of)
    return part(name, title, words=words, tables=[table(heads, rows)], figures=[curve])


def _pair(study: RuleStudy, first: str, second: str, of: str) -> Section:
    seen = study.agreements[first, second]
    cross = table(
        ("", f"unsafe by {second}", f"safe by {second}", "together"),
        [
            (f"unsafe by {first}", seen.both, seen.first_only, seen.both + seen.first_only),
            (f"safe by {first}", seen.second_only, seen.neither, seen.second_only + seen.neither),
            ("together", seen.both + seen.second_only, seen.first_only + seen.neither, seen.cells),
        ],
    )
    groups = [(by, study.group(by, other)) for by, other in ((first, second), (second, first))]
    places = range(1, study.largest.shape[1] + 1)
    typical = table(
        ("Unsafe by", "cells", *(f"median share of x{place}" for place in places), "mean spread", "mean x1 - x2"),
        [(f"{by} only", len(g), *map(_short, g.typical.tolist()), _short(g.spread), _short(g.gap)) for by, g in groups],
    )
    figures = [
        (f"Typical cells on which {first} and {second} disagree", typical_figure(study, first, second)),
        (f"All cells on which {first} and {second} disagree", group_figure(study, first, second)),
    ]
    figures = figures if any(len(group) for _, group in groups) else []
    kappa = "not defined" if math.isnan(seen.kappa) else f"{seen.kappa:.2f}, {seen.label} agreement"
    words = (f"Cohen's kappa: {kappa}.",)
    name, title = _anchor(f"pair-{first}-{second}", of), _title(f"{first} and {second}", of)
    return part(name, title, words=words, tables=[cross, typical], figures=figures)


def _group(study: RuleStudy, by: str, not_by: str) -> dict[str, Any]:
    group = study.group(by, not_by)
    typical: Sequence[float] = group.typical.tolist()
    return {
        "cells": len(group),
        "typical": [_finite(share) for share in typical],
        "mean_sd": _finite(group.spread),
        "mean_gap": _finite(group.gap),
    }


def _finite(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 6)


def _short(number: float) -> str:
    return "" if math.isnan(number) else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
