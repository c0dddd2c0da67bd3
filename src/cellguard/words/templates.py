"""Templates: texts with parts that recognise finished sentences, found by one of their words.

Each text stands under that word of its own which is rarest, so a sentence is compared with a few texts, not with all.
Comparing is no regular expression: literals are looked for from left to right, with a bound on the places that are
tried, so no name, however long or strange, makes it slow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_PART = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_WORDS = frozenset({"what", "whom", "who", "why", "how", "more", "where", "first", "second"})
_COUNTED = re.compile(r"n\d?")
_TELLING, _FIRST = 7, 10  # letters without which a text with names, and one that begins with one, needs quoted names
_LEAST = 3
_APART = re.compile(r"\. [A-Z]|; ")  # between sentences, and between clauses: no name goes across
_SIGNS = " ;,:(."  # what words begin with that are glued to a name
_TRIED = 400  # places that are tried for one text


@dataclass(frozen=True, slots=True)
class Template:
    """A text with parts: what stands between them, what they are called, and what it is in another language.

    >>> template = Template.of("{n} cells of {table} are unsafe", "{n} Zellen von {table} sind unsicher")
    >>> template.match("1,204 cells of 'a' are unsafe")
    {'n': '1,204', 'table': "'a'"}
    >>> template.match("many cells of 'a' are unsafe") is None
    True
    """

    literals: tuple[str, ...]
    parts: tuple[str, ...]
    told: str

    @staticmethod
    def of(text: str, told: str) -> Template:
        """Read a text as the catalogue writes it, where two braces mean one."""
        literals, parts, begun = [], [], ""
        end = 0
        for found in _PART.finditer(text):
            begun += text[end : found.start()]
            end = found.end()
            if found[1]:
                literals.append(begun)
                parts.append(found[1])
                begun = ""
            else:
                begun += found[0][0]
        return Template((*literals, begun + text[end:]), tuple(parts), told)

    @property
    def length(self) -> int:
        """How many characters the text has of its own."""
        return sum(map(len, self.literals))

    @property
    def needs(self) -> Literal["nothing", "quotes", "more words"]:
        """What a sentence needs to be recognised: few words of ours are enough only where names are quoted."""
        names = self._names()
        letters = sum(map(str.isalpha, "".join(self.literals)))
        least = 0 if not names else _FIRST if not self.literals[0] and self.parts[0] in names else _TELLING
        if not self.parts or (letters < _LEAST and not all(map(is_count, self.parts))):
            return "more words"
        return "nothing" if letters >= least else "quotes"

    def _names(self) -> list[str]:
        return [part for part in self.parts if not is_count(part) and not is_words(part)]

    def words(self) -> set[str]:
        """Return the words of the text that no part touches."""
        return set(words_of("\ue000".join(self.literals)))

    def match(self, text: str) -> dict[str, str] | None:
        """Return what the parts are if a sentence is made from this text."""
        first, last = self.literals[0], self.literals[-1]
        if not text.startswith(first) or not text.endswith(last):
            return None
        found = self._rest(text, 0, len(first), [_TRIED])
        said = dict(zip(self.parts, found, strict=True)) if found is not None else None
        if said and self.needs == "quotes" and not all(_is_quoted(said[name]) for name in self._names()):
            return None
        return said

    def _rest(self, text: str, place: int, start: int, tried: list[int]) -> list[str] | None:
        """Return the parts from one of them on, which begins at ``start``."""
        for end in self._ends(text, place, start):
            tried[0] -= 1
            if tried[0] < 0:
                return None
            said = text[start:end]
            if not _may_be(said, self.parts[place], self.literals[place] if place else None):
                continue
            if place + 1 == len(self.parts):
                return [said]
            after = self._rest(text, place + 1, end + len(self.literals[place + 1]), tried)
            if after is not None:
                return [said, *after]
        return None

    def _ends(self, text: str, place: int, start: int) -> Iterator[int]:
        literal = self.literals[place + 1]
        least = start if self.parts[place].startswith("more") else start + 1
        if place + 1 == len(self.parts):
            end = len(text) - len(literal)
            if end >= least:
                yield end
            return
        end = text.find(literal, least)
        while end >= 0:
            yield end
            end = text.find(literal, end + 1) if end < len(text) else -1


def is_count(part: str) -> bool:
    """Whether a part is a number."""
    return _COUNTED.fullmatch(part) is not None


def is_words(part: str) -> bool:
    """Whether a part is further words of ours, which are retold too."""
    return part.rstrip("0123456789") in _WORDS


def words_of(text: str) -> list[str]:
    r"""Return the words of a text in small letters, without those that touch a part.

    >>> words_of("No `\ue000` in map\ue000s")
    ['no', 'in']
    """
    return [word for word in re.findall(r"[\w\ue000]+", text.lower()) if "\ue000" not in word]


class Index:
    """Templates by that one of their words which is in fewest of them."""

    def __init__(self, templates: Iterable[Template]) -> None:
        kept = [template for template in templates if template.needs != "more words"]
        often = Counter(word for template in kept for word in template.words())
        self._by_word: dict[str, list[Template]] = {}
        for template in kept:
            rarest = min(template.words(), key=lambda word: (often[word], word), default="")
            self._by_word.setdefault(rarest, []).append(template)

    def match(self, text: str) -> tuple[Template, Mapping[str, str]] | None:
        """Return the template that says most by itself and fits, and what its parts are."""
        words = {"", *words_of(text)}
        near = [template for word in words for template in self._by_word.get(word, ())]
        for template in sorted(near, key=lambda template: (-template.length, template.literals)):
            if (found := template.match(text)) is not None:
                return template, found
        return None


def _may_be(said: str, part: str, before: str | None) -> bool:
    """Whether a part can be this behind a literal: nothing goes across sentences, but words behind a colon, and names.

    Words that are glued to a name begin with a sign or a blank.
    """
    if is_count(part):
        return NUMBER.fullmatch(said) is not None
    if is_words(part) and before is not None:
        if not before and said[:1] not in _SIGNS:
            return False
        if part.startswith("more") or before.endswith((": ", "; ", "(")):
            return True
    return _is_quoted(said) or _APART.search(said) is None


def _is_quoted(said: str) -> bool:
    return len(said) > 1 and said[0] == said[-1] and said[0] in "'\"`"
