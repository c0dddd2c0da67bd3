"""What a terminal shows of a table: its first dimension as an indented tree, its second across, and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cellguard.errors import InputError, did_you_mean
from cellguard.seam.look import SUPPRESSED, Look
from cellguard.views.grid import Cut, Grid

MOST_ROWS, MOST_COLUMNS = 200, 14
MARKS = {"published": "", "primary": "●", "secondary": "○", "unpublished": "–", "suppressed": "c"}
MARKS |= {"safe": "", "sensitive": "○", "unsafe": "✕", "accepted": "!"}


@dataclass(frozen=True, eq=False)
class View:
    """Cells to show: where they stand in a grid, the codes of each, the text of its value and its status.

    Of a table whose figures were changed ``value`` is what is published and ``true``, if it may be shown, what is not.
    ``look`` is what its method says of it.
    """

    grid: Grid
    codes: tuple[tuple[str, ...], ...]
    value: tuple[str, ...]
    status: tuple[str, ...]
    internal: bool
    look: Look = SUPPRESSED
    checked: bool = True
    true: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.grid.name

    @property
    def by(self) -> tuple[str, ...]:
        """The names of its dimensions."""
        return tuple(axis.name for axis in self.grid.axes)


@dataclass(frozen=True)
class Entry:
    """The text of a cell with its mark, and the status that it is drawn by; both empty where there is no cell."""

    text: str
    status: str = ""


@dataclass(frozen=True)
class Line:
    """A row: its code, how deep that stands in the tree, and its cells."""

    code: str
    level: int
    cells: Sequence[Entry]


@dataclass(frozen=True)
class Drawing:
    """What a terminal prints: the corner and the codes above the columns, the rows, and notes on what is left out."""

    corner: str
    columns: Sequence[str]
    lines: Sequence[Line]
    notes: Sequence[str]


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


def cut_view(view: View, where: Mapping[str, str]) -> Cut:
    """Choose rows and columns: the first two dimensions that `where` leaves free; the others stand at their total."""
    for name, code in where.items():
        if name not in view.by:
            raise InputError(f"table {view.name!r} has no dimension {name!r}{did_you_mean(name, view.by)}")
        known = view.grid.axis(name).depth
        if code not in known:
            raise InputError(f"no code {code!r} in dimension {name!r}{did_you_mean(code, known)}")
    return view.grid.cut(where)


def draw(view: View, where: Mapping[str, str], *, depth: int | None = None) -> Drawing:
    """Return what to print of a table."""
    cut = cut_view(view, where)
    rows, fewer_rows = _shown(view.grid.axis(cut.rows).depth, depth, MOST_ROWS, where.get(cut.rows))
    across = view.grid.axis(cut.columns).depth if cut.columns else {"": 0}
    columns, fewer_columns = _shown(across, depth, MOST_COLUMNS, None)
    places = view.grid.cells(cut, list(rows), list(columns))
    lines = [
        Line(code, level, [_entry(view, cell) for cell in cells])
        for (code, level), cells in zip(rows.items(), places, strict=True)
    ]
    notes = [f"{name} = {code}" for name, code in cut.fixed.items()]
    notes += [f"{fewer_rows:,} rows are not shown; choose with --where or --depth"] if fewer_rows else []
    notes += [f"{fewer_columns:,} columns are not shown; choose with --where or --depth"] if fewer_columns else []
    corner = cut.rows + (f" \\ {cut.columns}" if cut.columns else "")
    return Drawing(corner, [column or "value" for column in columns], lines, notes)


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


def _entry(view: View, cell: int | None) -> Entry:
    """Return how a cell is shown: its value with separators, and its mark."""
    if cell is None:
        return Entry("")
    status, number = view.status[cell], _number(view.value[cell])
    if view.true:
        number = f"{_number(view.true[cell])} → {number}"
    mark = {**MARKS, **view.look.marks}.get(status, status)
    return Entry(" ".join(filter(None, (mark, number))), status)


def _number(value: str) -> str:
    """Write a number with separators.

    >>> _number("-1234.50")
    '-1,234.50'
    """
    whole, point, part = value.partition(".")
    number = f"{int(whole):,}{point}{part}" if whole.lstrip("-").isdigit() else value
    if whole.startswith("-") and not number.startswith("-"):
        return "-" + number  # -0.5 has a whole part without a sign
    return number


def legend(view: View) -> str:
    """Describe what the marks mean."""
    warning = "" if view.checked else "NOT CHECKED before release. "
    if view.internal:
        return warning + view.look.internal
    hidden = SUPPRESSED.public if "suppressed" in view.status else ""
    return warning + (view.look.public or hidden)
