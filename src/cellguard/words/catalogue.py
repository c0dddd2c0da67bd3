"""The catalogue: what each English text is in another language, read from the files of the translators as they are.

A file is in gettext's format of sources (`.po`), without plural forms: a text about one and a text about several are
two texts. The context, where one is given, tells texts apart that are the same in English only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from cellguard.words.language import ENGLISH, Language

_FIELDS = ("msgctxt", "msgid", "msgstr")
_APART = "\x04"  # between context and text, as in gettext


def translation(text: str, language: Language, context: str = "") -> str | None:
    """Return a text in a language, None where the catalogue does not have it. English needs no catalogue.

    >>> translation("suppressed", "de"), translation("never said", "de")
    ('gesperrt', None)
    """
    if language == ENGLISH:
        return text
    return entries(language).get(f"{context}{_APART}{text}" if context else text)


@cache
def entries(language: Language) -> Mapping[str, str]:
    """Return all entries of a language; those with a context are found under both, apart by a mark."""
    found: dict[str, str] = {}
    for name in (f"{language}.po", f"{language}.errors.po", f"{language}.methods.po"):
        for key, told in parse(files("cellguard.words").joinpath(name).read_text(encoding="utf-8"), name).items():
            if key in found:
                raise ValueError(f"{name} has {key!r} twice")
            found[key] = told
    return found


def parse(text: str, name: str = "catalogue") -> dict[str, str]:
    r"""Return what a file of sources says: a text without a translation is left out, two for one text are refused.

    >>> parse('msgid "a"\nmsgstr "b"\n\nmsgctxt "x"\nmsgid "a"\nmsgstr ""\n"c"\n')
    {'a': 'b', 'x\x04a': 'c'}
    """
    found: dict[str, str] = {}
    for block in text.split("\n\n"):
        said = _fields(block)
        key = f"{said['msgctxt']}{_APART}{said['msgid']}" if said["msgctxt"] else said["msgid"]
        if said["msgid"] and key in found:
            raise ValueError(f"{name} has {said['msgid']!r} twice")
        if said["msgid"] and said["msgstr"]:
            found[key] = said["msgstr"]
    return found


def _fields(block: str) -> dict[str, str]:
    said = dict.fromkeys(_FIELDS, "")
    field = ""
    for line in block.splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word in said:
            field, line = word, rest  # noqa: PLW2901
        said[field] += json.loads(line)
    return said
