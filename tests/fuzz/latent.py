"""Latent cells: combinations of codes that no table of a response lists, but that its tables together may tell.

They are the cells of the table by all dimensions of the response's tables, at all levels that these tell apart, and of
the populations that remain when tables about some are subtracted from tables about more (all - a - b = c).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from fuzz.attack import Goal
from fuzz.public import TOTAL, Shown, selected
from fuzz.scene import Response, Scene
from fuzz.worlds import ALL, make_space

Leaves = frozenset[str]
Cell = tuple[Leaves, ...]  # the leaves in each column
RESTS = 24  # populations by subtraction, at most
MOST = 4000  # cells of one response, at most


class Latent:
    """The occupied cells behind the tables of a response that none of them lists."""

    def __init__(self, response: Response) -> None:
        self.response = response
        axes = {axis.name: axis for table in response.tables for axis in table.axes}
        self.columns = list(dict.fromkeys(axis.column for axis in axes.values()))
        self.every: dict[str, Leaves] = {}
        self.names: dict[str, dict[Leaves, str]] = {column: {} for column in self.columns}
        for axis in axes.values():
            old = self.every.get(axis.column, axis.below[TOTAL])
            self.every[axis.column] = old & axis.below[TOTAL]
        self.selecting = {axes[name].column for spec in response.specs for name in spec.get("where", {})}
        self._name_codes(axes)
        self._name_rests(axes)

    def _name_codes(self, axes: Mapping) -> None:
        """All codes whose leaves the tables tell apart from others."""
        apart = make_space(self.response.tables, [], ALL).cover_cells
        for axis in axes.values():
            for code, leaves in axis.below.items():
                whole = all(atom <= leaves or not atom & leaves for atom in apart[axis.column])
                if whole and axis.level[code] >= 0:
                    self.names[axis.column].setdefault(leaves & self.every[axis.column], code)
        for column in self.columns:
            self.names[column][self.every[column]] = TOTAL

    def _name_rests(self, axes: Mapping) -> None:
        """The populations of tables that select by one column, and what subtraction makes of them."""
        specs = [spec for spec in self.response.specs if len(spec.get("where", {})) == 1]
        for column in self.columns:
            whole = self.every[column]
            own = {whole: TOTAL}
            for spec in specs:
                ((name, said),) = spec["where"].items()
                if axes[name].column == column:
                    own.setdefault(selected(axes[name], said) & whole, spec["name"])
            for leaves, name in _subtract(own).items():
                self.names[column].setdefault(leaves, name)

    def listed(self) -> set[Cell]:
        """The cells that some table has: shown, suppressed, or at levels that it does not publish.

        These are judged by the rules of that table, and by no other's.
        """
        pairs = zip(self.response.tables, self.response.specs, strict=True)
        return {cell for t, spec in pairs for cell in self._cells_of(t, {*t.rows, *_unpublished(t, spec)})}

    def _cells_of(self, table: Shown, rows: Iterable[Sequence[str]]) -> Iterator[Cell]:
        for codes in rows:
            leaves = dict(self.every)
            for axis, code in zip(table.axes, codes, strict=True):
                leaves[axis.column] &= axis.below[code]
            yield tuple(leaves[column] for column in self.columns)

    def cells(self) -> dict[Cell, list[int]]:
        """All cells that have records and that no table lists, with their records.

        One with just the records of a listed cell tells no more than that: the rules of its table judge it. Of values
        these are the records that are not 0: a record of 0 changes neither the sum nor who has which part of it.
        """
        records = self.response.case.records
        value = None if self.response.is_count else records.values[self.response.name]
        above = [
            {leaf: [leaves for leaves in self.names[column] if leaf in leaves] for leaf in self.every[column]}
            for column in self.columns
        ]
        listed, shown, found = self.listed(), dict[Cell, list[int]](), dict[Cell, list[int]]()
        for i, codes in enumerate(zip(*(records.codes[column] for column in self.columns), strict=True)):
            for cell in product(*(own[code] for own, code in zip(above, codes, strict=True))):
                if cell in listed:
                    shown.setdefault(cell, []).append(i)
                elif cell in found or len(found) < MOST:
                    found.setdefault(cell, []).append(i)

        def part_of(inside: Sequence[int]) -> tuple[int, ...]:
            return tuple(i for i in inside if value is None or value[i])

        alike = {part_of(inside) for inside in shown.values()}
        return {cell: inside for cell, inside in found.items() if part_of(inside) not in alike}

    def unsafe(self) -> dict[Cell, list[int]]:
        """Those that the rules call unsafe; of ready-made tables without sums of their cells, which nobody judges."""
        found = {cell: inside for cell, inside in self.cells().items() if self.response.need(inside) is not None}
        if not self.response.is_ready:
            return found
        return {cell: inside for cell, inside in found.items() if not self._is_sum(cell, inside)}

    def _is_sum(self, cell: Cell, inside: Sequence[int]) -> bool:
        """Whether some table lists cells of which this is the sum."""
        codes = self.response.case.records.codes
        for table in self.response.tables:
            within = [
                one for one in self._cells_of(table, table.rows) if all(a <= b for a, b in zip(one, cell, strict=True))
            ]
            records = (tuple(codes[column][i] for column in self.columns) for i in inside)
            if all(any(all(c in s for c, s in zip(r, one, strict=True)) for one in within) for r in records):
                return True
        return False

    def goals(self, cells: Mapping[Cell, Sequence[int]], scene: Scene) -> Iterator[Goal]:
        """The goals that cells are."""
        for cell, inside in cells.items():
            wanted = dict(zip(self.columns, cell, strict=True))
            name = "/".join(self.names[column][leaves] for column, leaves in wanted.items())
            label = f"{self.response.name} by {'/'.join(self.columns)}: {name}"
            kind = "rest" if any(wanted[column] != self.every[column] for column in self.selecting) else "latent"
            yield self.response.goal(kind, label, scene.space.where(0, wanted), inside)


def _unpublished(table: Shown, spec: Mapping) -> Iterator[tuple[str, ...]]:
    """All combinations of the codes that a table has, if it does not publish all levels of a dimension."""
    levels = spec.get("publish")
    if not isinstance(levels, Mapping):
        return iter(())
    shown = [dict.fromkeys(table.codes(i)) for i in range(len(table.axes))]
    hidden = [axis.below if axis.name in levels else codes for axis, codes in zip(table.axes, shown, strict=True)]
    return product(*hidden)


def _subtract(populations: Mapping[Leaves, str]) -> dict[Leaves, str]:
    """Populations, and all that remains of one when others that it holds are taken away."""
    found = dict(populations)
    queue = list(found)
    while queue and len(found) < RESTS:
        new = queue.pop(0)
        for other in list(found):
            for large, small in ((new, other), (other, new)):
                rest = large - small
                if small < large and rest not in found:
                    found[rest] = f"{found[large]} without {found[small]}"
                    queue.append(rest)
    return found
