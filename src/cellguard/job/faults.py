"""What is wrong with a job or a policy, one fault per line, with its place and in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from cellguard.job.yamlfile import Lines

QUOTED = (
    "text; put codes and names that look like numbers or yes/no into quotes, as 'yes' or ['yes', 'no']: without quotes "
    "YAML reads yes, no, on and off as true and false"
)


def explain(error: ValidationError, source: str, lines: Lines) -> str:
    """Return all faults of a job, one per line, in plain words; values are not repeated."""
    faults = [e for e in error.errors(include_url=False) if not _is_other_form(e)]
    return "\n".join(dict.fromkeys(_fault(e, source, lines) for e in faults))


# A key that may be a list or a mapping (`where`) is checked as both; pydantic names the form in the place of a fault.
_FORMS = {"list[str]": list, "AllBut": Mapping}


def _is_other_form(error: Mapping[str, Any]) -> bool:
    """Return whether a fault is about a form of a key that the job does not use, because it uses another one."""
    form = _FORMS.get(str(error["loc"][-1])) if error["loc"] else None
    return form is not None and isinstance(error["input"], (list, Mapping)) and not isinstance(error["input"], form)


def _fault(error: Mapping[str, Any], source: str, lines: Lines) -> str:
    place = tuple(part for part in error["loc"] if part not in _FORMS)
    if place[:1] == ("settings",):  # which stand under the name of their method
        place = place[1:]
    context = error.get("ctx", {})
    if error["type"] in {"unknown_key", "later"}:
        place = (*place, context["key"])
    line = next((lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), None)
    where = f"{source} line {line}" if line else source
    named = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
    return f"{where}: {named + ': ' if named else ''}{_words(error)}"


_CURES = {
    "rules": "; every table needs rules, as `rules: [{min_frequency: 3}, {p_percent: 10}]`. `rules: []` applies none "
    "on purpose, and then nothing is called safe",
    "source": "; name the file that holds the data, as `source: firms.csv` (relative to the job file)",
}
_LISTS = {"rules": "`rules: [{min_frequency: 3}, {p_percent: 10}]`", "by": "`by: [industry, region]`"}


def _words(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"unknown_key", "later"}:
        return str(error["msg"])
    if kind == "missing" and error["loc"] == ("version",):
        return "this key is missing; begin the job with the line `version: 1`"
    if kind == "literal_error" and error["loc"] == ("version",):
        return "this cellguard reads jobs of `version: 1`; write that, or install the cellguard that the job is for"
    if kind == "missing":
        return "this key is missing" + _CURES.get(error["loc"][-1], "")
    if kind == "list_type":
        example = _LISTS.get(error["loc"][-1] if error["loc"] else "")
        return "must be a list" + (f", as {example}" if example else ", as [a, b]")
    if kind == "too_short" and error["loc"] and error["loc"][-1] in _LISTS:
        return f"the list is empty; name at least one, as {_LISTS[error['loc'][-1]]}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_type" and isinstance(error["input"], bool):
        return f"must be {QUOTED}"
    if kind == "string_type":
        return "must be text; put codes and names that look like numbers or yes/no into quotes"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    return str(error["msg"])[0].lower() + str(error["msg"])[1:]


def below(name: str, fault: Mapping[str, Any]) -> InitErrorDetails:
    """Return a fault of a part of the job as a fault of the job."""
    kind = PydanticCustomError(fault["type"], fault["msg"], fault.get("ctx"))
    return InitErrorDetails(type=kind, loc=(name, *fault["loc"]), input=fault["input"])
