"""Strata: classes of units with a mu each, and the `Plan` by which multipliers are drawn in the end.

Quiet classes, far from any sensitive cell, then carry less noise (Cuppen 2000, section 5.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, listing
from cellguard.hierarchy.confidential_codes import suggestion
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.draw.mu import MuChoice, MuOptions, choose_mu, choose_mu_by_stratum, strata_by_need
from cellguard.methods.perturb.draw.zes import Zes

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

    ``whom`` says in words who is perturbed if not all are, and ``only`` which units these are. ``by_unit`` and ``only``
    are None where they say nothing, and for multipliers that were read from a file.
    """

    zes: Zes
    strata: str = ""
    classes: Mapping[str, float] = field(default_factory=dict)
    by_unit: FloatArray | None = None
    whom: str = ""
    only: BoolArray | None = None

    @property
    def repeatable(self) -> bool:
        """Whether further multipliers can be drawn in the same way."""
        return (not self.strata or self.by_unit is not None) and (not self.whom or self.only is not None)

    def mu_of_units(self, units: int) -> FloatArray:
        """Return the mu of each unit, 0 of one that is not perturbed."""
        mu = np.full(units, self.zes.mu) if self.by_unit is None else self.by_unit
        return mu if self.only is None else np.where(self.only, mu, 0.0)

    def plain(self) -> dict[str, Any]:
        """Return the plan as plain data, the units left out."""
        return {"zes": asdict(self.zes), "strata": self.strata, "classes": dict(self.classes), "whom": self.whom}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that `plain` wrote."""
        return cls(Zes(**data["zes"]), data["strata"], data["classes"], whom=data.get("whom", ""))


def by_column(records: Respondents, column: str, texts: Sequence[str], **more: Any) -> Strata:  # noqa: ANN401
    """Return strata from the text that each record has in a column; all records of a unit must have the same.

    >>> from cellguard.methods.perturb.cells.respondents import respondents
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
    tables: Sequence[CalibrationTable],
    zes: Zes,
    options: MuOptions,
    strata: Strata | None = None,
    only: BoolArray | None = None,
) -> tuple[Plan, MuChoice]:
    """Return the plan of ZES(mu), the mu of each class or of all chosen from the tables, and how it was chosen."""
    if strata is not None and strata.mu:
        raise InputError(f"strata: zes_mu finds the mu of {listing(sorted(strata.mu))} itself; leave them out")
    options = conditions(options, zes, tables)
    chosen = (
        choose_mu(tables, options, otherwise=zes.mu, only=only)
        if strata is None
        else choose_mu_by_stratum(tables, strata.of_unit, options, least=strata.least, only=only)
    )
    drawn = Zes(chosen.mu, options.sigma, zes.shape, zes.directions, None)
    if strata is None or chosen.by_unit is None:
        return Plan(drawn), chosen
    return _by_class(drawn, strata, chosen.by_unit), chosen


def conditions(options: MuOptions, zes: Zes, tables: Sequence[CalibrationTable]) -> MuOptions:
    """Return the options with the shape and the directions that multipliers are drawn with."""
    units = tables[0].records.units if tables else 0
    return replace(options, shape=zes.shape, among=units if zes.directions == "balanced" else None)


@dataclass(frozen=True, slots=True)
class Whom:
    """Who is perturbed: units with a record of a weight below ``weight_below``; and, if ``largest``, no others than
    those among the n largest of a sensitive cell (Cuppen 2000, section 8.3: large units with small weights).
    """

    weight_below: float | None = None
    largest: bool = False

    def __str__(self) -> str:
        words = [f"with a weight below {self.weight_below:g}"] if self.weight_below is not None else []
        return " and ".join([*words, *(["among the n largest of a sensitive cell"] if self.largest else [])])

    def units(self, records: Respondents, tables: Sequence[CalibrationTable]) -> BoolArray:
        """Return which units are perturbed."""
        chosen = np.ones(records.units, bool)
        if self.weight_below is not None:
            if records.weight is None:
                raise InputError("`perturb_if`: there are no weights; leave `weight_below` out")
            light = np.zeros(records.units, bool)
            light[records.unit[records.weight < self.weight_below]] = True
            chosen &= light
        return chosen & (strata_by_need(tables) > 0) if self.largest else chosen


def _by_class(zes: Zes, strata: Strata, by_unit: FloatArray) -> Plan:
    there, first = np.unique(strata.of_unit, return_index=True)
    classes = {strata.labels[c]: float(by_unit[i]) for c, i in zip(there.tolist(), first.tolist(), strict=True)}
    return Plan(zes, strata.by, classes, by_unit)
