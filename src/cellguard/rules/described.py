"""Rules in words: what each one says, its formula, its parameters, and how a job writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from cellguard.errors import InputError, did_you_mean
from cellguard.rules.catalogue import rules
from cellguard.rules.rule import Rule, parameters, percents, required

# What the Handbook and the literature use; of other parameters a job has to say them.
_EXAMPLES: Mapping[str, object] = {
    "n": 3,
    "k": 85,
    "p": 10,
    "q": 100,
    "s": 10,
    "by": "illness",
    "sensitive": "[cancer]",
    "column": "secret",
    "usual": "{p_percent: 10}",
    "weights": "[1, -1]",
    "rest": -0.1,
}
# What parameters mean that several rules have.
_SHARED: Mapping[str, str] = {
    "by": "The dimension of the categories.",
    "signed.by": "Which ratios are looked at: S_R (variance), Q_R (quantile) or both.",
    "signed.n": "The least safe number of respondents.",
    "sensitive": "The codes that must not become known of a respondent.",
    "inclusive": "Whether a cell exactly at the limit is unsafe, too.",
    "zero_unsafe": "Whether a cell with the value 0 is unsafe.",
    "protection_percent": "The protection level of an unsafe cell, in percent of its value.",
    "n": "The least safe number.",
    "k": "How many of a row may pool what they know.",
    "p": "The least share of a row that is unsafe, in percent.",
    "s": "The least safe length of the interval, in percent of the total.",
    "below": "Judge only rows of fewer respondents than this; 0 judges all.",
    "both_pairs": "Whether what the largest knows of the runner-up counts as well, as a share of what both have.",
    "usual": "The rule that judges sizes where one sign prevails.",
    "sign_ratio": "The largest T_R at which one sign prevails.",
    "limit": "The largest S_R or Q_R that is unsafe.",
    "h": "How many of the contributions farthest from 0 are looked at.",
    "near": "How close to the median contributions must be not to stand out.",
}


@dataclass(frozen=True)
class Described:
    """A rule as people read it: ``summary`` is one sentence, ``meaning`` all there is.

    ``parameters`` are name, kind, default ('' where a job must say one) and meaning.
    """

    name: str
    summary: str
    meaning: str
    unsafe_if: str
    looks_at: str
    level: str
    parameters: tuple[tuple[str, str, str, str], ...]
    written: str


def described() -> list[Described]:
    """Return all rules in words, in the order of their names."""
    return [_describe(name, kind) for name, kind in rules().items()]


def describe(name: str) -> Described:
    """Return one rule in words.

    >>> described = describe("p_percent")
    >>> described.written, described.parameters[0]
    ('{p_percent: 10}', ('p', 'percent', '', 'The closest safe estimate, in percent of the largest contribution.'))
    >>> describe("p_procent")
    Traceback (most recent call last):
    cellguard.errors.InputError: unknown rule 'p_procent'; did you mean 'p_percent'?
    """
    if name not in rules():
        raise InputError(f"unknown rule {name!r}{did_you_mean(name, list(rules()))}")
    return _describe(name, rules()[name])


def _describe(name: str, kind: type[Rule]) -> Described:
    formula = kind.formula
    doc = inspect.cleandoc(kind.__doc__ or "")
    prose = re.split(r"^\w+\n-+$|^>>>", doc, maxsplit=1, flags=re.M)[0].strip()
    meant = _meant(doc)
    hints, shares = get_type_hints(kind), set(percents(kind))
    listed = tuple(
        (
            field.name,
            "percent" if field.name in shares else _kind(hints[field.name]),
            _default(field.default),
            meant.get(field.name) or _SHARED.get(f"{name}.{field.name}") or _SHARED.get(field.name, ""),
        )
        for field in parameters(kind)
    )
    meaning, unsafe_if, looks_at, level = (_plain(text) for text in (prose, *formula))
    return Described(name, _summary(meaning), meaning, unsafe_if, looks_at, level, listed, _written(name, kind))


def _meant(doc: str) -> dict[str, str]:
    """Return what a numpydoc docstring says of each parameter, the first sentence of it."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", doc, flags=re.M | re.S)
    said = re.findall(r"^(\S.*)\n((?:    .*\n?|\n)+)", section.group(1), flags=re.M) if section else []
    texts = {name: _plain(re.split(r";|\.\s", " ".join(text.split()))[0].rstrip(".")) + "." for name, text in said}
    return {name: text for names, text in texts.items() for name in names.split(", ")}


def _summary(meaning: str) -> str:
    """Return the first sentence of what a rule means."""
    return re.split(r"(?<=[.])\s", " ".join(meaning.split()))[0]


def _written(name: str, kind: type[Rule]) -> str:
    """Return how a job writes a rule, with usual figures."""
    shares = percents(kind)
    usual = {key: 1 if key == "k" and key not in shares else value for key, value in _EXAMPLES.items()}
    needed = {key: usual.get(key, "...") for key in required(kind)}
    if not needed:
        return f"{{{name}: {{}}}}"
    if len(needed) == 1 and not str(next(iter(needed.values()))).startswith("{"):  # a mapping would be its parameters
        return f"{{{name}: {next(iter(needed.values()))}}}"
    return f"{{{name}: {{{', '.join(f'{key}: {value}' for key, value in needed.items())}}}}}"


def _kind(hint: object) -> str:
    words = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    if isinstance(hint, type):
        return words.get(hint) or ("rule" if issubclass(hint, Rule) else "list")
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    return "list" if get_origin(hint) in (tuple, list) else "see docs"


def _default(default: object) -> str:
    if default is MISSING:
        return ""
    return str(default).lower() if isinstance(default, bool) else "none" if default is None else str(default)


def _plain(text: str) -> str:
    return text.replace("``", "").replace("`", "")
