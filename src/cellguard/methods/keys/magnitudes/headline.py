"""The verdict about sums with noise from cell keys: what was proven, against whom, and what nobody looked at."""

from __future__ import annotations

import numpy as np

from cellguard.inputs.assessment import Assessment, no_rule
from cellguard.methods.keys.magnitudes.attack import Guessed
from cellguard.seam.screen import counted
from cellguard.seam.verdict import Kind, NotChecked, Verdict

_NAMED = 3  # cells that a headline names
_TOGETHER = NotChecked(
    "together",
    "several figures together",
    "Somebody who puts the published values of several cells together that one respondent is in: their noise is "
    "independent, so it can be averaged.",
)
_PLAIN = NotChecked(
    "plain keys",
    "how far the noise of a sum tells that of its parts, whose keys it is the sum of, and steps of the noise",
    "everybody",
)
_OTHERS = (
    NotChecked("other releases", "other tables of the same records, made with the same keys", "everybody"),
    NotChecked(
        "other contributions",
        "contributions other than the largest of each unsafe cell, and sums of cells that no table lists",
        "Somebody who adds up or subtracts published values.",
    ),
    NotChecked(
        "orders of magnitude",
        "attackers who know beforehand of what size a contribution is",
        "Somebody with figures of earlier years, or with an estimate of the respondent.",
    ),
    NotChecked("zeros", "how likely a published 0 is a true one", "everybody"),
)


def verdict_of(
    assessed: Assessment, guessed: Guessed, *, limit: float, plain: bool, accepted: bool, accept_no_rules: bool
) -> Verdict:
    """Return what is claimed; ``accepted`` says that the job answers for what is not proven."""
    unsafe, tables = assessed.needs.primary, assessed.tables
    over, open_ = guessed.alone > limit, guessed.together > limit
    unruled = no_rule(assessed.findings.without_rules, len(assessed.findings.by_table))
    more = f". {unruled}" if unruled else ""
    word = f"{limit:.0%}"
    if over.any():
        at = np.flatnonzero(over)
        named = "; ".join(tables.message_name(int(cell)) for cell in at[:_NAMED])
        text = (
            f"UNSAFE: of {counted(len(at), 'unsafe cell')} ({named}{' and more' if len(at) > _NAMED else ''}) the best "
            f"guess of the largest contribution is too close in {guessed.alone.max():.1%} of cases (limit {word})"
        )
        return Verdict(Kind.UNSAFE, text + more, (_TOGETHER, *_OTHERS))
    if unruled:
        proven = not (open_.any() or (plain and unsafe.any()))
        both = accept_no_rules and (accepted or proven)
        left = _OTHERS if proven else (_TOGETHER, *_OTHERS)
        return Verdict(Kind.NO_RULE, f"{unruled}, so nothing is known to be safe", left, accepted=both)
    if not unsafe.any():
        return Verdict(Kind.SAFE, "Safe: no cell is unsafe", _OTHERS)
    if plain:
        text = "NOT PROVEN: plain keys tie the noise of sums to that of their parts"
        return Verdict(Kind.NOT_PROVEN, f"{text}; if not, {_told(guessed)}", (_PLAIN, *_OTHERS), accepted=accepted)
    if open_.any():
        text = (
            f"NOT PROVEN: by their own published value unsafe cells are safe (at most {guessed.alone.max():.1%}, limit "
            f"{word}), but of {counted(int(open_.sum()), 'cell')} several figures together may tell too much"
        )
        return Verdict(Kind.NOT_PROVEN, text, (_TOGETHER, *_OTHERS), accepted=accepted)
    text = f"Safe against all other contributors together, who know the method: {_told(guessed)} (limit {word})"
    return Verdict(Kind.SAFE, text, _OTHERS)


def _told(guessed: Guessed) -> str:
    best = float(guessed.together.max(initial=0.0))
    return f"the best guess of a contribution is too close in at most {best:.1%} of cases"
