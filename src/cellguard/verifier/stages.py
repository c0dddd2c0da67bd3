"""Refusals, and steps that are taken once: a broken input becomes a reason in plain words, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Refused(Exception):
    """A file breaks the format or fails a check; the message names file, row or cell, never a confidential value."""


def attempt(what: str, make: Callable[[], T]) -> T:
    """Return what ``make`` makes; whatever goes wrong is a refusal.

    The text of a foreign exception is left out, since parsers quote the value that they stumble over.
    """
    try:
        return make()
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{what} cannot be read or used ({type(error).__name__})") from None


class Stage(Generic[T]):
    """Something that several checks need: made when first asked for, and refused alike each time if that fails."""

    def __init__(self, what: str, make: Callable[[], T]) -> None:
        self._what = what
        self._make = make
        self._made: list[T] = []
        self._refusal: str | None = None

    def get(self) -> T:
        """Return it, or raise the `Refused` of the first time."""
        if self._refusal is not None:
            raise Refused(self._refusal)
        if not self._made:
            try:
                self._made.append(attempt(self._what, self._make))
            except Refused as error:
                self._refusal = str(error)
                raise
        return self._made[0]
