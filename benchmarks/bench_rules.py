"""Rules: a million cells under every rule that looks at one cell's own sums, counts and largest contributions."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

import cellguard as cg
from cellguard.rules.all_of import All
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.rules.signed import Signed
from cellguard.rules.simple import MaxShare, MinFrequency, Request
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Count, NonZero, Requested, Top, Total, Unwaived
from cellguard.table.facts import Facts
from cellguard.table.negative import Negative

RULES = [
    MinFrequency(3),
    MinFrequency(3, nonzero=True),
    Dominance(1, 75),
    Dominance(3, 85),
    PPercent(10),
    PPercent(10, coalition=2),
    PPercent(10, waivers=True),
    PriorPosterior(10, 60),
    MaxShare(50),
    Linear((0.2, 0.1, 0.0), -1.0),
    Request(70),
    Statisticon(25),
    Statisticon(25, both_pairs=True),
    All((MinFrequency(5), PPercent(20))),
]


def million(cells: int = 1_000_000) -> Facts:
    """Return facts of made-up cells, of up to twelve respondents each."""
    rng = np.random.default_rng(1)
    count = rng.integers(1, 13, cells)
    tops = -np.sort(-np.floor(rng.pareto(1.2, (cells, 3)) * 100), axis=1) * (np.arange(3) < count[:, None])
    total = tops.sum(axis=1) + np.floor(tops[:, 2] * rng.random(cells) * np.maximum(count - 3, 0))
    return Facts(
        {
            Total(): total,
            Count(): count.astype(float),
            NonZero(): np.maximum(count - (rng.random(cells) < 0.1), 0).astype(float),
            Top(3): tops,
            Unwaived(1): np.where(rng.random(cells) < 0.1, np.nan, tops[:, rng.integers(0, 2)])[:, None],
            Requested(): rng.random(cells) < 0.2,
        }
    )


def _million() -> Iterator[str]:
    facts = million()
    begin = perf_counter()
    unsafe = [int(rule.unsafe(facts).sum()) for rule in RULES]
    judged = perf_counter() - begin
    begin = perf_counter()
    for rule in RULES:
        rule.upper(facts)
    levels = perf_counter() - begin
    yield f"{len(facts.total):,} cells, {len(RULES)} rules: judged in {judged:.2f} s, levels in {levels:.2f} s"
    yield f"unsafe by rule: {min(unsafe):,} to {max(unsafe):,}"


def _signed(rows: int = 200_000) -> Iterator[str]:
    rng = np.random.default_rng(2)
    names = {"a": 30, "b": 20, "c": 10}
    columns = {name: rng.integers(0, many, rows).astype(str) for name, many in names.items()}
    columns["x"] = np.rint(rng.normal(0, 1000, rows))
    firms = cg.records(columns, by=list(names), values=["x"])
    for what, rule, negative in (
        ("sizes only", PPercent(10), Negative()),
        ("signed", Signed(PPercent(10)), Negative()),
    ):
        begin = perf_counter()
        table = cg.tabulate(firms, by=list(names), value="x", rules=rule, negative=negative)
        yield f"{rows:,} records, {len(table):,} cells, facts for {what}: {perf_counter() - begin:.2f} s"


BENCHMARKS = {"rules-1m": _million, "signed-facts": _signed}
