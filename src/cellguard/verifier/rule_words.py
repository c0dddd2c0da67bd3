"""The sensitivity rules as certificates and jobs write them: ``{p_percent: {p: 10}}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.verifier.categories import Criterion, Few, Share
from cellguard.verifier.rules import Asked, Every, Frequency, InRows, Mark, Rule, Unknown, Weighted
from cellguard.verifier.spread import Effective, EitherSign, KnownInterval
from cellguard.verifier.stages import Refused
from cellguard.verifier.verdict import DEFAULT_PERCENT


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
    words.pop("confirmed", None)  # a word of the job about its percentages, and no parameter
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
    nonzero = words.flag("nonzero")
    if hide not in (None, "exact", "small"):
        raise Refused("rule min_frequency: hide is neither exact nor small")
    if nonzero and hide == "small":
        raise Refused("rule min_frequency: nonzero does not go with hide: small")
    return words.finish(Frequency(n, inclusive, percent, hide == "small", nonzero))


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


def _statisticon(words: _Parameters) -> Rule:
    s = words.number("s", above=0)
    if s > 100:
        raise Refused("rule statisticon: s is above 100")
    flags = (words.flag(name) for name in ("both_pairs", "inclusive", "zero_unsafe"))
    return words.finish(KnownInterval(s, *flags))


def _entropy(words: _Parameters) -> Rule:
    return words.finish(Effective(words.number("n", above=1), words.flag("inclusive"), words.percent()))


def _signed(words: _Parameters) -> Rule:
    usual = parse_rule(words.take("usual"))
    if isinstance(usual, InRows | EitherSign | KnownInterval):
        raise Refused("rule signed: usual is not a rule about the contributions of one cell")
    ratio, limit, near = (words.number(name, 0.05) for name in ("sign_ratio", "limit", "near"))
    if not (0 <= ratio < 1 and 0 <= limit < 1 and 0 <= near < 1):
        raise Refused("rule signed: a ratio is not between 0 and 1")
    by = words.take("by") or "both"
    if by not in ("both", "variance", "quantile"):
        raise Refused("rule signed: by is none of both, variance, quantile")
    extremes, least = words.whole("h", 2), words.whole("n", 3)
    return words.finish(EitherSign(usual, ratio, limit, extremes, least, str(by), near, words.percent()))


_SHAPES = {
    "min_frequency": ("n", _min_frequency),
    "dominance": ("n", _dominance),
    "p_percent": ("p", _p_percent),
    "prior_posterior": ("p", _prior_posterior),
    "max_share": ("k", _max_share),
    "linear": ("weights", _linear),
    "request": ("k", _request),
    "statisticon": ("s", _statisticon),
    "entropy": ("n", _entropy),
    "signed": ("usual", _signed),
    "given": ("column", _given),
    "group_disclosure": ("by", _group_disclosure),
    "max_fraction": ("by", _max_fraction),
    "spread": ("by", _spread),
    "min_others": ("by", _min_others),
    "k_disclosure": ("by", _k_disclosure),
    "attribute_disclosure": ("by", _attribute_disclosure),
    "lone_other": ("by", _lone_other),
}
