"""Weighted surveys: what the rules see of contributions that stand for others outside the sample.

References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), section 4.2; the virtual contributions
are those of the tau-ARGUS manual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.grouped import COUNT, Grouped, Pairs

Survey = Literal["virtual", "sample", "rounded", "alternating", "handbook", "published_weights"]
SURVEYS: tuple[str, ...] = get_args(Survey)


@dataclass(frozen=True, eq=False)
class Seen:
    """What is summed and what rules look at, one entry per row of the records.

    ``value`` is the unweighted contribution and ``published`` the one that the table shows; the total that rules relate
    contributions to is the sum of ``base`` (None: the published one). ``extra`` goes with the largest contributions
    and means what ``meaning`` says: the weight that each has beyond 1, or what it stands for beyond itself.
    """

    value: FloatArray
    published: FloatArray
    base: FloatArray | None = None
    extra: FloatArray | None = None
    meaning: Literal["", "weight", "excess"] = ""


def seen_by_rules(grouped: Grouped, response: str, survey: Survey | None) -> Seen:
    """Return what the rules see of a response under a survey mode, see `Wanted`.

    A weight below 1 counts as 1 in the rule: a unit in the sample exists. A
    holding of several records counts once, with its unweighted sum; what its weights stand for joins the rest.
    """
    if survey is not None and survey not in SURVEYS:
        raise InputError(f"unknown survey mode {survey!r}{did_you_mean(survey, SURVEYS)}")
    value, published = _columns(grouped, response)
    if not grouped.has_weights:
        if survey is not None:
            raise InputError("`survey` is for weighted records; name the column of weights with `weight`")
        return Seen(value, published)
    match survey or "virtual":
        case "sample":
            return Seen(value, published, base=value)
        case "handbook":
            return Seen(value, published, base=published)
        case "published_weights":
            return Seen(value, published, published, np.maximum(published - value, 0), "excess")
        case "virtual":
            weight = grouped.weighted[COUNT]
            return Seen(value, published, published, _beyond_one(grouped, weight), "weight")
        case mode:
            pairs = grouped.pairs(response)
            weight = _whole_weights(grouped, pairs, alternating=mode == "alternating")
            rows = len(grouped)
            weights = np.bincount(pairs.row, weight, rows).astype(float)
            base = np.bincount(pairs.row, weight * pairs.value, rows).astype(float)
            return Seen(value, published, base, _beyond_one(grouped, weights), "weight")


def light_weights(grouped: Grouped) -> int:
    """Return how many rows of a single record have a weight below 1, which rules take for 1."""
    if not grouped.has_weights:
        return 0
    weight = grouped.weighted[COUNT]
    return int(((grouped.records == 1) & (weight < 1) & (weight > 0)).sum())


def virtual(tops: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the largest contributions as if each of weight w came w times; fractions of weights share a rank.

    The first m add up to the sum of min(w, m - taken) x over the values in decreasing order.

    >>> virtual(np.array([[100.0, 10.0]]), np.array([[1.5, 7.0]])).tolist()
    [[100.0, 55.0]]
    """
    ranked = np.zeros_like(tops)
    upto = np.cumsum(weights, axis=1)
    for i in range(tops.shape[1]):
        begin, end = upto[:, i] - weights[:, i], upto[:, i]
        for rank in range(tops.shape[1]):
            share = np.minimum(end, rank + 1) - np.maximum(begin, rank)
            ranked[:, rank] += np.maximum(share, 0) * tops[:, i]
    return ranked


def _columns(grouped: Grouped, response: str) -> tuple[FloatArray, FloatArray]:
    if response == COUNT:
        counts = grouped.records.astype(np.float64)
        return counts, grouped.weighted[COUNT] if grouped.has_weights else counts
    if response not in grouped.total:
        raise InputError(f"the records have no response {response!r}{did_you_mean(response, grouped.total)}")
    return grouped.total[response], grouped.weighted[response]


def _beyond_one(grouped: Grouped, weight: FloatArray) -> FloatArray:
    """Return the weight beyond 1 of single records; several records of a holding are one contribution of weight 1."""
    return np.where(grouped.records == 1, np.maximum(weight - 1, 0), 0.0)


def _whole_weights(grouped: Grouped, pairs: Pairs, *, alternating: bool) -> FloatArray:
    """Return the weights rounded to the nearest, or alternately up and down in the order of holdings; at least 1."""
    down = np.floor(pairs.weight)
    broken = pairs.weight > down
    if alternating:
        keys: list[npt.NDArray[Any]] = [pairs.weight, pairs.value]
        keys += [column[pairs.row] for column in reversed(grouped.codes)]
        order = np.lexsort([*keys, grouped.holding[pairs.row]])
        turn = np.empty(len(order), np.int64)
        turn[order] = np.cumsum(broken[order]) % 2
        rounded = down + (broken & (turn == 1))
    else:
        rounded = np.floor(pairs.weight + 0.5)
    return np.maximum(rounded, np.minimum(pairs.weight > 0, 1.0))
