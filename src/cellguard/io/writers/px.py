"""PX files, which PxWeb and PX-Win read: one per table, a dense cube with codes and labels.

A suppressed cell is ``".."``, a combination that the table does not list is ``"."``; their meaning stands in the file.
The format is described in "PC-Axis file format" (Statistics Sweden, version 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path

from cellguard.errors import InputError
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.public_codes import PublicDimension

name = "px"
extra: Mapping[str, str] = {}
_MOST = 5_000_000  # cells of a cube, listed or not
_LONGEST = 200  # signs of a line; readers take up to 256
_PER_LINE = 10  # figures
_PRECISE = 15  # digits that readers keep


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}.px" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write the files of a release."""
    trees = {tree.name: tree for tree in release.dimensions}
    for table in release.tables:
        text = "\n".join(_lines(table, [trees[by] for by in table.by]))
        (folder / f"{table.name}.px").write_text(text + "\n", encoding="utf-8")


def _lines(table: ReleasedTable, trees: Sequence[PublicDimension]) -> list[str]:
    shown = [_shown(tree, codes) for tree, codes in zip(trees, table.codes, strict=True)]
    if prod(map(len, shown)) > _MOST:
        raise InputError(
            f"table {table.name!r}: a PX file is a full cube, and this one would have more than {_MOST:,} cells; "
            "leave px out of `formats`, or publish fewer levels"
        )
    stub, heading = (table.by[:-1], table.by[-1:]) if len(table.by) > 1 else (table.by, ())
    title = f"{table.response} by {', '.join(table.by)}"
    head: list[tuple[str, Iterable[str | int]]] = [
        ("CHARSET", ["ANSI"]),
        ("AXIS-VERSION", ["2013"]),
        ("CODEPAGE", ["utf-8"]),
        ("LANGUAGE", ["en"]),
        ("DECIMALS", [min(table.decimals, 6)]),
        ("SHOWDECIMALS", [min(table.decimals, 6)]),
        ("MATRIX", [table.name[:20]]),
        ("SUBJECT-CODE", ["cellguard"]),
        ("SUBJECT-AREA", ["cellguard"]),
        ("TITLE", [title]),
        ("CONTENTS", [table.response]),
        ("UNITS", [table.response]),
        ("STUB", stub),
        *([("HEADING", heading)] if heading else []),
    ]
    lines = [_line(word, values) for word, values in head]
    for tree, codes in zip(trees, shown, strict=True):
        lines.append(_line(f'VALUES("{_plain(tree.name)}")', _labels(tree, codes)))
    for tree, codes in zip(trees, shown, strict=True):
        lines.append(_line(f'CODES("{_plain(tree.name)}")', codes))
    lines += [_line("DATASYMBOL1", ["not listed"]), _line("DATASYMBOL2", ["suppressed"])]
    return [*lines, "DATA=", *_rows(table, shown)]


def _shown(tree: PublicDimension, codes: Iterable[str]) -> list[str]:
    """Return the codes that a table has, in the order of the hierarchy."""
    return sorted(set(codes), key=lambda code: tree.position[code])


def _labels(tree: PublicDimension, codes: Sequence[str]) -> list[str]:
    """Return what people call codes; the code behind it where two are called the same."""
    labels = [tree.labels.get(code, code) for code in codes]
    return [
        label if labels.count(label) == 1 else f"{label} ({code})" for label, code in zip(labels, codes, strict=True)
    ]


def _rows(table: ReleasedTable, shown: Sequence[Sequence[str]]) -> list[str]:
    """Return the cube, the last dimension varying fastest, one line for each of the others."""
    sizes = [len(codes) for codes in shown]
    places = [{code: i for i, code in enumerate(codes)} for codes in shown]
    cube = ['"."'] * prod(sizes)
    for *codes, value, hidden in zip(*table.codes, table.value, table.suppressed.tolist(), strict=True):
        at = 0
        for code, place, size in zip(codes, places, sizes, strict=True):
            at = at * size + place[code]
        if len(value.replace(".", "").replace("-", "")) > _PRECISE:
            raise InputError(
                f"table {table.name!r}: PX readers keep {_PRECISE} digits, and a value has more; leave px out"
            )
        cube[at] = '".."' if hidden else value or '"."'
    width = sizes[-1] if len(sizes) > 1 else 1
    starts = [(row, i) for row in range(0, len(cube), width) for i in range(row, row + width, _PER_LINE)]
    rows = [" ".join(cube[i : min(i + _PER_LINE, row + width)]) for row, i in starts] or [""]
    return [*rows[:-1], rows[-1] + ";"]


def _line(word: str, values: Iterable[str | int]) -> str:
    """Return a keyword with its values, in lines that are not too long."""
    lines, line = list[str](), f"{word}="
    listed = [str(value) if isinstance(value, int) else f'"{_plain(value)}"' for value in values]
    for i, value in enumerate(listed):
        mark = "," if i + 1 < len(listed) else ";"
        if len(line) + len(value) > _LONGEST and line:
            lines.append(line)
            line = ""
        line += value + mark
    return "\n".join([*lines, line])


def _plain(text: str) -> str:
    """Return a text without what would end it: PX knows no way to write a quote."""
    return " ".join(text.replace('"', "'").split())
