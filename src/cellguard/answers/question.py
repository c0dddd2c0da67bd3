"""`Question`: what somebody asks of a source, in one form whatever the order in which it was said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellguard.errors import InputError

_LONGEST, _MOST = 200, 500  # characters of a name or code; codes of a filter
_VARIABLES = 6


@dataclass(frozen=True)
class Question:
    """A table of ``value`` by some variables, of the records that ``where`` chooses, at some ``levels``.

    >>> a = Question.of(["size", "region"], where={"legal": ["b", "a"]}, value="turnover")
    >>> a == Question.of(["region", "size"], where={"legal": ["a", "b", "b"]}, value="turnover")
    True
    >>> a.words
    'turnover by region and size where legal is a or b'
    """

    by: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...]
    value: str
    levels: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, by: object, *, where: object = None, value: object = "count", levels: object = None) -> Question:
        """Return the question, checked for its form; whether the names exist is not known here."""
        names = _texts("by", by)
        if len(set(names)) < len(names):
            raise InputError("`by` names a variable twice; name each once")
        if not 0 < len(names) <= _VARIABLES:
            raise InputError(f"`by` must name 1 to {_VARIABLES} variables, not {len(names)}")
        filters = {}
        for name, codes in _mapping("where", where).items():
            filters[_text("where", name)] = tuple(sorted(set(_texts("where", [codes] if _single(codes) else codes))))
        for name, codes in filters.items():
            if not 0 < len(codes) <= _MOST:
                raise InputError(f"`where`: give 1 to {_MOST} codes of {name!r}, not {len(codes)}")
        shown = {_text("levels", name): _levels(name, chosen) for name, chosen in _mapping("levels", levels).items()}
        if strange := sorted(set(shown) - set(names)):
            raise InputError(f"`levels` names {strange[0]!r}, which is not in `by`")
        return cls(
            tuple(sorted(names)), tuple(sorted(filters.items())), _text("value", value), tuple(sorted(shown.items()))
        )

    def plain(self) -> dict[str, Any]:
        """Return the question as plain data, which `read` takes."""
        return {
            "by": list(self.by),
            "where": {name: list(codes) for name, codes in self.where},
            "value": self.value,
            "levels": {name: list(chosen) for name, chosen in self.levels},
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Question:
        """Return the question that plain data say."""
        return cls.of(plain["by"], where=plain["where"], value=plain["value"], levels=plain["levels"])

    @property
    def digest(self) -> str:
        """The sha-256 of the question; equal questions have the same."""
        return hashlib.sha256(json.dumps(self.plain(), sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def words(self) -> str:
        """The question in words."""
        words = f"{self.value} by {' and '.join(self.by)}"
        if self.levels:
            at = [f"{name} at level {' and '.join(map(str, chosen))}" for name, chosen in self.levels]
            words += f", {', '.join(at)}"
        chosen = [f"{name} is {' or '.join(codes)}" for name, codes in self.where]
        return words + (f" where {' and '.join(chosen)}" if chosen else "")


def _single(codes: object) -> bool:
    return isinstance(codes, (str, int, float)) or codes is None


def _text(word: str, given: object) -> str:
    if not isinstance(given, str) or not given or len(given) > _LONGEST or not given.isprintable():
        raise InputError(f"`{word}` must hold names or codes as text, of at most {_LONGEST} printable characters")
    return given


def _texts(word: str, given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"`{word}` must be a list, as ['region', 'size']")
    if len(given) > _MOST:
        raise InputError(f"`{word}` lists {len(given):,} entries; at most {_MOST} are read")
    return [_text(word, entry) for entry in given]


def _mapping(word: str, given: object) -> Mapping[object, object]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(given) > _VARIABLES:
        raise InputError(f"`{word}` must say something of at most {_VARIABLES} variables, as {{'size': ...}}")
    return given


def _levels(name: object, given: object) -> tuple[int, ...]:
    listed: object = [given] if isinstance(given, int) else given
    found = list[int]()
    if isinstance(listed, Sequence) and not isinstance(listed, str) and len(listed) <= 50:
        found = [each for each in listed if type(each) is int and 0 <= each < 50]
    if not found or len(found) < len(listed):  # type: ignore[arg-type]
        raise InputError(f"`levels` of {name!r} must be whole numbers from 0 (the total), as [0, 1]")
    return tuple(sorted(set(found)))
