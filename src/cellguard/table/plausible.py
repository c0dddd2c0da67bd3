"""Can these facts belong to one cell? Each fault is reported with its row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cellguard.table.fact import Count, Fact, Top, Total
from cellguard.table.facts import Facts
from cellguard.table.signed_facts import Signs, Sizes
from cellguard.table.source import Source
from cellguard.table.table import rounding_of


def check_facts(facts: Facts, source: Source, columns: Mapping[Fact, Sequence[str]], is_count: bool) -> Facts:
    """Check counts and contributions against the totals; a frequency table's count is its value, unless given.

    ``columns`` are those that each fact is from.
    """
    (value,) = columns[Total()]
    if is_count:
        _counts(facts.total, source, value)
        facts = facts if facts.count is not None else facts.plus({Count(): facts.total})
    if facts.count is not None:
        _counts(facts.count, source, columns.get(Count(), [value])[0])
        _refuse(
            (facts.count == 0) & (facts.total != 0),
            source,
            value,
            "the count is 0, but the value is not; correct one of them",
        )
    if facts.tops is not None:
        _tops(facts, source, columns)
    return facts


def _counts(count: npt.NDArray[np.float64], source: Source, column: str) -> None:
    _refuse(count < 0, source, column, "a count must not be below 0; correct it, or name another column")
    _refuse(count != np.rint(count), source, column, "a count must be a whole number; round it, or name another column")


def _tops(facts: Facts, source: Source, columns: Mapping[Fact, Sequence[str]]) -> None:
    tops, names = facts.tops, columns[Top(facts.known_tops)]
    if tops is None:
        return
    slack = 1e-9 * np.abs(facts.total) + (tops.shape[1] + 1) * np.nan_to_num(rounding_of(facts.total))
    for rank in range(1, tops.shape[1]):
        rising = tops[:, rank] > tops[:, rank - 1] + slack
        _refuse(rising, source, names[rank], "the largest contributions are not sorted; give the largest first")
    if facts.base is not None:
        return  # virtual contributions of a survey may be more than respondents, and than the weighted total
    # With negative contributions about, a part may exceed the whole.
    if Sizes() not in facts and (tops >= 0).all() and (facts.total >= 0).all():
        above = tops.sum(axis=1) > facts.total + slack
        _refuse(above, source, names[-1], "the largest contributions together exceed the cell's total")
    if facts.count is not None:
        surplus = (tops != 0).sum(axis=1) > facts.count
        _refuse(surplus, source, names[-1], "more contributions are given than the count of respondents")


def with_sizes(facts: Facts, source: Source, columns: Sequence[str]) -> Facts:
    """Return the facts with the sums of sizes, T+ less T-; refuse signs that are none, or do not make the total."""
    signs = facts[Signs()]
    _refuse(np.asarray(signs[:, 0] < 0), source, columns[0], "the sum of the contributions above 0 is below 0")
    _refuse(np.asarray(signs[:, 1] > 0), source, columns[1], "the sum of the contributions below 0 is above 0")
    sizes = signs[:, 0] - signs[:, 1]
    slack = 1e-9 * sizes + 3 * np.nan_to_num(rounding_of(facts.total))
    off = np.abs(signs.sum(axis=1) - facts.total) > slack
    _refuse(np.asarray(off), source, columns[0], "T+ and T- together are not the cell's total")
    return facts.plus({Sizes(): sizes})


def check_sizes(facts: Facts, source: Source, column: str) -> None:
    """Refuse sums of sizes that are below the size of the total, or below the sizes of the largest contributions."""
    slack = 1e-9 * facts.gross + (facts.known_tops + 1) * np.nan_to_num(rounding_of(facts.total))
    tops = np.zeros((len(facts.total), 0)) if facts.tops is None else facts.tops
    least = np.maximum(np.abs(facts.total), tops.sum(axis=1))
    _refuse(
        np.asarray((tops < 0).any(axis=1)),
        source,
        column,
        "with sums of sizes, give the sizes of the largest contributions",
    )
    _refuse(facts[Sizes()] < least - slack, source, column, "the sum of sizes is below that of contributions or total")


def _refuse(fault: npt.NDArray[np.bool_], source: Source, column: str, what: str) -> None:
    if fault.any():
        rows = np.flatnonzero(fault)
        more = f" ({len(rows)} rows have this fault)" if len(rows) > 1 else ""
        raise source.fault(int(rows[0]), column, what + more)
