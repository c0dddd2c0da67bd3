"""Facts as they are stored in an output folder: which columns hold which (docs/reference/certificate.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from cellguard.table.fact import STORED, Count, Fact, Total
from cellguard.table.facts import Facts
from cellguard.table.source import Source


def stored_columns(facts: Facts, total: Sequence[float]) -> dict[str, pa.Array]:
    """Return the columns that hold the facts; ``total`` are the cells' exact values.

    >>> one = Facts({Total(): np.array([5.0])})
    >>> {name: column.to_pylist() for name, column in stored_columns(one, [5.0]).items()}
    {'total': [5.0], 'count': [None]}
    """
    columns: dict[str, pa.Array] = {}
    known = facts.plus({Total(): np.asarray(total, float)})
    for kind in STORED:
        if kind is Count and Count() not in known:
            columns["count"] = pa.nulls(len(total), pa.int64())
        for fact in (fact for fact in known if type(fact) is kind):
            parts = zip(fact.stored, fact.to_store(known[fact]), strict=True)
            columns |= {name: pa.array(part, from_pandas=True) for name, part in parts}
    return columns


def stored_facts(source: Source) -> Mapping[Fact, tuple[str, ...]]:
    """Return the facts that a stored file holds, each with its columns."""
    names = [name for name in source.names if name != "count" or source.column(name).null_count < len(source)]
    return {fact: fact.stored for kind in STORED for fact in kind.stored_in(names)}
