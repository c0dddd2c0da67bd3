"""`cellguard show`: a table of an output folder on the terminal, its first dimension as an indented tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellguard.errors import InputError, did_you_mean, listing

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from cellguard.io.folder import OutputFolder

MOST_ROWS, MOST_COLUMNS = 200, 14
MARKS = {"published": "", "primary": "●", "secondary": "○", "unpublished": "–", "suppressed": "c"}
MARKS |= {"safe": "", "sensitive": "○", "unsafe": "✕", "accepted": "!"}
STYLES = {"primary": "bold #d55e00", "secondary": "#3b9bd8", "unpublished": "dim italic", "suppressed": "dim"}
STYLES |= {"unsafe": "bold #d55e00", "accepted": "#d55e00", "sensitive": "#3b9bd8"}
_DUST = 1e-9  # of a cell's value, below which a need is none


@dataclass(frozen=True)
class View:
    """Cells to show: codes of each, text of its value and its status; and each dimension's codes with their depth.

    Of a perturbed table ``value`` is what is published and ``true``, if it may be shown, what is not.
    """

    name: str
    by: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    value: tuple[str, ...]
    status: tuple[str, ...]
    depth: Mapping[str, Mapping[str, int]]
    internal: bool
    perturbed: bool = False
    checked: bool = True
    true: tuple[str, ...] = ()


def read_view(folder: Path, table: str | None, *, internal: bool) -> View:
    """Read one table of an output folder: as published, or with hidden or true values and marks."""
    from cellguard.io.folder import OutputFolder
    from cellguard.job.names import check_stored_names

    output = OutputFolder(folder)
    about = _tables(output, internal)
    name = _choose(table, list(about))
    by, checked = tuple(about[name]["by"]), about[name]["checked"]
    check_stored_names(folder, (name, *by))
    guarded = set(about[name]["guarded"])
    rows = output.rows(name, internal=internal, guarded=set() if internal else guarded)
    noisy = internal and output.method == "perturb"
    try:
        codes = _codes(rows, by)
        if noisy:
            released = (output.outside / f"{name}.csv").exists()
            shown = set(_codes(output.rows(name, internal=False, guarded=guarded), by)) if released else None
            status = tuple(_perturbed_status(row, c, shown, checked) for row, c in zip(rows, codes, strict=True))
        else:
            status = tuple(row["status"] if internal else "suppressed" if row["flag"] else "published" for row in rows)
        true = tuple(row["value"] for row in rows) if noisy else ()
        value = tuple(row["perturbed"] if true else row["value"] for row in rows)
    except KeyError as error:
        raise InputError(f"{str(folder)!r} is damaged: table {name!r} has no column {error.args[0]!r}") from None
    except ValueError:
        raise InputError(f"{str(folder)!r} is damaged: table {name!r} has needs that are no numbers") from None
    occurring = {d: dict.fromkeys(c[i] for c in codes) for i, d in enumerate(by)}
    depth = {d: output.depths(d, occurring[d]) for d in by}
    return View(name, by, codes, value, status, depth, internal, output.method == "perturb", checked, true)


def _tables(output: OutputFolder, internal: bool) -> dict[str, Any]:
    """Return for each table by what it is, whether it was checked, and which codes are guarded."""
    if not (output.outside / "metadata.json").is_file() and output.keeps_internal:
        if not internal:
            raise InputError(
                f"the tables in {str(output.path)!r} were not released; --internal shows them (confidential)"
            )
        return {name: about | {"guarded": []} for name, about in output.unreleased().items()}
    try:
        return {
            name: {
                "by": list(t["by"]),
                "checked": not str(t.get("calibration", "")).endswith("NOT CHECKED"),
                "guarded": list(t.get("guarded", [])),
            }
            for name, t in output.about()["tables"].items()
        }
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{str(output.path)!r} is no output folder: release/metadata.json cannot be read") from None


def _codes(rows: Sequence[Mapping[str, str]], by: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the codes of each row: the first columns are those of the dimensions, whatever they are called."""
    columns = list(rows[0])[: len(by)] if rows else []
    return tuple(tuple(row[c] for c in columns) for row in rows)


def _perturbed_status(
    row: Mapping[str, str], codes: tuple[str, ...], shown: set[tuple[str, ...]] | None, checked: bool
) -> str:
    """Return the status of a perturbed cell: of one that nothing was found about by its need and its S_N."""
    if shown is not None and codes not in shown:
        return "unpublished"
    if checked and row["status"] not in {"safe", "not proven"}:
        return row["status"]
    least = _DUST * abs(float(row["value"]))
    if not checked and float(row["S_N"]) > least:
        return "unsafe"
    return "sensitive" if float(row["need"]) > least else "safe"


def _choose(table: str | None, names: Sequence[str]) -> str:
    if table is None:
        if len(names) > 1:
            raise InputError(f"the folder has the tables {listing(names)}; say which to show")
        return names[0]
    if table not in names:
        raise InputError(f"no table {table!r}{did_you_mean(table, names)}")
    return table


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
    status, number = view.status[at], _number(view.value[at])
    if view.true:
        number = f"{_number(view.true[at])} → {number}"
    shown = " ".join(filter(None, (MARKS.get(status, status), number)))
    return text(shown, style=STYLES.get(status, ""))


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
    """Say what the marks mean."""
    if view.perturbed:
        warning = "" if view.checked else "NOT CHECKED before release. "
        if not view.internal:
            return warning + "Perturbed: every figure carries some noise, and none is suppressed."
        marks = "○ sensitive, safe with its noise, ✕ unsafe, ! unsafe but accepted, – not in the release"
        return f"{warning}True value → perturbed value; {marks}. Confidential."
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
