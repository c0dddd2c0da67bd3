"""The sensitivity rules, written down once more from their definitions: which cells are unsafe, and by how much.

All but the plain ones are of one form: unsafe if w1 x1 + w2 x2 + ... + rest (others) > 0, and then the attacker's
interval must reach that sum / -rest above the value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cellguard.verifier.categories import Axes, Criterion, Few, concerned, judge_rows, others_rows, tests
from cellguard.verifier.facts import MUST_PUBLISH, Facts
from cellguard.verifier.numbers import Bools, Floats
from cellguard.verifier.spread import Effective, EitherSign, Judge, KnownInterval
from cellguard.verifier.stages import Refused
from cellguard.verifier.verdict import DEFAULT_PERCENT, NOISE, Verdict, flat, largest


@dataclass(frozen=True)
class Frequency:
    """Unsafe if 0 < count < n (or = n, if inclusive); ``small``: nobody may find out that a frequency is below that."""

    n: int
    inclusive: bool
    percent: float
    small: bool = False
    nonzero: bool = False

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if self.nonzero and facts.nonzero is None:
            raise Refused("the facts have no column nonzero, which a rule needs")
        count = facts.count if facts.nonzero is None or not self.nonzero else facts.nonzero
        few = count <= self.n if self.inclusive else count < self.n
        verdict = flat((facts.count > 0) & few, self.percent, facts, np.isnan(facts.count) | np.isnan(count))
        if not self.small:
            return verdict
        if not facts.frequency:
            raise Refused("rule min_frequency: hide is small, but the table has no frequencies")
        return replace(verdict, further=np.maximum(self.n + self.inclusive - facts.total, 0))


@dataclass(frozen=True)
class Mark:
    """Unsafe where a yes-or-no column says so."""

    column: str
    percent: float

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if self.column not in facts.marks:
            raise Refused(f"the facts have no column mark:{self.column}, which a rule needs")
        mark = facts.marks[self.column]
        return flat(mark == 1, self.percent, facts, np.isnan(mark) & (facts.total != 0))


@dataclass(frozen=True)
class Weighted:
    """Unsafe if the weighted sum of contributions is above 0; with ``percent``, the level is that of the value."""

    weights: tuple[float, ...]
    rest: float
    inclusive: bool
    zero_unsafe: bool
    percent: float | None
    waivers: bool = False

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        tops, missing = largest(facts, len(self.weights))
        X, others = facts.basis, _others(facts, tops)
        victim = _unwaived(facts, tops[0]) if self.waivers else tops[0]
        waived = np.isnan(victim)
        if self.waivers:
            # The largest without a waiver takes the place of the largest; it or the last of the coalition is left over.
            first = np.where(waived, 0, victim)
            others = others + np.maximum(first, tops[-1]) - first
            tops = [first, *tops[1:]]
        S = sum(w * x for w, x in zip(self.weights, tops, strict=True)) + self.rest * others
        S = np.where(waived, -np.inf, S)
        dust = 1e-12 * np.maximum(np.abs(X), 1)
        above = -dust <= S if self.inclusive else dust < S
        unsafe = np.where(X == 0, self.zero_unsafe, above)
        if self.percent is not None or self.rest >= 0:
            return flat(unsafe, DEFAULT_PERCENT if self.percent is None else self.percent, facts, missing)
        size = sum(abs(w) * x for w, x in zip(self.weights, tops, strict=True)) / -self.rest + np.abs(X)
        level = np.maximum(S / -self.rest, 0) * facts.scale
        return Verdict(unsafe & (facts.count != 0), level, NOISE * size * facts.scale, missing)


@dataclass(frozen=True)
class Asked:
    """Unsafe if the largest contributor asked for protection and has more than a share of the total."""

    share: Weighted

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if facts.requested is None:
            raise Refused("the facts have no column requested, which a rule needs")
        verdict = self.share.judge(facts)
        asked = facts.requested == 1
        missing = verdict.missing | np.isnan(facts.requested)
        return Verdict(verdict.unsafe & asked, verdict.upper, verdict.noise, missing)


@dataclass(frozen=True)
class InRows:
    """Unsafe where too many of a row have one of the categories, or together; None stands for every category."""

    by: str
    categories: tuple[tuple[str, ...], ...] | None
    criterion: Criterion

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        if facts.axes is None or not facts.frequency:
            raise Refused("a rule about categories is for tables of frequencies")
        sure = facts.state == MUST_PUBLISH
        tested = tests(facts.axes, self.by, self.categories)
        unsafe, reach = judge_rows(facts.axes, self.by, tested, facts.total, sure, self.criterion)
        nothing = np.zeros(unsafe.size)
        return Verdict(unsafe, nothing, nothing, nothing > 0, reach)

    def added(self, axes: Axes) -> Bools:
        """Return the rows that a table has for this rule only, and does not publish."""
        return others_rows(axes, self.by, self.categories)

    def concerned(self, axes: Axes, count: Floats) -> Floats:
        """Return how many respondents each row of a table concerns, given how many contribute to it."""
        return concerned(axes, self.by, count, self.added(axes))


@dataclass(frozen=True)
class Every:
    """Unsafe if every one of the rules says so; the largest of their levels."""

    rules: tuple[Rule, ...]

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        verdicts = [rule.judge(facts) for rule in self.rules]
        return Verdict(
            np.all([v.unsafe for v in verdicts], axis=0),
            np.max([v.upper for v in verdicts], axis=0),
            np.max([v.noise for v in verdicts], axis=0),
            np.any([v.missing for v in verdicts], axis=0),
            *(
                np.max(np.broadcast_arrays(*(getattr(v, need) for v in verdicts)), axis=0)
                for need in ("further", "below", "wide")
            ),
        )


@dataclass(frozen=True)
class Unknown:
    """A rule that cannot be recomputed: it finds nothing here, and is named as taken on trust."""

    name: str
    words: str

    def judge(self, facts: Facts) -> Verdict:
        """Return that no cell is unsafe."""
        nothing = np.zeros(facts.total.size)
        return Verdict(nothing > 0, nothing, nothing, nothing > 0)


Rule: TypeAlias = (
    Frequency | Mark | Weighted | Asked | InRows | Every | EitherSign | Effective | KnownInterval | Unknown
)


def can_fire(rule: Rule) -> bool:
    """Return whether a rule could call any cell unsafe; one that cannot is as good as none."""
    if isinstance(rule, Every):
        return all(can_fire(part) for part in rule.rules)
    if isinstance(rule, Frequency):
        return rule.n + rule.inclusive > 1 or rule.nonzero
    if isinstance(rule, Weighted):
        equal = float(np.cumsum(rule.weights).max())  # what contributions of 1 each give at most, without the rest
        return equal > 0 or rule.rest > 0 or (rule.inclusive and equal >= 0) or rule.zero_unsafe
    if isinstance(rule, InRows) and isinstance(rule.criterion, Few):
        return rule.criterion.below != 1
    return True


def _others(facts: Facts, tops: list[Floats]) -> Floats:
    """Return what is left of the total without the largest contributions and what their published weights stand for."""
    if facts.excess and len(facts.excess) < len(tops):
        raise Refused("the facts have fewer weights of the largest contributors than a rule needs")
    return facts.basis - sum(facts.excess[: len(tops)]) - sum(tops)


def _unwaived(facts: Facts, largest: Floats) -> Floats:
    if facts.unwaived is None:
        raise Refused("the facts have no column unwaived1, which a rule with waivers needs")
    if (facts.unwaived > largest + 1e-9 * np.maximum(np.abs(largest), 1)).any():
        raise Refused("the largest contribution without a waiver exceeds the largest of all")
    return facts.unwaived


def unknown_names(rules: Iterable[Judge]) -> set[str]:
    """Return the names of the rules that cannot be recomputed."""
    names: set[str] = set()
    for rule in rules:
        if isinstance(rule, Unknown):
            names.add(rule.name)
        elif isinstance(rule, Every):
            names |= unknown_names(rule.rules)
        elif isinstance(rule, EitherSign):
            names |= unknown_names([rule.usual])
    return names
