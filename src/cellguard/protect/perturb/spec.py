"""The part of a job that says how tables are perturbed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from cellguard.spec.jobfile import Job
from cellguard.spec.specs import Spec


class AttributesSpec(Spec):
    """Own multipliers of each response, close to the respondent's, so that ratios are not disclosed."""

    variant: Literal["delta", "factor"] = Field("factor", description="add to the multiplier, or multiply it")
    sd: float = Field(0.005, gt=0, lt=0.5, description="the standard deviation of what is added or multiplied")
    limit: float = Field(0.2, gt=0, description="derived multipliers that are farther off are reported")


class StrataSpec(Spec):
    """Classes of respondents with a mu each: those of a column or, without one, by what their cells need."""

    column: str | None = Field(None, min_length=1, description="the column of classes; without it: by need")
    mu: dict[str, Annotated[float, Field(gt=0, lt=1)]] = Field({}, description="zes: the mu of each class")


_MU = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_STRATA = {
    "anyOf": [
        {"type": "string", "description": "a column, or `need`"},
        {
            "type": "object",
            "properties": {
                "column": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "mu": {"type": "object", "additionalProperties": _MU},
            },
            "additionalProperties": False,
        },
        {"type": "null"},
    ]
}


def _spelled_out(data: object) -> object:
    """Return strata that are given by a word: a column, or `need`."""
    return {"column": None if data == "need" else data} if isinstance(data, str) else data


class PerturbSpec(Spec):
    """How tables with `method: perturb` are perturbed: one multiplier a respondent, shared by all tables."""

    method: Literal["zes", "zes_mu"] = Field("zes", description="zes uses mu; zes_mu finds the smallest that protects")
    mu: float = Field(0.10, gt=0, lt=1, description="how far multipliers are from 1 on average")
    sigma: float = Field(0.02, ge=0, lt=1, description="the standard deviation of that distance")
    shape: Literal["normal", "beta", "uniform", "triangular"] = "normal"
    directions: Literal["random", "balanced"] = "random"
    probability: float = Field(0.95, ge=0.5, lt=1, description="zes_mu: how sure an unsafe cell must become safe")
    cap: float = Field(0.20, gt=0, lt=1, description="zes_mu: the largest mu to use")
    strata: Annotated[StrataSpec | None, BeforeValidator(_spelled_out), WithJsonSchema(_STRATA)] = Field(
        None, description="a mu for each class: a column, `need`, or for zes {column: ..., mu: {class: mu}}"
    )
    least: float = Field(0.05, gt=0, lt=1, description="zes_mu with strata: the mu of a class that needs none")
    way: Literal["exact", "formula"] = Field("exact", description="zes_mu: the whole noise, or the largest one's only")
    seed: int | None = Field(None, ge=0, lt=2**63, description="default: one that nobody can guess")
    attributes: AttributesSpec | None = None
    accept: list[str] = Field([], description="unsafe cells that may be released all the same, as `table: cell`")
    unproven: Literal["refuse", "accept"] = Field(
        "refuse", description="accept: release although not everything was looked at; every file then says so"
    )
    published: list[str] = Field([], description="output folders of the same office, to find conflicts with")
    few: int = Field(3, ge=1, description="cells with fewer contributors are listed")
    sparse: int = Field(100, ge=2, description="cells with at most so many contributors are looked at for coalitions")
    round: bool = Field(False, description="publish whole counts; they then no longer add up")
    replications: int = Field(0, ge=0, description="repeat the perturbation so often, to study its noise; 0: not")

    @classmethod
    def of(cls, job: Job) -> PerturbSpec:
        """Return what a job says, or the defaults."""
        said = job.settings.get("perturb")
        return said if isinstance(said, PerturbSpec) else cls()

    @model_validator(mode="after")
    def _sensible(self) -> PerturbSpec:
        if self.replications == 1:
            raise ValueError("`replications`: a study needs at least 2 of them; 0 means none")
        if self.strata is None:
            return self
        if self.method == "zes" and not (self.strata.column and self.strata.mu):
            raise ValueError(
                "`strata` with zes need the mu of each class, as {column: size, mu: {large: 0.15}}; zes_mu finds them"
            )
        if self.method == "zes_mu" and self.strata.mu:
            raise ValueError("zes_mu finds the mu of each class of `strata`; leave `mu` out, or say `method: zes`")
        if self.method == "zes_mu" and self.least > self.cap:
            raise ValueError("`least`, the smallest mu of a class, must not be above `cap`")
        return self
