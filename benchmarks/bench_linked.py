"""Four linked tables that form a cycle, of the shape of INSEE's public ones: the proof needs a crossing table."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.suppress import suppress

from instances import tree

_FIRMS = 60_000
_PAIRS = (("act", "size"), ("act", "form"), ("region", "size"), ("region", "form"))


def four_tables(seed: int = 7) -> list[cg.Table]:
    """Return turnover of made-up firms by activity (92) or region (96) and size (3) or legal form (5)."""
    rng = np.random.default_rng(seed)
    act, region = tree((10, 21, 92), "a", rng)[0], tree((7, 22, 96), "r", rng)[0]
    leaves = {"act": act.main.leaves, "region": region.main.leaves}
    data = {
        n: np.array(c)[rng.choice(len(c), _FIRMS, p=rng.dirichlet(np.full(len(c), 0.7)))] for n, c in leaves.items()
    }
    data["size"] = np.array(["s0", "s1", "s2"])[rng.choice(3, _FIRMS, p=[0.7, 0.22, 0.08])]
    data["form"] = np.array(["f0", "f1", "f2", "f3", "f4"])[rng.choice(5, _FIRMS, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    data["x"] = np.maximum(1, np.rint(np.exp(rng.normal(6, 2, _FIRMS))))
    firms = cg.records({n: c.tolist() for n, c in data.items()}, by=["act", "region", "size", "form"], values=["x"])
    trees = {"act": act.main, "region": region.main, "size": cg.Hierarchy.flat(["s0", "s1", "s2"])}
    trees["form"] = cg.Hierarchy.flat(["f0", "f1", "f2", "f3", "f4"])
    dimensions = {name: cg.Dimension(name, found) for name, found in trees.items()}
    rules = [cg.MinFrequency(3), cg.Dominance(1, 50)]
    return [
        cg.tabulate(firms, {n: dimensions[n] for n in by}, value="x", rules=rules, name="_".join(by)) for by in _PAIRS
    ]


def linked() -> Iterator[str]:
    tables = four_tables()
    start = time.process_time()
    needs = cg.require(cg.assess(cg.link(tables), [cg.MinFrequency(3), cg.Dominance(1, 50)]))
    world = time.process_time() - start
    found = suppress(needs, np.maximum(needs.tables.value, 1.0))
    search = time.process_time() - start - world
    judged = audit(needs, found.pattern)
    proof = time.process_time() - start - world - search
    crossing = int(needs.world.constraints.crossing.sum())
    yield f"{len(needs.tables):,} cells, {int(needs.primary.sum())} primary, {crossing:,} crossing cells behind them"
    yield f"{int(found.pattern.secondary.sum())} secondary, gap {found.gap:.1%}, {judged.verdict}"
    yield f"{world:.1f} for the world, {search:.1f} for the search, {proof:.1f} CPU s for the proof (bar 60)"


BENCHMARKS = {"linked-4": linked}
