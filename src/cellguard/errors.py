"""The error tree: what may go wrong, said in the user's words.

`InputError` means that the data, a file or an option is wrong and says how to cure it. `InternalError` means that
cellguard itself has a bug. No message ever carries a confidential value: codes, names, rows and counts only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


class CellguardError(Exception):
    """The base class of all errors that cellguard raises on purpose.

    Examples
    --------
    >>> import cellguard as cg
    >>> try:
    ...     cg.PPercent(-1)
    ... except cg.CellguardError as error:
    ...     print(error)
    p_percent: p must be above 0 and finite, not -1
    """


class InputError(CellguardError, ValueError):
    """The data, a file or an option is wrong; the message says where, and what to do.

    Examples
    --------
    >>> import cellguard as cg
    >>> cg.cells({"region": ["Total", "N"], "x": [5, 5]}, by=["regoin"], value="x")
    Traceback (most recent call last):
    cellguard.errors.InputError: table 'table': no column 'regoin'; did you mean 'region'?
    """


class UnknownCode(InputError):
    """A code of the data is not in its dimension's hierarchy."""


class HierarchyError(InputError):
    """Codes do not form a tree with one total."""


class NotAdditive(InputError):
    """A cell is not the sum of its parts."""


class Disagreement(InputError):
    """Two tables give different values for what is one and the same cell."""


class JobError(InputError):
    """The job file has an unknown key or a wrong value."""


class MissingExtra(InputError):
    """Something needs an extra that is not installed; the message says how to get it."""


class NotProtected(CellguardError):
    """No safe result can be given; the message says why and what to change.

    Examples
    --------
    >>> import cellguard as cg
    >>> session = cg.Session({"sex": ["f", "m"] * 20})
    >>> _ = session.table(["sex"])
    >>> try:
    ...     session.table(["sex"], where=[False] + [True] * 39)
    ... except cg.NotProtected as error:
    ...     print(str(error).partition(":")[0])
    this output is about all records of output_0 but 1 respondent
    """


class Stopped(CellguardError):
    """Somebody asked for the end, or the time allowed is over; a safe result so far is returned."""


class Spent(Stopped):
    """The work allowed is done; what was proven so far is proven, and the rest is named as not proven."""


class InternalError(CellguardError):
    """cellguard has a bug; please report it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the user's input something stands: a file (or the name of a data frame) and how to count its rows.

    ``lines``, where given, are the rows' own line numbers.

    >>> Place("cells.csv", first=2).row(0)
    'cells.csv line 2'
    """

    name: str
    first: int = 1
    unit: str = "line"
    lines: tuple[int, ...] = ()

    def row(self, index: int) -> str:
        """Name the row that has position ``index`` (from 0) in the data."""
        return f"{self.name} {self.unit} {self.lines[index] if self.lines else index + self.first}"


def file_name(path: str | Path) -> str:
    """Return a path as messages show it: the name alone, since folders differ between machines."""
    return Path(path).name


def described(error: BaseException) -> str:
    """Return the kind of an error that is no fault of the user, and its place; its text may quote the data.

    >>> try:
    ...     [][48151]
    ... except IndexError as error:
    ...     described(error)
    'IndexError (<doctest cellguard.errors.described[0]> line 2)'
    """
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" ({file_name(trace.tb_frame.f_code.co_filename)} line {trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}{place}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean ...?' with the nearest known words, or what there is to choose from.

    >>> did_you_mean("Nord", ["North", "South"])
    "; did you mean 'North'?"
    >>> did_you_mean("xyz", ["a", "b"])
    "; known are 'a', 'b'"
    """
    words = list(known)
    near = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
    if near:
        return "; did you mean " + " or ".join(repr(w) for w in near) + "?"
    return "; known are " + listing(words) if words else ""


def listing(words: Sequence[str], most: int = 8) -> str:
    """Quote and join words, at most so many, and say how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(w) for w in words[:most])
    return f"{shown} and {len(words) - most} more" if len(words) > most else shown
