"""Retelling: a finished English sentence, recognised by the texts of the catalogue, is said in another language.

What is stored and proven is English: summaries, certificates, messages of errors. So `verify` compares words without a
catalogue, and programs read the same words everywhere. Faces retell them. A sentence that is not recognised stays as it
is. Parts of a text are told apart by their names: numbers (`n`), further words (`what`, `why`, ...), and all others,
which are names of the user's own and are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import starmap

from cellguard.words.catalogue import entries
from cellguard.words.language import ENGLISH, Language, speaking, spoken
from cellguard.words.say import say_number

_PART = re.compile(r"\{(\w+)\}")
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
_WORDS = frozenset({"what", "whom", "who", "why", "how", "more", "where", "first", "second"})
_COUNTED = re.compile(r"n\d?")
_HEAD = 3  # characters by which texts are looked up
_TELLING, _FIRST = 7, 10  # letters without which a text with names, and one that begins with one, is not recognised
_ANY = r"(?:(?!\. [A-Z]|; ).)+?"  # within one sentence, and one clause of it
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`'])")


@dataclass(frozen=True)
class _Text:
    """A text with parts: how it is recognised, and what it is in another language."""

    pattern: re.Pattern[str]
    told: str
    length: int


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
        return _whole(text, language) or _pieces(text, language) or text


def _whole(text: str, language: Language) -> str | None:
    """Return a text that the catalogue has, with or without its last point, and whatever its first letter."""
    if re.fullmatch(_NUMBER, text):
        return say_number(text)
    forms = [(text, "")] + ([(text[:-1], ".")] if text.endswith(".") else [])
    forms = [(bare[0].lower() + bare[1:], end) for bare, end in forms if bare[:1].isupper()] + forms
    exact = [(said, end) for bare, end in forms if (said := entries(language).get(bare)) is not None]
    if not exact:
        found = [(match, end) for bare, end in forms if (match := _with_parts(bare, language))]
        best = max(found, key=lambda pair: pair[0][0].length, default=None)
        if best is None:
            return None
        (one, said_parts), end = best
        exact = [(one.told.format(**{n: _part(n, said, language) for n, said in said_parts.items()}), end)]
    told, end = exact[0]
    return (told[:1].upper() + told[1:] if text[:1].isupper() else told) + end


def _with_parts(text: str, language: Language) -> tuple[_Text, Mapping[str, str]] | None:
    """Return the text of the catalogue that says most by itself and fits, and what its parts are."""
    by_head = _texts(language)
    fitting = (
        (one, found.groupdict())
        for one in (*by_head.get(text[:_HEAD], ()), *by_head.get("", ()))
        if (found := one.pattern.fullmatch(text))
    )
    return max(fitting, key=lambda pair: pair[0].length, default=None)


def _part(name: str, said: str, language: Language) -> str:
    if name in _WORDS:
        return _told(said, language)
    return say_number(said) if _COUNTED.fullmatch(name) else said


def _pieces(text: str, language: Language) -> str | None:
    """Return a text of several: sentences and clauses one by one, a list if all of it is known."""
    for apart, joined in (_sentences(text), (text.split("; "), entries(language).get("; ", "; "))):
        if len(apart) > 1:
            return joined.join(_told(piece, language) if " " in piece else piece for piece in apart)
    indent = len(text) - len(text.lstrip())
    if indent:
        return text[:indent] + _told(text[indent:], language)
    listed: tuple[Callable[[], str | None], ...] = (
        lambda: _list(text.split(", "), ", ", language),
        lambda: _list(text.rsplit(" and ", 1), f" {entries(language).get('and', 'and')} ", language),
        lambda: _figure(*text.partition(": "), language),
    )
    return next((told for make in listed if (told := make()) is not None), None)


def _sentences(text: str) -> tuple[list[str], str]:
    return _SENTENCE.split(text), " "


def _list(pieces: list[str], joined: str, language: Language) -> str | None:
    if len(pieces) < 2:
        return None
    told = [_whole(piece, language) or _pieces(piece, language) for piece in pieces]
    return joined.join(piece for piece in told if piece) if all(told) else None


def _figure(named: str, apart: str, figure: str, language: Language) -> str | None:
    """Return what a figure says, behind a name of the user's own, as that of a rule or a table."""
    told = _whole(figure, language) or _pieces(figure, language) if apart else None
    return f"{_whole(named, language) or named}: {told}" if told else None


@cache
def _texts(language: Language) -> Mapping[str, list[_Text]]:
    """Return the texts with parts by their first letters."""
    texts = [(text, told) for text, told in entries(language).items() if "\x04" not in text and _is_telling(text)]
    found: dict[str, list[_Text]] = {}
    for text, told in texts:
        head = text[: text.index("{")][:_HEAD]
        found.setdefault(head if len(head) == _HEAD else "", []).append(
            _Text(_pattern(text), told, len(_PART.sub("", text)))
        )
    return found


def _is_telling(text: str) -> bool:
    """Whether a text has parts, and enough words besides its names to be recognised by."""
    parts = _PART.findall(text)
    names = {part for part in parts if not _COUNTED.fullmatch(part) and part not in _WORDS}
    least = 0 if not names else _FIRST if text.startswith("{") and parts[0] in names else _TELLING
    return bool(parts) and sum(map(str.isalpha, _PART.sub("", text))) >= least


def _pattern(text: str) -> re.Pattern[str]:
    """Return what recognises a text: each part is anything, numbers are digits."""

    def part(place: int, said: str) -> str:
        if place % 2 == 0:
            return re.escape(said)
        return f"(?P<{said}>{_NUMBER if _COUNTED.fullmatch(said) else _ANY})"

    return re.compile("".join(starmap(part, enumerate(_PART.split(text)))), re.DOTALL)
