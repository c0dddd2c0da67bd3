"""How closely an outsider comes to what must be protected: the same question for every method.

A cell that the reference rules call unsafe needs to stay uncertain by so much. Its risk is the share of that need which
is missing: 1 if the true figure is published, 0 if an outsider's interval (or the noise) reaches as far as it must.
A figure that is rounded to the decimals that are published is the true one, and no noise. Of noise the need is the one
of S_N (Cuppen 2000, 4.1) where a rule tells it: an attacker who meets noise has no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.audit import audit
from cellguard.attack.insider_pairs import Hint
from cellguard.evaluate.insider_risk import missing, risk_behind_noise, risk_behind_pattern
from cellguard.evaluate.utility import Known
from cellguard.protection import Requirements
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.seam.method import Concluded
from cellguard.table.contributions import Contributions
from cellguard.table.fact import Top
from cellguard.table.facts import Facts
from cellguard.table.pattern import Pattern, Release


@dataclass(frozen=True, eq=False)
class Nearness:
    """What attackers can work out of the distinct cells of the reference tables, given one release.

    ``known`` has the ends of what an outsider knows of each cell, ``risk`` that of the unsafe ones (NaN else), and
    ``inside`` the same against the respondents, None where tables do not tell who they are.
    """

    known: Known
    risk: FloatArray
    inside: FloatArray | None

    @property
    def mean(self) -> float:
        """The mean risk of the unsafe cells; 0 if there are none."""
        return _mean(self.risk)

    @property
    def disclosed(self) -> int:
        """How many unsafe cells an outsider comes nearer to than their protection level allows."""
        return _many(self.risk)

    @property
    def inside_mean(self) -> float:
        """The mean risk of the unsafe cells from respondents; NaN where nothing is known of these."""
        return float("nan") if self.inside is None else _mean(self.inside)

    @property
    def disclosed_to_insiders(self) -> int:
        """In how many unsafe cells some respondent comes nearer to another than the rules allow; -1 if not known."""
        return -1 if self.inside is None else _many(self.inside)


def _mean(risk: FloatArray) -> float:
    unsafe = ~np.isnan(risk)
    return float(risk[unsafe].mean()) if unsafe.any() else 0.0


def _many(risk: FloatArray) -> int:
    return int((risk > 1e-6).sum())


@dataclass(frozen=True, eq=False)
class Attackers:
    """Who attacks, and with what: the respondents, if tables tell them; sums from elsewhere; moves to look at first."""

    insiders: Contributions | None = None
    sums: sp.csr_array | None = None
    hints: Sequence[Hint] = ()


def measure_nearness(
    reference: Requirements,
    release: Release,
    run: Run,
    attackers: Attackers = Attackers(),  # noqa: B008
    *,
    hidden: BoolArray | None = None,
    concluded: Concluded | None = None,
    noise: FloatArray | None = None,
) -> Nearness:
    """Attack a release with the reference rules as the measure, as an outsider and, if they are reported, as insiders.

    ``hidden`` are the distinct cells that a method suppresses, if it is one that does; otherwise the release tells.
    ``concluded`` is what a method says that attackers who know it conclude. ``noise`` is how much noise each cell must
    have, NaN where no rule tells that: it then must reach as far as an interval.
    """
    if concluded is not None:
        return _of_ends(reference, concluded)
    if hidden is not None:
        return _of_pattern(reference, hidden, run, attackers)
    figures, suppressed, changed = _seen(reference, release)
    if suppressed.any() or not changed.any():
        return _of_pattern(reference, suppressed, run, attackers)
    # Noise protects as far as it goes: who takes the published figure for the true one errs by so much.
    error = np.abs(figures - reference.tables.value)
    need = np.maximum(np.maximum(reference.lower, reference.upper), reference.sliding)
    if noise is not None:
        need = np.where(np.isnan(noise), need, noise)
    risk = np.where(reference.primary, missing(error, need), np.nan)
    known = attackers.insiders
    inside = None if known is None else risk_behind_noise(reference, figures, risk, known)
    return Nearness(Known(figures, figures), risk, inside)


def noise_needed(rules: Sequence[Rule], facts: Facts) -> FloatArray:
    """Return how much noise each cell must have by S_N, p X_1 - q R; NaN where no rule tells it.

    R is what neither the largest contributor nor the coalition of the rule has. Of several rules the largest counts.

    >>> from cellguard.rules.linear import Dominance
    >>> from cellguard.table.facts import contributions
    >>> cells = contributions([8000, 850, 600, 550], [4000, 2500, 1500, 2000])
    >>> noise_needed([Dominance(3, 70)], cells).round(1).tolist()
    [2878.6, 214.3]
    """
    needs = np.full(len(facts.total), np.nan)
    for rule in [rule.noise for rule in rules if rule.noise is not None]:
        if Top(rule.n) in facts:
            known = facts[Top(rule.n)]
            rest = np.maximum(facts.basis - known.sum(axis=1), 0.0)
            needs = np.fmax(needs, np.maximum(rule.accuracy * known[:, 0] - rule.prior * rest, 0.0))
    return needs


def _seen(reference: Requirements, release: Release) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return what the release shows of each distinct cell, which it suppresses, and which it changes beyond rounding.

    A cell that one table suppresses and another one shows is not suppressed.
    """
    tables = reference.tables
    figures, open_ = tables.value.copy(), np.zeros(len(tables), bool)
    hidden, changed = np.zeros(len(tables), bool), np.zeros(len(tables), bool)
    names = {released.name for released in release.tables}
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.name not in names:  # of an earlier release, or not published
            continue
        released = release[table.name]
        shown, seen = cells[~table.unpublished], ~released.suppressed
        hidden[shown[~seen]], open_[shown[seen]] = True, True
        figures[shown[seen]] = released.figures[seen]
        error = np.abs(figures[shown] - tables.value[shown])
        rounding = 0.5 * 10.0**-released.decimals + 1e-9 * np.abs(tables.value[shown])
        changed[shown] |= error > rounding
    return figures, hidden & ~open_, changed


def _of_ends(reference: Requirements, concluded: Concluded) -> Nearness:
    """Return the risk from the ends that a method's own attack found; what that leaves open has a risk at least."""
    value, n = reference.tables.value, len(reference.tables)
    lower, upper = concluded.lower[:n], concluded.upper[:n]
    shortfall = missing(upper - lower, reference.sliding)
    for reach, need in ((value - lower, reference.lower), (upper - value, reference.upper)):
        shortfall = np.maximum(shortfall, missing(reach, need))
    shortfall = np.where(concluded.open[:n], np.maximum(shortfall, 1e-3), shortfall)
    risk = np.where(reference.primary, shortfall, np.nan)
    return Nearness(Known(lower, upper), risk, None)


def _of_pattern(reference: Requirements, hidden: BoolArray, run: Run, attackers: Attackers) -> Nearness:
    hidden = hidden[: len(reference.tables)]  # without sums of cells, which are nobody's table
    pattern = Pattern(reference.tables, hidden & reference.primary, hidden & ~reference.primary)
    attacked = audit(reference, pattern, known=attackers.sums, intervals=True, run=run)
    value = reference.tables.value
    shortfall = np.zeros(len(value))
    ends = (value - attacked.lower, reference.lower), (attacked.upper - value, reference.upper)
    for reach, need in ends:
        shortfall = np.maximum(shortfall, missing(reach, need))
    shortfall = np.maximum(shortfall, missing(attacked.upper - attacked.lower, reference.sliding))
    # A need that an exact proof calls met is met, whatever rounding says; and one that it refutes is not.
    shortfall = np.where(attacked.failing, np.maximum(shortfall, 1e-3), np.where(attacked.undecided, shortfall, 0.0))
    shortfall = np.where(hidden, shortfall, 1.0)
    risk = np.where(reference.primary, shortfall, np.nan)
    known = attackers.insiders
    inside = None if known is None else risk_behind_pattern(attacked, risk, known, run, attackers.hints)
    return Nearness(Known(attacked.lower, attacked.upper), risk, inside)
