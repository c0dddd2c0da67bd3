"""The sensitivity rules once more, in plain Python: is a cell, or a sum of cells, unsafe, and how uncertain must it be?

Nothing here is shared with the package under test. Who contributes is a `Crowd`, made from the records of the cell, or
of all cells of the sum: a holding counts once, with the sum of what its records have there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, NamedTuple

from fuzz.cases import Case

PERCENT = 10.0
SLACK = 1e-12
_TIES = {"inclusive": True}
POLICIES: dict[str, dict[str, dict[str, bool]]] = {
    "tau_argus": {},
    "sdctable": {"min_frequency": _TIES},
    "gauss_suppression": dict.fromkeys(("min_frequency", "dominance", "max_share"), _TIES),
    "g_confid": {"min_frequency": {"nonzero": True}},
    "acro": dict.fromkeys(("dominance", "max_share"), _TIES),
}
PARAMETER = {
    "min_frequency": "n",
    "p_percent": "p",
    "statisticon": "s",
    "max_share": "k",
    "request": "k",
    "entropy": "n",
}
ROWS = {  # rules about rows of counts: `fuzz.rows` judges those
    "group_disclosure", "max_fraction", "min_others", "spread", "attribute_disclosure", "lone_other", "k_disclosure",
}  # fmt: skip


class Need(NamedTuple):
    """How far an attacker's interval must reach on both sides, how far above at least, and how wide it must be."""

    level: float
    reach: float = 0.0
    width: float = 0.0


@dataclass(frozen=True)
class Crowd:
    """The contributors as the rules see them.

    ``sizes`` are contributions, largest first; ``total`` is the sum that they are shares of, ``people`` how many
    contribute and ``nonzero`` how many of them have a record that is not 0. ``unwaived`` is the largest contribution
    without a waiver, None if there is none; ``asks`` says that the largest asked for protection.
    """

    sizes: tuple[float, ...]
    total: float
    people: int
    nonzero: int
    unwaived: float | None
    asks: bool

    def top(self, n: int) -> float:
        """The sum of the n largest."""
        return sum(self.sizes[:n])


class People:
    """Who the contributors of a case are: holdings, or the records themselves if ``grouped`` is false."""

    def __init__(self, case: Case, column: str, *, grouped: bool) -> None:
        records = case.records
        self.owner = list(records.holding) if grouped else list(range(len(records)))
        self.value = [1] * len(records) if column == "count" else records.values[column]
        self.weight = records.weight or [1] * len(records)
        self.is_count = column == "count"
        self.kept, self.asking = self._marks(records.waiver, all), self._marks(records.request, any)

    def _marks(self, column: Sequence[str] | None, which: Any) -> set[Any]:
        """The owners of whom all, or any, records say yes."""
        said: dict[Any, list[bool]] = {}
        for owner, text in zip(self.owner, column or (), strict=False):
            said.setdefault(owner, []).append(text == "yes")
        return {owner for owner, marks in said.items() if which(marks)}

    def crowd(self, inside: Iterable[int]) -> Crowd:
        """The contributors of some records together.

        A record of weight w counts w times, unless its owner has others here: then the owner counts once.
        """
        sums: dict[Any, float] = {}
        records: dict[Any, list[int]] = {}
        for i in inside:
            sums[self.owner[i]] = sums.get(self.owner[i], 0) + self.value[i]
            records.setdefault(self.owner[i], []).append(i)
        sizes: list[float] = []
        total = 0.0
        for owner, own in records.items():
            times = self.weight[own[0]] if len(own) == 1 else 1
            sizes += [abs(sums[owner])] * max(times, 1)
            weighted = sum(self.value[i] * self.weight[i] for i in own)
            total += abs(weighted)
        sizes.sort(reverse=True)
        free = [abs(x) for owner, x in sums.items() if owner not in self.kept]
        first = [owner for owner, x in sums.items() if sizes and abs(x) == sizes[0]]
        nonzero = sum(any(self.value[i] for i in own) for own in records.values())
        asks = bool(first) and all(owner in self.asking for owner in first)
        return Crowd(tuple(sizes), total, len(records), nonzero, max(free, default=None), asks)


def spelled(rule: Mapping[str, Any], policy: str | None, *, of_sums: bool) -> tuple[str, dict[str, Any]]:
    """A rule's name and parameters, with what the policy fills in; ``of_sums`` of records, not counts."""
    ((name, given),) = rule.items()
    if name == "all":
        return name, {"rules": [dict([spelled(part, policy, of_sums=of_sums)]) for part in given]}
    said = dict(given) if isinstance(given, Mapping) else {PARAMETER[name]: given}
    filled = POLICIES[policy].get(name, {}) if policy else {}
    return name, {**{key: value for key, value in filled.items() if of_sums or key != "nonzero"}, **said}


def need_of(rule: Mapping[str, Any], crowd: Crowd, value: float, *, is_count: bool) -> Need | None:
    """What an unsafe cell needs by a rule that is `spelled` out; None if the rule calls it safe."""
    ((name, given),) = rule.items()
    if name in ROWS:
        return None
    if name == "all":
        needs = [need_of(part, crowd, value, is_count=is_count) for part in given["rules"]]
        return None if None in needs else Need(*(max(ends) for ends in zip(*needs, strict=True)))
    plain = 0.0 if is_count else PERCENT / 100 * crowd.total
    if name == "min_frequency":
        enough = given["n"] + given.get("inclusive", False)
        many = crowd.nonzero if given.get("nonzero") else crowd.people
        reach = max(enough - value, 0.0) if given.get("hide") == "small" else 0.0
        return Need(plain, reach) if crowd.people and many < enough else None
    if name == "statisticon":
        return _runner_up(given["s"], crowd)
    if not crowd.total:
        return None
    if name == "entropy":
        return Need(plain) if _effective(crowd) < given["n"] * (1 - SLACK) else None
    if name == "request":
        return Need(plain) if crowd.asks and crowd.top(1) > given["k"] / 100 * crowd.total + SLACK else None
    excess, tail = _excess(name, given, crowd)
    slack = SLACK * max(crowd.total, 1)
    if excess < -slack if given.get("inclusive") else excess <= slack:
        return None
    return Need(plain if name == "max_share" else max(excess, 0.0) / tail)


def _excess(name: str, given: Mapping[str, Any], crowd: Crowd) -> tuple[float, float]:
    """By how much a linear rule is broken, and how much of that one unit more of others takes away."""
    total, coalition = crowd.total, given.get("coalition", 1)
    if name in {"p_percent", "prior_posterior"}:
        victim, rest = crowd.top(1), total - crowd.top(1 + coalition)
        if given.get("waivers"):
            if crowd.unwaived is None:
                return float("-inf"), 1.0
            victim = crowd.unwaived
            others = list(crowd.sizes)
            others.remove(victim)
            rest = total - victim - sum(others[:coalition])
        tail = given["q"] / 100 if name == "prior_posterior" else 1.0
        return given["p"] / 100 * victim - tail * rest, tail
    if name == "dominance":
        return crowd.top(given["n"]) - given["k"] / 100 * total, given["k"] / 100
    if name == "max_share":
        return crowd.top(1) - given["k"] / 100 * total, 1.0
    raise NotImplementedError(name)


def _effective(crowd: Crowd) -> float:
    """2 to the entropy of the shares."""
    shares = [x / crowd.total for x in crowd.sizes if x]
    return 2.0 ** -sum(w * log2(w) for w in shares)


def _runner_up(s: float, crowd: Crowd) -> Need | None:
    """How far above its value, and how wide, a cell must stay uncertain so that the second cannot tell the largest.

    The second takes the total for anything in the interval; each of the others has at most as much as the second has.
    """
    total, second = crowd.total, [*crowd.sizes, 0, 0][1]
    low = max(second, total - (len(crowd.sizes) - 1) * second)
    short = s / 100 * total - max(total - second - low, 0.0)
    if not crowd.people or short <= SLACK * max(total, 1):
        return None
    return Need(0.0, max(short - max(low - second, 0.0), 0.0), short)


def strongest(rules: Iterable[Mapping[str, Any]], crowd: Crowd, value: float, *, is_count: bool) -> Need | None:
    """The most that any of the rules asks for; None if all call the cell safe."""
    needs = [need for rule in rules if (need := need_of(rule, crowd, value, is_count=is_count)) is not None]
    return Need(*(max(ends) for ends in zip(*needs, strict=True))) if needs else None
