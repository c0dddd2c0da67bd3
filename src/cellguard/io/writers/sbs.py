"""Files for the transmission of structural business statistics (SBS), as τ-ARGUS writes them. Public.

A line per cell and no header: its codes, its value, nothing where the number of respondents would stand, and a flag:
V is published, c is not. What an office may know that receives all values is in the internal half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cellguard.io.write import csv_text
from cellguard.table.pattern import Release

name = "sbs"
extra: Mapping[str, str] = {}
ENDING = ".sbs"
SAFE, HIDDEN, EMPTY = "V", "c", "-"


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}{ENDING}" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write a file per table."""
    for table in release.tables:
        flags = [
            HIDDEN if hidden else SAFE if value else EMPTY
            for hidden, value in zip(table.suppressed.tolist(), table.value, strict=True)
        ]
        rows = zip(*table.codes, table.value, [""] * len(table), flags, strict=True)
        (folder / f"{table.name}{ENDING}").write_text(sbs_text(rows), encoding="utf-8")


def sbs_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Return lines without a header, with quotes where needed.

    >>> sbs_text([("N", "a,b", "12", "", "V")])
    'N,"a,b",12,,V\n'
    """
    lines = iter(rows)
    first = next(lines, None)
    return "" if first is None else csv_text(list(map(str, first)), lines)


def shares(largest: Sequence[float], whole: float, *, each: bool) -> list[str]:
    """Return in percent what the two largest contribute together, or ``each`` of them, as behind the flag of a cell.

    >>> shares([60, 30, 5], 100, each=False), shares([60], 80, each=True)
    (['90.0'], ['75.0', '0.0'])
    """
    first, second = [*largest, 0.0, 0.0][:2]
    parts = [first, second] if each else [first + second]
    return [f"{100 * part / whole if whole else 0:.1f}" for part in parts]
