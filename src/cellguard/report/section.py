"""A part of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: where links lead, its heading, the template that shows it, and plain data for it."""

    name: str
    title: str
    data: Mapping[str, Any]

    @property
    def template(self) -> str:
        """The template's file."""
        return f"{self.name}.html"
