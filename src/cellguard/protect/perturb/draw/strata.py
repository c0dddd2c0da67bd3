"""Strata: classes of units with a mu each, and the `Plan` by which multipliers are drawn in the end.

Quiet classes, far from any sensitive cell, then carry less noise (Cuppen 2000, section 5.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from cellguard.errors import InputError, listing
from cellguard.hierarchy.hush import suggestion
from cellguard.protect.perturb.cells.calibration import CalibrationTable
from cellguard.protect.perturb.cells.respondents import Respondents
from cellguard.protect.perturb.draw.mu import MuChoice, MuOptions, choose_mu, choose_mu_by_stratum, strata_by_need
from cellguard.protect.perturb.draw.zes import Zes
from cellguard.types import FloatArray, LongArray

BY_NEED = "need"
_NEED_CLASSES = ("all others", "among the largest of a sensitive cell")


@dataclass(frozen=True, eq=False)
class Strata:
    """The class of each unit, a position in ``labels``; ``by`` names the column, or is ``need``.

    ``mu`` are the classes' own, for ZES; a class that is not in it has the mu of the others. With ZES(mu) ``least`` is
    the mu of a class that no sensitive cell asks anything of.
    """

    by: str
    labels: tuple[str, ...]
    of_unit: LongArray
    mu: Mapping[str, float] = field(default_factory=dict)
    least: float = 0.05

    def __post_init__(self) -> None:
        for label, mu in self.mu.items():
            if label not in self.labels:
                near = suggestion(label, self.labels, len(self.of_unit))
                raise InputError(f"strata: no record has {label!r} in {self.by!r}{near}")
            if not 0 < mu < 1:
                raise InputError(f"strata: the mu of {label!r} must be above 0 and below 1, not {mu:g}")


@dataclass(frozen=True, eq=False)
class Plan:
    """How multipliers are drawn: their distribution and, with strata, the mu of each class and of each unit.

    ``by_unit`` is None without strata, and for multipliers that were read from a file.
    """

    zes: Zes
    strata: str = ""
    classes: Mapping[str, float] = field(default_factory=dict)
    by_unit: FloatArray | None = None

    @property
    def repeatable(self) -> bool:
        """Whether further multipliers can be drawn in the same way."""
        return not self.strata or self.by_unit is not None

    def plain(self) -> dict[str, Any]:
        """Return the plan as plain data, the units left out."""
        return {"zes": asdict(self.zes), "strata": self.strata, "classes": dict(self.classes)}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that `plain` wrote."""
        return cls(Zes(**data["zes"]), data["strata"], data["classes"])


def by_column(records: Respondents, column: str, texts: Sequence[str], **more: Any) -> Strata:  # noqa: ANN401
    """Return strata from the text that each record has in a column; all records of a unit must have the same.

    >>> from cellguard.protect.perturb.cells.respondents import respondents
    >>> firms = respondents({}, {"x": [1, 2, 3]}, unit=["a", "b", "a"])
    >>> found = by_column(firms, "size", ["large", "small", "large"])
    >>> found.labels, found.of_unit.tolist()
    (('large', 'small'), [0, 1])
    """
    labels, at = np.unique(np.asarray(texts, np.str_), return_inverse=True)
    of_unit = np.zeros(records.units, np.int64)
    of_unit[records.unit] = at
    torn = np.unique(records.unit[of_unit[records.unit] != at])
    if len(torn):
        raise InputError(
            f"strata: {len(torn)} respondents or holdings have records in several classes of {column!r}, but one "
            "multiplier each; choose a column that is the same in all their records"
        )
    return Strata(column, tuple(labels.tolist()), of_unit, **more)


def by_need(tables: Sequence[CalibrationTable], *, least: float = 0.05) -> Strata:
    """Return two strata: the units among the n largest of a sensitive cell, and all others."""
    return Strata(BY_NEED, _NEED_CLASSES, strata_by_need(tables), least=least)


def plan_zes(zes: Zes, strata: Strata | None = None) -> Plan:
    """Return the plan of ZES: one mu, or that of each class."""
    if strata is None:
        return Plan(zes)
    mu = np.array([strata.mu.get(label, zes.mu) for label in strata.labels])
    return _by_class(zes, strata, mu[strata.of_unit])


def plan_mu(
    tables: Sequence[CalibrationTable], zes: Zes, options: MuOptions, strata: Strata | None = None
) -> tuple[Plan, MuChoice]:
    """Return the plan of ZES(mu), the mu of each class or of all chosen from the tables, and how it was chosen."""
    if strata is not None and strata.mu:
        raise InputError(f"strata: zes_mu finds the mu of {listing(sorted(strata.mu))} itself; leave them out")
    chosen = (
        choose_mu(tables, options, otherwise=zes.mu)
        if strata is None
        else choose_mu_by_stratum(tables, strata.of_unit, options, least=strata.least)
    )
    drawn = Zes(chosen.mu, options.sigma, zes.shape, zes.directions, None)
    if strata is None or chosen.by_unit is None:
        return Plan(drawn), chosen
    return _by_class(drawn, strata, chosen.by_unit), chosen


def _by_class(zes: Zes, strata: Strata, by_unit: FloatArray) -> Plan:
    there, first = np.unique(strata.of_unit, return_index=True)
    classes = {strata.labels[c]: float(by_unit[i]) for c, i in zip(there.tolist(), first.tolist(), strict=True)}
    return Plan(zes, strata.by, classes, by_unit)
