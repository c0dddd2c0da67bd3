"""Which language is spoken: that of a page, of a request, or of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

Language = Literal["en", "fr", "de"]
ENGLISH: Language = "en"
LANGUAGES: tuple[Language, ...] = get_args(Language)
NAMES: Mapping[Language, str] = {"en": "English", "fr": "Français", "de": "Deutsch"}
_VARIABLES = ("CELLGUARD_LANGUAGE", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_spoken: ContextVar[Language] = ContextVar("cellguard language", default=ENGLISH)


def spoken() -> Language:
    """Return the language that is spoken here; English unless somebody chose another one."""
    return _spoken.get()


def speak(language: Language) -> None:
    """Choose a language for all that follows in this context."""
    _spoken.set(language)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Speak a language within a block.

    >>> with speaking("de"):
    ...     spoken()
    'de'
    >>> spoken()
    'en'
    """
    before = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(before)


def known_language(wish: str) -> Language | None:
    """Return the language that a wish means, as `de`, `de_AT.UTF-8` or `fr-CA`; None if there is no catalogue for it.

    >>> [known_language(wish) for wish in ("de_AT.UTF-8", "fr-CA", "nl_NL", "C", "")]
    ['de', 'fr', None, 'en', None]
    """
    word = wish.partition(".")[0].replace("-", "_").partition("_")[0].strip().lower()
    if word in ("c", "posix"):
        return ENGLISH
    return next((language for language in LANGUAGES if language == word), None)


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for: the first variable that says anything decides.

    >>> language_of({"LANG": "fr_FR.UTF-8"}), language_of({"CELLGUARD_LANGUAGE": "en", "LANG": "fr_FR.UTF-8"})
    ('fr', 'en')
    """
    said = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    wishes = (known_language(wish) for wish in said.split(":"))
    return next((wish for wish in wishes if wish), ENGLISH)


def first_known(accepted: str) -> Language:
    """Return the first known language of those that a browser accepts (its header `Accept-Language`).

    >>> first_known("nl;q=1, de-CH;q=0.9, en;q=0.8"), first_known("")
    ('de', 'en')
    """
    wishes = (known_language(wish.partition(";")[0]) for wish in accepted.split(",")[:20])
    return next((wish for wish in wishes if wish), ENGLISH)
