"""What a table may say about its suppression."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from cellguard.protect.suppress.costs import COSTS, parse_cost
from cellguard.spec.specs import ProtectSpec


def _checked_cost(data: object) -> object:
    parse_cost(data)
    return data


CostSpec = Annotated[
    str | dict[str, Any],
    PlainValidator(_checked_cost),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(COSTS)},
                {"type": "object", "properties": {"box_cox": {"type": "number", "minimum": 0, "maximum": 1}}},
                {"type": "object", "properties": {"inner_first": {}}},
                {"type": "object", "properties": {"sum": {"type": "array", "items": {"type": "object"}}}},
            ]
        }
    ),
]


class SuppressOptions(ProtectSpec):
    """How a table is suppressed. Tables of a job are one linked set, so they share the engine."""

    engine: Literal["witness"] = "witness"
    cost: CostSpec = Field("value", description="what hiding a cell costs")
    effort: Literal["quick", "normal", "best"] = Field(
        "normal", description="how long to look for a cheaper pattern; of the tables of a job the greatest counts"
    )
