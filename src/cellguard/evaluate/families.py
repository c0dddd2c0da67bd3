"""Families of rules: all that a rule is but its strictness, as people write them to compare rules.

A family is written as a name with numbers, ``dominance n=2``; a rule inside another one stands in brackets:
``signed usual=(dominance n=2)``, ``all (p_percent) (min_frequency n=3)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from cellguard.errors import InputError, did_you_mean
from cellguard.job.rulespec import CONFIRMED, parse_rule, refuse_shares
from cellguard.reading.vocabulary import YES
from cellguard.rules.all_of import All
from cellguard.rules.catalogue import rules as catalogue
from cellguard.rules.rule import Percent, Rule, required

_UNUSUAL = (50.125, 87.375, 25.125, 12.375, 6.125, 2.375, 99.875)  # written, they stand out from what people give
_WORD = re.compile(r"[^\s()=]+=\([^()]*\)|\([^()]*\)|[^\s()]+")
_ALL = "all"


@dataclass(frozen=True)
class Family:
    """A kind of rule whose strictness is free: its one percentage that is not given, or that of a rule inside it.

    >>> dominance = Family.of("dominance", n=2)
    >>> dominance.free, str(dominance.rule(89)), str(dominance)
    ('k', 'dominance (2, 89)', 'dominance (2, k)')
    >>> str(Family.of("signed", usual=dominance).rule(90))
    'signed (dominance (2, 90))'
    """

    name: str
    given: tuple[tuple[str, Any], ...]
    free: str

    @classmethod
    def of(cls, name: str, **given: Any) -> Family:  # noqa: ANN401
        """Return the family of the rule that jobs know by this name, with all parameters given but one percentage."""
        kinds = catalogue()
        if name not in kinds:
            raise InputError(f"there is no rule {name!r}{did_you_mean(name, kinds)}")
        hints = get_type_hints(kinds[name], include_extras=True)
        missing = [p for p in required(kinds[name]) if p not in given]
        inside = [p for p, value in given.items() if isinstance(value, Family)]
        if len(inside) == 1 and not missing:
            return cls(name, tuple(sorted(given.items())), given[inside[0]].free)
        if len(missing) != 1 or hints[missing[0]] != Percent or inside:
            lacking = f"it lacks {', '.join(missing)}" if missing else "it has no percentage that is free"
            raise InputError(
                f"to compare {name!r} at equal strictness all parameters must be given but one percentage; {lacking}"
            )
        return cls(name, tuple(sorted(given.items())), missing[0])

    @classmethod
    def all_of(cls, parts: Sequence[Family | Rule]) -> Family:
        """Return the family of several rules that must all call a cell unsafe; of one the strictness is free.

        >>> import cellguard as cg
        >>> str(Family.all_of([Family.of("p_percent"), cg.MinFrequency(5)]))
        'p_percent p and min_frequency 5'
        """
        free = [part for part in parts if isinstance(part, Family)]
        if len(free) != 1:
            raise InputError(f"of the rules in `all` exactly one must have a percentage that is free, not {len(free)}")
        return cls(_ALL, tuple((str(place), part) for place, part in enumerate(parts)), free[0].free)

    def rule(self, strictness: float) -> Rule:
        """Return the rule of that strictness."""
        given = {key: v.rule(strictness) if isinstance(v, Family) else v for key, v in self.given}
        if self.name == _ALL:
            return All(tuple(given.values()))
        inside = any(isinstance(value, Family) for _, value in self.given)
        return catalogue()[self.name](**given, **({} if inside else {self.free: float(strictness)}))

    @property
    def example(self) -> Rule:
        """A rule of the family: one of its strictnesses, which words and facts do not depend on."""
        return self.rule(self._some)

    @cached_property
    def _some(self) -> float:
        """A strictness that the rule allows, and that no other parameter has."""
        refused = InputError(f"the rule {self.name} allows none of the parameters from 1 to 100")
        for strictness in _UNUSUAL:
            try:
                self.rule(strictness)
            except InputError as error:
                refused = error
            else:
                return strictness
        raise refused

    def __str__(self) -> str:
        return str(self.example).replace(f"{self._some:g}", self.free)


def thesis() -> Mapping[str, Family]:
    """Return the three rules of the thesis by its letters: dominance of two, p %, Statisticon."""
    return {"D": Family.of("dominance", n=2), "P": Family.of("p_percent"), "S": Family.of("statisticon")}


def parse_written(text: str) -> Rule:
    """Return the rule that people write as a name and its numbers.

    >>> str(parse_written("dominance n=2 k=85"))
    'dominance (2, 85)'
    """
    name, given = _parts(text)
    return parse_rule({name: given})


def parse_families(texts: Sequence[str]) -> tuple[Mapping[str, Family], Mapping[str, float]]:
    """Return the families that people write as ``dominance n=2`` or ``p_percent p=10``, and what strictness is given.

    >>> families, fixed = parse_families(["dominance n=2", "p_percent p=10"])
    >>> [str(family) for family in families.values()], dict(fixed)
    (['dominance (2, k)', 'p_percent p'], {'p_percent': 10})
    """
    families, fixed = dict[str, Family](), dict[str, float]()
    names = [text.split()[0] for text in texts if text.split()]
    for text in texts:
        key = names[len(families)] if text.split() and names.count(text.split()[0]) == 1 else " ".join(text.split())
        family, strictness = _family(text)
        if strictness is not None:
            if not strictness > 0:
                raise InputError(f"the rule {text!r}: rules are compared at percentages above 0")
            fixed[key] = strictness
        families[key] = family
    if len(families) < 2:
        raise InputError("name at least two different rules to compare, as `dominance n=2` and `p_percent`")
    return families, fixed


def _family(text: str) -> tuple[Family, float | None]:
    """Return a family as people write it, and the strictness if that is given."""
    words = _words(text)
    if words[0] == _ALL:
        return _all_family(text, words[1:])
    name, given = _parts(text)
    confirmed = given.pop(CONFIRMED, False)
    hints = get_type_hints(catalogue()[name], include_extras=True)
    needed = required(catalogue()[name])
    strictness: float | None = None
    for key in [key for key in needed if hints[key] is Rule and isinstance(given.get(key), str)]:
        given[key], strictness = _family(given[key])
    percents = [p for p in needed if hints[p] == Percent and p in given]
    if percents and all(p in given for p in needed):
        strictness = given.pop(percents[0])
    family = Family.of(name, **given)
    if strictness is not None and strictness > 0 and not confirmed:
        refuse_shares(family.rule(strictness))
    return family, strictness


def _all_family(text: str, words: Sequence[str]) -> tuple[Family, float | None]:
    parts = list[Family | Rule]()
    for word in words:
        if not word.startswith("("):
            raise InputError(f"the rule {text!r}: each rule in `all` stands in brackets, as `all (p_percent) (...)`")
        try:
            parts.append(parse_written(word[1:-1]))
        except InputError:
            family, strictness = _family(word[1:-1])
            if strictness is not None:
                raise
            parts.append(family)
    return Family.all_of(parts), None


def _words(text: str) -> list[str]:
    """Split what people write at its blanks, but not inside brackets."""
    if _WORD.sub("", text).strip():
        raise InputError(f"the rule {text!r}: its brackets do not fit; one pair inside another is not understood")
    return _WORD.findall(text) or [""]


def _parts(text: str) -> tuple[str, dict[str, Any]]:
    """Split what people write into a rule's name and its parameters."""
    name, *parts = _words(text)
    if name not in catalogue():
        raise InputError(f"there is no rule {name!r}{did_you_mean(name, catalogue())}")
    given = dict[str, Any]()
    for key, _, value in (part.partition("=") for part in parts):
        if key == CONFIRMED:
            given[key] = value.casefold() in YES
        elif value.startswith("(") or value in catalogue():
            given[key] = value.strip("()")
        else:
            given[key] = _parameter(text, name, key, value)
    return name, given


def _parameter(text: str, name: str, key: str, value: str) -> Any:  # noqa: ANN401
    """Return a parameter as it is meant: a number, or one of the words that the rule knows for it."""
    words = getattr(get_type_hints(catalogue()[name]).get(key), "__args__", ())
    if value in words:
        return value
    try:
        number = float(value)
    except ValueError:
        raise InputError(f"the rule {text!r} is written as a name and numbers, as `dominance n=2`") from None
    return int(number) if number == int(number) else number
