"""What the columns of records are: dimensions, responses, weight, respondent, holding, waiver, request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cellguard.errors import InputError, listing
from cellguard.microdata.grouped import COUNT

MISSING_CODE = "Missing"
KEY_DECIMALS = 9  # of record keys that are fractions; further ones are rounded


@dataclass(frozen=True)
class Missing:
    """What to do where a record lacks something; whatever is not an error is counted and reported.

    value       a blank response: ``error``; ``drop`` the record from all tables; ``zero``: it contributes 0 and counts
    code        a blank code: ``error``; ``drop`` the record; ``category``: a code of its own, `Missing`
    holding     a blank holding: ``error``; ``own``: the record's respondent is a holding of its own
    """

    value: Literal["error", "drop", "zero"] = "error"
    code: Literal["error", "drop", "category"] = "error"
    holding: Literal["error", "own"] = "error"

    def __post_init__(self) -> None:
        for name, allowed in _POLICIES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"missing: {name} must be {' or '.join(allowed)}, not {getattr(self, name)!r}")


_POLICIES = {"value": ("error", "drop", "zero"), "code": ("error", "drop", "category"), "holding": ("error", "own")}


@dataclass(frozen=True)
class Roles:
    """Which column holds what.

    ``absent`` are for some columns the entries that mean that nothing is known (as 99 in a τ-ARGUS file);
    ``request_codes`` are the entries of the request column that ask for protection, if it does not say yes or no.
    ``record_key`` is a column of uniform random numbers: fractions from 0 to 1, or whole numbers below ``key_range``.
    """

    dimensions: tuple[str, ...]
    responses: tuple[str, ...] = ()
    weight: str | None = None
    respondent: str | None = None
    holding: str | None = None
    waiver: str | None = None
    request: str | None = None
    missing: Missing = field(default_factory=Missing)
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    request_codes: tuple[str, ...] = ()
    record_key: str | None = None
    key_range: int | None = None

    def __post_init__(self) -> None:
        if COUNT in self.responses:
            raise InputError(f"a response cannot be named {COUNT!r}, which means the number of respondents; rename it")
        if self.key_range is not None and not 2 <= self.key_range <= 2**32:
            raise InputError("`key_range` is how many whole numbers record keys are drawn from: 2 to 4294967296")
        single = [c for c in (self.weight, self.respondent, self.holding, self.waiver, self.request) if c]
        twice = [c for c in {*self.dimensions, *self.responses} if c in self.dimensions and c in self.responses]
        twice += [c for c in single if single.count(c) > 1 and c in {self.weight, self.waiver, self.request}]
        if twice:
            raise InputError(
                f"{listing(sorted(set(twice)))} has two roles; a column spans tables (`by`), is summed (`value`), or "
                "is the weight, waiver or request, but not two of these: change the job, or copy the column"
            )

    @property
    def key_modulus(self) -> int:
        """What sums of record keys are taken modulo: the range of whole ones, or one in steps of fractions."""
        return self.key_range or 10**KEY_DECIMALS
