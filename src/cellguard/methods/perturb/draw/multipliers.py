"""`Multipliers`: drawn once for a calibration set of tables, and then used for every table there will ever be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.draw.attributes import (
    Attributes,
    Definitions,
    check_definitions,
    contributions,
    draw_attributes,
    far_derived,
)
from cellguard.methods.perturb.draw.balanced import Balance, Balanced, balance
from cellguard.methods.perturb.draw.mu import MuChoice, MuOptions
from cellguard.methods.perturb.draw.saved import Saved, aligned, check_inputs, fingerprints
from cellguard.methods.perturb.draw.strata import Plan, Strata, Whom, plan_mu, plan_zes
from cellguard.methods.perturb.draw.years import Years, carry
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, weight_warnings
from cellguard.methods.perturb.fit.fitting import FITTED, Fit, FitSettings, Way, fit_multipliers
from cellguard.methods.perturb.fit.marg import Marg
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.randomness import checked_seed
from cellguard.run_context import UNWATCHED, Run

Method = Literal["zes", "zes_mu", "balanced", "marg", "marg_zes", "opt", "least_loss"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How tables are perturbed: ``zes`` draws with the mu of ``zes``, ``zes_mu`` finds mu as ``mu`` says, ``balanced``
    draws within a range and balances the noise of cells that need none.

    The fitted methods draw with ``zes`` too, and then fit as ``marg`` or ``opt`` say, dealing out in the way ``assign``
    (None: the method's own). Contributions are rounded to ``decimals``, so that all sums of them have no more and
    tables add up as published; those to the leaf responses of ``coarser`` to the fewer decimals that their values have:
    else decimals would tell in which cells somebody is perturbed.
    """

    method: Method = "zes"
    zes: Zes = field(default_factory=Zes)
    mu: MuOptions = field(default_factory=MuOptions)
    attributes: Attributes = field(default_factory=Attributes)
    decimals: int = 2
    marg: Marg = field(default_factory=Marg)
    opt: Opt = field(default_factory=Opt)
    assign: Way | None = None
    coarser: Mapping[str, int] = field(default_factory=dict)
    balanced: Balanced = field(default_factory=Balanced)

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise InputError(f"no method {self.method!r}{did_you_mean(self.method, get_args(Method))}")
        if not 0 <= self.decimals <= 9:
            raise InputError(f"decimals must be from 0 to 9, not {self.decimals}")
        if self.fitted and self.attributes.variant != "none":
            raise InputError(f"{self.method} gives each response multipliers of its own; leave `attributes` out")

    @property
    def fitted(self) -> FitSettings | None:
        """What a fitted method needs to know; None for one that draws only."""
        for method in FITTED:
            if method == self.method:
                return FitSettings(method, self.marg, self.opt, self.assign)
        return None

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        settings = asdict(self)
        extreme = settings["mu"].pop("extreme")
        return settings if extreme is None else settings | {"extreme": [extreme["n"], extreme["k"]]}


@dataclass(frozen=True, slots=True)
class Redrawn:
    """How often units of failing cells drew again, how many units did, and how many would still have to."""

    rounds: int
    units: int
    left: int


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One multiplier per unit (``base``) and, around it, one for each leaf response. Confidential.

    ``plan`` says how they were drawn, ``choice`` how ZES(mu) came to its mu, ``fit`` how a fitted method ended,
    ``redrawn`` who drew again, ``years`` whose multipliers are those of an earlier year, ``balance`` what was balanced.
    """

    records: Respondents
    base: FloatArray
    attributes: Mapping[str, FloatArray]
    settings: Settings
    plan: Plan
    definitions: Definitions
    seed: int
    choice: MuChoice | None = None
    notes: tuple[str, ...] = ()
    fit: Fit | None = None
    redrawn: Redrawn | None = None
    years: Years | None = None
    balance: Balance | None = None

    def known(self, responses: Sequence[str]) -> Multipliers:
        """Return these multipliers as an attacker may know them who knows the method: without balanced noise.

        Only the noise of guarded units is drawn by chance alone; all others then have the multiplier 1.
        """
        if self.balance is None:
            return self
        guarded = np.isin(self.records.keys, np.array(self.balance.guarded, np.str_))
        leaves = {leaf: np.where(guarded, m, 1.0) for leaf, m in self.by_leaf(responses).items()}
        return replace(self, base=np.where(guarded, self.base, 1.0), attributes=leaves)

    def of(self, leaf: str) -> FloatArray:
        """Return the multipliers of a leaf response; of one that is new, drawn from a stream of its own."""
        if leaf not in self._drawn:
            how = self.settings.attributes
            self._drawn.update(draw_attributes(self.records, self.base, [leaf], how, self.seed))
        return self._drawn[leaf]

    @cached_property
    def _drawn(self) -> dict[str, FloatArray]:
        return dict(self.attributes)

    def by_leaf(self, responses: Sequence[str]) -> dict[str, FloatArray]:
        """Return the multipliers of all leaves of the responses."""
        return {leaf: self.of(leaf) for response in responses for leaf in self.definitions.of(response)}

    def grains(self, response: str) -> FloatArray:
        """Return what each record adds to perturbed totals, as whole numbers of the last decimal."""
        parts = self.definitions.of(response)
        plain = Definitions()
        added = {x: contributions(self.records, {x: self.of(x)}, plain, x) for x in parts}
        return np.asarray(np.sum([s * self._rounded(added[x], x) for x, s in parts.items()], axis=0), float)

    def decimals(self, response: str) -> int:
        """Return how many decimals sums of what a response adds have."""
        settings = self.settings
        return max(settings.coarser.get(leaf, settings.decimals) for leaf in self.definitions.of(response))

    def _rounded(self, added: FloatArray, leaf: str) -> FloatArray:
        finer = self.settings.decimals - self.decimals(leaf)
        grains = np.rint(added * 10.0 ** (self.settings.decimals - finer)) * 10.0**finer
        if np.abs(grains).sum() >= 2.0**53:
            raise InputError("the values are too large for so many decimals; say fewer `decimals`")
        return grains

    def contributions(self, response: str) -> FloatArray:
        """Return what each record adds to perturbed totals, rounded to the decimals of the settings."""
        return self.grains(response) / 10.0**self.settings.decimals

    def totals(self, table: CalibrationTable) -> FloatArray:
        """Return the perturbed totals of a table, exact to the last decimal."""
        return table.sums(self.grains(table.response)) / 10.0**self.settings.decimals

    def mark(self, table: CalibrationTable) -> str:
        """Return a digest of what a table publishes: tables with one mark are the same table, whatever their names."""
        cells = table.table
        rows = zip(range(len(cells)), self.totals(table).tolist(), cells.unpublished.tolist(), strict=True)
        shown = sorted([cells.cell_name(cell), total] for cell, total, hidden in rows if not hidden)
        about = [table.response, [d.name for d in cells.dimensions], shown]
        return hashlib.sha256(json.dumps(about, ensure_ascii=False).encode()).hexdigest()

    def save(self, calibration: Sequence[CalibrationTable], inputs: Mapping[str, str] | None = None) -> Saved:
        """Return what is to be kept; ``inputs`` are digests of files, besides the fingerprints of the records."""
        in_order = self.records.owners.in_order
        drawn = {leaf: m for leaf, m in self._drawn.items() if m is not self.base}
        tables = [{"name": t.name, "response": t.response, "cells": self.mark(t)} for t in calibration]
        parameters = {
            "settings": self.settings.plain(),
            "plan": self.plan.plain(),
            "definitions": {total: dict(parts) for total, parts in self.definitions.parts.items()},
            "tables": tables,
            **({} if self.redrawn is None else {"redrawn": asdict(self.redrawn)}),
            **({} if self.years is None else {"years": asdict(self.years)}),
            **({} if self.balance is None else {"balance": asdict(self.balance)}),
        }
        return Saved(
            in_order(self.records.keys),
            in_order(self.base),
            {leaf: in_order(m) for leaf, m in sorted(drawn.items())},
            self.seed,
            parameters,
            {**fingerprints(self.records), **(inputs or {})},
        )


def make_multipliers(
    records: Respondents,
    tables: Sequence[CalibrationTable],
    settings: Settings | None = None,
    *,
    seed: int,
    definitions: Definitions | None = None,
    strata: Strata | None = None,
    whom: Whom | None = None,
    earlier: Saved | None = None,
    run: Run = UNWATCHED,
) -> Multipliers:
    """Draw multipliers for a calibration set of tables; with ``strata`` each class of units has a mu of its own.

    ``whom`` says who is perturbed, if not all are. ``earlier`` are multipliers of another year, which their respondents
    keep.
    """
    settings, definitions, seed = settings or Settings(), definitions or Definitions(), checked_seed(seed)
    check_definitions(records, definitions)
    drawn = settings.balanced.zes if settings.method == "balanced" else settings.zes
    plan, choice, notes = plan_zes(drawn, strata), None, list(weight_warnings(records))
    only = None if whom is None else whom.units(records, tables)
    if settings.method == "zes_mu":
        plan, choice = plan_mu(tables, settings.zes, settings.mu, strata, only)
        if not choice.asked:
            notes.append(f"{choice.words()}; mu = {plan.zes.mu:g} was used{' in every stratum' if strata else ''}")
    if plan.zes.deviation == 0 and plan.zes.shape != "unimodal":
        notes.append("sigma is 0: an attacker who learns one multiplier knows how far from 1 all of them are")
    plan = replace(plan, whom="" if whom is None else str(whom), only=only)
    purpose = "zes" if earlier is None else "new respondents"
    base = draw_multipliers(records, plan.zes, seed, mu=plan.by_unit, only=only, purpose=purpose)
    made = Multipliers(records, base, {}, settings, plan, definitions, seed, choice, tuple(notes))
    if earlier is not None:
        made = _with_years(made, earlier)
    elif settings.fitted is not None:
        leaves, fit = fitted_leaves(made, tables, run=run)
        return replace(made, attributes=leaves, notes=(*notes, *fit.notes), fit=fit)
    elif settings.method == "balanced":
        base, balanced = balance(made, tables, settings.balanced)
        made = replace(made, base=base, balance=balanced)
    return _with_leaves(made, tables)


def _with_years(made: Multipliers, earlier: Saved) -> Multipliers:
    """Give respondents of an earlier year the multipliers that they had then."""
    was = earlier.parameters["settings"]["method"]
    carried = carry(earlier, made.records, made.base, fitted=was in FITTED, name="the earlier multipliers")
    years, notes = carried.years, list(made.notes)
    notes.append(f"{years.kept:,} respondents keep their multipliers of an earlier year, {years.new:,} have new ones")
    if made.settings.fitted is not None:
        notes.append(f"{made.settings.method} fits nothing anew: new respondents draw as zes does")
    return replace(made, base=carried.base, attributes=carried.attributes, choice=None, notes=tuple(notes), years=years)


def _with_leaves(made: Multipliers, tables: Sequence[CalibrationTable]) -> Multipliers:
    """Return multipliers with those of each leaf response, and a note if one that follows from them is far off."""
    records, settings, notes = made.records, made.settings, list(made.notes)
    leaves = made.by_leaf([t.response for t in tables])
    far = far_derived(records, made.base, leaves, _used(made.definitions, leaves), settings.attributes.limit)
    for response, keys in far.items():
        notes.append(
            f"{response!r}: the derived multiplier of {len(keys)} contributors is more than "
            f"{settings.attributes.limit:g} away from their own; the total is small beside its parts"
        )
    return replace(made, attributes=leaves, notes=tuple(notes))


def fitted_leaves(
    made: Multipliers, tables: Sequence[CalibrationTable], *purpose: str | int, run: Run = UNWATCHED
) -> tuple[dict[str, FloatArray], Fit]:
    """Return the multipliers of each leaf response by a fitted method, from the units' own as they were drawn."""
    how = made.settings.fitted
    if how is None:
        raise InputError(f"{made.settings.method} draws multipliers and fits nothing")
    definitions, classes = made.definitions.leaves, made.plan.by_unit
    return fit_multipliers(
        tables,
        made.base,
        how,
        made.seed,
        *purpose,
        definitions=definitions,
        only=made.plan.only,
        strata=classes,
        run=run,
    )


def _used(definitions: Definitions, leaves: Mapping[str, FloatArray]) -> Definitions:
    """Return the definitions of which all leaves have multipliers."""
    return Definitions({t: p for t, p in definitions.parts.items() if set(definitions.of(t)) <= leaves.keys()})


def load_multipliers(
    saved: Saved, records: Respondents, inputs: Mapping[str, str] | None = None, *, name: str = "the multipliers"
) -> Multipliers:
    """Return saved multipliers for the records that they were made for; for any other records they are refused."""
    check_inputs(saved, {**fingerprints(records), **(inputs or {})}, name=name)
    base, attributes = aligned(saved, records)
    about = saved.parameters["settings"]
    extreme = about.get("extreme")
    if extreme is not None:
        raise InputError(f"{name} were made with a rule for supersensitive cells that this version cannot read back")
    settings = Settings(
        about["method"],
        Zes(**about["zes"]),
        MuOptions(**about["mu"]),
        Attributes(**{**about["attributes"], "years": tuple(map(tuple, about["attributes"].get("years", ())))}),
        about["decimals"],
        Marg(**{**about["marg"], "keep": tuple(about["marg"]["keep"])}) if "marg" in about else Marg(),
        Opt(**about.get("opt", {})),
        about.get("assign"),
        about.get("coarser", dict.fromkeys(about.get("whole", ()), 0)),
        Balanced(**about.get("balanced", {})),
    )
    definitions = Definitions(saved.parameters["definitions"])
    plan = Plan.read(saved.parameters["plan"])
    again, years, balanced = (saved.parameters.get(name) for name in ("redrawn", "years", "balance"))
    return Multipliers(
        records,
        base,
        attributes,
        settings,
        plan,
        definitions,
        saved.seed,
        redrawn=None if again is None else Redrawn(**again),
        years=None if years is None else Years(**years),
        balance=None if balanced is None else Balance(**{**balanced, "guarded": tuple(balanced["guarded"])}),
    )
