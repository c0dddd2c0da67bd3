"""House policies: rules and defaults that many jobs refer to, from a file or by the name of a tool to be followed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, ValidationError, model_validator

from cellguard.errors import JobError, did_you_mean
from cellguard.job.faults import below, explain
from cellguard.job.registry import declared, method_names
from cellguard.job.rulespec import parse_rule
from cellguard.job.specs import AttackSpec, Spec, TableSpec
from cellguard.job.yamlfile import Lines, read_yaml
from cellguard.rules.presets import PRESETS, Preset, as_in

Tool = Literal["tau_argus", "sdctable", "gauss_suppression", "g_confid", "acro"]
_OWN = ("name", "by", "value", "rules", "cells")  # what only the table itself can say
_STAND_IN = {"name": "t", "by": ["by"], "value": "value", "rules": []}


def _as_written(data: object) -> object:
    """Return a rule as it is written, if it is one: what it leaves open is filled in table by table."""
    parse_rule(data)
    return data


_RuleAsWritten = Annotated[Any, PlainValidator(_as_written)]


class Policy(Spec):
    """Named lists of rules, and what tables and the attacker are unless a job says otherwise."""

    version: Literal[1]
    like: Tool | None = Field(None, description="the tool whose conventions rules follow where they do not say")
    rules: dict[str, list[_RuleAsWritten]] = Field({}, description="lists of rules, by the name that tables give")
    tables: dict[str, Any] = Field({}, description="defaults of every table")
    attack: dict[str, Any] = Field({}, description="defaults of the attacker")

    @model_validator(mode="after")
    def _defaults_are_those_of_tables(self) -> Policy:
        for key in self.tables:
            if key in _OWN:
                raise ValueError(f"`tables` cannot say {key!r}: every table has its own")
        for name, kind, said in (
            ("tables", TableSpec, {**_STAND_IN, **self.tables}),
            ("attack", AttackSpec, self.attack),
        ):
            try:
                kind.model_validate(said)
            except ValidationError as error:
                faults = [below(name, fault) for fault in error.errors(include_url=False)]
                raise ValidationError.from_exception_data("policy", faults) from None
        return self

    @property
    def preset(self) -> Preset:
        """The conventions that its rules follow."""
        return PRESETS[self.like] if self.like else Preset()


def load_policy(name: str, folder: Path) -> Policy:
    """Return the policy of a file, or that of a tool.

    >>> load_policy("sdctable", Path()).like
    'sdctable'
    """
    if name in PRESETS:
        return Policy(version=1, like=name)  # type: ignore[arg-type]
    path = folder / name
    if not path.is_file():
        raise JobError(
            f"policy: there is no file {name!r}{did_you_mean(name, PRESETS)}; name a YAML file, or one of "
            f"{', '.join(PRESETS)}"
        )
    data, lines = read_yaml(path)
    if not isinstance(data, Mapping):
        raise JobError(f"{path.name}: a policy is a mapping with the keys {', '.join(Policy.model_fields)}")
    try:
        return Policy.model_validate(dict(data))
    except ValidationError as error:
        raise JobError(explain(error, path.name, lines)) from None


def with_policy(data: Mapping[str, Any], policy: Policy, source: str, lines: Lines) -> dict[str, Any]:
    """Return a job's data with all that its policy says put in place; what the job itself says goes first."""
    weighted = isinstance(data.get("microdata"), Mapping) and bool(data["microdata"].get("weight"))
    tables = data.get("tables")
    filled = {**data, "policy": None}
    if isinstance(tables, list):
        places = [lines.get(("tables", i, "rules")) for i in range(len(tables))]
        named = [f"{source} line {place}" if place else source for place in places]
        filled["tables"] = [_table(t, policy, weighted, where) for t, where in zip(tables, named, strict=True)]
    if policy.attack and (data.get("attack") is None or isinstance(data["attack"], Mapping)):
        filled["attack"] = {**policy.attack, **(data.get("attack") or {})}
    return filled


def _is_surveyed(table: Mapping[str, Any]) -> bool:
    """Return whether the rules of a table see respondents as `survey` says, by the method that it names."""
    protect = table.get("protect")
    name = protect.get("method") if isinstance(protect, Mapping) else None
    return name not in method_names() or declared(str(name)).surveyed


def _table(table: object, policy: Policy, weighted: bool, where: str) -> object:
    """Return a table with its list of rules in place of the list's name, and the defaults that it can take."""
    if not isinstance(table, Mapping):
        return table
    ready, count = bool(table.get("cells")), table.get("value") == "count"
    defaults = {"survey": policy.preset.survey, **policy.tables}
    surveyed = _is_surveyed({**defaults, **table})
    if ready or not (surveyed and weighted):
        defaults.pop("survey")
    if ready or count:
        defaults.pop("negative", None)
    whole = {**{key: value for key, value in defaults.items() if value is not None}, **table}
    rules = table.get("rules")
    if isinstance(rules, str):
        if rules not in policy.rules:
            near = did_you_mean(rules, policy.rules) or "; it has no list of rules"
            raise JobError(f"{where}: the policy has no rules named {rules!r}{near}")
        rules = policy.rules[rules]
    if isinstance(rules, list):
        sums = surveyed and not (ready or count)
        whole["rules"] = [as_in(policy.preset, rule, sums_of_records=sums) for rule in rules]
    return whole
