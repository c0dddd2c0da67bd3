"""`cellguard show`: a table of an output folder on the terminal, its first dimension as an indented tree."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellguard.errors import InputError, did_you_mean, listing

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MOST_ROWS, MOST_COLUMNS = 200, 14
MARKS = {"published": "", "primary": "●", "secondary": "○", "unpublished": "–", "suppressed": "c"}
STYLES = {"primary": "bold #d55e00", "secondary": "#3b9bd8", "unpublished": "dim italic", "suppressed": "dim"}


@dataclass(frozen=True)
class View:
    """Cells to show: codes of each, text of its value and its status; and each dimension's codes with their depth."""

    name: str
    by: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    value: tuple[str, ...]
    status: tuple[str, ...]
    depth: Mapping[str, Mapping[str, int]]
    internal: bool


def read_view(folder: Path, table: str | None, *, internal: bool) -> View:
    """Read one table of an output folder: as published, or with hidden values and marks."""
    about = _tables(folder)
    name = _choose(table, list(about))
    by = tuple(about[name]["by"])
    rows = _rows(folder / ("internal" if internal else "release") / f"{name}.csv")
    try:
        codes = tuple(tuple(row[d] for d in by) for row in rows)
        status = tuple(row["status"] if internal else ("suppressed" if row["flag"] else "published") for row in rows)
        value = tuple(row["value"] for row in rows)
    except KeyError as error:
        raise InputError(f"{str(folder)!r} is damaged: table {name!r} has no column {error.args[0]!r}") from None
    occurring = {d: dict.fromkeys(c[i] for c in codes) for i, d in enumerate(by)}
    depth = {d: _depths(folder / "internal" / "hierarchies" / f"{d}.csv", occurring[d]) for d in by}
    return View(name, by, codes, value, status, depth, internal)


def _tables(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / "release" / "metadata.json").read_text(encoding="utf-8"))["tables"]
        return {name: {"by": list(table["by"])} for name, table in about.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{str(folder)!r} is no output folder: release/metadata.json cannot be read") from None


def _choose(table: str | None, names: Sequence[str]) -> str:
    if table is None:
        if len(names) > 1:
            raise InputError(f"the folder has the tables {listing(names)}; say which to show")
        return names[0]
    if table not in names:
        raise InputError(f"no table {table!r}{did_you_mean(table, names)}")
    return table


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"cannot read {path.parent.name}/{path.name}: {error.strerror}") from None


def _depths(path: Path, codes: Mapping[str, None]) -> Mapping[str, int]:
    """Return the depth of each code that occurs, in the hierarchy's order; without a hierarchy all are alike."""
    try:
        rows = _rows(path)
    except InputError:  # a release may be looked at where its internal half is not
        return dict.fromkeys(codes, 0)
    depth: dict[str, int] = {}
    for row in rows:
        if row["code"] not in depth:
            depth[row["code"]] = depth[row["parent"]] + 1 if row["parent"] in depth else 0
    return {code: d for code, d in depth.items() if code in codes}


def parse_where(given: Sequence[str]) -> dict[str, str]:
    """Read what `--where` gives: dimension=code.

    >>> parse_where(["region=North"])
    {'region': 'North'}
    """
    found = {}
    for text in given:
        name, equals, code = text.partition("=")
        if not (name and equals and code):
            raise InputError(f"--where {text!r}: write it as dimension=code")
        if name in found:
            raise InputError(f"--where names {name!r} twice")
        found[name] = code
    return found


@dataclass(frozen=True)
class Cut:
    """What is shown of a view: the dimensions of rows and columns (maybe none), and the codes of all others."""

    rows: str
    columns: str | None
    fixed: Mapping[str, str]


def cut_view(view: View, where: Mapping[str, str]) -> Cut:
    """Choose rows and columns: the first two dimensions that `where` leaves free; the others stand at their total."""
    for name, code in where.items():
        if name not in view.by:
            raise InputError(f"table {view.name!r} has no dimension {name!r}{did_you_mean(name, view.by)}")
        if code not in view.depth[name]:
            raise InputError(f"no code {code!r} in dimension {name!r}{did_you_mean(code, view.depth[name])}")
    free = [d for d in view.by if d not in where] or [view.by[0]]
    fixed = {d: next(iter(view.depth[d])) for d in free[2:]} | {d: c for d, c in where.items() if d not in free[:2]}
    return Cut(free[0], free[1] if len(free) > 1 else None, fixed)


def draw(view: View, where: Mapping[str, str], *, depth: int | None = None) -> tuple[Table, list[str]]:
    """Return the table to print, and notes on what is left out or fixed."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cut = cut_view(view, where)
    rows, fewer_rows = _shown(view.depth[cut.rows], depth, MOST_ROWS, where.get(cut.rows))
    columns, fewer_columns = _shown(view.depth[cut.columns] if cut.columns else {"": 0}, depth, MOST_COLUMNS, None)
    at = {codes: i for i, codes in enumerate(view.codes)}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(cut.rows + (f" \\ {cut.columns}" if cut.columns else "")), no_wrap=True)
    for column in columns:
        table.add_column(Text(column or "value"), justify="right", no_wrap=True)

    def place(row: str, column: str) -> int | None:
        chosen = {**cut.fixed, cut.rows: row, **({cut.columns: column} if cut.columns else {})}
        return at.get(tuple(chosen[d] for d in view.by))

    for row, level in rows.items():
        cells = [_cell(view, place(row, column), Text) for column in columns]
        table.add_row(Text("  " * level + row, style="bold" if level == 0 else ""), *cells)
    notes = [f"{name} = {code}" for name, code in cut.fixed.items()]
    notes += [f"{fewer_rows:,} rows are not shown; choose with --where or --depth"] if fewer_rows else []
    notes += [f"{fewer_columns:,} columns are not shown; choose with --where or --depth"] if fewer_columns else []
    return table, notes


def _shown(codes: Mapping[str, int], depth: int | None, most: int, only: str | None) -> tuple[Mapping[str, int], int]:
    """Return the codes to show, and how many are left out: whole levels while they fit, at last the first codes."""
    if only is not None:
        return {only: 0}, 0
    wanted = {c: d for c, d in codes.items() if depth is None or d <= depth}
    if depth is None:
        for deepest in range(max(codes.values(), default=0), 0, -1):
            if len(wanted) <= most:
                break
            wanted = {c: d for c, d in wanted.items() if d < deepest}
    kept = dict(list(wanted.items())[:most])
    return kept, len(codes) - len(kept)


def _cell(view: View, at: int | None, text: Callable[..., Text]) -> Text:
    """Return how a cell is shown: its value with separators, and its mark."""
    if at is None:
        return text("")
    status, value = view.status[at], view.value[at]
    whole, point, part = value.partition(".")
    number = f"{int(whole):,}{point}{part}" if whole.lstrip("-").isdigit() else value
    if whole.startswith("-") and not number.startswith("-"):
        number = "-" + number  # -0.5 has a whole part without a sign
    shown = " ".join(filter(None, (MARKS.get(status, status), number)))
    return text(shown, style=STYLES.get(status, ""))


def legend(view: View) -> str:
    """Say what the marks mean."""
    if not view.internal:
        return "c suppressed"
    return "● primary (unsafe), ○ secondary (hidden to protect others), – not in the release. Confidential."


def print_view(view: View, where: Mapping[str, str], *, depth: int | None = None) -> None:
    """Print a table with its notes; as wide as it is when nobody watches."""
    import sys

    from rich.console import Console

    table, notes = draw(view, where, depth=depth)
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    console.print(view.name, style="bold", markup=False)
    console.print(table)
    for line in [*notes, legend(view)]:
        console.print(line, markup=False)
