"""The sensitivity rules, written down once more from their definitions: which cells are unsafe, and by how much.

All but the plain ones are of one form: unsafe if w1 x1 + w2 x2 + ... + rest (others) > 0, and then the attacker's
interval must reach that sum / -rest above the value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from cellguard.verify.categories import Axes, Criterion, Few, Share, judge_rows, others_rows, tests
from cellguard.verify.facts import MUST_PUBLISH, Facts
from cellguard.verify.numbers import Bools, Floats
from cellguard.verify.stages import Refused

DEFAULT_PERCENT = 10.0
# A few roundings of float64, relative to the largest number of a formula.
NOISE = 2e-15


@dataclass(frozen=True)
class Verdict:
    """What a rule says of each cell; ``upper`` is the level above the value, ``noise`` how far rounding may be off.

    ``missing`` marks cells whose facts the rule lacks. ``further`` is how far above the value an interval must reach
    besides, without the lower level following.
    """

    unsafe: Bools
    upper: Floats
    noise: Floats
    missing: Bools
    further: Floats | float = 0.0


@dataclass(frozen=True)
class Frequency:
    """Unsafe if 0 < count < n (or = n, if inclusive); ``small``: nobody may find out that a frequency is below that."""

    n: int
    inclusive: bool
    percent: float
    small: bool = False

    def judge(self, facts: Facts) -> Verdict:
        """Return the verdict on each cell."""
        few = facts.count <= self.n if self.inclusive else facts.count < self.n
        verdict = _flat((facts.count > 0) & few, self.percent, facts, np.isnan(facts.count))
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
        return _flat(mark == 1, self.percent, facts, np.isnan(mark) & (facts.total != 0))


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
        if len(facts.tops) < len(self.weights):
            raise Refused(f"the facts have fewer than the {len(self.weights)} largest contributions that a rule needs")
        tops, missing = _contributions(facts, len(self.weights))
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
            return _flat(unsafe, DEFAULT_PERCENT if self.percent is None else self.percent, facts, missing)
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
            np.max(np.broadcast_arrays(*(v.further for v in verdicts)), axis=0),
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


Rule: TypeAlias = Frequency | Mark | Weighted | Asked | InRows | Every | Unknown


def _flat(unsafe: Bools, percent: float, facts: Facts, missing: Bools) -> Verdict:
    """Return a verdict whose level is a percentage of the value; a frequency needs width instead."""
    upper = 0 * facts.total if facts.frequency else percent / 100 * np.abs(facts.total)
    return Verdict(unsafe & (facts.count != 0), upper, NOISE * upper, missing)


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


def _contributions(facts: Facts, wanted: int) -> tuple[list[Floats], Bools]:
    """Return the largest contributions, 0 where there are fewer respondents, and which cells lack one."""
    largest, missing = [], np.zeros(facts.total.size, dtype=bool)
    for rank, top in enumerate(facts.tops[:wanted], start=1):
        none = np.isnan(top)
        missing |= none & ~(facts.count < rank) & (facts.basis != 0)
        largest.append(np.where(none, 0.0, top))
    dust = 1e-9 * np.maximum(np.abs(facts.basis), 1)
    rising = any((low > high + dust).any() for high, low in pairwise(largest))
    if rising or (facts.total < 0).any() or any((top < 0).any() for top in largest):
        raise Refused("a concentration rule meets negative values, or contributions that are not largest first")
    return largest, missing


def unknown_names(rules: Iterable[Rule]) -> set[str]:
    """Return the names of the rules that cannot be recomputed."""
    names: set[str] = set()
    for rule in rules:
        if isinstance(rule, Unknown):
            names.add(rule.name)
        elif isinstance(rule, Every):
            names |= unknown_names(rule.rules)
    return names


def parse_rule(given_rule: object) -> Rule:
    """Return the rule that ``{name: parameters}`` describes."""
    if not isinstance(given_rule, Mapping) or len(given_rule) != 1:
        raise Refused("a rule is not one name with its parameters")
    name, given = next(iter(given_rule.items()))
    if name == "all":
        if not isinstance(given, list) or not given:
            raise Refused("rule all is not a list of rules")
        rules = tuple(parse_rule(rule) for rule in given)
        if any(isinstance(rule, InRows) for rule in rules):
            raise Refused("rule all holds a rule about rows")
        return Every(rules)
    if name not in _SHAPES:
        return Unknown(str(name), json.dumps(given, sort_keys=True, default=str))
    first, shape = _SHAPES[name]
    words = dict(given) if isinstance(given, Mapping) else {first: given}
    try:
        return shape(_Parameters(name, words))
    except (TypeError, OverflowError):
        raise Refused(f"rule {name} has a wrong parameter") from None


class _Parameters:
    """The parameters of a rule, each taken once; what is left over is unknown."""

    def __init__(self, name: str, words: dict[str, Any]) -> None:
        self._name, self._words = name, words

    def number(self, key: str, default: float | None = None, *, above: float | None = None) -> float:
        value = self._words.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise Refused(f"rule {self._name}: {key} is missing or not a number")
        if above is not None and not value > above:
            raise Refused(f"rule {self._name}: {key} is not above {above:g}")
        return float(value)

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.number(key, default, above=0)
        if value != int(value) or (value > 1000 and key != "n"):
            raise Refused(f"rule {self._name}: {key} is not a whole number")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self._words.pop(key, False)
        if not isinstance(value, bool):
            raise Refused(f"rule {self._name}: {key} is not true or false")
        return value

    def percent(self) -> float:
        value = self.number("protection_percent", DEFAULT_PERCENT)
        if value < 0:
            raise Refused(f"rule {self._name}: protection_percent is negative")
        return value

    def take(self, key: str) -> object:
        return self._words.pop(key, None)

    def finish(self, rule: Rule) -> Rule:
        if self._words:
            raise Refused(f"rule {self._name} has a parameter that is not known")
        return rule


def _weighted(
    words: _Parameters,
    weights: tuple[float, ...],
    rest: float,
    percent: float | None = None,
    *,
    waivers: bool = False,
) -> Rule:
    zero_unsafe = False if percent is not None else words.flag("zero_unsafe")
    return words.finish(Weighted(weights, rest, words.flag("inclusive"), zero_unsafe, percent, waivers))


def _min_frequency(words: _Parameters) -> Rule:
    n, inclusive, percent, hide = words.whole("n"), words.flag("inclusive"), words.percent(), words.take("hide")
    if hide not in (None, "exact", "small"):
        raise Refused("rule min_frequency: hide is neither exact nor small")
    return words.finish(Frequency(n, inclusive, percent, hide == "small"))


def _dominance(words: _Parameters) -> Rule:
    n, share = words.whole("n"), words.number("k", above=0) / 100
    return _weighted(words, (1 - share,) * min(n, 1000), -share)


def _p_percent(words: _Parameters) -> Rule:
    p, coalition = words.number("p", above=0), words.whole("coalition", 1)
    return _weighted(words, (p / 100,) + (0.0,) * coalition, -1.0, waivers=words.flag("waivers"))


def _prior_posterior(words: _Parameters) -> Rule:
    p, q = words.number("p", above=0), words.number("q", above=0)
    weights = (p / q,) + (0.0,) * words.whole("coalition", 1)
    return _weighted(words, weights, -1.0, waivers=words.flag("waivers"))


def _max_share(words: _Parameters) -> Rule:
    share = words.number("k", above=0) / 100
    return _weighted(words, (1 - share,), -share, words.percent())


def _request(words: _Parameters) -> Rule:
    share = words.number("k", above=0) / 100
    limit = Weighted((1 - share,), -share, words.flag("inclusive"), False, words.percent())
    return words.finish(Asked(limit))


def _linear(words: _Parameters) -> Rule:
    weights = words.take("weights")
    if not isinstance(weights, list) or not weights:
        raise Refused("rule linear: weights is not a list of numbers")
    numbers = tuple(_Parameters("linear", {"weights": w}).number("weights") for w in weights)
    return _weighted(words, numbers, words.number("rest"))


def _given(words: _Parameters) -> Rule:
    column = words.take("column")
    if not isinstance(column, str):
        raise Refused("rule given: column is not text")
    return words.finish(Mark(column, words.percent()))


def _in_rows(words: _Parameters, criterion: Criterion, *, marked: bool = False, together: bool = False) -> Rule:
    by, named = words.take("by"), words.take("sensitive") or []
    if not isinstance(by, str) or not isinstance(named, list) or not all(isinstance(word, str) for word in named):
        raise Refused("a rule about categories does not name them, or their dimension")
    if marked and not named:
        raise Refused("a rule about sensitive categories names none")
    single = [(word,) for word in named]
    several = [tuple(named)] if together and len(named) > 1 else []
    return words.finish(InRows(by, tuple(single + several) or None, criterion))


def _group_disclosure(words: _Parameters) -> Rule:
    return _in_rows(words, Few(0, 1, words.number("below", 0)), marked=True, together=True)


def _share_of_row(words: _Parameters, *, together: bool) -> Rule:
    p = words.number("p", 40, above=0)
    if p > 100:
        raise Refused("a rule about shares: p is above 100")
    return _in_rows(words, Share(p), marked=True, together=together)


def _max_fraction(words: _Parameters) -> Rule:
    return _share_of_row(words, together=True)


def _spread(words: _Parameters) -> Rule:
    return _share_of_row(words, together=False)


def _min_others(words: _Parameters) -> Rule:
    return _in_rows(words, Few(0, words.whole("n", 3)), marked=True, together=True)


def _k_disclosure(words: _Parameters) -> Rule:
    return _in_rows(words, Few(0, words.number("k", above=-1) + 1))


def _attribute_disclosure(words: _Parameters) -> Rule:
    return _in_rows(words, Few(0, 1))


def _lone_other(words: _Parameters) -> Rule:
    return _in_rows(words, Few(1, 2))


_SHAPES = {
    "min_frequency": ("n", _min_frequency),
    "dominance": ("n", _dominance),
    "p_percent": ("p", _p_percent),
    "prior_posterior": ("p", _prior_posterior),
    "max_share": ("k", _max_share),
    "linear": ("weights", _linear),
    "request": ("k", _request),
    "given": ("column", _given),
    "group_disclosure": ("by", _group_disclosure),
    "max_fraction": ("by", _max_fraction),
    "spread": ("by", _spread),
    "min_others": ("by", _min_others),
    "k_disclosure": ("by", _k_disclosure),
    "attribute_disclosure": ("by", _attribute_disclosure),
    "lone_other": ("by", _lone_other),
}
