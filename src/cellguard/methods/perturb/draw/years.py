"""Many years: respondents keep their multipliers when records change, and new respondents draw new ones.

With new multipliers every year, somebody who averages the published totals of a respondent that hardly changes comes
closer to the true one with every year: the noise of Y years is divided by sqrt(Y). With one multiplier kept by the
respondent's key the average is as far off as each year is. The growth of a respondent is then its true growth, unless
attribute multipliers, which are drawn anew each year, blur it a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.draw.saved import Saved


@dataclass(frozen=True, slots=True)
class Years:
    """How many respondents keep the multiplier of an earlier year, how many are new, and how many are gone."""

    kept: int
    new: int
    gone: int


@dataclass(frozen=True, eq=False)
class Carried:
    """Multipliers of an earlier year on the records of this one: those of kept units, and what was drawn for others."""

    base: FloatArray
    attributes: Mapping[str, FloatArray]
    years: Years


def carry(saved: Saved, records: Respondents, fresh: FloatArray, *, fitted: bool, name: str) -> Carried:
    """Give units the multipliers that they had; ``fresh`` are those of all others.

    Multipliers that were ``fitted`` belong to a response, and are kept with it; attribute multipliers are not kept.
    """
    place = np.minimum(np.searchsorted(saved.keys, records.keys), max(len(saved.keys) - 1, 0))
    known: BoolArray = saved.keys[place] == records.keys if len(saved.keys) else np.zeros(records.units, bool)
    if not known.any():
        raise InputError(f"{name}: no respondent of these records has a multiplier in it; are the keys the same?")
    kept = int(known.sum())
    attributes = {leaf: _placed(m, fresh, known, place) for leaf, m in saved.attributes.items()} if fitted else {}
    years = Years(kept, records.units - kept, len(saved.keys) - kept)
    return Carried(_placed(saved.base, fresh, known, place), attributes, years)


def _placed(column: FloatArray, fresh: FloatArray, known: BoolArray, place: Positions) -> FloatArray:
    return np.where(known, column[place], fresh)
