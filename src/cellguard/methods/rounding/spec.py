"""What a table may say about its rounding."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cellguard.errors import InputError
from cellguard.job.specs import ProtectSpec

SHARED = ("kind", "if_unsafe", "seed", "steps", "search", "effort")
# The seconds of the processor that all attacks of a run may take.
EFFORTS: dict[str, float | None] = {"quick": 30.0, "normal": 300.0, "best": None}


class RoundOptions(ProtectSpec):
    """How a table is rounded. Tables of a job are one linked set, so they share all but base, threshold and `keep`."""

    kind: Literal["conventional", "random", "controlled", "small_counts"] = Field(
        "random",
        description="conventional: to the nearest multiple of the base; random: up with probability remainder / base, "
        "so that no value is biased; controlled: so that published values add up; "
        "small_counts: only inner counts below the base are rounded, and the others are their sums",
    )
    base: float = Field(5, gt=0, description="published values are multiples of it")
    suppress_below: float | None = Field(
        None, gt=0, description="cells that are not 0 but nearer to it than this are suppressed: 8 for counts up to 7"
    )
    keep: list[str] = Field([], description="cells that are published as they are, as `North/B`")
    if_unsafe: Literal["refuse", "suppress", "coarser"] = Field(
        "refuse",
        description="if unsafe cells stay too well known: release nothing, suppress them, or double the base",
    )
    steps: int = Field(
        0, ge=0, le=10, description="controlled: how many multiples beyond the next ones a value may go; 0: none"
    )
    search: Literal["best", "first"] = Field(
        "best", description="controlled: the rounding nearest to what chance prefers, or the first that adds up"
    )
    effort: Literal["quick", "normal", "best"] = Field(
        "normal",
        description="how long attacks may take: 30 or 300 seconds of the processor, or until they end; what is not "
        "proven by then is named, and nothing is released",
    )
    seed: int | None = Field(None, ge=0, lt=2**63, description="default: a secret one, kept in the internal half")


def options_of(said: ProtectSpec) -> RoundOptions:
    """Return what a table says of its rounding."""
    if not isinstance(said, RoundOptions):
        raise InputError("the job's tables are not rounded")
    return said
