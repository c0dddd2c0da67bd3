"""From tables to multipliers by a fitted method: MARG, MARG after ZES, OPT, and the least loss that is safe.

Each family of tables (those that share a response, or parts of one) is fitted by itself, and each leaf response gets
multipliers of its own: what one response needs is no reason for noise in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.methods.perturb.cells.alike import Parts, families
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.fit.assign import assign
from cellguard.methods.perturb.fit.marg import Marg, marg
from cellguard.methods.perturb.fit.opt import Opt, Optimum, fit_desired, least_loss
from cellguard.methods.perturb.fit.supertable import Supertable, supertable
from cellguard.randomness import stream
from cellguard.run_context import UNWATCHED, Run

Fitted = Literal["marg", "marg_zes", "opt", "least_loss"]
FITTED = get_args(Fitted)
Way = Literal["equal", "size", "strata", "spread"]
_BIAS = (
    "MARG lets cells with dominating contributors grow and all others shrink, always in that direction; "
    "`variant: unbiased` does not"
)


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Which method, with which parameters, and in which ``way`` a mover's factor goes to its units (None: its own)."""

    method: Fitted
    marg: Marg
    opt: Opt
    way: Way | None = None

    @property
    def dealt(self) -> Way:
        """The way in which factors go to units: by default equal for MARG and wherever sums of multipliers are kept."""
        return self.way or ("equal" if self.method == "marg" or self.opt.keep_sum else "spread")


@dataclass(frozen=True, eq=False)
class Fit:
    """What came of a fit, in words for people: ``facts`` for the report and ``notes`` that somebody should read."""

    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def fit_multipliers(
    tables: Sequence[CalibrationTable],
    base: FloatArray,
    how: FitSettings,
    seed: int,
    *purpose: str | int,
    definitions: Parts | None = None,
    only: BoolArray | None = None,
    strata: FloatArray | None = None,
    run: Run = UNWATCHED,
) -> tuple[dict[str, FloatArray], Fit]:
    """Return for each leaf response one multiplier per unit, and what came of the fit.

    ``base`` are the units' own random multipliers: MARG after ZES starts from them, and ``spread`` keeps them apart
    inside a mover. Units that are not in ``only`` stay as they are; ``strata`` is the mu of each unit's class.
    """
    definitions = definitions or {}
    if how.dealt == "strata" and strata is None:
        raise InputError("`assign: strata` needs `strata`, which say how far each class moves")
    leaves: dict[str, FloatArray] = {}
    facts, notes = [], list[str]()
    for number, family in enumerate(families(tables, definitions)):
        names = sorted({leaf for t in family for leaf in definitions.get(t.response, {t.response: 1})})
        held = None if only is None else dict.fromkeys(names, ~only)
        whole = supertable(family, definitions, held=held, wide=how.method in {"opt", "least_loss"})
        if not whole.matrix.shape[1]:
            leaves |= dict.fromkeys(names, np.ones(len(base)))
            continue
        about, factor = _factors(whole, base, how, seed, *purpose, number, run=run)
        for leaf in names:
            leaves[leaf], off = _dealt(whole, leaf, factor, base, how, strata)
            if off:
                notes.append(f"{leaf!r}: {off:,} groups of respondents cannot carry their noise within the bounds")
        facts.append((f"Fit of {', '.join(names)}", about))
        notes += _notes(whole, how)
    return leaves, Fit(tuple(facts), tuple(dict.fromkeys(notes)))


def _factors(
    whole: Supertable, base: FloatArray, how: FitSettings, seed: int, *purpose: str | int, run: Run
) -> tuple[str, FloatArray]:
    """Return how the fit ended, in words, and the factor of each mover."""
    size = f"{len(whole.total):,} cells, {len(whole.units):,} groups of respondents who are in the same cells"
    if how.method in {"marg", "marg_zes"}:
        start = _perturbed_amounts(whole, base) if how.method == "marg_zes" else None
        factor, raked = marg(whole, how.marg, stream(seed, "marg", *purpose), start=start, run=run)
        end = "to the last digit" if raked.residual < 1e-9 else f"to within {100 * raked.residual:.2g} percent"
        return f"{size}; raked in {raked.sweeps:,} sweeps, {_HELD[how.marg.hold]} met {end}", factor
    solve = fit_desired if how.method == "opt" else least_loss
    best = solve(whole, how.opt, seed, "opt", *purpose, run=run)
    return f"{size}; {_optimum(whole, best, how)}", best.factor


_HELD = {"one_way": "margins of one dimension", "two_way": "margins of one and two dimensions", "all": "all margins"}


def _optimum(whole: Supertable, best: Optimum, how: FitSettings) -> str:
    sensitive = int(whole.sensitive.sum())
    served = sensitive - best.beyond - best.short
    words = [f"{served:,} of {sensitive:,} sensitive cells meet their protection level"] if sensitive else []
    if best.beyond:
        words.append(f"{best.beyond:,} {'needs' if best.beyond == 1 else 'need'} more than the cap allows")
    if best.short:
        words.append(f"{best.short:,} cannot be served together with the others")
    if best.relaxed:
        words.append(f"{len(best.relaxed):,} margins moved by more than {how.opt.margins:g} of their total")
    if how.method == "least_loss":
        words.append("the least loss there is" if best.proven else "the least loss that was found")
    return ", ".join(words)


def _perturbed_amounts(whole: Supertable, base: FloatArray) -> FloatArray:
    """Return what each mover adds up to with the units' own multipliers."""
    records = whole.tables[0].records
    amount = np.zeros(len(whole.units))
    for leaf, mover in whole.mover.items():
        moving = mover >= 0
        held = _held_amounts(records, leaf)
        amount += np.bincount(mover[moving], (base * held)[moving], minlength=len(amount))
    return amount


def _held_amounts(records: Respondents, leaf: str) -> FloatArray:
    """Return what each unit contributes to a leaf response in all its records."""
    return np.asarray(np.bincount(records.unit, records.plain(leaf), minlength=records.units), float)


def _dealt(
    whole: Supertable,
    leaf: str,
    factor: FloatArray,
    base: FloatArray,
    how: FitSettings,
    strata: FloatArray | None,
) -> tuple[FloatArray, int]:
    """Return one multiplier per unit, and for how many movers the bounds do not allow what is wanted."""
    mover, amount = whole.mover[leaf], _held_amounts(whole.tables[0].records, leaf)
    stays = np.where(mover >= 0, base, 1.0)
    if how.method == "marg_zes":
        return np.where(mover >= 0, stays * np.append(factor, 1.0)[mover], 1.0), 0
    score = {"size": np.abs(amount), "strata": strata}.get(how.dealt)
    start = stays if how.dealt == "spread" else None
    reach = how.opt.cap if how.method in {"opt", "least_loss"} else np.inf
    dealt = assign(factor, mover, amount, score=score, start=start, lower=max(1 - reach, 1e-3), upper=1 + reach)
    return dealt.multipliers, int(dealt.off.sum())


def _notes(whole: Supertable, how: FitSettings) -> list[str]:
    notes = []
    if whole.stays:
        notes.append(
            f"{whole.stays:,} holdings with records in several cells have one multiplier only, and stay as they are"
        )
    if how.method in {"marg", "marg_zes"} and how.marg.variant == "document" and how.marg.spread:
        notes.append(_BIAS)
    if how.opt.keep_sum and how.method in {"opt", "least_loss"}:
        notes.append("the sum of the multipliers is kept: groups of respondents count by their number, not by size")
    return notes
