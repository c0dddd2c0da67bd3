"""`All`: several rules as one, of which every one must call a cell unsafe; and the rules that a rule is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.rules.rule import Rule, name_of, parameters
from cellguard.table.fact import Fact
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table


@dataclass(frozen=True, slots=True)
class All(Rule):
    """A cell is unsafe if every one of several rules says so; a list of rules, by contrast, means any of them.

    Parameters
    ----------
    rules
        Two rules or more.

    Raises
    ------
    InputError
        If there are fewer than two rules.

    Examples
    --------
    >>> import cellguard as cg
    >>> both = cg.All((cg.MinFrequency(3), cg.PPercent(10)))
    >>> from cellguard.table.facts import contributions
    >>> both.unsafe(contributions([81, 5], [81, 5, 2, 2, 2])).tolist()
    [True, False]
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if len(self.rules) < 2:
            raise InputError("`all` needs at least two rules")
        whole = next((rule for rule in self.rules if rule.whole_rows), None)
        if whole is not None:
            raise InputError(f"`all` cannot take {name_of(whole)}, which judges whole rows; list it beside the others")

    def __str__(self) -> str:
        return " and ".join(map(str, self.rules))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all the rules."""
        return tuple(fact for rule in self.rules for fact in rule.facts)

    @property
    def optional(self) -> tuple[Fact, ...]:
        """What none of the rules needs."""
        needed = {fact for rule in self.rules for fact in rule.facts if fact not in rule.optional}
        return tuple(fact for fact in self.facts if fact not in needed)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether any of the rules needs contributions that are not negative."""
        return any(rule.nonnegative for rule in self.rules)

    @property
    def protection_percent(self) -> float:  # type: ignore[override]
        """The largest of the rules' percentages."""
        return max(rule.protection_percent for rule in self.rules)

    @property
    def subadditive(self) -> bool:
        """No: each part may be safe under another of the rules."""
        return False

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return the smallest of the rules' sensitivities."""
        return np.min([rule.sensitivity(cells) for rule in self.rules], axis=0)

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return which cells are unsafe under every rule."""
        return np.logical_and.reduce([rule.unsafe(cells) for rule in self.rules])

    def upper(self, cells: Facts) -> FloatArray:
        """Return the largest of the rules' formulas; NaN only where none has one."""
        return np.fmax.reduce([rule.upper(cells) for rule in self.rules])

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return the figures of all the rules."""
        each = [rule.figures(table, cells) for rule in self.rules]
        return [" and ".join(told) for told in zip(*each, strict=True)]

    def words(self) -> str:
        """Say that all of it must hold."""
        return ", and ".join(rule.words() for rule in self.rules)

    @property
    def can_fire(self) -> bool:
        """Whether each of the rules can."""
        return all(rule.can_fire for rule in self.rules)

    def doubts(self) -> list[str]:
        """Ask what each of the rules asks."""
        return [doubt for rule in self.rules for doubt in rule.doubts()]


def parts(rule: Rule) -> list[Rule]:
    """Return a rule, or the rules that an `all` is made of."""
    return [part for inner in rule.rules for part in parts(inner)] if isinstance(rule, All) else [rule]


def inner(rule: Rule) -> list[Rule]:
    """Return the rules that are parameters of a rule.

    >>> from cellguard.rules.linear import PPercent
    >>> from cellguard.rules.simple import MinFrequency
    >>> [str(one) for one in inner(All((MinFrequency(3), PPercent(10))))]
    ['min_frequency 3', 'p_percent 10']
    """
    values = [getattr(rule, f.name) for f in parameters(type(rule))]
    each = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return [one for one in each if isinstance(one, Rule)]
