"""`source.yaml`: what a folder says of the source that is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from cellguard.errors import InputError, JobError
from cellguard.job.faults import explain
from cellguard.job.rulespec import parse_rule
from cellguard.job.specs import Spec
from cellguard.job.yamlfile import read_yaml
from cellguard.rules.limits import NoiseRule
from cellguard.rules.rule import fewest_of

FILE = "source.yaml"
_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(gt=0, le=1, strict=False)]


class LimitsSpec(Spec):
    """How much may be asked.

    ``cells`` of one table, and how many of them may say something of their own (``new_cells``); ``exposure`` of the
    source; ``answers`` and ``new_cells_per_user`` of each user; ``per_minute`` requests of each user; ``seconds`` that
    the search for what to suppress may take for one answer.
    """

    cells: _Count = 1_000
    new_cells: _Count | None = None
    exposure: _Share = 0.5
    answers: _Count | None = None
    new_cells_per_user: _Count | None = None
    per_minute: _Count = 600
    seconds: _Count = 20


class SourceSpec(Spec):
    """A source: the job of its planned tables, its multipliers, the register of ``answers`` (a file, or postgresql://...),
    and what may be asked.

    The tables of the job count as answered from the beginning. ``variables`` and ``values`` are by default those of
    the job; ``rules`` those of its first table; ``fewest`` is the least number of contributors of a cell.
    """

    version: Literal[1]
    job: str = "job.yaml"
    multipliers: str = "multipliers.parquet"
    answers: str = "answers.db"
    variables: list[str] | None = None
    values: list[str] | None = None
    rules: list[Any] | None = None
    fewest: _Count = 3
    title: str = "A perturbed source"
    limits: LimitsSpec = LimitsSpec()

    @property
    def noise_rules(self) -> tuple[NoiseRule, ...] | None:
        """The rules of the source, if it has any of its own."""
        if self.rules is None:
            return None
        return noise_rules_of([parse_rule(rule) for rule in self.rules])


def noise_rules_of(rules: list[Any]) -> tuple[NoiseRule, ...]:
    """Return what rules say of noise; one that says nothing of it nor of a number of respondents is refused."""
    said = [rule.noise for rule in rules if rule.fewest is None]
    if not said or any(rule is None for rule in said):
        raise JobError("`rules` of a source must be dominance, p_percent or prior_posterior, and min_frequency besides")
    return tuple(dict.fromkeys(said))


def fewest_of_rules(rules: list[Any]) -> int:
    """Return how many contributors a cell must have by the rules."""
    return fewest_of(rules) or 1


def read_source(folder: Path) -> SourceSpec:
    """Read the source of a folder."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"no {FILE} in {str(folder)!r}; it names the job and the multipliers of the source")
    plain, lines = read_yaml(path)
    try:
        return SourceSpec.model_validate(plain)
    except ValidationError as error:
        raise JobError(explain(error, FILE, lines)) from None


def source_of_multipliers(multipliers: Path) -> Path | None:
    """Return the folder of the source that a file of multipliers belongs to, None if there is none beside it."""
    for folder in (multipliers.parent, multipliers.parent.parent, multipliers.parent.parent.parent):
        if (folder / FILE).is_file() and (folder / read_source(folder).multipliers).resolve() == multipliers.resolve():
            return folder
    return None
