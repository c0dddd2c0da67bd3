"""Attribute multipliers: each response of a unit gets a multiplier of its own, close to the unit's (Cuppen 2000, 6.3).

With one multiplier per unit, the ratio of two perturbed contributions is the true ratio. A little extra noise for each
response suppresses it. Responses with a definition, as Z = X + Y, get none of their own: only the leaves X and Y are
perturbed, and m_Z = (m_X X + m_Y Y) / Z follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtri

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean, listing
from cellguard.methods.perturb.cells.respondents import Respondents, on_grid
from cellguard.methods.perturb.draw.zes import perturbed
from cellguard.randomness import Stream, stream
from cellguard.table.equations import parse_equation

Variant = Literal["none", "delta", "factor", "steps"]


@dataclass(frozen=True, slots=True)
class Attributes:
    """How responses differ: ``delta`` adds N(0, sd) to the unit's multiplier, ``factor`` multiplies it by N(1, sd).

    ``steps`` is for responses that are one quantity in several ``years``: each unit's years are dealt out over a ladder
    of factors, so that any two of them are so far apart that growth is not known to within ``p`` (see `trends`).

    A derived multiplier that is more than ``limit`` away from the unit's is reported.
    """

    variant: Variant = "none"
    sd: float = 0.005
    limit: float = 0.2
    p: float = 0.0
    years: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            raise InputError(f"no variant {self.variant!r}{did_you_mean(self.variant, get_args(Variant))}")
        if not 0 < self.sd < 0.5:
            raise InputError(f"the sd of attribute multipliers must be above 0 and below 0.5, not {self.sd:g}")
        if not self.limit > 0:
            raise InputError(f"the limit of derived multipliers must be above 0, not {self.limit:g}")


@dataclass(frozen=True)
class Definitions:
    """Responses that are signed sums of others, each defined once: ``parts`` by total, and ``leaves`` in the end.

    >>> found = define(["profit = revenue - cost", "revenue = home + export"])
    >>> dict(found.leaves["profit"])
    {'home': 1, 'export': 1, 'cost': -1}
    """

    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def leaves(self) -> Mapping[str, Mapping[str, int]]:
        """For each defined response its leaves with their signs."""
        return {total: self.of(total) for total in self.parts}

    def of(self, response: str) -> dict[str, int]:
        """Return the leaves of a response with their signs; a response without definition is its own leaf."""
        if response not in self.parts:
            return {response: 1}
        leaves: dict[str, int] = {}
        for part, sign in self.parts[response].items():
            for leaf, its in self.of(part).items():
                leaves[leaf] = leaves.get(leaf, 0) + sign * its
        return {leaf: sign for leaf, sign in leaves.items() if sign}


def define(equations: Sequence[str]) -> Definitions:
    """Read definitions as 'total = part + part - part'; each total has one, and none is part of itself."""
    parts: dict[str, dict[str, int]] = {}
    for text in equations:
        (_, total), *terms = parse_equation(text).terms
        if total in parts:
            raise InputError(f"{total!r} has two definitions; give it one, and leave the other relation out")
        parts[total] = {name: -sign for sign, name in terms}
    for total in parts:
        _refuse_circle(total, parts, ())
    return Definitions(parts)


def _refuse_circle(name: str, parts: Mapping[str, Mapping[str, int]], path: tuple[str, ...]) -> None:
    if name in path:
        raise InputError(f"the definitions go in a circle: {' of '.join((*path[path.index(name) :], name))}")
    for part in parts.get(name, ()):
        _refuse_circle(part, parts, (*path, name))


def check_definitions(records: Respondents, definitions: Definitions) -> None:
    """Refuse records in which a defined response is not the sum of its parts."""
    for total, parts in definitions.parts.items():
        for name in (total, *parts):
            records.value(name)
        signed = [sign * np.nan_to_num(records.value(part)) for part, sign in parts.items()]
        size = np.sum(np.abs(signed), axis=0)
        off = np.abs(np.nan_to_num(records.value(total)) - np.sum(signed, axis=0)) > 1e-9 * size + 1e-9
        if off.any():
            rows = [str(row + 1) for row in np.flatnonzero(off)[:5]]
            raise InputError(
                f"{total!r} is not {_spelled(parts)} in {int(off.sum())} records (record {listing(rows)}); "
                "correct them or leave the definition out"
            )


def _spelled(parts: Mapping[str, int]) -> str:
    words = " ".join(f"{'-' if sign < 0 else '+'} {name}" for name, sign in parts.items())
    return words.removeprefix("+ ")


def draw_attributes(
    records: Respondents,
    base: FloatArray,
    leaves: Sequence[str],
    how: Attributes,
    seed: int,
    *,
    purpose: tuple[str | int, ...] = (),
) -> dict[str, FloatArray]:
    """Return for each leaf response one multiplier per unit, around the unit's own.

    Each response has a stream of its own, so that a response that is added later leaves the others as they are.
    ``purpose`` makes it another stream, for replications.
    """
    if how.variant == "none":
        return dict.fromkeys(leaves, base)
    if how.variant == "steps":
        return {leaf: _stepped(records, base, leaf, how, seed, purpose) for leaf in leaves}
    return {leaf: _around(records, base, how, stream(seed, "attribute", leaf, *purpose)) for leaf in leaves}


def _stepped(
    records: Respondents, base: FloatArray, leaf: str, how: Attributes, seed: int, purpose: tuple[str | int, ...]
) -> FloatArray:
    """Return the units' multipliers times the factor of a year: a step of a ladder, dealt out by chance.

    Steps are a little more than (1 + p) / (1 - p) apart, by how much is drawn for each unit, so that no factor can be
    guessed. A response that is no year keeps the units' own multipliers.
    """
    together = next((tuple(years) for years in how.years if leaf in years), None)
    if together is None:
        return base
    source, order = stream(seed, "trend", *together, *purpose), records.owners.order
    many = len(together)
    place = np.argsort(np.argsort(source.uniform(len(order) * many).reshape(-1, many), axis=1), axis=1)
    wide = (1 + how.p) / (1 - how.p) * (1 + how.p * source.uniform(len(order)))
    multipliers = np.array(base, float)
    multipliers[order] *= wide ** (place[:, together.index(leaf)] - (many - 1) / 2)
    return multipliers


def _around(records: Respondents, base: FloatArray, how: Attributes, source: Stream) -> FloatArray:
    multipliers = np.zeros(len(base))
    left = records.owners.order
    while len(left):
        extra = how.sd * ndtri(source.uniform(len(left)))
        multipliers[left] = base[left] + extra if how.variant == "delta" else base[left] * (1 + extra)
        left = left[multipliers[left] <= 0]
    return multipliers


def contributions(
    records: Respondents, multipliers: Mapping[str, FloatArray], definitions: Definitions, response: str
) -> FloatArray:
    """Return what each record adds to the perturbed totals of a response: of its own, or of its leaves.

    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firm = respondents({}, {"Z": [150], "X": [100], "Y": [50]})
    >>> mine = {"X": np.array([1.105]), "Y": np.array([1.098])}
    >>> contributions(firm, mine, define(["Z = X + Y"]), "Z").round(6).tolist()
    [165.4]
    """
    parts = definitions.of(response)
    if parts == {response: 1}:
        return perturbed(records, response, multipliers[response])
    return on_grid(np.sum([s * perturbed(records, leaf, multipliers[leaf]) for leaf, s in parts.items()], axis=0))


def derived_multipliers(
    records: Respondents, multipliers: Mapping[str, FloatArray], definitions: Definitions, response: str
) -> FloatArray:
    """Return m_Z of each record for a defined response: (sum of m X) / Z, NaN where Z is 0 or missing."""
    value = np.nan_to_num(records.value(response))
    noise = contributions(records, multipliers, definitions, response) - records.weighted(response)
    return 1 + np.divide(noise, value, out=np.full(len(value), np.nan), where=value != 0)


def far_derived(
    records: Respondents,
    base: FloatArray,
    multipliers: Mapping[str, FloatArray],
    definitions: Definitions,
    limit: float,
) -> dict[str, tuple[str, ...]]:
    """Return for each defined response the keys of units with |m_Z - m| above the limit; Z near 0 does that."""
    far = {}
    for response in definitions.parts:
        away = np.abs(derived_multipliers(records, multipliers, definitions, response) - base[records.unit]) > limit
        far[response] = tuple(np.unique(records.keys[records.unit[away]]).tolist())
    return {response: keys for response, keys in far.items() if keys}
