"""What a rule says of each cell of a table, and what rules ask of its facts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cellguard.verifier.facts import Facts
from cellguard.verifier.numbers import Bools, Floats
from cellguard.verifier.stages import Refused

DEFAULT_PERCENT = 10.0
# A few roundings of float64, relative to the largest number of a formula.
NOISE = 2e-15


@dataclass(frozen=True)
class Verdict:
    """What a rule says of each cell; ``upper`` is the level above the value, ``noise`` how far rounding may be off.

    ``missing`` marks cells whose facts the rule lacks. ``further`` is how far above the value an interval must reach
    besides, without the lower level following, ``below`` how far below it, and ``wide`` how wide it must be.
    """

    unsafe: Bools
    upper: Floats
    noise: Floats
    missing: Bools
    further: Floats | float = 0.0
    below: Floats | float = 0.0
    wide: Floats | float = 0.0


def flat(unsafe: Bools, percent: float, facts: Facts, missing: Bools) -> Verdict:
    """Return a verdict whose level is a percentage of the value; a frequency needs width instead.

    Where contributions are negative it is one of the sum of sizes.
    """
    upper = 0 * facts.total if facts.frequency else percent / 100 * facts.gross
    return Verdict(unsafe & (facts.count != 0), upper, NOISE * upper, missing)


def largest(facts: Facts, wanted: int) -> tuple[list[Floats], Bools]:
    """Return the largest contributions, 0 where there are fewer respondents, and which cells lack one."""
    if len(facts.tops) < wanted:
        raise Refused(f"the facts have fewer than the {wanted} largest contributions that a rule needs")
    largest, missing = [], np.zeros(facts.total.size, dtype=bool)
    for rank, top in enumerate(facts.tops[:wanted], start=1):
        none = np.isnan(top)
        missing |= none & ~(facts.count < rank) & (facts.basis != 0)
        largest.append(np.where(none, 0.0, top))
    dust = 1e-9 * np.maximum(np.abs(facts.basis), 1)
    rising = any((low > high + dust).any() for high, low in pairwise(largest))
    signed = facts.signs and (facts.signs[1] < 0).any()
    negative = (facts.basis < 0).any() or (facts.sizes is None and (signed or (facts.total < 0).any()))
    if rising or negative or any((top < 0).any() for top in largest):
        raise Refused("a concentration rule meets negative values, or contributions that are not largest first")
    return largest, missing
