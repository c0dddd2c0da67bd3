"""Rules in words: what each one says, its formula, its parameters, and how a job writes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import get_type_hints

from cellguard.errors import InputError, did_you_mean
from cellguard.rules.catalogue import rules
from cellguard.rules.rule import Rule, parameters, percents, required

# What the Handbook and the literature use; of other parameters a job has to say them.
_EXAMPLES: Mapping[str, object] = {"n": 3, "k": 85, "p": 10, "q": 100, "s": 10, "d": 1}


@dataclass(frozen=True)
class Described:
    """A rule as people read it: ``parameters`` are name, kind and default, the last '' where a job must say one."""

    name: str
    meaning: str
    unsafe_if: str
    looks_at: str
    level: str
    parameters: tuple[tuple[str, str, str], ...]
    written: str


def described() -> list[Described]:
    """Return all rules in words, in the order of their names."""
    return [_describe(name, kind) for name, kind in rules().items()]


def describe(name: str) -> Described:
    """Return one rule in words.

    >>> described = describe("p_percent")
    >>> described.written, described.parameters[0]
    ('{p_percent: 10}', ('p', 'percent', ''))
    >>> describe("p_procent")
    Traceback (most recent call last):
    cellguard.errors.InputError: unknown rule 'p_procent'; did you mean 'p_percent'?
    """
    if name not in rules():
        raise InputError(f"unknown rule {name!r}{did_you_mean(name, list(rules()))}")
    return _describe(name, rules()[name])


def _describe(name: str, kind: type[Rule]) -> Described:
    formula = kind.formula
    doc = inspect.cleandoc(kind.__doc__ or "").split(">>>")[0].strip()
    hints, shares = get_type_hints(kind), set(percents(kind))
    listed = tuple(
        (field.name, "percent" if field.name in shares else _kind(hints[field.name]), _default(field.default))
        for field in parameters(kind)
    )
    meaning, unsafe_if, looks_at, level = (_plain(text) for text in (doc, *formula))
    return Described(name, meaning, unsafe_if, looks_at, level, listed, _written(name, kind))


def _written(name: str, kind: type[Rule]) -> str:
    """Return how a job writes a rule, with usual figures."""
    shares = percents(kind)
    usual = {key: 1 if key == "k" and key not in shares else value for key, value in _EXAMPLES.items()}
    needed = {key: usual.get(key, "...") for key in required(kind)}
    if not needed:
        return f"{{{name}: {{}}}}"
    if len(needed) == 1:
        return f"{{{name}: {next(iter(needed.values()))}}}"
    return f"{{{name}: {{{', '.join(f'{key}: {value}' for key, value in needed.items())}}}}}"


def _kind(hint: object) -> str:
    words = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    return words.get(hint, "see docs") if isinstance(hint, type) else "see docs"


def _default(default: object) -> str:
    if default is MISSING:
        return ""
    return str(default).lower() if isinstance(default, bool) else "none" if default is None else str(default)


def _plain(text: str) -> str:
    return text.replace("``", "").replace("`", "")
