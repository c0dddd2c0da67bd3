"""A released table as a wide frame: rows and columns by its dimensions, with margins last. Safe to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.pattern import ReleasedTable

Key = tuple[object, ...]
MARK = "c"  # what a suppressed cell shows where text is asked for


@dataclass(frozen=True)
class Part:
    """One table of a wide frame: what stands above its columns, and whether its values are whole counts."""

    keys: Key
    table: ReleasedTable
    counted: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """Which dimensions go down and which go across, what their codes are shown as, and what is done to values.

    ``titles`` are what people call the dimensions, ``labels`` what codes stand for, ``orders`` the codes of each
    dimension, without its total. With ``partial`` codes at some totals only are shown, too.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    orders: Mapping[str, Sequence[str]]
    totals: Mapping[str, str]
    titles: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    margins: bool = True
    shown_margins: bool = True  # of shares: they are worked out from margins, whether or not these are shown
    margins_name: object = "Total"
    partial: bool = False
    normalize: str | None = None
    key_names: Key = ()

    @classmethod
    def of(cls, table: ReleasedTable, dimensions: Mapping[str, Dimension], fixed: Sequence[str] = ()) -> Layout:
        """Return the layout of any table: rows by its first dimension, columns by all others that are not fixed."""
        free = [name for name in table.by if name not in fixed] or list(table.by[:1])
        totals = {name: dimensions[name].total for name in free}
        orders = {name: [code for code in dimensions[name].codes if code != totals[name]] for name in free}
        several = len(set(totals.values())) > 1
        name = next(iter(totals.values()))
        return cls((free[0],), tuple(free[1:]), orders, totals, margins_name=None if several else name, partial=True)

    def title(self, name: str) -> object:
        """Return what a dimension is called."""
        return self.titles.get(name, name)


@dataclass(frozen=True, eq=False)
class Wide:
    """Values by the keys of rows and columns: NaN where suppressed or empty, and which are suppressed."""

    rows: list[Key]
    columns: list[Key]
    value: FloatArray
    hidden: BoolArray
    counted: Sequence[bool]  # of each column


def spread(parts: Sequence[Part], layout: Layout, where: Mapping[str, str] | None = None) -> Wide:
    """Return tables as one wide one; ``where`` says at which code further dimensions stand."""
    each = [_one(part, layout, where or {}) for part in parts]
    rows = sorted({row for _, keys, _ in each for row, _ in keys})
    across = [sorted({column for _, column in keys}) for _, keys, _ in each]
    place = {row: i for i, row in enumerate(rows)}
    width = sum(map(len, across))
    value, hidden = np.full((len(rows), width), np.nan), np.zeros((len(rows), width), bool)
    columns, counted, first = list[Key](), list[bool](), 0
    for (part, keys, cells), mine in zip(each, across, strict=True):
        at = {column: first + i for i, column in enumerate(mine)}
        here = np.array([place[row] for row, _ in keys], int), np.array([at[column] for _, column in keys], int)
        figures = part.table.figures[cells]
        if part.table.response[:5] != "mean ":  # of nobody there is no mean, but a sum, which is 0
            value[:, first : first + len(mine)] = 0.0
        value[here], hidden[here] = figures, part.table.suppressed[cells]
        columns += [(*part.keys, *_labels(column, layout.columns, layout)) for column in mine]
        counted += [part.counted] * len(mine)
        first += len(mine)
    wide = Wide([_labels(row, layout.rows, layout) for row in rows], columns, value, hidden, counted)
    wide = replace(wide, value=np.where(hidden, np.nan, value))
    wide = _observed(wide, rows, layout)
    return _shares(wide, layout) if layout.normalize else wide


def _one(part: Part, layout: Layout, where: Mapping[str, str]) -> tuple[Part, list[tuple[Any, Any]], list[int]]:
    """Return the cells of a table that are shown, and where: positions of their codes, a total behind all others."""
    table = part.table
    keep = np.ones(len(table), bool)
    codes = dict(zip(table.by, table.codes, strict=True))
    for name, code in where.items():
        keep &= codes[name] == code
    places = {}
    for name in (*layout.rows, *layout.columns):
        order = {code: i for i, code in enumerate(layout.orders[name])}
        last = len(order)
        places[name] = np.array([order.get(code, last) for code in codes[name].tolist()], int)
    for side in (layout.rows, layout.columns):
        if side:
            top = np.stack([places[name] == len(layout.orders[name]) for name in side])
            keep &= ~top.any(axis=0) | (layout.margins & (top.all(axis=0) | layout.partial))
    chosen = np.flatnonzero(keep).tolist()
    down, across = (np.stack([places[n] for n in side], 1) if side else None for side in (layout.rows, layout.columns))
    keys = [
        (() if down is None else tuple(down[i].tolist()), () if across is None else tuple(across[i].tolist()))
        for i in chosen
    ]
    return part, keys, chosen


def _labels(places: tuple[int, ...], side: Sequence[str], layout: Layout) -> Key:
    """Return what a key shows; of a margin of several dimensions the first says so and the others are blank."""
    found: list[object] = []
    for number, (name, place) in enumerate(zip(side, places, strict=True)):
        order = layout.orders[name]
        if place < len(order):
            code = order[place]
            found.append(layout.labels.get(name, {}).get(code, code))
        elif layout.partial:
            found.append(layout.totals[name])
        else:
            found.append("" if number else layout.margins_name)
    return tuple(found)


def _observed(wide: Wide, rows: Sequence[Any], layout: Layout) -> Wide:
    """Leave out combinations of several dimensions that nobody has, as pandas does; single codes all stay."""
    there = (np.nan_to_num(wide.value) != 0) | wide.hidden
    down = there.any(axis=1) if len(layout.rows) > 1 else np.ones(len(wide.rows), bool)
    across = there.any(axis=0) if len(layout.columns) > 1 else np.ones(len(wide.columns), bool)
    if down.all() and across.all():
        return wide
    return Wide(
        [row for row, keep in zip(wide.rows, down.tolist(), strict=True) if keep],
        [column for column, keep in zip(wide.columns, across.tolist(), strict=True) if keep],
        wide.value[np.ix_(down, across)],
        wide.hidden[np.ix_(down, across)],
        [counted for counted, keep in zip(wide.counted, across.tolist(), strict=True) if keep],
    )


def _shares(wide: Wide, layout: Layout) -> Wide:
    """Return published values as shares of the published total of all, of their row, or of their column.

    The last row and column are the margins. A share is shown where both parts are published, and tells no more.
    """
    value, hidden = wide.value, wide.hidden
    whole = {"all": value[-1:, -1:], "index": value[:, -1:], "columns": value[-1:, :]}[layout.normalize or "all"]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = value / whole
    share[np.isnan(value) & ~hidden] = 0.0
    gone = hidden | np.isnan(whole)
    share = np.where(gone, np.nan, share)
    down = len(wide.rows) - (not (layout.shown_margins and layout.normalize in {"all", "index"}))
    across = len(wide.columns) - (not (layout.shown_margins and layout.normalize in {"all", "columns"}))
    return Wide(wide.rows[:down], wide.columns[:across], share[:down, :across], gone[:down, :across], [False] * across)


def frame_of(wide: Wide, layout: Layout, kind: str, mark: str | None = None) -> Any:  # noqa: ANN401
    """Return a wide table as a frame: of pandas with the levels of its axes, else with one column per key."""
    if kind == "pandas":
        return _pandas(wide, layout, mark)
    from cellguard.faces.python.kinds import as_kind

    names = [" / ".join(str(part) for part in key if part != "") or "value" for key in wide.columns]
    names = [name if name not in layout.rows else f"{layout.columns[-1]}: {name}" for name in names]
    down = {str(layout.title(name)): pa.array([str(row[i]) for row in wide.rows]) for i, name in enumerate(layout.rows)}
    across = {name: _arrow(wide, j, mark) for j, name in enumerate(names)}
    return as_kind(pa.table(down | across), kind)


def _arrow(wide: Wide, column: int, mark: str | None) -> pa.Array:
    value, hidden = wide.value[:, column], wide.hidden[:, column]
    gone = hidden | np.isnan(value)
    if mark is not None:
        shown = _texts(value, hidden, mark, counted=wide.counted[column])
        return pa.array(shown, pa.string())
    if wide.counted[column]:
        return pa.array(np.where(gone, 0, value).astype(np.int64), pa.int64(), mask=gone)
    return pa.array(np.where(gone, 0, value), pa.float64(), mask=gone)


def _texts(value: FloatArray, hidden: BoolArray, mark: str, *, counted: bool) -> list[str]:
    shown = [("" if np.isnan(v) else f"{int(v)}" if counted else f"{v:.12g}") for v in value.tolist()]
    return [mark if gone else text for text, gone in zip(shown, hidden.tolist(), strict=True)]


def _pandas(wide: Wide, layout: Layout, mark: str | None) -> Any:  # noqa: ANN401
    import pandas as pd

    down = _index(pd, wide.rows, [layout.title(name) for name in layout.rows])
    across = _index(pd, wide.columns, [*layout.key_names, *(layout.title(name) for name in layout.columns)])
    columns = []
    for j, counted in enumerate(wide.counted):
        value, hidden = wide.value[:, j], wide.hidden[:, j]
        if mark is not None:
            columns.append(pd.Series(_texts(value, hidden, mark, counted=counted), dtype=object))
        elif counted and hidden.any():
            gone = hidden | np.isnan(value)
            columns.append(pd.Series(pd.arrays.IntegerArray(np.where(gone, 0, value).astype(np.int64), gone)))
        else:
            columns.append(pd.Series(value.astype(np.int64) if counted and not np.isnan(value).any() else value))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(len(wide.rows)))
    frame.index, frame.columns = down, across
    return frame


def hidden_frame(wide: Wide, layout: Layout, kind: str) -> Any:  # noqa: ANN401
    """Return which cells of a wide frame are suppressed, as a frame of the same shape."""
    if kind != "pandas":
        return frame_of(
            replace(
                wide,
                value=wide.hidden.astype(float),
                hidden=np.zeros_like(wide.hidden),
                counted=[True] * len(wide.columns),
            ),
            layout,
            kind,
        )
    import pandas as pd

    frame = pd.DataFrame(wide.hidden)
    frame.index = _index(pd, wide.rows, [layout.title(name) for name in layout.rows])
    frame.columns = _index(pd, wide.columns, [*layout.key_names, *(layout.title(name) for name in layout.columns)])
    return frame


def _index(pd: Any, keys: Sequence[Key], names: Sequence[object]) -> Any:  # noqa: ANN401
    if len(names) > 1:
        return pd.MultiIndex.from_tuples(keys, names=names)
    if not names:
        return pd.Index([" ".join(map(str, key)) or "value" for key in keys])
    return pd.Index([key[0] for key in keys], name=names[0])


def fixed_codes(
    table: ReleasedTable, dimensions: Mapping[str, Dimension], where: Mapping[str, object] | None
) -> dict[str, str]:
    """Return at which code each dimension of ``where`` stands; an unknown name or code is refused."""
    found = {}
    for name, code in (where or {}).items():
        if name not in table.by:
            raise InputError(
                f"`where` names {name!r}, which is no dimension of the table{did_you_mean(name, table.by)}"
            )
        text = str(code)
        if isinstance(code, bool) and text not in dimensions[name].position:
            text = text.lower()  # as records have it
        if text not in dimensions[name].position:
            raise InputError(f"no code {code!r} in dimension {name!r}{did_you_mean(text, dimensions[name].told)}")
        found[name] = text
    return found
