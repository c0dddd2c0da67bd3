"""How records grow: pairs of leaf combination and holding by simulation, for plans of clusters.

`python benchmarks/bench_growth.py` prints the table of docs/explanation/growth.md, and with a path writes its picture
there: what `tabulate-1m` to `tabulate-100m` measured, as it stands in growth.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

SHUFFLED = 24  # bytes of a row between partial and final grouping, compressed: 4,868,282 for 200,000 rows
RETURNED = 51  # bytes of a row that comes back as Arrow, three codes as text: 51,246,773 for 999,937 rows
HELD = 62  # bytes per pair that tabulation needs at its peak, counted from its arrays: 38 of the pair, 24 beside it
SAMPLE = 4000

# Records, holdings, share of a holding's records in its own leaf, leaves that it has to do with.
SETTINGS = {
    "a register: a record per firm": (10**10, 9.3e9, 0.6, 4),
    "invoices of firms": (10**10, 1e8, 0.8, 30),
    "till receipts of chains": (10**10, 1e6, 0.3, 2000),
}


def expected_pairs(
    rng: np.random.Generator, records: float, holdings: float, own: float, near: int, parts: int
) -> float:
    """Return how many different pairs of leaf and holding each of some parts of the records has, added up.

    A holding has a lognormal number of records; a share of them in its own leaf, the others in leaves near to it, the
    first of which are more common. Records lie in the parts by chance.
    """
    sizes = rng.lognormal(0, 2, SAMPLE)
    sizes = np.maximum(sizes * records / holdings / sizes.mean(), 1)
    weights = 1 / np.arange(1, near)
    shares = np.concatenate([[own], (1 - own) * weights / weights.sum()])
    missing = np.exp(np.outer(sizes / parts, np.log1p(-np.minimum(shares, 1 - 1e-12))))
    pairs = parts * (1 - missing).sum(axis=1)
    return min(float(np.minimum(pairs, sizes).mean() * holdings), records)


def plan() -> Iterator[str]:
    """Yield a line per setting: pairs, bytes shuffled and returned, memory here."""
    for name, (records, holdings, own, near) in SETTINGS.items():
        pairs, spread = (expected_pairs(np.random.default_rng(1), records, holdings, own, near, p) for p in (1, 10_000))
        together, apart = (f"{rows * SHUFFLED / 1e9:,.0f} GB" for rows in (pairs, spread))
        yield (
            f"{name}: {pairs / 1e6:,.0f} million pairs ({pairs / records:.1%} of the records); shuffled "
            f"{together} if records lie by holding, {apart} if by chance "
            f"in 10,000 parts; returned {pairs * RETURNED / 1e9:,.0f} GB; memory here {pairs * HELD / 1e9:,.0f} GB"
        )


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {"growth-plan": plan}


def draw(path: str) -> None:
    """Draw time and memory by records, as they were measured."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9})
    import matplotlib.pyplot as plt

    with (Path(__file__).parent / "growth.csv").open() as file:
        rows = list(csv.DictReader(file))
    records = [int(row["records"]) / 1e6 for row in rows]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(7.5, 2.8), layout="constrained")
    for name, label in (("grouping", "DuckDB's grouping alone"), ("reading", "reading"), ("tables", "tables")):
        known = [(r, float(row[name])) for r, row in zip(records, rows, strict=True) if row[name]]
        time.loglog(*zip(*known, strict=True), marker="o", label=label)
    time.set(xlabel="million records", ylabel="seconds", xticks=records, xticklabels=[f"{r:g}" for r in records])
    time.legend(frameon=False)
    memory.plot(records, [float(row["peak"]) for row in rows], marker="o")
    memory.set(xlabel="million records", ylabel="peak memory, GiB", ylim=(0, None))
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    for path in sys.argv[1:]:
        draw(path)
    for line in plan():
        print(line)
