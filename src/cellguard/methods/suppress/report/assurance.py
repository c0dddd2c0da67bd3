"""What the officer can rely on: the verdict, the attacks that were checked and not, and how the run went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.run_facts import attacks, run_facts
from cellguard.report.section import Section
from cellguard.report.words import many, number, share
from cellguard.seam.outcome import Outcome


def verdict(outcome: Outcome[SuppressionResult]) -> dict[str, Any]:
    """Return the verdict in one line, one sentence and a few figures."""
    audit, tables = outcome.protected.audit, outcome.protected.audit.needs.tables
    head = outcome.protected.verdict
    shown = ~audit.pattern.unpublished
    listed = sum(not table.is_added for table in tables.tables)
    # What no table shows is told apart, so that the figures add up to the cells that users see.
    all_, primary, secondary, published = (
        int((cells & shown).sum())
        for cells in (shown, audit.needs.primary, audit.pattern.secondary, ~audit.pattern.hidden)
    )
    apart = int((audit.needs.primary & ~shown).sum())
    figures = [
        (f"{all_:,}", "cells", many(listed, "table")),
        (f"{primary:,}", "unsafe", share(primary, all_) + " of the cells"),
        (f"{secondary:,}", "suppressed to protect them", share(secondary, all_) + " of the cells"),
        (f"{published:,}", "published", share(published, all_) + " of the cells"),
    ]
    whom = "no outsider" if audit.inside is None else "neither outsiders nor a single respondent"
    if audit.inside is not None and audit.inside.size > 1:
        whom = f"neither outsiders nor up to {audit.inside.size} respondents together"
    sentence = f"{_all_protected(primary, apart, whom)} {head.caveat}" if head.kind == "safe" else head.caveat
    if outcome.summary.get("trusted"):
        sentence += f" Taken on trust, since `verify` cannot recompute it: {', '.join(outcome.summary['trusted'])}."
    kind = "undecided" if head.kind == "no rule" else head.kind
    return {"kind": kind, "headline": f"{head.text}.", "sentence": sentence, "figures": figures}


def _all_protected(primary: int, apart: int, whom: str) -> str:
    """Say what is protected; ``apart`` unsafe cells are such as no table shows: sums of cells, and latent cells."""
    if not primary + apart:
        return "No cell is unsafe under the rules, so nothing had to be suppressed."
    which = "The one unsafe cell is" if primary == 1 else f"All {primary:,} unsafe cells are"
    hidden = many(apart, "sum or latent cell", "sums or latent cells")
    more = f" Protected, too, {'is' if apart == 1 else 'are'} {hidden} that no table shows."
    nobody = f"{whom[:1].upper()}{whom[1:]} can come closer to their values than the rules allow."
    return f"{which} suppressed.{more if apart else ''} {nobody}"


def checked(outcome: Outcome[SuppressionResult]) -> Section:
    """Say in plain words which attacks were checked and which were not."""
    tables = outcome.protected.audit.needs.tables
    knows = outcome.protected.audit.needs.knowledge
    bounds = []
    if knows.percent is not None:
        bounds.append(f"every value a priori to within {knows.percent:g} %")
    if np.isfinite(knows.lower):
        bounds.append("that no value is negative" if knows.lower == 0 else "a lower bound of every value")
    if np.isfinite(knows.upper):
        bounds.append("an upper bound of every value")
    proven = {"safe": "proven", "unsafe": "fails", "undecided": "not proven", "no rule": "no rule"}[
        outcome.protected.verdict.kind
    ]
    told = "; and " + ", ".join(bounds) if bounds else ""
    several = f"all {len(tables.tables)} tables" if len(tables.tables) > 1 else "the whole table"
    rows = [("Outsiders", proven, f"Somebody who sees {several} and knows how the cells add up{told}.")]
    if outcome.protected.audit.inside is not None:
        linked, most = outcome.protected.audit.inside.linked, outcome.protected.audit.inside.size
        who = "Every single respondent" if linked else "The respondents of single cells"
        rows.append(("Insiders", proven, f"{who}, who knows its own contribution to each cell and subtracts it."))
        if most > 1:
            rows.append(("Coalitions", proven, f"Up to {most} respondents, who subtract what all of them contribute."))
    if bool(tables.is_count.any()):
        rows.append(("Whole numbers", proven, "Somebody who also uses that counts are whole numbers."))
    known = outcome.protected.known
    if not len(known):
        words = "none given", "Figures that an attacker has from other sources (`known` in the job)."
    else:
        words = proven, f"{many(len(known), 'total')} that an attacker has."
    rows.append(("Totals from elsewhere", *words))
    rows += [
        (attack.name[:1].upper() + attack.name[1:], "not checked", attack.who)
        for attack in outcome.protected.verdict.not_checked
    ]
    kinds = {"proven": "yes", "fails": "no", "not proven": "no", "no rule": "no"}
    return attacks([(*r, kinds.get(r[1], "open")) for r in rows])


def inside(outcome: Outcome[SuppressionResult]) -> Section | None:
    """Return the view from the firms: which insider may come how closely to whom, the nearest first."""
    proven = outcome.protected
    if proven.audit.inside is None:
        return None
    rows = [
        {
            **proven.cell(near.cell),
            "insider": near.who,
            "percent": f"{near.percent:,.1f} %" if np.isfinite(near.percent) else "any amount",
            "failing": near.failing,
        }
        for near in proven.nearest
    ]
    return Section("inside", "Firm-level view", {"rows": rows, "linked": proven.audit.inside.linked})


def run(outcome: Outcome[SuppressionResult]) -> Section:
    """Return the run's facts: optimum, seconds a step, versions, seed and digests of the inputs."""
    return run_facts(outcome.summary, outcome.made, _optimum(outcome.summary))


def _optimum(summary: Mapping[str, Any]) -> str:
    """Describe how good the pattern is: what its secondaries cost, and how much could be saved at most."""
    cost, bound, gap = summary.get("cost"), summary.get("lower_bound"), summary.get("gap")
    if cost is None or bound is None or gap is None:
        return "The pattern was given, not chosen, so there is no lower bound on what must be suppressed."
    text = f"Suppressing the secondary cells costs {number(cost)}. "
    if cost == 0:
        text = "No secondary cell was needed. "
    elif gap == 0:
        text += "No safe pattern costs less: this is proven to be the optimum. "
    elif bound <= 0:
        text += "No useful lower bound was worked out, so it is not known how far this is from the optimum. "
    else:
        text += f"No safe pattern costs less than {number(bound)}, so at most {100 * gap:.1f} % could be saved. "
    if not summary.get("deterministic", True):
        text += "The search was ended early; another run may find another pattern. "
    return text.strip()
