"""A comparison of rules as a page, and its figures as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cellguard.evaluate.rule_figures import (
    contour_figure,
    group_figure,
    safe_map_figure,
    sensitivity_figure,
    typical_figure,
)
from cellguard.evaluate.rule_study import GRID, SIZES, RuleStudy
from cellguard.report.evaluation import evaluation_page, part, table
from cellguard.report.section import Section
from cellguard.types import FloatArray


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
            "reached": study.chosen[name].reached,
        }
        for name, rule in study.rules.items()
    }
    return {"cells": len(study), "rules": rules, "pairs": pairs}


def rule_study_page(study: RuleStudy, counts: Mapping[str, FloatArray], *, drawn: str) -> str:
    """Return the whole comparison on random cells as a page; ``counts`` are the contours, ``drawn`` says of what."""
    cells = f"{len(study):,} cells with {study.largest.shape[1]} contributions each, drawn from {drawn}"
    maps = safe_map_figure(list(study.rules.values()), study.largest.shape[1])
    contour = contour_figure(counts, SIZES, GRID, len(study))
    sections = [
        *_calibration(study),
        part("maps", "Safe and unsafe cells", figures=[("Which shares are safe under each rule", maps)]),
        part("contours", "More contributions", figures=[("Unsafe cells by strictness and size", contour)]),
        *agreement_sections(study),
    ]
    names = ", ".join(str(family) for family in study.families.values())
    return evaluation_page(
        f"Rules compared: {names}", "Comparison of rules", f"On {cells}.", sections, confidential=False
    )


def agreement_sections(study: RuleStudy, of: str = "") -> list[Section]:
    """Return for each pair of rules how far they agree, and what the cells look like on which they do not.

    ``of`` names the table whose cells they are.
    """
    return [_pair(study, *pair, of) for pair in study.agreements]


def _calibration(study: RuleStudy) -> list[Section]:
    data = rule_study_data(study)["rules"]
    rows = [
        (name, said["rule"], f"{said['unsafe']:,}", "yes" if said["reached"] else "no") for name, said in data.items()
    ]
    heads = ("Letter", "Rule", "Unsafe cells", "Target reached")
    words = ("The strictness of each rule is chosen so that it calls nearest to the wanted number of cells unsafe.",)
    curve = ("Unsafe cells by strictness", sensitivity_figure(study))
    return [part("strictness", "Equal strictness", words=words, tables=[table(heads, rows)], figures=[curve])]


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
    kappa = "not defined" if math.isnan(seen.kappa) else f"{seen.kappa:.2f}, {seen.label} agreement"
    words = (f"Cohen's kappa: {kappa}.",)
    name, title = f"pair-{first}-{second}-{of}".replace(" ", "-"), f"{of}: {first} and {second}".removeprefix(": ")
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
    return "" if math.isnan(number) else f"{number:.3g}"
