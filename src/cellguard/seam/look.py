"""`Look`: how the tables in a method's output folder are looked at, so that whoever shows them need not know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Look:
    """What a method's tables mean to a reader.

    Parameters
    ----------
    figure
        The column of the internal tables with the figures as published, where ``value`` has the true ones.
    marks
        The marks of cells, by their status, beyond those that all methods share.
    public, internal
        What the legend says under a released table, and under one with its confidential columns.
    status
        Works out the status of a cell of an internal table from its row; else the column ``status`` has it.

    >>> Look("rounded", public="Every figure is a multiple of 5.").internal
    'True value → published value; – not in the release. Confidential.'
    """

    figure: str = "published"
    marks: Mapping[str, str] = field(default_factory=dict)
    public: str = ""
    internal: str = "True value → published value; – not in the release. Confidential."
    status: Callable[[Mapping[str, str]], str] | None = None


SUPPRESSED = Look(
    figure="",
    public="c suppressed",
    internal="● primary (unsafe), ○ secondary (suppressed to protect others), – not in the release. Confidential.",
)
