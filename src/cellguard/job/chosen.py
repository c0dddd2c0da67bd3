"""`Chosen`: a method with what a table says of it, as an object for Python; a job writes the same under `protect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar


class Chosen:
    """A frozen value that names a method and its options; ``said`` are the options that follow from its class."""

    method: ClassVar[str]
    said: ClassVar[Mapping[str, Any]] = {}

    def options(self) -> dict[str, Any]:
        """Return what a job's table says under `protect`."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {**self.said, **{key: value for key, value in own.items() if value is not None}}
