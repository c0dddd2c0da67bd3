"""Columns of records of which one settles the other: readers add the codes of one up to those of the other."""

from __future__ import annotations

import numpy as np

from cellguard.microdata.grouped import Grouped

_EVIDENCE = 30  # rows beyond one per code, which all agree: that is no chance
_MOST = 20_000_000


def nested_columns(records: Grouped) -> list[tuple[str, str]]:
    """Return the pairs of dimension columns (coarse, fine) where every code of the fine one has one coarse code.

    >>> from cellguard.microdata.records import records
    >>> rows = {"a": ["S", "S", "T"] * 20, "b": ["x", "y", "z"] * 20, "c": ["p", "q"] * 30}
    >>> nested_columns(records(rows, by=["a", "b", "c"]))
    [('a', 'b')]
    """
    pairs = []
    for i, coarse in enumerate(records.columns):
        for j, fine in enumerate(records.columns):
            few, many = len(records.labels[i]), len(records.labels[j])
            if 1 < few < many and few * many <= _MOST and len(records.codes[j]) - many >= _EVIDENCE:
                met = np.bincount(records.codes[j].astype(np.int64) * few + records.codes[i], minlength=few * many)
                if ((met.reshape(many, few) > 0).sum(axis=1) <= 1).all():
                    pairs.append((coarse, fine))
    return pairs


def nesting_note(records: Grouped) -> tuple[str, ...]:
    """Return a warning about dimensions that are levels of one: the tables are not tied where readers tie them."""
    pairs = nested_columns(records)
    if not pairs:
        return ()
    told = ", ".join(f"{fine!r} in {coarse!r}" for coarse, fine in pairs[:3])
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    coarse, fine = pairs[0]
    return (
        f"{records.name}: columns nest ({told}{more}), and who knows that adds codes of one up to codes of the other, "
        f"which this job does not know; make one dimension of them, as `{fine}: {{levels: [{coarse}, {fine}]}}`, and "
        "say with `publish` which levels a table shows",
    )
