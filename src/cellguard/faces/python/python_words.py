"""Errors in the words of Python: what messages say of options and job keys, as keyword arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from cellguard.errors import CellguardError

_OPTIONS = (
    (r"; use --force to replace it", "; say force=True to replace it"),
    (r"--force\b", "force=True"),
    (r"--yes-share\b", "confirmed=True"),
    (r"--flag\b", "`flag`"),
    (r"--suppressed\b", "`suppressed`"),
    (r"--primary\b", "`primary`"),
    (r"--value\b", "`value`"),
    (r"--dim\b", "`by`"),
    (r"--known\b", "`known`"),
    (r"--true\b", "`true`"),
    (r"--([a-z]+)-([a-z]+)\b", r"\1_\2"),
    (r"\btables\[\d+\]\.rules\[(\d+)\]", r"rules[\1]"),
    (r"\btables\[\d+\]\.(by|value|name|rules)\b", r"`\1`"),
    (r"\btables\[\d+\]\.protect\.cost\b", "`cost`"),
    (r"\btables\[\d+\]\.(\w+)", r"options['\1']"),
    (r"\btables\[\d+\]: ", ""),
    (r"`by: \[industry, region\]`", "by=['industry', 'region']"),
    (r"`negative: absolute`", "options={'negative': 'absolute'}"),
    (
        r", give the dimension a hierarchy, or, if the file has no totals at all, say `totals: compute`",
        " or give a hierarchy",
    ),
)
_PAIR = re.compile(r"\b(attack|missing|protect|options)\b: \{([^{}]*)\}")
_SAID = re.compile(r"\binsiders: (false|true)\b")
_PERCENT = re.compile(r"\{(\w+): \{([^{}]*)\}\}")


def python_words(message: str) -> str:
    """Return a message with the options of the command line and the keys of jobs as Python's arguments.

    >>> python_words("say attack: {lower: unbounded}, or use --force")
    "say attack={'lower': -math.inf}, or use force=True"
    """
    for pattern, words in _OPTIONS:
        message = re.sub(pattern, words, message)
    message = message.replace("{min_frequency: 3}", "cg.MinFrequency(3)").replace("{p_percent: 10}", "cg.PPercent(10)")
    message = _PAIR.sub(lambda found: f"{found[1]}={{{_pairs(found[2])}}}", message)
    message = _PERCENT.sub(lambda found: f"{{{found[1]!r}: {{{_pairs(found[2])}}}}}", message)
    return _SAID.sub(lambda found: f"attack={{'insiders': {found[1].title()}}}", message)


def _pairs(text: str) -> str:
    """Return what stands between the braces of YAML as a mapping of Python has it."""
    found = []
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, colon, value = (part.strip() for part in pair.partition(":"))
        found.append(f"{key!r}: {_value(key, value)}" if colon else pair)
    return ", ".join(found)


def _value(key: str, value: str) -> str:
    if value == "unbounded":
        return "-math.inf" if key == "lower" else "math.inf"
    if value in {"true", "false"}:
        return value.title()
    return value if re.fullmatch(r"-?[0-9.]+|\.\.\.", value) else repr(value.strip("'\""))


@contextmanager
def in_python() -> Iterator[None]:
    """Raise errors of cellguard again in the words of Python."""
    try:
        yield
    except CellguardError as error:
        words = python_words(str(error))
        if words == str(error):
            raise
        raise type(error)(words) from None
