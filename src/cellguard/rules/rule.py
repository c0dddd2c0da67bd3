"""What every sensitivity rule has: the facts it needs, a measure, a sensitivity, and how far a cell must be protected.

References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), chapter 4, for the rules and the
protection levels. Contributions x1 >= x2 >= ... of the N respondents of a cell sum to X (in a weighted survey X is the
total that the facts relate contributions to, see `Facts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cellguard.errors import InputError
from cellguard.table.facts import BoolArray, Fact, Facts, FloatArray

PROTECTION_PERCENT = 10.0


class Rule(Protocol):
    """A sensitivity rule. Unsafe is a cell with sensitivity above 0 (or at it, for an inclusive rule)."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the rule looks at."""
        ...

    @property
    def nonnegative(self) -> bool:
        """Whether the rule only makes sense for contributions that are not negative."""
        ...

    def sensitivity(self, cells: Facts) -> FloatArray:
        """How far each cell is beyond the rule's limit."""
        ...

    def measure(self, cells: Facts) -> FloatArray:
        """The figure that people know the rule by, in percent (or as a count); NaN where it has no meaning."""
        ...

    def unsafe(self, cells: Facts) -> BoolArray:
        """Which cells are unsafe."""
        ...

    def upper(self, cells: Facts) -> FloatArray:
        """How far above the true value an attacker's interval must reach; NaN where the rule has no formula."""
        ...

    @property
    def protection_percent(self) -> float:
        """The percentage of the value that stands in for a formula."""
        ...


def above(sensitivity: FloatArray, cells: Facts, inclusive: bool) -> BoolArray:
    """Tell where the sensitivity is above 0, or at it if inclusive; an exact tie must not flip by rounding."""
    slack = 1e-12 * np.maximum(np.abs(cells.basis), 1)
    return np.asarray(sensitivity >= -slack if inclusive else sensitivity > slack, bool)


def occupied(cells: Facts) -> BoolArray:
    """Tell which cells have respondents; an empty cell is never unsafe."""
    if cells.count is not None:
        return np.asarray(cells.count > 0, bool)
    return np.asarray(cells.total != 0, bool)


@dataclass(frozen=True, slots=True)
class All:
    """Unsafe if every one of several rules says so (a list of rules, by contrast, means any of them)."""

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if len(self.rules) < 2:
            raise InputError("`all` needs at least two rules")

    def __str__(self) -> str:
        return " and ".join(map(str, self.rules))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all the rules."""
        return tuple(fact for rule in self.rules for fact in rule.facts)

    @property
    def nonnegative(self) -> bool:
        """Whether any of the rules needs contributions that are not negative."""
        return any(rule.nonnegative for rule in self.rules)

    @property
    def protection_percent(self) -> float:
        """The largest of the rules' percentages."""
        return max(rule.protection_percent for rule in self.rules)

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return the smallest of the rules' sensitivities."""
        return np.min([rule.sensitivity(cells) for rule in self.rules], axis=0)

    def measure(self, cells: Facts) -> FloatArray:
        """Return NaN: several rules have no figure in common."""
        return np.full(len(cells.total), np.nan)

    def unsafe(self, cells: Facts) -> BoolArray:
        """Tell which cells are unsafe under every rule."""
        return np.logical_and.reduce([rule.unsafe(cells) for rule in self.rules])

    def upper(self, cells: Facts) -> FloatArray:
        """Return the largest of the rules' formulas; NaN only where none has one."""
        return np.fmax.reduce([rule.upper(cells) for rule in self.rules])


def parts(rule: Rule) -> list[Rule]:
    """Return a rule, or the rules that an `all` is made of."""
    return [part for inner in rule.rules for part in parts(inner)] if isinstance(rule, All) else [rule]


def percent(value: float) -> str:
    """Write a parameter as people do: 10, not 10.0."""
    return f"{value:g}"


def options(inclusive: bool = False, zero_unsafe: bool = False) -> str:
    """Write the switches that differ from the default."""
    return (", inclusive" if inclusive else "") + (", zeros unsafe" if zero_unsafe else "")


def check_whole(rule: str, name: str, value: int, least: int) -> None:
    """Refuse a parameter that is not a whole number, or too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{rule}: {name} must be {least} or more, and whole, not {value}")
