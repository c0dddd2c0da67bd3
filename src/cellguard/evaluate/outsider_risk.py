"""How near an outsider comes to what must be protected: the same question for every method.

A cell that the reference rules call unsafe needs to stay uncertain by so much. Its risk is the share of that need which
is missing: 1 if the true figure is published, 0 if an outsider's interval (or the noise) reaches as far as it must.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.attack.audit import audit
from cellguard.evaluate.insider_risk import missing, risk_behind_noise, risk_behind_pattern
from cellguard.evaluate.utility import Known
from cellguard.protection import Requirements
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern, Release
from cellguard.types import BoolArray, FloatArray, Run


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
    def too_near(self) -> int:
        """How many unsafe cells an outsider comes nearer to than their need allows."""
        return _many(self.risk)

    @property
    def inside_mean(self) -> float:
        """The mean risk of the unsafe cells from respondents; NaN where nothing is known of these."""
        return float("nan") if self.inside is None else _mean(self.inside)

    @property
    def inside_too_near(self) -> int:
        """In how many unsafe cells some respondent comes nearer to another than the rules allow; -1 if not known."""
        return -1 if self.inside is None else _many(self.inside)


def _mean(risk: FloatArray) -> float:
    unsafe = ~np.isnan(risk)
    return float(risk[unsafe].mean()) if unsafe.any() else 0.0


def _many(risk: FloatArray) -> int:
    return int((risk > 1e-6).sum())


def measure_nearness(
    reference: Requirements, release: Release, run: Run, insiders: Contributions | None = None
) -> Nearness:
    """Attack a release with the reference rules as the measure, as an outsider and, if they are told, as insiders."""
    figures, hidden = _seen(reference, release)
    if np.allclose(figures, reference.tables.value):
        return _of_pattern(reference, hidden, run, insiders)
    # Noise protects as far as it goes: who takes the published figure for the true one errs by so much.
    error = np.abs(figures - reference.tables.value)
    need = np.maximum(np.maximum(reference.lower, reference.upper), reference.sliding)
    risk = np.where(reference.primary, missing(error, need), np.nan)
    inside = None if insiders is None else risk_behind_noise(reference, figures, risk, insiders)
    return Nearness(Known(figures, figures), risk, inside)


def _seen(reference: Requirements, release: Release) -> tuple[FloatArray, BoolArray]:
    """Return what the release shows of each distinct cell, and which of them it hides."""
    tables = reference.tables
    figures, hidden = tables.value.copy(), np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        shown = cells[~table.unpublished]
        released = release[table.name]
        hidden[shown] |= released.suppressed
        open_ = ~released.suppressed
        figures[shown[open_]] = np.array(released.value, object)[open_].astype(float)
    return figures, hidden


def _of_pattern(reference: Requirements, hidden: BoolArray, run: Run, insiders: Contributions | None) -> Nearness:
    pattern = Pattern(reference.tables, hidden & reference.primary, hidden & ~reference.primary)
    attacked = audit(reference, pattern, intervals=True, run=run)
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
    inside = None if insiders is None else risk_behind_pattern(attacked, risk, insiders, run)
    return Nearness(Known(attacked.lower, attacked.upper), risk, inside)
