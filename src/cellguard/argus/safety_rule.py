"""``<SAFETYRULE>``: the rules of a table as the batch writes them, in their own conventions.

The first two P and NK are about respondents and the third and fourth about holdings; so are the first and the second
FREQ and REQ. A rule with 0 only fills its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cellguard.argus.scanner import Scanner
from cellguard.errors import did_you_mean

MANUAL = 20.0  # percent: the protection level of cells that somebody calls unsafe, where the batch does not say


@dataclass(frozen=True, slots=True)
class Percent:
    """P(p, n) or P(p, q, n): a coalition of n may not come within p percent, knowing all others to within q."""

    p: float
    n: int = 1
    q: float = 100.0


@dataclass(frozen=True, slots=True)
class Dominant:
    """NK(n, k): the n largest may not exceed k percent."""

    n: int
    k: float


@dataclass(frozen=True, slots=True)
class Frequent:
    """FREQ(n, range): fewer than n are unsafe, with a protection level of so many percent."""

    n: int
    percent: float


@dataclass(frozen=True, slots=True)
class Requested:
    """REQ(p1, p2, n, range): a contribution of more than p1 or p2 percent of one who asked for protection."""

    first: float
    second: float
    fewest: int
    percent: float


@dataclass(frozen=True, slots=True)
class Level:
    """The rules about one kind of contributor: respondents or holdings."""

    percents: tuple[Percent, ...] = ()
    dominants: tuple[Dominant, ...] = ()
    frequent: Frequent | None = None
    requested: Requested | None = None

    @property
    def applies(self) -> bool:
        """Whether there is any rule."""
        return bool(self.percents or self.dominants or self.frequent or self.requested)

    @property
    def ranks(self) -> int:
        """How many of the largest contributions the rules look at."""
        several = [rule.n + 1 for rule in self.percents] + [rule.n for rule in self.dominants]
        return max([*several, int(self.requested is not None)], default=0)


@dataclass(frozen=True, slots=True)
class SafetyRule:
    """All that ``<SAFETYRULE>`` says. Without any rule the statuses that are given count."""

    respondents: Level = field(default_factory=Level)
    holdings: Level = field(default_factory=Level)
    zero: float | None = None
    weighted: bool = False
    missing_is_safe: bool = False
    manual: float = MANUAL
    text: str = ""

    @property
    def uses_status(self) -> bool:
        """Whether the given statuses count, since no rule is applied."""
        return not (self.respondents.applies or self.holdings.applies or self.zero is not None)


def parse_safety_rule(here: Scanner, is_count: bool) -> SafetyRule:
    """Read what follows ``<SAFETYRULE>``.

    >>> rule = parse_safety_rule(Scanner("b.arb", 1, "P(20,5)|FREQ(5,20)|MAN(10)|"), False)
    >>> rule.respondents.percents, rule.respondents.frequent, rule.manual
    ((Percent(p=20.0, n=5, q=100.0),), Frequent(n=5, percent=20.0), 10.0)
    """
    text = here.text[here.position :].strip()
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in _MOST}
    while not here.done:
        if here.take("|"):
            continue
        here.skip()
        start = here.position
        name = here.word("(|").upper()
        if name not in _MOST:
            raise here.fault(f"unknown rule {name!r}{did_you_mean(name, list(_MOST))}", position=start)
        if is_count and name in _OF_VALUES:
            raise here.fault(
                f"{name} looks at contributions, and the table counts records", "use FREQ(n, range)", position=start
            )
        found[name].append(_arguments(here, name, start))
        if len(found[name]) > _MOST[name]:
            raise here.fault(f"{name} comes more than {_MOST[name]} times", "delete the others", position=start)
        if not here.done:
            here.need("|", "between two rules")
    return _made(found, text)


_MOST = {"P": 4, "NK": 4, "FREQ": 2, "REQ": 2, "ZERO": 1, "WGT": 1, "MIS": 1, "MAN": 1}
_OF_VALUES = ("P", "NK", "ZERO", "REQ")
_ARGUMENTS = {
    "P": (1, 3, "P(p), P(p,n) or P(p,q,n)"),
    "NK": (2, 2, "NK(n,k)"),
    "FREQ": (2, 2, "FREQ(n,range)"),
    "REQ": (3, 4, "REQ(p1,p2,range) or REQ(p1,p2,n,range)"),
    "ZERO": (1, 1, "ZERO(range)"),
    "WGT": (1, 1, "WGT(0) or WGT(1)"),
    "MIS": (1, 1, "MIS(0) or MIS(1)"),
    "MAN": (1, 1, "MAN(percent)"),
}

# Which arguments of a rule are numbers of respondents, by how many arguments there are.
_COUNTED = {
    ("P", 2): (1,),
    ("P", 3): (2,),
    ("NK", 2): (0,),
    ("FREQ", 2): (0,),
    ("REQ", 4): (2,),
}
_MOST_COUNTED = 10**6


def _arguments(here: Scanner, name: str, start: int) -> tuple[float, ...]:
    here.need("(", f"after {name}")
    numbers = [here.number(f"an argument of {name}")]
    while here.take(","):
        numbers.append(here.number(f"an argument of {name}"))
    here.need(")", f"at the end of {name}")
    fewest, most, form = _ARGUMENTS[name]
    if not fewest <= len(numbers) <= most:
        raise here.fault(f"{name} has {len(numbers)} arguments", f"write {form}", position=start)
    if min(numbers) < 0:
        raise here.fault(f"{name} has an argument below 0", f"write {form}", position=start)
    if name in {"WGT", "MIS"} and numbers[0] not in {0, 1}:
        raise here.fault(f"{name} takes 0 or 1", f"write {form}", position=start)
    counted = [numbers[place] for place in _COUNTED.get((name, len(numbers)), ())]
    if any(number != int(number) or number > _MOST_COUNTED for number in counted):
        raise here.fault(f"n of {name} is a whole number of respondents", f"write {form}", position=start)
    if name == "NK" and numbers[1] > 100:
        raise here.fault("k of NK is a percentage, and no share exceeds 100", f"write {form}", position=start)
    return tuple(numbers)


def _made(found: dict[str, list[tuple[float, ...]]], text: str) -> SafetyRule:
    percents = [_percent(args) for args in found["P"]]
    dominants = [Dominant(int(n), k) for n, k in found["NK"]]
    frequent = [Frequent(int(n), r) for n, r in found["FREQ"]]
    requested = [Requested(a[0], a[1], int(a[2]) if len(a) == 4 else 0, a[-1]) for a in found["REQ"]]
    levels = [
        Level(
            tuple(rule for rule in percents[slice(2 * i, 2 * i + 2)] if rule.p > 0),
            tuple(rule for rule in dominants[slice(2 * i, 2 * i + 2)] if rule.n > 0 and rule.k > 0),
            next((rule for rule in frequent[i : i + 1] if rule.n > 0), None),
            next((rule for rule in requested[i : i + 1] if rule.first > 0 or rule.fewest > 0), None),
        )
        for i in (0, 1)
    ]
    single = {name: found[name][0][0] for name in ("ZERO", "WGT", "MIS", "MAN") if found[name]}
    return SafetyRule(
        levels[0],
        levels[1],
        single.get("ZERO"),
        single.get("WGT") == 1,
        single.get("MIS") == 1,
        single.get("MAN", MANUAL),
        text,
    )


def _percent(args: tuple[float, ...]) -> Percent:
    if len(args) == 3:
        return Percent(args[0], max(int(args[2]), 1), args[1] or 100.0)
    return Percent(args[0], max(int(args[1]), 1) if len(args) == 2 else 1)
