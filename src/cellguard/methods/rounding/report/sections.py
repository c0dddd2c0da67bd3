"""The parts of the officer's page about rounded tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.methods.rounding.result import RoundingResult
from cellguard.report.changed_pages import verdict_of
from cellguard.report.run_facts import attacks
from cellguard.report.section import Section
from cellguard.report.words import many, share
from cellguard.seam.outcome import Outcome

_ROWS = 50
_KINDS = {
    "conventional": "conventional: to the nearest multiple of the base, halves up",
    "controlled": "controlled: next to the true value, so that all published sums hold, and as near to what "
    "chance prefers as was found",
    "small_counts": "small counts: inner counts below the base become 0 or the base, and all others are their sums",
    "random": "random: up with probability remainder / base, so that no value is biased",
}


def verdict(outcome: Outcome[RoundingResult]) -> Mapping[str, Any]:
    """Return the verdict in one line, one sentence and a few figures."""
    about, off = outcome.summary["set"], outcome.summary["distance"]
    figures = [
        (f"{about['cells']:,}", "cells", f"{about['shown']:,} with a value"),
        (f"{about['primary']:,}", "unsafe before rounding", share(about["primary"], about["cells"])),
        (f"{about['unsafe']:,}", "still unsafe", share(about["unsafe"], about["primary"])),
        (f"{off['mean']:.3g}", "moved on average", f"at most {off['largest']:g}"),
    ]
    return verdict_of(outcome, figures)


def rounding(outcome: Outcome[RoundingResult]) -> Section:
    """Describe how the tables were rounded, whether they add up, and what it cost."""
    done, summary = outcome.protected, outcome.summary
    words = {name: done.words(name) for name in done.bases()}
    sums, off = summary["sums"], summary["distance"]
    adds = "yes" if done.rounded.is_additive else f"no: {sums['off']:,} of {many(sums['published'], 'published sum')}"
    facts = [
        ("Method", _KINDS[done.rounded.plan.kind]),
        ("Base", "; ".join(f"{name}: {said['base']:g}" for name, said in words.items())),
        ("Do values add up?", adds + ("" if done.rounded.is_additive else " are not the sum of their published parts")),
        ("Zeros", "a true zero is published as 0, and so may be a value below the base"),
        ("Largest deviation", f"{off['largest']:g}"),
        ("Mean deviation", f"{off['mean']:.3g}"),
        ("Hellinger distance", f"{off['hellinger']:.4g} (utility {off['utility']:.4f})"),
    ]
    if done.rounded.search is not None:
        gap = done.rounded.search.gap
        facts.append(("Search", "the optimum" if gap < 1e-6 else f"at most {gap:.1%} from the optimum"))
    hidden = {name: said["suppress_below"] for name, said in words.items() if "suppress_below" in said}
    if hidden:
        facts.append(("Suppressed below", "; ".join(f"{name}: {least:g}" for name, least in hidden.items())))
    warnings = [text for text in summary["warnings"] if "do not add up" not in text]
    return Section("rounding", "How the tables were rounded", {"facts": facts, "warnings": warnings})


def concluded(outcome: Outcome[RoundingResult]) -> Section:
    """List the cells of which sums and differences of published values tell more than their own value."""
    done = outcome.protected
    set_, found = done.assessed.tables, done.attacked
    own, ends = found.alone_upper - found.alone_lower, found.upper - found.lower
    told = (found.narrowed & done.rounded.plan.shown) | found.open
    gain = np.where(np.isfinite(own), own, 1e300) - ends
    order = np.lexsort((-gain, ~found.open))
    at = [int(cell) for cell in order.tolist() if told[cell]]
    size = done.rounded.plan.grains.size()
    published = np.where(done.rounded.seen, done.rounded.value * size, np.nan)
    rows = [
        {
            "cell": set_.message_name(cell),
            "published": "suppressed" if np.isnan(published[cell]) else f"{published[cell]:,.10g}",
            "alone": _ends(found.alone_lower[cell], found.alone_upper[cell]),
            "together": _ends(found.lower[cell], found.upper[cell]),
            "what": _what(done, cell),
        }
        for cell in at[:_ROWS]
    ]
    how = "exactly" if found.exact else "at least"
    closer = many(int((found.narrowed & done.rounded.plan.shown).sum()), "cell")
    lead = (
        "An attacker who knows the method subtracts published values: a total leaves for its parts only "
        f"what their rounding allows together. That tells {how} {closer} more closely than their own "
        "published values do"
        + (". An unsafe cell is safe as long as its interval is as wide as the rules ask." if len(at) else ".")
    )
    return Section("concluded", "What differences of rounded values tell", _data(lead, rows, len(at)))


def _data(lead: str, rows: list[dict[str, str]], number: int) -> dict[str, Any]:
    return {"lead": lead, "rows": rows, "more": f"{number - len(rows):,}" if number > len(rows) else ""}


def _what(done: RoundingResult, cell: int) -> str:
    if done.attacked.open[cell]:
        return "unsafe: too closely known"
    known = "known exactly" if done.attacked.known[cell] else ""
    if done.assessed.needs.primary[cell]:
        return f"unsafe by a rule, and safe{', ' if known else ''}{known}"
    return known or "no rule asks for it"


def _ends(lower: float, upper: float) -> str:
    low = f"{lower:,.10g}" if np.isfinite(lower) else "no end"
    high = f"{upper:,.10g}" if np.isfinite(upper) else "no end"
    return f"{low} to {high}"


def looked_at(outcome: Outcome[RoundingResult]) -> Section:
    """List the attacks that were checked, and those that were not."""
    inside = outcome.protected.attacked.audit.inside
    found = outcome.protected.attacked
    outside = found.short | found.audit.failing | found.audit.undecided
    method = "Somebody who knows method, base and threshold, every published value, and which values add up."
    rows = [("what rounded values leave open", "checked", method, "no" if outside.any() else "yes")]
    if inside is not None:
        result = "no" if inside.failing or inside.undecided else "yes"
        rows.append(("respondents", "checked", "A respondent who also knows its own contribution.", result))
    rows += [(attack.name, "not checked", attack.who, "open") for attack in outcome.verdict.not_checked]
    return attacks(rows)
