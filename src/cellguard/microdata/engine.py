"""The seam to whoever holds the records. An engine answers SQL, and knows nothing of roles, rules or tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from cellguard.microdata.sql import Sql


class EngineFault(Exception):
    """An engine failed: ``kind`` names how, and ``said`` may be shown to anybody, since it quotes no record."""

    def __init__(self, kind: str, said: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.said = said


class Engine(Protocol):
    """An engine: a few questions, and how it writes SQL. What fails is an `EngineFault`."""

    @property
    def sql(self) -> Sql:
        """How it writes what engines write differently."""
        ...

    def columns(self, origin: str) -> Sequence[str]:
        """Return the names of the columns of what stands behind FROM."""
        ...

    def kinds(self, scan: str) -> Sequence[str]:
        """Return what the columns of records hold, in DuckDB's words for types."""
        ...

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Return a short answer."""
        ...

    def stream(self, question: str) -> Iterator[pa.RecordBatch]:
        """Return a long answer in batches, in its order."""
        ...

    def number(self, codes: Sequence[str], labels: Mapping[int, Sequence[str]]) -> list[str]:
        """Return the SQL of codes as positions in their labels where that is cheap, else as they are."""
        ...

    def close(self) -> None:
        """End it, and leave nothing behind."""
        ...
