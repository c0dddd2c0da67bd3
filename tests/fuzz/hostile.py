"""Random plans of jobs that a hostile reader would choose: sums and latent cells that tell, though no single cell does.

What tables there are, who is in their cells, what the rules are and what else the job says is drawn by itself, so that
everything meets everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from fuzz.cases import RECORDS, Records
from fuzz.plans import Plan, TablePlan
from fuzz.trees import Dim, draw_tree

# The tables of a job: which dimensions each has.
SHAPES = [
    *["row"] * 3,  # one dimension
    *["grid"] * 3,  # two
    "cube",  # three
    *["twice"] * 2,  # the same cells in two tables, or some of them
    *["cyclic"] * 3,  # ab, ac and bc
    *["populations"] * 3,  # all, and tables about some that leave a small rest
]
# What is special about values and rules.
MATTERS = [
    *["plain"] * 3,
    *["other rules"] * 3,
    *["count"] * 2,
    *["beside"] * 2,  # counts and values
    "weights",
    "signed",
]
LARGEST = {"cube": 27, "cyclic": 36, "populations": 36}
CELLS = 30  # combinations of leaves
LONG = 0.006  # of all jobs have a relation with more than 40 suppressed cells
CROWDED = 0.08  # have a cell with more than 50 respondents


@dataclass(frozen=True)
class _Draw:
    rng: Random
    shape: str
    matter: str
    long: bool


def draw_hostile(seed: int, attempt: int = 0) -> Plan:
    """The plan of a seed; the same numbers always give the same plan."""
    rng = Random(f"hostile {seed} {attempt}")
    draw = _Draw(rng, rng.choice(SHAPES), rng.choice(MATTERS), rng.random() < LONG)
    if draw.long:
        draw = _Draw(rng, "row", "plain", long=True)
    dims = _dims(draw)
    holding = draw.long or rng.random() < 0.8
    records = _records(draw, dims, holding)
    tables = _tables(draw, dims, records)
    return Plan(seed, attempt, dims, records, tables, holding, (draw.shape, draw.matter), _job(draw, records))


def _dims(draw: _Draw) -> dict[str, Dim]:
    rng, shape = draw.rng, draw.shape
    many = {"row": 1, "grid": 2, "cube": 3, "cyclic": 3, "twice": rng.choice([1, 2])}.get(shape, rng.choice([2, 2, 3]))
    most = {1: 8, 2: 5, 3: 4}[many]
    sizes = [rng.randint(3 if many < 3 else 2, most) for _ in range(many)]
    if draw.long:
        sizes = [rng.randint(46, 54)]
    while _size(sizes) > (60 if draw.long else LARGEST.get(shape, CELLS)):
        sizes[sizes.index(max(sizes))] -= 1
    dims = {}
    for name, size in zip("abc", sizes, strict=False):
        leaves = tuple(f"{name}{i}" for i in range(size))
        trees = (draw_tree(rng, name.upper(), leaves),) if rng.random() < 0.4 and not draw.long else ()
        dims[name] = Dim(name, name, leaves, trees)
    return dims


def _size(numbers: Sequence[int]) -> int:
    whole = 1
    for number in numbers:
        whole *= number
    return whole


class _Holdings:
    """Names of holdings: a few large ones that are in many cells, and any number of small ones."""

    def __init__(self, rng: Random, large: int) -> None:
        self.rng, self.next = rng, 0
        self.large = [f"g{i}" for i in range(large)]
        self.known: list[str] = []

    def some(self) -> str:
        """A large one."""
        return self.rng.choice(self.large)

    def other(self) -> str:
        """A new one, or now and then one that is elsewhere too."""
        if self.known and self.rng.random() < 0.1:
            return self.rng.choice(self.known)
        self.known.append(f"o{self.next}")
        self.next += 1
        return self.known[-1]


# Who is in a combination: how often it is empty, one large holding alone, such a one among small ones, few, or many.
_MIXES = [
    {"nobody": 1, "alone": 4, "dominated": 2, "few": 1, "many": 4},
    {"nobody": 1, "alone": 1, "dominated": 4, "few": 1, "many": 4},
    {"nobody": 3, "alone": 2, "dominated": 1, "few": 2, "many": 2},
    {"nobody": 0, "alone": 1, "dominated": 1, "few": 0, "many": 6},
    {"nobody": 4, "alone": 0, "dominated": 1, "few": 3, "many": 4},
]


def _records(draw: _Draw, dims: Mapping[str, Dim], holding: bool) -> Records:
    rng = draw.rng
    names = _Holdings(rng, 1 if draw.long else rng.choice([1, 1, 2, 3]))
    mix = {"alone": 12, "many": 1} if draw.long else rng.choice(_MIXES)
    large, small = rng.choice([(1000, 30), (200, 50), (90, 9)])
    rows: list[tuple[tuple[str, ...], str, int]] = []
    places = list(product(*(dim.leaves for dim in dims.values())))
    crowd = rng.choice(places) if rng.random() < CROWDED else None
    rare = rng.choice(dims["b"].leaves) if draw.shape == "populations" else None
    for place in places:
        kind = rng.choices(list(mix), list(mix.values()))[0]
        if rare in place:  # what is left when all other populations are taken away
            kind = rng.choice(["nobody", "alone", "few", "few"])
        if kind == "alone" or (kind == "dominated") or place == crowd:
            rows += [(place, names.some(), rng.randint(large // 2, large)) for _ in range(rng.choice([1, 1, 1, 2]))]
        many = {"dominated": rng.randint(1, 5), "few": rng.randint(1, 2), "many": rng.randint(3, 7)}.get(kind, 0)
        if place == crowd:
            many = rng.randint(51, 70)
        high = small if kind == "dominated" or place == crowd else large * 4 if draw.long else large // 4
        rows += [(place, names.other(), rng.randint(high // 3, high)) for _ in range(many)]
    rows = rows or [(places[0], "o", 5)]
    rng.shuffle(rows)
    zeros = rng.choice([0, 0, 0, 0.15])
    signed = 0.4 if draw.matter == "signed" else 0.0
    x = [0 if rng.random() < zeros else -v if rng.random() < signed else v for _, _, v in rows]
    codes = {name: [place[i] for place, _, _ in rows] for i, name in enumerate(dims)}
    holders = [who for _, who, _ in rows]
    weight = None
    if draw.matter == "weights":
        weight = [1] * len(rows) if rng.random() < 0.4 else [rng.choice([1, 1, 1, 2, 3]) for _ in rows]
    marks = {who: rng.random() < 0.3 for who in sorted(set(holders))}
    marks |= {who: rng.random() < 0.5 for who in names.large}
    said = ["yes" if marks[who] else "no" for who in holders] if draw.matter == "other rules" else None
    return Records(codes, {"x": x}, holders if holding else None, weight, said, said)


def _tables(draw: _Draw, dims: Mapping[str, Dim], records: Records) -> list[TablePlan]:
    rng, shape = draw.rng, draw.shape
    names = list(dims)
    value = "count" if draw.matter == "count" else "x"
    sets: list[tuple[list[str], dict[str, Any]]]
    if shape == "cyclic":
        sets = [(list(pair), {}) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]
    elif shape == "populations":
        sets = _populations(draw, dims, records)
    elif shape == "twice":
        again = names if rng.random() < 0.6 else rng.sample(names, rng.randint(1, len(names)))
        sets = [(names, {}), (sorted(again), {})]
    else:
        sets = [(names, {})]
        if shape == "cube" and rng.random() < 0.5:
            sets = [(["a", "b"], {}), (["b", "c"], {})]
    if draw.matter == "beside" or (draw.matter == "signed" and rng.random() < 0.5):
        sets += [(by, {**more, "value": "count"}) for by, more in sets[: rng.choice([1, len(sets)])]]
    same = _rules(draw, value)
    found = []
    for i, (by, more) in enumerate(sets[:5]):
        spec: dict[str, Any] = {"name": f"t{i}", "by": by, "value": value, **more}
        own = same if spec["value"] == value and rng.random() < (0.2 if shape == "twice" else 0.7) else None
        spec["rules"] = own or _rules(draw, spec["value"])
        zeros = rng.choice([None, None, "known", "possible"])
        spec |= {"zeros": zeros} if zeros else {}
        spec |= {"negative": "absolute"} if draw.matter == "signed" and spec["value"] == "x" else {}
        spec |= {"publish": levels} if rng.random() < 0.15 and (levels := _levels(rng, by, dims)) else {}
        protect = {"cost": rng.choice(["value", "constant", "log", "count"])} if rng.random() < 0.4 else {}
        protect |= {"engine": rng.choice(["gauss", "gauss", "optimal"])} if rng.random() < 0.15 else {}
        found.append(TablePlan(spec | ({"protect": protect} if protect else {})))
    engines = {str(table.spec.get("protect", {}).get("engine")) for table in found}
    if len(engines) > 1:  # one set, one engine
        found = [_without_engine(table) for table in found]
    return found


def _without_engine(table: TablePlan) -> TablePlan:
    protect = {key: said for key, said in table.spec.get("protect", {}).items() if key != "engine"}
    spec = {key: said for key, said in table.spec.items() if key != "protect"}
    return TablePlan({**spec, "protect": protect} if protect else spec)


def _populations(draw: _Draw, dims: Mapping[str, Dim], records: Records) -> list[tuple[list[str], dict[str, Any]]]:
    """Tables about all, and about some of `b`, so that subtracting leaves few."""
    rng = draw.rng
    others = [name for name in dims if name != "b"]
    occupied = sorted(set(records.codes["b"]))
    rng.shuffle(occupied)
    by = others if rng.random() < 0.7 else rng.sample(others, 1)
    sets: list[tuple[list[str], dict[str, Any]]] = [(by, {})]
    for _ in range(rng.choice([1, 2, 2, 3])):
        some, occupied = occupied[: rng.choice([1, 1, 2])], occupied[1:]
        if some:
            where: Any = {"all_but": some} if rng.random() < 0.25 and len(occupied) > len(some) else some
            sets.append((by if rng.random() < 0.85 else rng.sample(others, 1), {"where": {"b": where}}))
    return sets


def _levels(rng: Random, by: Sequence[str], dims: Mapping[str, Dim]) -> dict[str, list[int]]:
    """Some levels of one dimension, mostly without one in the middle."""
    deep = [name for name in by if dims[name].deepest() > 1]
    if not deep:
        return {}
    name = rng.choice(deep)
    last = dims[name].deepest()
    return {name: rng.choice([[0, last], [0, 2], [1, 2], [last], [0, 1]])}


def _rules(draw: _Draw, value: str) -> list[dict[str, Any]]:
    rng, weighted = draw.rng, draw.matter == "weights"
    if value == "count":
        n = rng.choice([2, 3, 3])
        return [{"min_frequency": {"n": n, "hide": "small"} if rng.random() < 0.2 else n}]
    few = {"min_frequency": rng.choice([2, 3, 3])}
    shares: list[dict[str, Any]] = [
        {"p_percent": rng.choice([5, 10, 10, 20])},
        {"p_percent": rng.choice([10, 15])},
        {"dominance": {"n": rng.choice([1, 2]), "k": rng.choice([75, 85, 90])}},
        {"prior_posterior": {"p": rng.choice([10, 20]), "q": rng.choice([50, 100])}},
    ]
    others: list[dict[str, Any]] = [
        {"min_frequency": {"n": 3, "nonzero": True}},
        {"p_percent": {"p": rng.choice([10, 20]), "waivers": True}},
        {"statisticon": rng.choice([5, 10])},
        {"entropy": rng.choice([2, 3])},
        {"request": rng.choice([50, 70])},
        {"max_share": rng.choice([70, 90])},
    ]
    if draw.matter == "other rules" and not weighted:
        own = rng.choice(others)
        return [own] if rng.random() < 0.6 else [own, rng.choice([few, *shares])]
    return rng.choice([[few], [rng.choice(shares)], [few, rng.choice(shares)], [few, rng.choice(shares)]])


def _job(draw: _Draw, records: Records) -> dict[str, Any]:
    """What the job says besides its tables."""
    rng = draw.rng
    job: dict[str, Any] = {}
    if records.holding and rng.random() < 0.1:  # respondents with several records, who belong to nobody
        job["microdata"] = {"source": RECORDS, **{name: name for name in records.roles if name != "holding"}}
        job["microdata"]["respondent"] = "holding"
    if draw.matter in {"plain", "beside"} and rng.random() < 0.1:
        job["policy"] = rng.choice(["g_confid", "g_confid", "sdctable", "gauss_suppression", "acro"])
    attack: dict[str, Any] = {}
    if draw.matter == "signed" or rng.random() < 0.06:
        attack["lower"] = "unbounded"
    if rng.random() < 0.5:
        attack["insiders"] = False
    return job | ({"attack": attack} if attack else {})
