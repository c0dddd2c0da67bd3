"""What a table may say about its adjustment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cellguard.errors import InputError
from cellguard.job.specs import ProtectSpec

SHARED = ("weights", "distance", "search", "unproven")


class AdjustOptions(ProtectSpec):
    """How a table is adjusted. Tables of a job are one linked set, so they share all but `keep`."""

    weights: Literal["one", "value", "inverse"] = Field(
        "one", description="what a move of one unit costs: the same everywhere, the value of the cell, or 1 / value"
    )
    distance: Literal["l1", "l2"] = Field(
        "l1",
        description="what is least: the sum of all moves, or of their squares, which spreads them over more cells",
    )
    keep: Literal["totals"] | list[str] = Field(
        [],
        description="cells that are published as they are, as `[Total/Total]`; `totals`: all cells that are the total "
        "of a dimension, but for unsafe ones",
    )
    search: Literal["auto", "heuristic"] = Field(
        "auto", description="how sides are chosen: by an integer program where the set is small, or never"
    )
    unproven: Literal["refuse", "accept"] = Field(
        "refuse",
        description="accept: release although what somebody who knows the method concludes is not proven; "
        "every file then says so",
    )


def options_of(said: ProtectSpec) -> AdjustOptions:
    """Return what a table says of its adjustment."""
    if not isinstance(said, AdjustOptions):
        raise InputError("the job's tables are not adjusted")
    return said
