"""The verdict about rounded tables: what somebody who knows the method can conclude, and what nobody looked at."""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.inputs.assessment import Assessment, no_rule
from cellguard.methods.rounding.attacked import Attacked
from cellguard.seam.open_attacks import open_differences, open_latent, open_ties
from cellguard.seam.screen import counted
from cellguard.seam.verdict import Kind, NotChecked, Verdict
from cellguard.table.tableset import TableSet

_NAMED = 3  # cells that a headline names
_LIKELY = NotChecked(
    "likelihood",
    "how likely each possible value is",
    "Somebody who asks not what is possible but what is likely: of the values that are possible, those next to the "
    "published one are likelier.",
)
_SUMS = NotChecked(
    "unions",
    "sums of cells that no table lists",
    "Somebody who adds up or subtracts published values, where the sum or difference would itself be unsafe.",
)
_EARLIER = NotChecked(
    "earlier_releases",
    "earlier releases",
    "Somebody who compares with tables that were published before: the same values, rounded anew or to another base, "
    "narrow what is possible. Take the seed again with --seed-from.",
)
_OTHERS = NotChecked(
    "other_tables", "tables outside this set", "Other tables about the same respondents; put them into the same job."
)
_CHOSEN = NotChecked(
    "choice",
    "what the choice of base or of suppressed cells reveals",
    "Somebody who uses that unsafe cells were too well known before some were suppressed, or the base doubled.",
)
_WHICH = NotChecked(
    "choice_of_counts",
    "what the choice of counts that go up reveals",
    "Somebody who runs the program on tables that fit what is published, and keeps those that it rounds like this.",
)
_INSIDERS = NotChecked("insiders", "insiders", "A respondent who subtracts its own contribution, alone or with others.")
_WITHIN = "within the work allowed; `effort: best` allows any"
_TOGETHER = "Several respondents who pool what they know."


def verdict_of(assessed: Assessment, attacked: Attacked, *, chosen: bool, repaired: bool, accepted: bool) -> Verdict:
    """Return what an attack on rounded tables proves; ``accepted`` says that no rule is needed.

    ``chosen`` says that what was rounded up follows from the true table, and ``repaired`` that a base or cells do.
    """
    world, tables = attacked.audit.needs.world, attacked.audit.needs.tables
    untied = (*open_ties(world), *open_differences(tables), *open_latent(world))
    others = [_LIKELY, _SUMS, _EARLIER, _OTHERS, *([_WHICH] if chosen else []), *([_CHOSEN] if repaired else [])]
    kind, text = _kind(assessed, attacked, untied)
    return Verdict(kind, text, (*untied, *_inside(attacked), *others), accepted=accepted and kind is Kind.NO_RULE)


def _kind(assessed: Assessment, attacked: Attacked, untied: tuple[NotChecked, ...]) -> tuple[Kind, str]:
    audit = attacked.audit
    unruled = no_rule(assessed.findings.without_rules, len(assessed.findings.by_table))
    more = f". {unruled}" if unruled else ""
    who = "an outsider"
    if not (audit.failing | audit.undecided | attacked.short).any() and audit.inside is not None:
        who = "a respondent"
    if attacked.verdict == "unsafe":
        named = _cells(attacked.open, audit.needs.tables)
        return Kind.UNSAFE, f"UNSAFE: {who} who knows how the tables are rounded comes too close to {named}{more}"
    if audit.unfinished:
        return Kind.UNDECIDED, f"NOT PROVEN: what a respondent can conclude was not decided {_WITHIN}{more}"
    if attacked.verdict == "undecided":
        named = _cells(attacked.open, audit.needs.tables)
        within = f" {_WITHIN}" if attacked.spent else ""
        why = "; ".join(world) if (world := audit.needs.world.open) else f"what {who} can conclude of {named}"
        return Kind.UNDECIDED, f"NOT PROVEN: {why} could not be decided{within}{more}"
    if unruled:
        return Kind.NO_RULE, f"{unruled}, so nothing is known to be safe"
    left = f", {' and '.join(one.name for one in untied)} not checked" if untied else ""
    if audit.inside is None:
        return Kind.SAFE, f"Safe against outsiders who know how the tables are rounded{left}; insiders not checked"
    whom = "every single respondent" if audit.inside.linked else "the respondents of single cells"
    if audit.inside.size > 1:
        whom = f"up to {audit.inside.size} respondents together"
    return Kind.SAFE, f"Safe against outsiders and {whom}, who know how the tables are rounded{left}"


def _inside(attacked: Attacked) -> tuple[NotChecked, ...]:
    inside = attacked.audit.inside
    if inside is None:
        return (_INSIDERS,)
    more = "respondents together" if inside.size == 1 else f"more than {inside.size} respondents together"
    return (NotChecked("coalitions", more, _TOGETHER),)


def _cells(which: BoolArray, tables: TableSet) -> str:
    at = np.flatnonzero(which)
    names = "; ".join(tables.message_name(int(cell)) for cell in at[:_NAMED])
    return f"{counted(len(at), 'unsafe cell')} ({names}{' and more' if len(at) > _NAMED else ''})"
