"""What each phase of a search is worth: the same tables protected with all of them, and with one left out at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

import cellguard as cg
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.policy import Optional, Policy
from cellguard.methods.suppress.engines.witness import witness
from cellguard.methods.suppress.suppress import suppress
from cellguard.rules.rule import Rule
from sets import cube

from bench_linked import four_tables
from business import table
from instances import build

POLICIES = {"all phases": Policy()} | {f"no {phase}": Policy().without(phase) for phase in get_args(Optional)}
POLICIES |= {"no deepen": replace(Policy(), cut_depth=0), "no near": replace(Policy(), near_worth=1 << 40)}
TURNOVER = (cg.PPercent(10),)
PEOPLE = (cg.MinFrequency(3),)
FEW_OF_THEM = (cg.MinFrequency(3), cg.Dominance(1, 50))


def ablation(
    make: Callable[[], Sequence[cg.Table | list[cg.Table]]], rules: Sequence[Rule], effort: Effort = NORMAL
) -> Callable[[], Iterator[str]]:
    """Protect sets of tables by the usual policy, and by those that leave one phase out; costs are values."""

    def run() -> Iterator[str]:
        sets = [cg.require(cg.assess(tables, rules)) for tables in make()]
        usual: tuple[float, ...] = ()
        for name, policy in POLICIES.items():
            start, hidden, costs, bound = time.process_time(), 0, list[float](), 0.0
            for needs in sets:
                cost = np.maximum(needs.tables.value, 1.0)
                found = suppress(needs, cost, effort=effort, engine=_with(policy))
                hidden += int(found.pattern.secondary.sum())
                costs.append(found.cost)
                bound += found.bound
            seconds, usual = time.process_time() - start, usual or tuple(costs)
            dearer = sum(a > b * (1 + 1e-9) for a, b in zip(costs, usual, strict=True))
            cheaper = sum(a < b * (1 - 1e-9) for a, b in zip(costs, usual, strict=True))
            change, gap = sum(costs) / sum(usual) - 1, 1 - bound / sum(costs)
            yield (
                f"{name:<15} {hidden:>7,} secondaries, cost {change:+8.3%} ({dearer} dearer, {cheaper} cheaper), "
                f"gap {gap:7.3%}, {seconds:6.1f} CPU s"
            )

    return run


def _with(policy: Policy) -> Any:
    return lambda system, **given: witness(replace(system, policy=policy), **given)


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "phases-A-10k": ablation(lambda: [table("A", 10_000)], TURNOVER),
    "phases-B0-10k": ablation(lambda: [table("B0", 10_000)], TURNOVER),
    "phases-B0-10k-quick": ablation(lambda: [table("B0", 10_000)], TURNOVER, QUICK),
    "phases-B0-100k-quick": ablation(lambda: [table("B0", 100_000)], TURNOVER, QUICK),
    "phases-2d-100k-quick": ablation(lambda: [build("2d-100k")], TURNOVER, QUICK),
    "phases-2d-2k": ablation(lambda: [build("2d-2k")], TURNOVER),
    "phases-linked-4-quick": ablation(lambda: [four_tables()], FEW_OF_THEM, QUICK),
    "phases-3d-small": ablation(lambda: [cube((4, 4, 5), 150, seed) for seed in range(20)], PEOPLE),
    "phases-4d": ablation(lambda: [cube((4, 4, 5, 9), 1_500, seed) for seed in range(4)], PEOPLE),
    "phases-4d-quick": ablation(lambda: [cube((4, 4, 5, 9), 1_500, seed) for seed in range(4)], PEOPLE, QUICK),
}
