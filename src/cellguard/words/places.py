"""Places and lists of names, which stand in many messages: `firms.csv line 3, column 'x'`, `'a', 'b' and 2 more`."""

from __future__ import annotations

import re

from cellguard.words.say import say, say_number

_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_OF_NAME = re.compile(rf"(table|column|dimension|variable|response|hierarchy) ({_QUOTED})")
_OF_LINE = re.compile(r"(.*?)( ?)\b(line|row|entry|feature) (\d[\d,]*)", re.DOTALL)
_NAMES = re.compile(rf"{_QUOTED}(?:(?:, | or | and ){_QUOTED})*(?: and (\d[\d,]*) more)?")
_JOINED = re.compile(rf"({_QUOTED})|( or | and )(?!\d)| and (\d[\d,]*) more$")
_LAST = ", column "


def say_place(place: str) -> str:
    """Return a place in the language that is spoken; the names of files, tables and columns are kept.

    >>> from cellguard.words.language import speaking
    >>> with speaking("de"):
    ...     say_place("firms.csv line 3"), say_place("table 'line 3'"), say_place("f.csv line 2, column 'row 1'")
    ('firms.csv Zeile 3', "Tabelle 'line 3'", "f.csv Zeile 2, Spalte 'row 1'")
    """
    if found := _OF_NAME.fullmatch(place):
        return f"{say(found[1], context='place')} {found[2]}"
    before, apart, column = place.partition(_LAST)
    if found := _OF_LINE.fullmatch(before):
        told = f"{found[1]}{found[2]}{say(found[3], context='place')} {found[4]}"
        return f"{told}, {say('column', context='place')} {column}" if apart else told
    return place


def say_names(names: str) -> str:
    """Return quoted names with the words between them in the language that is spoken; the names are kept.

    >>> from cellguard.words.language import speaking
    >>> with speaking("de"):
    ...     say_names("'a or b', 'c' and 1,200 more"), say_names("'a' or 'b'"), say_names("a or b")
    ("'a or b', 'c' und 1\\u202f200 weitere", "'a' oder 'b'", 'a or b')
    """

    def told(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        if found[3]:
            return " " + say("and {n} more", context="names", n=say_number(found[3]))
        return f" {say(found[2].strip(), context='names')} "

    return _JOINED.sub(told, names) if _NAMES.fullmatch(names) else names
