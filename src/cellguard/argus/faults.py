"""Faults of a batch and of the files that it names: where they are, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cellguard.errors import InputError


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault with its place; line and column count from 1.

    >>> str(Fault("b.arb", 3, 12, "unknown command <RECODER>", "write <RECODE>"))
    'b.arb line 3, column 12: unknown command <RECODER>; write <RECODE>'
    """

    file: str
    line: int
    column: int
    text: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.file} line {self.line}, column {self.column}: {self.text}" + (
            f"; {self.cure}" if self.cure else ""
        )


class BatchError(InputError):
    """A batch that cannot be run: all faults that were found, in their order."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


@contextmanager
def placed(file: str, line: int) -> Iterator[None]:
    """Name the line of the batch in errors of what it asks for.

    >>> with placed("b.arb", 3):
    ...     raise InputError("no code 'Q'")
    Traceback (most recent call last):
    cellguard.argus.faults.BatchError: b.arb line 3, column 1: no code 'Q'
    """
    try:
        yield
    except BatchError:
        raise
    except InputError as error:
        raise BatchError([Fault(file, line, 1, str(error))]) from None
