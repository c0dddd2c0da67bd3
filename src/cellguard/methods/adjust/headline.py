"""The verdict about adjusted tables: what is claimed of them, and what nobody proved."""

from __future__ import annotations

import numpy as np

from cellguard.inputs.assessment import Assessment, no_rule
from cellguard.seam.open_attacks import open_differences, open_latent, open_ties
from cellguard.seam.screen import counted
from cellguard.seam.verdict import Kind, NotChecked, Verdict

_NAMED = 3  # cells that a headline names
_METHOD = (
    NotChecked(
        "known_cells",
        "attackers who know which cells were unsafe",
        "Somebody who knows, or works out from the rules, which cells were unsafe: their true value is then not within "
        "the protection level of the published one, and mostly lies just at its end, on one of two sides. "
        "Where most true values are round, digits may tell which cells moved.",
    ),
    NotChecked(
        "known_sides",
        "attackers who know the sides",
        "Somebody who also knows to which side unsafe cells moved, or runs the program on tables that fit: the least "
        "adjustment is a function of the true tables.",
    ),
)
_OTHERS = (
    NotChecked(
        "unions",
        "sums of cells that no table lists",
        "Somebody who adds up or subtracts published values: where unsafe cells move to opposite sides, a sum of them "
        "may be near its true value.",
    ),
    NotChecked("insiders", "insiders", "A respondent who subtracts its own contribution, alone or with others."),
    NotChecked(
        "earlier_releases",
        "earlier releases",
        "Somebody who compares with tables that were published before: the same cells, adjusted differently.",
    ),
    NotChecked(
        "other_tables",
        "tables outside this set",
        "Other tables about the same respondents; put them into the same job.",
    ),
)


def verdict_of(assessed: Assessment, *, accept_no_rules: bool, unproven: bool) -> Verdict:
    """Return what is claimed; ``unproven`` says that the job answers for what is not proven about the method."""
    needs, tables = assessed.needs, assessed.tables
    untied = (*open_ties(needs.world), *open_differences(tables), *open_latent(needs.world))
    unsafe = int(needs.primary.sum())
    left = (*untied, *(_METHOD if unsafe else ()), *_OTHERS)
    unruled = no_rule(assessed.findings.without_rules, len(assessed.findings.by_table))
    more = f". {unruled}" if unruled else ""
    if needs.unprotectable.any():
        at = np.flatnonzero(needs.unprotectable)
        names = "; ".join(tables.message_name(int(cell)) for cell in at[:_NAMED])
        return Verdict(Kind.UNSAFE, f"UNSAFE: {counted(len(at), 'cell')} cannot be protected ({names}){more}", left)
    if needs.world.open:
        return Verdict(Kind.UNDECIDED, f"NOT PROVEN: {'; '.join(needs.world.open)} could not be decided{more}", left)
    moved = (
        f"each unsafe cell ({unsafe:,}) is published at least its protection level away from its true value, but what "
        "somebody concludes who knows the method is not proven"
    )
    if unruled:
        text = f"{unruled}, so nothing is known to be safe{f'; {moved}' if unsafe else ''}"
        return Verdict(Kind.NO_RULE, text, left, accepted=accept_no_rules and (unproven or not unsafe))
    if unsafe:
        return Verdict(Kind.NOT_PROVEN, f"NOT PROVEN: {moved}", left, accepted=unproven)
    named = f", {' and '.join(one.name for one in untied)} not checked" if untied else ""
    return Verdict(Kind.SAFE, f"Safe: no cell is unsafe{named}", left)
