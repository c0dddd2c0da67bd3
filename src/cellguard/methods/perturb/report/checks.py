"""What the officer can rely on about perturbed tables: the verdict, findings, attacks checked and not, run facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cellguard.errors import listing
from cellguard.methods.perturb.cells.sensitivity import supersensitive
from cellguard.methods.perturb.checks.finding import Finding
from cellguard.methods.perturb.checks.redesign import redesign
from cellguard.methods.perturb.report.tables import cell_list
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.report.run_facts import attacks, run_facts
from cellguard.report.section import Section
from cellguard.report.words import many, share
from cellguard.seam.outcome import Outcome

_MOST_FINDINGS, _MOST_EXTREME = 100, 50


def verdict(outcome: Outcome[PerturbationResult]) -> dict[str, Any]:
    """Return the verdict in one line, one sentence and a few figures, and where the findings are that forbid it."""
    check = outcome.protected.check
    kinds = {"safe": "safe", "unsafe": "unsafe"}
    nothing = _nothing_left(len(outcome.protected.accepted))
    apart = (
        f" Combinations with earlier tables from the same multipliers ({listing(check.unseen)}) were not checked, and "
        "may disclose a contributor."
    )
    answered = " The job accepts that." if outcome.release is not None else " So nothing was released."
    lines = {
        "safe": ("Checked, may be released", nothing),
        "unsafe": ("Not released", f"{many(len(check.open), 'finding forbids', 'findings forbid')} the release."),
        "not proven": (
            "NOT PROVEN: not everything was looked at",
            f"{nothing} But what was not looked at, see below, may disclose a contributor."
            + (apart if check.unseen else "")
            + answered,
        ),
        "safe by itself": ("Checked by itself, not together with earlier tables", nothing + apart + answered),
        "not checked": (
            "NOT CHECKED: released without checks",
            "The checks before release were left out, at your request. It is not known whether these tables "
            "disclose a contributor, alone or together with earlier ones.",
        ),
    }
    headline, sentence = lines[check.verdict]
    if outcome.protected.reused and check.verdict in {"safe", "safe by itself", "not proven"}:
        sentence += " Other tables that were made from these multipliers before were not checked."
    if check.limits and check.verdict == "unsafe":
        sentence += " Not everything was looked at, see below."
    cells = sum(len(here.table) for here in check.tables)
    sensitive = sum(int(here.needs.sensitive.sum()) for here in check.tables)
    left = sum(int(here.unsafe.sum()) for here in check.tables)
    noise = check.statistics.groups["all nonzero"]
    figures = [
        (f"{cells:,}", "cells", many(len(check.tables), "table")),
        (f"{sensitive:,}", "sensitive without noise", share(sensitive, cells) + " of the cells"),
        (f"{left:,}", "sensitive in spite of noise", share(left, sensitive) + " of these"),
        (f"{noise.average:.2f} %", "noise on average", f"at most {noise.maximum:.2f} %"),
    ]
    return {
        "kind": kinds.get(check.verdict, "undecided"),
        "headline": headline,
        "sentence": sentence,
        "places": _places(check.open),
        "figures": figures,
    }


def _nothing_left(accepted: int) -> str:
    if not accepted:
        return "No check found anything that forbids the release."
    return f"Nothing that was found forbids the release, since the job accepts it: {many(accepted, 'finding')}."


def _places(findings: Sequence[Finding]) -> list[str]:
    """Say in which tables there are how many findings of which kind; one that combines tables is in each of them."""
    kinds: dict[str, Counter[str]] = {}
    for finding in findings:
        for table in dict.fromkeys(cell.table for cell in finding.cells):
            kinds.setdefault(table, Counter())[finding.kind] += 1
    return [
        f"{table}: " + ", ".join(f"{n:,} {kind}" for kind, n in here.most_common()) for table, here in kinds.items()
    ]


def findings(outcome: Outcome[PerturbationResult]) -> Section:
    """List what the checks found, with cells and combinations: what forbids it, what was accepted, the rest."""
    check = outcome.protected.check
    groups = [_group("Findings that forbid the release", check.open, True)]
    if outcome.protected.accepted:
        groups.append(_group("Accepted in the job", outcome.protected.accepted, True))
    if outcome.protected.old:
        groups.append(_group("In what is published already", outcome.protected.old, True))
    groups.append(_group("To know", [f for f in check.findings if not f.blocks], False))
    whole = check.advice
    advice = [line for line in whole if not line.startswith("recode: table")]
    if len(advice) < len(whole):
        advice.insert(0, "recode: which codes to merge stands under supersensitive cells, below")
    return Section("findings", "What the checks found", {"groups": groups, "advice": advice})


def _group(title: str, findings: Sequence[Finding], wide: bool) -> dict[str, Any]:
    rows = [
        {
            "kind": f.kind,
            "text": f.text[:1].upper() + f.text[1:] + ".",
            "cells": cell_list(f.cells) or "see findings.json",
            "combination": f.combination() if f.coefficients and len(f.cells) <= 20 else "",
        }
        for f in findings[:_MOST_FINDINGS]
    ]
    kinds = Counter(f.kind for f in findings)
    return {
        "title": title,
        "count": many(len(findings), "finding") if findings else "",
        "shown": ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common()),
        "rows": rows,
        "open": wide and len(rows) <= 30,
        "more": len(findings) - len(rows),
    }


def extreme(outcome: Outcome[PerturbationResult]) -> Section | None:
    """List supersensitive cells with the merges of codes that remove them; nothing where there is none."""
    rows: list[dict[str, Any]] = []
    total = 0
    for at, here in enumerate(outcome.protected.check.tables):
        cells = np.flatnonzero(supersensitive(here.needs)).tolist()
        total += len(cells)
        if not cells or len(rows) >= _MOST_EXTREME:
            continue
        merges: dict[int, list[str]] = {}
        for merge in redesign(here.needs, most=_MOST_EXTREME):
            merges.setdefault(merge.cell, []).append(f"merge {' + '.join(merge.codes)} of {merge.dimension}")
        nothing = ["no merge of codes with one parent; leave out a level or a dimension"]
        rows += [
            outcome.protected.name(at, cell) | {"merges": merges.get(cell, nothing)} for cell in cells[:_MOST_EXTREME]
        ]
    shown = rows[:_MOST_EXTREME]
    if not shown:
        return None
    return Section(
        "supersensitive",
        "Supersensitive cells",
        {"rows": shown, "count": many(total, "cell"), "more": total - len(shown)},
    )


_ATTACKS = (
    ("Contributors of a cell", "sensitive", "Some contributors of one cell who subtract what they know themselves."),
    (
        "Implied cells",
        "implied",
        "Somebody who adds and subtracts cells of all tables; and some contributors of what is left, who subtract what "
        "they know themselves.",
    ),
    ("Combinations of cells", "disclosed", "Somebody who adds and subtracts cells of all tables to single out one."),
    ("Coalitions", "coalition", "All contributors but one of a combination of cells, if it holds a few only."),
    ("Bounds", "interval", "Somebody who knows that no contribution is below 0, in cells with few contributors."),
    ("The range of the noise", "range", "Somebody who knows how far multipliers are from 1, at least and at most."),
    (
        "Ratios",
        "ratio",
        "Somebody who learns two responses, or two years, of one contributor, and so their true ratio.",
    ),
)


def looked_at(outcome: Outcome[PerturbationResult]) -> Section:
    """Describe which attacks were checked, with which result, and what was not looked at."""
    check = outcome.protected.check
    balanced = check.multipliers.settings.method == "balanced"
    asked = [attack for attack in _ATTACKS if balanced or attack[1] != "range"]
    rows = [(name, *_result_of(outcome, kind), who) for name, kind, who in asked]
    result = ("not asked for", "open") if outcome.protected.spec.trends is None else _result_of(outcome, "trend")
    if not check.growth:  # else it is among what was not checked, below
        rows.append(("Trends", *result, "Somebody who divides cells of two years that one contributor dominates."))
    if len(outcome.protected.spec.published) or any(f.kind == "conflict" for f in check.findings):
        result = _result_of(outcome, "conflict", always=True)
    else:
        result = ("none given", "open")
    rows.append(("The same data suppressed", *result, "Tables of the same data that show true values (`published`)."))
    if check.known:
        who = f"Somebody who has true totals from elsewhere: {listing(check.known)}."
        rows.append(("Known totals", *_result_of(outcome, "known"), who))
    if check.unseen:
        rows.append(
            (
                "Earlier tables",
                "not checked",
                "open",
                "Somebody who combines them with these: " + ", ".join(check.unseen) + ".",
            )
        )
    if check.published:
        result = ("checked together with these", "yes") if check.checked else ("not checked", "open")
        names = ", ".join(here.table.name for here in check.published)
        rows.append(("Tables that are published already", *result, f"Somebody who has these, too: {names}."))
    rows += [
        (attack.name[:1].upper() + attack.name[1:], "not checked", "open", attack.who)
        for attack in outcome.protected.elsewhere
    ]
    rows.append(_averages(outcome))
    rows.append(("Tables outside this set", "not checked", "open", "Other tables about the same respondents."))
    return attacks([(name, result, who, kind) for name, result, kind, who in rows], check.limits)


def _averages(outcome: Outcome[PerturbationResult]) -> tuple[str, str, str, str]:
    """Return whether somebody who averages a respondent's totals over years comes closer to the truth."""
    years, again = outcome.protected.check.multipliers.years, outcome.protected.check.multipliers.redrawn
    who = "Somebody who averages the totals of several years, in which noise that is drawn anew cancels."
    if years is None:
        return "Averages over years", "no earlier year given", "open", who
    who += " The growth of one respondent is published as it is, unless attribute multipliers blur it."
    if again is not None and again.units:
        return "Averages over years", f"kept by {years.kept:,}, but {again.units:,} drew again", "open", who
    if years.new:
        return "Averages over years", f"kept by {years.kept:,}, {years.new:,} respondents are new", "yes", who
    return "Averages over years", "all multipliers are kept", "yes", who


def _result_of(outcome: Outcome[PerturbationResult], kind: str, always: bool = False) -> tuple[str, str]:
    """Return what a check found, in words, and yes, no or open."""
    check = outcome.protected.check
    if not (check.checked or always):
        return "not checked", "open"
    if any(f.kind == kind for f in check.open):
        return many(sum(f.kind == kind for f in check.open), "finding"), "no"
    accepted = sum(f.kind == kind for f in outcome.protected.accepted)
    if accepted:
        return f"{accepted:,} accepted", "open"
    if check.limits and kind not in {"sensitive", "conflict"}:
        return "nothing found, not all looked at", "open"
    return "nothing found", "yes"


def run(outcome: Outcome[PerturbationResult]) -> Section:
    """Return the run's facts: seconds a step, versions and digests of the inputs. The seed is not among them."""
    lead = "The seed is not on this page: with it and the records the noise can be worked out."
    if outcome.release is None:
        lead += " No multipliers' file was written."
    else:
        lead += " It is in the multipliers' file, as confidential as the records."
    return run_facts(outcome.summary, outcome.made, lead)
