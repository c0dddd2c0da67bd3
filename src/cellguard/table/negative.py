"""Negative contributions: what the rules of a table see in their place.

References: Giessing 2008 (shift); Tambay & Fillion (sizes, proxy); all as told by Flygare, Jansson & Orusild. The
published totals are never changed. They take the population to be fully enumerated; with weights sizes are weighted,
and what the largest contributions are is that of the survey, see `survey`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.grouped import Grouped

_WEIGHTED = ("virtual", "handbook")  # whose totals and shares are the weighted ones
_FORMS = "absolute, {shift: 1000} or {proxy: employees}"


@dataclass(frozen=True, slots=True)
class Negative:
    """What rules see where contributions may be negative: their sizes, or what is said here.

    ``shift`` is added to every contribution, none of which may stay below 0; it suppresses dominance, since readers
    know it and the rules do not. ``proxy`` is another column whose sizes stand for those of the contributions; with
    ``share`` a, the larger of |y| and a |proxy| does.

    >>> Negative().absolute, Negative(shift=1000.0).absolute
    (True, False)
    """

    shift: float | None = None
    proxy: str | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.shift is not None and self.proxy is not None:
            raise InputError("negative: give one of shift and proxy, not both")
        if self.share is not None and self.proxy is None:
            raise InputError("negative: share goes with proxy")
        for name in ("shift", "share"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise InputError(f"negative: {name} must be above 0 and finite")

    @property
    def absolute(self) -> bool:
        """Whether rules see the contributions' own sizes."""
        return self.shift is None and self.proxy is None

    def weighted_fault(self, survey: str | None) -> str | None:
        """Describe why rules cannot see weighted contributions so, if they cannot."""
        if not self.absolute:
            return "with weights only `negative: absolute` tells how large the contributions of a total are"
        if (survey or "virtual") not in _WEIGHTED:
            return f"with weights `negative: absolute` goes with survey {' or '.join(_WEIGHTED)}, not with {survey}"
        return None

    def seen(self, grouped: Grouped, response: str) -> FloatArray:
        """Return what holdings contribute in each row of the records, as far as ranks and shares go."""
        if response not in grouped.total:
            raise InputError("`negative` is for sums of a response, and counts are never negative; leave it out")
        value = grouped.total[response]
        if self.proxy is None:
            return value
        if self.proxy not in grouped.total:
            raise InputError(f"negative: no column {self.proxy!r}{did_you_mean(self.proxy, grouped.total)}")
        size = np.abs(grouped.total[self.proxy])
        if self.share is not None:
            return np.asarray(np.maximum(np.abs(value), self.share * size), float)
        if ((size == 0) & (value != 0)).any():
            raise InputError(
                f"negative: the proxy {self.proxy!r} is 0 where {response!r} is not, so it does not show how large all "
                "respondents are; give `share`, so that the larger of both counts"
            )
        return np.asarray(size, float)


def parse_negative(data: object) -> Negative | None:
    """Return the treatment that a job file's entry describes.

    >>> parse_negative("absolute"), parse_negative({"shift": 5})
    (Negative(shift=None, proxy=None, share=None), Negative(shift=5.0, proxy=None, share=None))
    """
    if data is None or isinstance(data, Negative):
        return data
    if data == "absolute":
        return Negative()
    if not isinstance(data, Mapping) or not data or not set(data) <= {"shift", "proxy", "share"}:
        raise InputError(f"negative must be {_FORMS}")
    numbers = {name: data[name] for name in ("shift", "share") if data.get(name) is not None}
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in numbers.values()):
        raise InputError("negative: shift and share must be numbers")
    proxy = data.get("proxy")
    if proxy is not None and not isinstance(proxy, str):
        raise InputError("negative: proxy must be the name of a column")
    return Negative(proxy=proxy, **{name: float(value) for name, value in numbers.items()})


def dump_negative(negative: Negative | None) -> str | dict[str, Any] | None:
    """Return a treatment as a job file writes it.

    >>> dump_negative(Negative(proxy="jobs"))
    {'proxy': 'jobs'}
    """
    if negative is None or negative.absolute:
        return None if negative is None else "absolute"
    said = {"shift": negative.shift, "proxy": negative.proxy, "share": negative.share}
    return {name: value for name, value in said.items() if value is not None}
