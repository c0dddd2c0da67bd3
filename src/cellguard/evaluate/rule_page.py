"""A comparison of rules as a page, and its figures as plain data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellguard.arrays import FloatArray
from cellguard.evaluate.agreement import Agreement
from cellguard.evaluate.families import Family
from cellguard.evaluate.rule_figures import (
    agreement_figure,
    borders_figure,
    contour_figure,
    group_figure,
    safe_map_figure,
    sensitivity_figure,
    typical_figure,
)
from cellguard.evaluate.rule_seeds import SeedRanges, study_seeds
from cellguard.evaluate.rule_study import GRID, SIZES, RuleStudy, agreement_over_sizes, contours, study_rules
from cellguard.evaluate.signed_cases import signed_section
from cellguard.report.evaluation import evaluation_page, part, table
from cellguard.report.section import Section

_EVERYWHERE = ("distribution", "cells", "negatives", "seed", "grid")  # settings that do not depend on the size
_COUNTED = range(4)  # of the figures of a pair, those that are numbers of cells
_ONE_LARGE, _TWO_LARGE = "one large contribution", "two or more large contributions"


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
    return {"cells": len(study), "wanted": round(study.wanted, 6), "rules": rules, "pairs": pairs}


@dataclass(frozen=True, eq=False)
class Setting:
    """A comparison on random cells of one distribution and size, and what many seeds give."""

    drawn: str
    study: RuleStudy
    seeds: SeedRanges | None = None


@dataclass(frozen=True, eq=False)
class Distributed:
    """How a comparison goes on for other sizes: once for each distribution."""

    drawn: str
    counts: Mapping[str, FloatArray]
    kappas: Mapping[tuple[str, str], FloatArray]
    grid: Sequence[float] = GRID


def study_setting(
    families: Mapping[str, Family] | None = None,
    *,
    called: str = "",
    seeds: int = 1,
    **settings: Any,  # noqa: ANN401
) -> Setting:
    """Make the comparison on random cells; ``settings`` are those of `study_rules`, ``called`` their name."""
    study = study_rules(families, **settings)
    drawn = called or f"{settings.get('distribution', 'exponential(1)')}, n = {study.largest.shape[1]}"
    return Setting(drawn, study, study_seeds(families, seeds=seeds, **settings) if seeds > 1 else None)


def study_sizes(
    families: Mapping[str, Family] | None = None,
    *,
    called: str = "",
    **settings: Any,  # noqa: ANN401
) -> Distributed:
    """Make the comparison over sizes; ``settings`` are those of `study_rules` without a size."""
    drawn = called or str(settings.get("distribution", "exponential(1)"))
    every = {key: value for key, value in settings.items() if key in _EVERYWHERE}
    kappas = agreement_over_sizes(families, **{key: value for key, value in settings.items() if key != "n"})
    return Distributed(drawn, contours(families, **every), kappas, settings.get("grid", GRID))


def rule_study_page(
    settings: Sequence[Setting],
    sizes: Sequence[Distributed] = (),
    *,
    negatives: str = "keep",
    seed: int = 1,
    confidential: bool = False,
) -> str:
    """Return the whole comparison on random cells as a page: a summary, each setting, each distribution over sizes, and
    contributions of either sign.
    """
    first = settings[0].study
    sections = [_overview(settings, seed, negatives)]
    sections += [section for one in settings for section in _setting(one, len(settings) > 1)]
    sections += [_over_sizes(one, len(first), len(sizes) > 1) for one in sizes]
    names = ", ".join(str(family) for family in first.families.values())
    intro = f"On {len(first):,} cells each, drawn from {'; '.join(one.drawn for one in settings)}."
    sections.append(signed_section(seed))
    return evaluation_page(
        f"Rules compared: {names}", "Comparison of rules", intro, sections, confidential=confidential
    )


def _overview(settings: Sequence[Setting], seed: int, negatives: str) -> Section:
    """Return how far each pair of rules agrees, for all that was drawn, and how strict the rules are for that."""
    first = settings[0].study
    pairs = list(first.agreements)
    heads = ("Cells", *(f"{first} and {second}" for first, second in pairs), "Wanted number missed by")
    rows = [
        (
            one.drawn,
            *(_kappa(one.study.agreements[pair]) for pair in pairs),
            ", ".join(name for name, chosen in one.study.chosen.items() if not chosen.reached) or "none",
        )
        for one in settings
    ]
    strict = [
        (one.drawn, *(f"{chosen.strictness:g}: {chosen.unsafe:,} unsafe" for chosen in one.study.chosen.values()))
        for one in settings
    ]
    words = (
        f"Cells are drawn with the seed {seed}; each rule shall call {first.wanted:,.0f} of {len(first):,} unsafe; "
        f"negative draws: {negatives}.",
        "The words for Cohen's kappa are those of Viera and Garrett (2005): poor up to 0, slight up to 0.2, fair up to "
        "0.4, moderate up to 0.6, substantial up to 0.8, almost perfect above.",
    )
    tables = [
        table(heads, rows, title="Cohen's kappa of each pair"),
        table(("Cells", *(f"{name}: {family}" for name, family in first.families.items())), strict, title="Strictness"),
    ]
    return part("overview", "Who agrees with whom", words=words, tables=tables)


def _kappa(seen: Agreement) -> str:
    return "not defined" if math.isnan(seen.kappa) else f"{seen.kappa:.2f} ({seen.label})"


def _setting(one: Setting, several: bool) -> list[Section]:
    study, of = one.study, one.drawn if several else ""
    n = study.largest.shape[1]
    maps = [
        ("Which shares are safe", safe_map_figure(list(study.rules.values()), n)),
        ("Where the borders of the rules run", borders_figure(study.rules, n)),
    ]
    return [
        _calibration(study, of),
        *([_over_seeds(one.seeds, of)] if one.seeds else []),
        part(_anchor("maps", of), _title("Safe and unsafe cells", of), figures=maps),
        *agreement_sections(study, of),
    ]


def _over_seeds(ranges: SeedRanges, of: str) -> Section:
    """Return what is chance and what is not: means and ranges over seeds."""
    heads = ("Rule", "parameter", "unsafe cells", "wanted number met")
    rules = [
        (
            name,
            told["strictness"].words(".4g"),
            told["unsafe"].words(),
            f"{told['reached'].values.sum():.0f} of {len(ranges.seeds)}",
        )
        for name, told in ranges.rules.items()
    ]
    columns = [list(told.values()) for told in ranges.pairs.values()]
    keys = [_of_either(key, pair) for pair, told in list(ranges.pairs.items())[:1] for key in told]
    pairs = [
        (key, *(one.words(",.0f" if place in _COUNTED else ".3g") for one in row))
        for place, (key, row) in enumerate(zip(keys, zip(*columns, strict=True), strict=True))
    ]
    heads_of_pairs = ("Figure", *(f"{first} and {second}" for first, second in ranges.pairs))
    words = (f"Seeds {ranges.seeds.start} to {ranges.seeds[-1]}: the mean, and the range in brackets.",)
    tables = [table(heads, rules, title="Rules"), table(heads_of_pairs, pairs, title="Pairs")]
    return part(_anchor("seeds", of), _title(f"Over {len(ranges.seeds)} seeds", of), words=words, tables=tables)


def _of_either(key: str, pair: tuple[str, str]) -> str:
    """Return a figure's name for whatever pair: the first and the second rule."""
    for name, place in zip(pair, ("first", "second"), strict=True):
        if key.startswith(f"{name} only"):
            return f"{place} only{key.removeprefix(f'{name} only')}"
    return key


def _over_sizes(one: Distributed, cells: int, several: bool) -> Section:
    of = one.drawn if several else ""
    figures = [
        ("Unsafe cells by strictness and size", contour_figure(one.counts, SIZES, one.grid, cells)),
        ("Agreement by size", agreement_figure(one.kappas, SIZES)),
    ]
    return part(_anchor("sizes", of), _title("More contributions", of), figures=figures)


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
    words = (f"The strictness of each rule is chosen so that it calls {study.wanted:,.0f} cells unsafe.",)
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
    groups = [(by, other, study.group(by, other)) for by, other in ((first, second), (second, first))]
    places = range(1, study.largest.shape[1] + 1)
    heads = ("Unsafe by", "cells", *(f"median share of x{place}" for place in places), "mean spread", "mean x1 - x2")
    typical = table(heads, [row for by, other, _ in groups for row in _typical_rows(study, by, other)])
    figures = [
        (f"Typical cells on which {first} and {second} disagree", typical_figure(study, first, second)),
        (f"All cells on which {first} and {second} disagree", group_figure(study, first, second)),
    ]
    figures = figures if any(len(group) for *_, group in groups) else []
    kappa = "not defined" if math.isnan(seen.kappa) else f"{seen.kappa:.2f}, {seen.label} agreement"
    words = (_sentence(study, first, second), f"Cohen's kappa: {kappa}.")
    name, title = _anchor(f"pair-{first}-{second}", of), _title(f"{first} and {second}", of)
    return part(name, title, words=words, tables=[cross, typical], figures=figures)


def _typical_rows(study: RuleStudy, by: str, other: str) -> list[Sequence[object]]:
    """Return the typical cell of a group, and of its two kinds where it has both."""
    one, two = study.modes(by, other)
    named = [(f"{by} only", study.group(by, other))]
    if len(one) and len(two):
        named += [(f"{by} only: {_ONE_LARGE}", one), (f"{by} only: {_TWO_LARGE}", two)]
    return [(name, len(g), *map(_short, g.typical.tolist()), _short(g.spread), _short(g.gap)) for name, g in named]


def _sentence(study: RuleStudy, first: str, second: str) -> str:
    """Return in a sentence how far two rules agree, and on which cells they do not."""
    seen = study.agreements[first, second]
    alike = f"{first} and {second} say the same of {seen.both + seen.neither:,} of {seen.cells:,} cells"
    return "; ".join([alike, *(_alone(study, by, other) for by, other in ((first, second), (second, first)))]) + "."


def _alone(study: RuleStudy, by: str, other: str) -> str:
    group = study.group(by, other)
    if not len(group):
        return f"{by} calls no cell unsafe that {other} does not"
    one, two = study.modes(by, other)
    shares = " and ".join(f"{100 * share:.0f} %" for share in group.typical[:2].tolist())
    kinds = [f"{len(part)} with {words}" for part, words in ((one, _ONE_LARGE), (two, _TWO_LARGE)) if len(part)]
    return f"{by} alone calls {len(group):,} unsafe ({', '.join(kinds)}), whose largest have typically {shares}"


def _group(study: RuleStudy, by: str, not_by: str) -> dict[str, Any]:
    group = study.group(by, not_by)
    typical: Sequence[float] = group.typical.tolist()
    return {
        "cells": len(group),
        "one_large": len(study.modes(by, not_by)[0]),
        "typical": [_finite(share) for share in typical],
        "mean_sd": _finite(group.spread),
        "mean_gap": _finite(group.gap),
    }


def _finite(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 6)


def _short(number: float) -> str:
    return "" if math.isnan(number) else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
