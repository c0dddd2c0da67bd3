"""What a table may say about its suppression."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from cellguard.job.specs import ProtectSpec, Spec
from cellguard.methods.suppress.costs import COSTS, parse_cost
from cellguard.methods.suppress.engines.catalogue import ENGINES, checked_engine
from cellguard.seam.look import SUPPRESSED, Look


def _checked_cost(data: object) -> object:
    parse_cost(data)
    return data


def _checked_engine(data: object) -> object:
    if data is not None:
        checked_engine(str(data))
    return data


EngineSpec = Annotated[
    str | None, PlainValidator(_checked_engine), WithJsonSchema({"anyOf": [{"enum": list(ENGINES)}, {"type": "null"}]})
]
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

    engine: EngineSpec = Field(
        None, description="who chooses the cells: by default gauss for exact counts, else witness; optimal for proofs"
    )
    cost: CostSpec = Field("value", description="what suppressing a cell costs")
    random: bool = Field(
        False, description="multiply costs by random factors, so that the choice of cells reveals less; see --seed-from"
    )
    effort: Literal["quick", "normal", "best"] = Field(
        "normal", description="how long to look for a cheaper pattern; of the tables of a job the greatest counts"
    )
    hide_with: list[str] = Field(
        [], description="responses: a cell of this table is suppressed wherever the same cell of one of them is"
    )


class SuppressDeclaration:
    """What a job must know of suppression, without the engines."""

    name: ClassVar[str] = "suppress"
    participle: ClassVar[str] = "suppressed"
    options: ClassVar[type[ProtectSpec]] = SuppressOptions
    settings: ClassVar[type[Spec] | None] = None
    attacked: ClassVar[bool] = True
    surveyed: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    look: ClassVar[Look] = SUPPRESSED

    @classmethod
    def fault(cls, job: object) -> str | None:
        """Return None: whatever a job says goes with suppression."""
        return None
