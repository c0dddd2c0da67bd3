"""Retelling: a finished English sentence, recognised by the texts of the catalogue, is said in another language.

What is stored and proven is English: summaries, certificates, messages of errors. So `verify` compares words without a
catalogue, and programs read the same words everywhere. Faces retell them. A sentence that is not recognised stays as it
is. Parts of a text are told apart by their names: numbers (`n`), further words (`what`, `why`, ...), and all others,
which are names of the user's own and are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from cellguard.words.catalogue import entries
from cellguard.words.language import ENGLISH, Language, speaking, spoken
from cellguard.words.places import say_names, say_place
from cellguard.words.say import say_number
from cellguard.words.templates import NUMBER, Index, Template, is_count, is_words

_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`'])")
_DEEP, _LONG, _PLACES = 6, 60, 5  # lists within lists; pieces of one list; colons that may end a place


def retell(text: str) -> str:
    """Return an English sentence in the language that is spoken, as far as it is recognised.

    >>> with speaking("de"):
    ...     retell("Safe against outsiders and every single respondent")
    'Sicher gegen Außenstehende und jeden einzelnen Befragten'
    """
    return text if spoken() == ENGLISH or not text.strip() else _told(text, spoken())


@lru_cache(maxsize=20_000)
def _told(text: str, language: Language) -> str:
    with speaking(language):
        return _whole(text, language) or _placed(text, language) or _pieces(text, language, _DEEP) or text


def _whole(text: str, language: Language) -> str | None:
    """Return a text that the catalogue has, with or without its last point, and whatever its first letter."""
    if NUMBER.fullmatch(text):
        return say_number(text)
    forms = [(text, "")] + ([(text[:-1], ".")] if text.endswith(".") else [])
    forms = [(bare[0].lower() + bare[1:], end) for bare, end in forms if bare[:1].isupper()] + forms
    exact = [(said, end) for bare, end in forms if (said := entries(language).get(bare)) is not None]
    if not exact:
        found = [(match, end) for bare, end in forms if (match := _templates(language).match(bare))]
        best = max(found, key=lambda pair: pair[0][0].length, default=None)
        if best is None:
            return None
        (one, said_parts), end = best
        exact = [(one.told.format(**{n: _part(n, said, language) for n, said in said_parts.items()}), end)]
    told, end = exact[0]
    return (told[:1].upper() + told[1:] if text[:1].isupper() else told) + end


def _placed(text: str, language: Language) -> str | None:
    """Return a text behind the place that it is about, as `job.yaml line 3: tables: ...`."""
    start = 0
    for _ in range(_PLACES):
        end = text.find(": ", start)
        if end < 1:
            return None
        if (told := _whole(text[end + 2 :], language)) is not None:
            named = _colon(language).join(say_place(place) for place in text[:end].split(": "))
            return f"{named}{_colon(language)}{told}"
        start = end + 2
    return None


def _colon(language: Language) -> str:
    return entries(language).get(": ", ": ")


def _part(name: str, said: str, language: Language) -> str:
    if is_words(name):
        return _told(said, language) if said else said
    return say_number(said) if is_count(name) else say_names(say_place(said))


def _pieces(text: str, language: Language, deep: int) -> str | None:
    """Return a text of several: sentences and clauses one by one, a list if all of it is known."""
    for apart, joined in (_sentences(text), (text.split("; "), entries(language).get("; ", "; "))):
        if len(apart) > 1:
            return joined.join(_told(piece, language) if " " in piece else piece for piece in apart)
    indent = len(text) - len(text.lstrip())
    if indent:
        return text[:indent] + _told(text[indent:], language)
    if deep == 0:
        return None
    listed: tuple[Callable[[], str | None], ...] = (
        lambda: _list(text.split(", "), ", ", language, deep - 1),
        lambda: _list(text.rsplit(" and ", 1), f" {entries(language).get('and', 'and')} ", language, deep - 1),
        lambda: _figure(*text.partition(": "), language, deep - 1),
    )
    return next((told for make in listed if (told := make()) is not None), None)


def _sentences(text: str) -> tuple[list[str], str]:
    return _SENTENCE.split(text), " "


def _list(pieces: list[str], joined: str, language: Language, deep: int) -> str | None:
    if not 2 <= len(pieces) <= _LONG:
        return None
    told = []
    for piece in pieces:
        said = _whole(piece, language) or _pieces(piece, language, deep)
        if not said:
            return None
        told.append(said)
    return joined.join(told)


def _figure(named: str, apart: str, figure: str, language: Language, deep: int) -> str | None:
    """Return what a figure says, behind a name of the user's own, as that of a rule or a table."""
    told = _whole(figure, language) or _pieces(figure, language, deep) if apart else None
    return f"{_whole(named, language) or named}: {told}" if told else None


@cache
def _templates(language: Language) -> Index:
    texts = entries(language).items()
    return Index(Template.of(text, told) for text, told in texts if "{" in text and "\x04" not in text)
