"""Which columns of codes nest in the records: chains of levels, each of which becomes one dimension."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from cellguard.errors import HierarchyError
from cellguard.microdata.nesting import nested_hierarchy
from cellguard.microdata.sources import Opened
from cellguard.suggest.columns import SAMPLE, Column

_MOST_COLUMNS = 30
_TIMES = 3  # how many records a code of the finer column has on average, lest columns nest by chance


@dataclass(frozen=True)
class Nesting:
    """The columns of codes in chains, coarsest first, and for each column the finer ones whose codes settle its own."""

    chains: tuple[tuple[str, ...], ...]
    finer: Mapping[str, frozenset[str]]

    def tied(self, first: Sequence[str], second: Sequence[str]) -> bool:
        """Return whether the finest column of a chain settles a column of another one."""
        return any(a == b or b in self.finer.get(a, ()) or a in self.finer.get(b, ()) for a in first for b in second)


def find_nesting(opened: Opened, codes: Sequence[Column]) -> Nesting:
    """Return the chains among columns of codes in the order of their first columns; lone numbers come last."""
    codes = codes[:_MOST_COLUMNS]
    finer = _settling(opened, codes)
    chains: list[list[str]] = []
    for column in sorted(codes, key=lambda c: c.different):
        above = [chain for chain in chains if column.name in finer[chain[-1]]]
        longest = max(above, key=len, default=None)
        if longest is not None and _is_tree(opened, [*longest, column.name]):
            longest.append(column.name)
        else:
            chains.append([column.name])
    place = {column.name: i for i, column in enumerate(codes)}
    numbered = {column.name for column in codes if column.is_number}
    chains.sort(key=lambda chain: (len(chain) == 1 and chain[0] in numbered, min(place[name] for name in chain)))
    return Nesting(tuple(map(tuple, chains)), finer)


def _settling(opened: Opened, codes: Sequence[Column]) -> dict[str, frozenset[str]]:
    """Return for each column those finer ones whose code settles its own, in the first records."""
    pairs = [(a, b) for a in codes for b in codes if 1 < a.different < b.different and _TIMES * b.different <= b.filled]
    told = [0] * len(pairs)
    if pairs:
        texts = {c.name: f"coalesce(CAST({opened.column(c.name)} AS VARCHAR), '')" for c in codes}
        asked = [
            f"count(DISTINCT ({texts[a.name]}, {texts[b.name]})) - count(DISTINCT {texts[b.name]})" for a, b in pairs
        ]
        sample = f"(SELECT * FROM {opened.scan} LIMIT {SAMPLE})"  # noqa: S608
        told = list(opened.rows(f"SELECT {', '.join(asked)} FROM {sample}")[0])  # noqa: S608
    nested = [(a.name, b.name) for (a, b), more in zip(pairs, told, strict=True) if more == 0]
    return {c.name: frozenset(b for a, b in nested if a == c.name) for c in codes}


def _is_tree(opened: Opened, columns: Sequence[str]) -> bool:
    """Return whether the levels form a tree whose leaves are all codes of the last column."""
    try:
        tree = nested_hierarchy(opened, columns)
    except HierarchyError:
        return False
    last = opened.column(columns[-1])
    rows = opened.rows(f"SELECT DISTINCT CAST({last} AS VARCHAR) FROM {opened.scan}")  # noqa: S608
    return {row[0] for row in rows if (row[0] or "").strip()} <= set(tree.leaves)


def chain_name(columns: Sequence[str]) -> str:
    """Return a name for a dimension of several levels: what the columns' names begin with, else the finest one's.

    >>> chain_name(["NUTS1", "NUTS2", "NUTS3"]), chain_name(["A10", "A21", "A88"]), chain_name(["size"])
    ('NUTS', 'A88', 'size')
    """
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
    prefix = re.sub(r"[\W\d_]+$", "", "".join(letters[0] for letters in same))
    return prefix if len(columns) > 1 and len(prefix) > 2 else columns[-1]
