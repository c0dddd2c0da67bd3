"""A part of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: where links lead, its heading, plain data for it, and the kind of template that shows it.

    A kind is named where several parts of a page are shown alike.
    """

    name: str
    title: str
    data: Mapping[str, Any]
    kind: str = ""

    @property
    def template(self) -> str:
        """The template's file."""
        return f"{self.kind or self.name}.html"
