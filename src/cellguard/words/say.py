"""Saying a text: in the language that is spoken, with its parts put in and its numbers as people write them there."""

from __future__ import annotations

from cellguard.words.catalogue import translation
from cellguard.words.language import ENGLISH, Language, spoken

# Between thousands, and before decimals. A space for thousands is read alike by all who write a comma before decimals.
SEPARATORS: dict[Language, tuple[str, str]] = {"en": (",", "."), "fr": ("\u202f", ","), "de": ("\u202f", ",")}


def say(text: str, /, *, context: str = "", **parts: object) -> str:
    """Return a text in the language that is spoken; in English where there is no translation.

    >>> from cellguard.words.language import speaking
    >>> with speaking("de"):
    ...     say("{n} cells", n=3), say("never said: {n}", n=3)
    ('3 Zellen', 'never said: 3')
    """
    return template(text, context).format(**parts) if parts else template(text, context)


def template(text: str, context: str = "") -> str:
    """Return a text in the language that is spoken, its parts not yet put in."""
    return translation(text, spoken(), context) or text


def say_number(written: str) -> str:
    """Return a number that is written as in English with the separators of the language that is spoken.

    >>> from cellguard.words.language import speaking
    >>> with speaking("fr"):
    ...     say_number("1,234.5")
    '1\\u202f234,5'
    """
    if spoken() == ENGLISH:
        return written
    group, point = SEPARATORS[spoken()]
    return written.replace(",", "\0").replace(".", point).replace("\0", group)


def is_one(count: float) -> bool:
    """Whether the language that is spoken says so many in the singular: French also does that with none."""
    return abs(count) < 2 if spoken() == "fr" else count == 1
