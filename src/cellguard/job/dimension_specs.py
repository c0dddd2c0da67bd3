"""What a job says of its dimensions: where their hierarchies are, further groupings, and coarser versions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from cellguard.job.specs import Spec

WAYS = ("levels", "parents", "digits", "hrc", "codelist")  # how a hierarchy may be given


class GroupingSpec(Spec):
    """A hierarchy from a file or from the digits of the codes; at most one way."""

    levels: str | None = Field(None, min_length=1, description="CSV file with one column per level, coarsest first")
    parents: str | None = Field(
        None, min_length=1, description="CSV file with columns code and parent; the total has no parent"
    )
    digits: list[int] | None = Field(None, min_length=1, description="how many characters each level adds to the code")
    hrc: str | None = Field(None, min_length=1, description="τ-ARGUS .hrc file")
    lead: str = Field("@", description="the string that marks the depth in a .hrc file")
    codelist: str | None = Field(
        None, min_length=1, description="SDMX structure message, or FILE#LIST if nothing says which code list it is"
    )

    @model_validator(mode="after")
    def _one_way(self) -> GroupingSpec:
        given = [key for key in WAYS if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of {' and '.join(given)}, not both")
        return self


class AlsoSpec(GroupingSpec):
    """A second, possibly non-nested grouping of the same leaves under the same total."""

    name: str


class RecodeSpec(Spec):
    """A coarser version of a hierarchy: merge codes with one parent, cut off what is below a code or a level."""

    merge: dict[str, list[str]] = Field({}, description="new code: the codes that it replaces")
    cut: list[str] = Field([], description="codes that become leaves")
    to_level: int | None = Field(None, description="the deepest level to keep; 0 is the total")


class DimensionSpec(GroupingSpec):
    """A dimension: a column and its hierarchy; without one, the codes stand side by side under the total."""

    column: str | None = Field(None, description="the column's name, if it is not the dimension's")
    levels: str | Annotated[list[str], Field(min_length=1)] | None = Field(  # type: ignore[assignment]
        None,
        description="CSV file with one column per level, coarsest first; or a list of the records' columns that nest",
    )
    total: str | None = Field(None, description="the code of the total (default: Total)")
    labels: str | None = Field(None, description="CSV file with columns code and label")
    also: list[AlsoSpec] = Field([])
    recode: RecodeSpec | None = None

    @property
    def nested(self) -> tuple[str, ...]:
        """The columns of the records that hold its levels, coarsest first; none if a file or nothing does."""
        return tuple(self.levels) if isinstance(self.levels, list) else ()

    @model_validator(mode="after")
    def _own_columns(self) -> DimensionSpec:
        if self.nested and self.column:
            raise ValueError("the last of `levels` holds the records' codes; leave out `column`")
        if len(set(self.nested)) < len(self.nested):
            raise ValueError("`levels` names a column twice")
        return self

    def column_of(self, name: str) -> str:
        """Return the column that holds the codes of the dimension of this name."""
        return self.nested[-1] if self.nested else self.column or name
