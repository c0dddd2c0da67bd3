"""Rules as a job file writes them: ``{p_percent: 10}``, ``{dominance: {n: 1, k: 85}}``, ``{all: [...]}``.

A percentage below 1 is mostly a share by mistake, and would protect next to nothing; it is refused unless the rule says
``confirmed: true``. That is a word of the job, and no parameter of the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from cellguard.errors import InputError, did_you_mean
from cellguard.job.faults import QUOTED
from cellguard.rules.all_of import All, inner
from cellguard.rules.catalogue import rules
from cellguard.rules.doubts import small_percent
from cellguard.rules.parameters import whole_number
from cellguard.rules.rule import Rule, name_of, parameters, percents, required

CONFIRMED = "confirmed"
_KINDS: Mapping[type[Any], tuple[str, dict[str, Any]]] = {
    int: ("a whole number", {"type": "integer"}),
    float: ("a number", {"type": "number"}),
    bool: ("true or false", {"type": "boolean"}),
    str: ("text", {"type": "string"}),
    Rule: ("a rule", {"$ref": "#/$defs/Rule"}),
}
_LISTS: Mapping[type[Any], tuple[str, dict[str, Any]]] = {
    float: ("a list of numbers", {"type": "array", "items": {"type": "number"}, "minItems": 1}),
    str: ("a list of texts", {"type": "array", "items": {"type": "string"}}),
}


# What other packages call rules.
_ELSEWHERE = {
    **dict.fromkeys(("nk", "n_k", "dom"), "dominance"),
    **dict.fromkeys(("freq", "frequency", "threshold", "minfreq", "maxn", "min_count", "k_anonymity"), "min_frequency"),
    **dict.fromkeys(("p", "p_rule", "pratio", "p_ratio"), "p_percent"),
    **dict.fromkeys(("pq", "p_q", "ambiguity"), "prior_posterior"),
    "req": "request",
}


def parse_rule(data: object) -> Rule:
    """Return the rule that a job file's entry describes.

    >>> str(parse_rule({"dominance": {"n": 1, "k": 85}})), str(parse_rule({"p_percent": 10}))
    ('dominance (1, 85)', 'p_percent 10')
    """
    if not isinstance(data, Mapping) or len(data) != 1:
        raise InputError("a rule is written as one name with its parameters, for instance {p_percent: 10}")
    ((name, value),) = data.items()
    if name == "all":
        if not isinstance(value, list):
            raise InputError("`all` takes a list of rules")
        return All(tuple(parse_rule(item) for item in value))
    if name not in rules():
        here = _ELSEWHERE.get(str(name).lower())
        hint = f"; it is {here!r} here" if here else did_you_mean(str(name), [*rules(), "all"])
        raise InputError(f"unknown rule {name!r}{hint}")
    return _build(name, value)


def dump_rule(rule: Rule) -> dict[str, Any]:
    """Return a rule as a job file writes it, every parameter spelled out.

    A rule of a kind that is not registered is refused, even if it derives from one that is: what is saved would be read
    back as another rule.
    """
    if type(rule) is All:
        return {"all": [dump_rule(r) for r in rule.rules]}
    name = name_of(rule)
    if name is None:
        raise InputError(
            f"the rule {rule} is of the kind {type(rule).__name__}, which no job file can name, so it cannot be saved; "
            "register its class under a name of its own with `@register(name)` of cellguard.rules.rule, or use one of "
            f"{', '.join([*rules(), 'all'])}"
        )
    said = {field.name: _dumped(getattr(rule, field.name)) for field in parameters(type(rule))}
    return {name: said | ({CONFIRMED: True} if rule.small_percents() else {})}


def refuse_shares(rule: Rule) -> None:
    """Refuse a rule with a percentage below 1, since nobody confirmed it.

    >>> from cellguard.rules.linear import PPercent
    >>> refuse_shares(PPercent(0.1))
    Traceback (most recent call last):
    cellguard.errors.InputError: p_percent: p is 0.1 %; did you mean 10 %? Percentages are written as 10, not as 0.1.
    If it is meant, confirm it: {p_percent: {p: 0.1, confirmed: true}}
    """
    for part in inner(rule):
        refuse_shares(part)
    small, name = rule.small_percents(), name_of(rule)
    for key, value in small.items():
        spelled = ", ".join(f"{k}: {getattr(rule, k):g}" for k in dict.fromkeys([*_numbers(rule), *small]))
        raise InputError(
            f"{name}: {small_percent(key, value)} Percentages are written as {100 * value:g}, not as {value:g}. If it "
            f"is meant, confirm it: {{{name}: {{{spelled}, {CONFIRMED}: true}}}}"
        )


def _numbers(rule: Rule) -> list[str]:
    """Return the required parameters that are numbers."""
    return [key for key in required(type(rule)) if isinstance(getattr(rule, key), (int, float))]


def _dumped(value: object) -> object:
    if isinstance(value, Rule):
        return dump_rule(value)
    return list(value) if isinstance(value, tuple) else value


def rule_schema() -> dict[str, Any]:
    """Return the JSON schema of one rule, to stand as ``Rule`` among a schema's definitions."""
    choices = [_one_key(name, _parameters_schema(kind)) for name, kind in rules().items()]
    nested = {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/Rule"}}
    return {"oneOf": [*choices, _one_key("all", nested)]}


def _build(name: str, value: object) -> Rule:
    kind = rules()[name]
    known, needed = [f.name for f in parameters(kind)], required(kind)
    if not isinstance(value, Mapping):
        if len(needed) != 1:
            raise InputError(f"{name} needs {', '.join(needed)}: write {{{name}: {{{': ..., '.join(needed)}: ...}}}}")
        value = {needed[0]: value}
    value = dict(value)
    confirmed = value.pop(CONFIRMED, False) if percents(kind) else False
    if not isinstance(confirmed, bool):
        raise InputError(f"{name}: {CONFIRMED} must be true or false")
    for key in value:
        if key not in known:
            raise InputError(f"{name} has no parameter {key!r}{did_you_mean(str(key), known)}")
    for key in needed:
        if key not in value:
            raise InputError(f"{name} needs the parameter {key!r}")
    hints = _hints(kind)
    rule = kind(**{key: _checked(f"{name}: {key}", v, hints[key]) for key, v in value.items()})
    if not confirmed:
        refuse_shares(rule)
    return rule


@cache
def _hints(kind: type[Rule]) -> Mapping[str, Any]:
    """Return the types of a rule's parameters, which are worked out from text each time that they are asked for."""
    return get_type_hints(kind)


def _checked(what: str, value: object, kind: type[Any]) -> object:
    """Return a parameter's value if it is of the kind that the rule declares."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and number and abs(value) < 1e300:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    if kind is Rule:
        return parse_rule(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    if kind is int and number and isinstance(whole_number(value), int):
        return whole_number(value)
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if kind not in _KINDS and get_origin(kind) is not Literal and isinstance(value, list):
        return tuple(_checked(what, item, _item(kind)) for item in value)
    percent = ", without the sign %" if isinstance(value, str) and value.rstrip().endswith("%") else ""
    raise InputError(f"{what} must be {QUOTED if kind is str and isinstance(value, bool) else _kind(kind)[0]}{percent}")


def _kind(kind: type[Any]) -> tuple[str, dict[str, Any]]:
    """Return a parameter's kind in words and as a JSON schema."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind)), {"enum": list(get_args(kind))}
    return _KINDS.get(kind) or _LISTS[_item(kind)]


def _item(kind: type[Any]) -> type[Any]:
    """Return the kind of the items of a parameter that is a list."""
    return str if get_args(kind)[:1] == (str,) else float


def _one_key(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


def _parameters_schema(rule: type[Rule]) -> dict[str, Any]:
    hints, needed = _hints(rule), required(rule)
    kinds = {f.name: _kind(hints[f.name])[1] for f in parameters(rule)}
    words = (
        {CONFIRMED: {"type": "boolean", "description": "that a percentage below 1 is meant"}} if percents(rule) else {}
    )
    spelled = {"type": "object", "properties": kinds | words, "required": needed, "additionalProperties": False}
    doc = (rule.__doc__ or "").split("\n")[0]
    return {"description": doc, "anyOf": [spelled, *([kinds[needed[0]]] if len(needed) == 1 else [])]}
