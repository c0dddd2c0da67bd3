"""How near an outsider comes to what must be protected: the same question for every method.

A cell that the reference rules call unsafe needs to stay uncertain by so much. Its risk is the share of that need which
is missing: 1 if the true figure is published, 0 if an outsider's interval (or the noise) reaches as far as it must.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.attack.audit import audit
from cellguard.protection import Requirements
from cellguard.table.pattern import Pattern, Release
from cellguard.types import BoolArray, FloatArray, Run


@dataclass(frozen=True, eq=False)
class Nearness:
    """What an outsider can work out of the distinct cells of the reference tables, given one release.

    ``lower`` and ``upper`` are the ends of what he knows of each cell, ``risk`` that of the unsafe ones (NaN else).
    """

    lower: FloatArray
    upper: FloatArray
    risk: FloatArray

    @property
    def mean(self) -> float:
        """The mean risk of the unsafe cells; 0 if there are none."""
        unsafe = ~np.isnan(self.risk)
        return float(self.risk[unsafe].mean()) if unsafe.any() else 0.0

    @property
    def too_near(self) -> int:
        """How many unsafe cells an outsider comes nearer to than their need allows."""
        return int((self.risk > 1e-6).sum())


def measure_nearness(reference: Requirements, release: Release, run: Run) -> Nearness:
    """Attack a release with the reference rules as the measure."""
    figures, hidden = _seen(reference, release)
    changed = not np.allclose(figures, reference.tables.value)
    return _of_noise(reference, figures) if changed else _of_pattern(reference, hidden, run)


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


def _of_pattern(reference: Requirements, hidden: BoolArray, run: Run) -> Nearness:
    pattern = Pattern(reference.tables, hidden & reference.primary, hidden & ~reference.primary)
    attacked = audit(reference, pattern, intervals=True, run=run)
    value = reference.tables.value
    shortfall = np.zeros(len(value))
    ends = (value - attacked.lower, reference.lower), (attacked.upper - value, reference.upper)
    for reach, need in ends:
        shortfall = np.maximum(shortfall, _missing(reach, need))
    width = _missing(attacked.upper - attacked.lower, reference.sliding)
    shortfall = np.maximum(shortfall, width)
    # A need that an exact proof calls met is met, whatever rounding says; and one that it refutes is not.
    shortfall = np.where(attacked.failing, np.maximum(shortfall, 1e-3), np.where(attacked.undecided, shortfall, 0.0))
    shortfall = np.where(hidden, shortfall, 1.0)
    return Nearness(attacked.lower, attacked.upper, np.where(reference.primary, shortfall, np.nan))


def _of_noise(reference: Requirements, figures: FloatArray) -> Nearness:
    """Noise protects as far as it goes: who takes the published figure for the true one errs by so much."""
    error = np.abs(figures - reference.tables.value)
    need = np.maximum(np.maximum(reference.lower, reference.upper), reference.sliding)
    return Nearness(figures, figures, np.where(reference.primary, _missing(error, need), np.nan))


def _missing(reach: FloatArray, need: FloatArray) -> FloatArray:
    """Return the share of the need that is not reached."""
    short = np.zeros(len(need))
    np.divide(need - reach, need, out=short, where=need > 0)
    return np.clip(short, 0.0, 1.0)
