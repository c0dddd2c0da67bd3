"""`Sheet`: a large table for eyes, of which only the part is drawn that is looked at.

A `Look` says which dimensions are rows and columns, at which codes the others stand, what is folded, searched and
filtered. A `Drawn` sheet gives any window of it at once, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.table.public_codes import with_ancestors
from cellguard.views.grid import Axis, Grid

Ints = npt.NDArray[np.int64]
_KEPT = 8  # looks that are remembered


@dataclass(frozen=True)
class Fold:
    """Which codes of an axis are open: those above a depth, but for some that were turned."""

    depth: int = 99
    turned: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Look:
    """What is to be seen of a table. Without statuses and reasons all cells are."""

    rows: str
    columns: str | None = None
    fixed: tuple[tuple[str, str], ...] = ()
    row_fold: Fold = Fold()
    column_fold: Fold = Fold()
    search: str = ""
    statuses: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()

    @property
    def filters(self) -> bool:
        """Whether cells are picked."""
        return bool(self.statuses or self.reasons)


@dataclass(frozen=True)
class Head:
    """A row or column of a drawn sheet: its code, what it is called, how deep it stands, whether it opens or is."""

    code: str
    label: str
    depth: int
    folds: bool
    open: bool


@dataclass(frozen=True, eq=False)
class Side:
    """The visible codes along one side: their positions on the axis, top to bottom."""

    axis: Axis | None
    shown: Ints
    depth: Ints
    folds: BoolArray
    open: BoolArray

    def __len__(self) -> int:
        return len(self.shown)

    def heads(self, start: int, stop: int) -> list[Head]:
        """Return the heads from one place to another."""
        if self.axis is None:
            return [Head("", "", 0, False, False)][start:stop]
        axis, found = self.axis, list[Head]()
        parts = (self.shown, self.depth, self.folds, self.open)
        for at, depth, folds, is_open in zip(*(part[start:stop].tolist() for part in parts), strict=True):
            code = axis.codes[at]
            found.append(Head(code, axis.labels.get(code, ""), depth, folds, is_open))
        return found

    def places(self) -> Ints:
        """Return for each code of the axis where it is shown, -1 if it is not; the last entry is for no code."""
        size = 1 if self.axis is None else len(self.axis.codes)
        place = np.full(size + 1, -1, np.int64)
        place[self.shown] = np.arange(len(self.shown))
        return place


@dataclass(frozen=True, eq=False)
class Drawn:
    """A sheet as one look shows it: its sides, and where the cells stand: at ``keys``, rows times columns plus column.

    ``picked`` says which of these cells the filters pick, and ``marked`` the same of all cells of the table.
    """

    rows: Side
    columns: Side
    keys: Ints
    cells: Ints
    picked: BoolArray
    marked: BoolArray

    def window(self, top: int, left: int, bottom: int, right: int) -> Ints:
        """Return the number of the cell at each place of a window, row by row; -1 where there is none."""
        width = len(self.columns)
        down, across = np.arange(top, min(bottom, len(self.rows))), np.arange(left, min(right, width))
        wanted = (down[:, None] * width + across[None, :]).ravel()
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        found = np.full(len(wanted), -1, np.int64)
        if len(self.keys):
            hit = self.keys[at] == wanted
            found[hit] = self.cells[at[hit]]
        return found.reshape(len(down), len(across))

    def next_picked(self, row: int, column: int, *, back: bool = False) -> tuple[int, int] | None:
        """Return the place of the next picked cell after (or before) a place, around the end; None without any."""
        keys = self.keys[self.picked]
        if not len(keys):
            return None
        width, here = len(self.columns), row * len(self.columns) + column
        at = int(np.searchsorted(keys, here, side="left" if back else "right")) - int(back)
        key = int(keys[at % len(keys)])
        return key // width, key % width


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table with the status of each cell, why it is so, and figures to show.

    ``status`` numbers the ``words``; ``reasons`` are the cells of each reason; ``figures`` are by name what may be
    shown of each cell: texts, or numbers that are written with so many ``decimals``.
    """

    grid: Grid
    words: Sequence[str]
    status: npt.NDArray[np.int8]
    reasons: Mapping[str, BoolArray]
    figures: Mapping[str, Sequence[str] | FloatArray]
    decimals: int = 0
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.status)

    def text(self, figure: str, cell: int) -> str:
        """Return a figure of a cell as people read it."""
        column = self.figures[figure]
        if isinstance(column, np.ndarray):
            value = float(column[cell])
            return "" if np.isnan(value) else f"{value:,.{self.decimals}f}"
        return column[cell]

    def codes(self, cell: int) -> tuple[str, ...]:
        """Return the codes of a cell, in the order of the table's dimensions."""
        axes = zip(self.grid.axes, self.grid.codes, strict=True)
        return tuple(axis.codes[int(column[cell])] for axis, column in axes)

    def find(self, codes: Sequence[str]) -> int | None:
        """Return the number of the cell with these codes."""
        here = np.ones(len(self), bool)
        for axis, column, code in zip(self.grid.axes, self.grid.codes, codes, strict=True):
            here &= column == axis.position.get(code, -2)
        found = np.flatnonzero(here)
        return int(found[0]) if len(found) else None

    def counts(self) -> dict[str, int]:
        """Return how many cells have each status."""
        number = np.bincount(self.status, minlength=len(self.words)).tolist()
        return {word: many for word, many in zip(self.words, number, strict=True) if many}

    def usual_look(self) -> Look:
        """Return the first look: the first two dimensions, the others at their total, folded to what fits a screen."""
        cut = self.grid.cut({})
        rows, columns = self.grid.axis(cut.rows), cut.columns
        across = Fold() if columns is None else _first_fold(self.grid.axis(columns), 60)
        return Look(cut.rows, columns, tuple(cut.fixed.items()), _first_fold(rows, 400), across)

    def draw(self, look: Look) -> Drawn:
        """Return what a look shows; the last few looks are remembered."""
        if "drawer" not in self._cache:
            self._cache["drawer"] = lru_cache(_KEPT)(self._draw)
        drawn: Drawn = self._cache["drawer"](look)
        return drawn

    def _draw(self, look: Look) -> Drawn:
        names = [axis.name for axis in self.grid.axes]
        self._check(look, names)
        here = np.ones(len(self), bool)
        for name, code in look.fixed:
            here &= self._column(name) == self.grid.axis(name).position[code]
        picked = here & self._picked(look)
        rows = self._side(look.rows, look.row_fold, look.search, picked if look.filters else None)
        columns = self._side(look.columns, look.column_fold, look.search, None)
        if look.search:  # what is searched may be on either side: the other one is then shown whole
            rows, columns = self._found_on(look, rows, columns, picked if look.filters else None)
        chosen = np.flatnonzero(here)
        down = rows.places()[self._column(look.rows)[chosen]]
        across = columns.places()[self._column(look.columns)[chosen]]
        seen = (down >= 0) & (across >= 0)
        keys = down[seen] * max(len(columns), 1) + across[seen]
        order = np.argsort(keys, kind="stable")
        cells = chosen[seen][order]
        marked = picked & look.filters
        return Drawn(rows, columns, keys[order], cells, marked[cells], marked)

    def _check(self, look: Look, names: Sequence[str]) -> None:
        sides = [look.rows, *([look.columns] if look.columns else [])]
        for name in [*sides, *(name for name, _ in look.fixed)]:
            if name not in names:
                raise InputError(f"table {self.grid.name!r} has no dimension {name!r}{did_you_mean(name, names)}")
        fixed = [name for name, _ in look.fixed]
        if sorted([*sides, *fixed]) != sorted(names):
            raise InputError("each dimension is rows, columns or at one code, and only one of these")
        for name, code in look.fixed:
            known = self.grid.axis(name).position
            if code not in known:
                raise InputError(f"no code {code!r} in dimension {name!r}{did_you_mean(code, known)}")

    def _column(self, name: str | None) -> npt.NDArray[np.integer]:
        if name is None:
            return np.zeros(len(self), np.int32)
        return next(c for axis, c in zip(self.grid.axes, self.grid.codes, strict=True) if axis.name == name)

    def _picked(self, look: Look) -> BoolArray:
        picked = np.ones(len(self), bool)
        if look.statuses:
            picked &= np.isin(self.status, [i for i, word in enumerate(self.words) if word in look.statuses])
        if look.reasons:
            none = np.zeros(len(self), bool)
            picked &= np.logical_or.reduce([none, *(self.reasons.get(reason, none) for reason in look.reasons)])
        return picked

    def _side(self, name: str | None, fold: Fold, search: str, picked: BoolArray | None) -> Side:
        if name is None:
            one = np.zeros(1, np.int64)
            return Side(None, one, one, np.zeros(1, bool), np.zeros(1, bool))
        axis = self.grid.axis(name)
        keep = np.ones(len(axis.codes), bool)
        if picked is not None:
            keep &= with_ancestors(axis.parent, np.unique(self._column(name)[picked]))
        found = _matching(axis, search)
        if search and len(found):
            keep &= with_ancestors(axis.parent, found)
        everything = picked is not None or (bool(search) and len(found) > 0)
        return _visible(axis, fold, keep, everything=everything)

    def _found_on(self, look: Look, rows: Side, columns: Side, picked: BoolArray | None) -> tuple[Side, Side]:
        on_rows = len(_matching(self.grid.axis(look.rows), look.search)) > 0
        on_columns = look.columns is not None and len(_matching(self.grid.axis(look.columns), look.search)) > 0
        if on_rows or on_columns:
            return rows, columns
        nothing = np.zeros(0, np.int64)
        return Side(rows.axis, nothing, nothing, nothing.astype(bool), nothing.astype(bool)), columns


def _matching(axis: Axis, search: str) -> Ints:
    word = search.casefold()
    said = [i for i, c in enumerate(axis.codes) if word in c.casefold() or word in axis.labels.get(c, "").casefold()]
    return np.array(said if word else [], np.int64)


def _tree(axis: Axis) -> tuple[list[int], list[int], list[list[int]]]:
    """Return the codes of an axis from the top, each followed by those below it; their depths; their children."""
    children = [list[int]() for _ in axis.codes]
    roots = list[int]()
    for code, above in enumerate(axis.parent.tolist()):
        (roots if above < 0 else children[above]).append(code)
    order, depth = list[int](), [0] * len(axis.codes)
    waiting = roots[::-1]
    while waiting:
        code = waiting.pop()
        order.append(code)
        for child in reversed(children[code]):
            depth[child] = depth[code] + 1
            waiting.append(child)
    return order, depth, children


def _visible(axis: Axis, fold: Fold, keep: BoolArray, *, everything: bool) -> Side:
    order, depth, children = _tree(axis)
    kept = keep.tolist()
    parent = axis.parent.tolist()
    opened, seen, shown = [False] * len(kept), [False] * len(kept), list[int]()
    for code in order:
        seen[code] = parent[code] < 0 or (seen[parent[code]] and opened[parent[code]])
        turned = axis.codes[code] in fold.turned
        opened[code] = bool(children[code]) and (everything or depth[code] < fold.depth) != turned
        if seen[code] and kept[code]:
            shown.append(code)
    at = np.array(shown, np.int64)
    folds = np.array([any(kept[child] for child in children[code]) for code in shown], bool)
    return Side(axis, at, np.array(depth, np.int64)[at], folds, np.array(opened, bool)[at])


def _first_fold(axis: Axis, most: int) -> Fold:
    """Return a fold that shows whole levels while no more than so many codes are seen, and two levels in any case."""
    _, depth, _ = _tree(axis)
    levels = np.cumsum(np.bincount(depth))
    return Fold(max(int(np.searchsorted(levels, most, side="right")) - 1, 1))
