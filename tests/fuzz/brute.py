"""The oracle's own oracle: tiny cases, all whole numbers of records tried one by one, in plain Python.

Nothing here is shared with the attack but the reading of files: no atoms, no matrices, no integer programs. Values are
not whole, so for every support that some numbers of records leave, a linear program over the values decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from scipy.optimize import linprog

from fuzz.cases import Case
from fuzz.judge import amounts
from fuzz.public import Axis, Codes, Shown, path

Combination = tuple[str, ...]
FAR = 10_000.0


class TooMany(Exception):
    """There are too many tables to try."""


class Brute:
    """All numbers of records that fit some released tables, at most ``most`` in a combination that nothing bounds."""

    def __init__(self, case: Case, tables: Sequence[Shown], *, most: int) -> None:
        self.tables = tables
        self.columns = list(dict.fromkeys(axis.column for table in tables for axis in table.axes))
        leaves = {}
        for axis in (axis for table in tables for axis in table.axes):
            own = set(axis.below["Total"])
            leaves[axis.column] = leaves.get(axis.column, own) & own
        self.all: list[Combination] = list(product(*(sorted(leaves[c]) for c in self.columns)))
        if len(self.all) > 12:
            raise TooMany
        self.count = any(table.response_key.is_count for table in tables)
        self.empty = {z for z in self.all for table in tables if self._is_empty(table, z)}
        self.most = most
        self.truth = {c: self._sums(case, c) for c in {t.response_key.column for t in tables}}

    def _sums(self, case: Case, column: str) -> dict[Combination, int]:
        found = dict.fromkeys(self.all, 0)
        for z, amount in zip(
            zip(*(case.records.codes[c] for c in self.columns), strict=True),
            amounts(case.records, column),
            strict=True,
        ):
            found[z] += amount
        return found

    def inside(self, axes: Sequence[Axis], codes: Codes, z: Combination) -> bool:
        return all(z[self.columns.index(a.column)] in a.below[code] for a, code in zip(axes, codes, strict=True))

    def _is_empty(self, table: Shown, z: Combination) -> bool:
        """Whether a table shows that nobody has this combination."""
        above = [self._listed_above(table, i, z) for i in range(len(table.axes))]
        if table.zeros == "known" and any(codes not in table.rows for codes in product(*above)):
            return True
        if not all(self._is_seen(table, i, z) for i in range(len(table.axes))):
            return False
        return any(self._is_gone(table, i, z) for i in range(len(table.axes))) and (
            table.made or table.zeros == "known" or table.response_key.is_count
        )

    def _leaf(self, table: Shown, i: int, z: Combination) -> str:
        return z[self.columns.index(table.axes[i].column)]

    def _listed_above(self, table: Shown, i: int, z: Combination) -> list[str]:
        """The codes that the table lists somewhere and that hold the combination."""
        return [c for c in table.codes(i) if self._leaf(table, i, z) in table.axes[i].below[c]]

    def _is_seen(self, table: Shown, i: int, z: Combination) -> bool:
        """Whether a record would be in some row, as far as this dimension goes; a leaf that is gone may be anywhere."""
        axis, leaf = table.axes[i], self._leaf(table, i, z)
        if table.made:
            return any(leaf in axis.below[c] and table.shows(axis, c) for c in axis.below)
        return bool(self._listed_above(table, i, z)) or self._is_gone(table, i, z)

    def _is_gone(self, table: Shown, i: int, z: Combination) -> bool:
        axis, leaf, occurs = table.axes[i], self._leaf(table, i, z), table.codes(i)
        if table.made:
            return any(leaf in axis.below[c] and table.shows(axis, c) and c not in occurs for c in axis.below)
        if axis.name in table.levels:
            return False
        for number, tree in enumerate(axis.trees):
            if number and not any(c in tree and c not in axis.trees[0] for c in occurs):
                continue
            chain = path(tree, leaf)
            listed = [c for c in chain if c in occurs]
            if listed and listed[0] != leaf:
                parts = [c for c in occurs if c in tree and c != listed[0] and listed[0] in path(tree, c)]
                if parts:
                    return True
        return False

    def _rows(self, column: str) -> list[tuple[set[Combination], float, float]]:
        found = []
        for table in self.tables:
            for codes, value in table.rows.items():
                cell = {z for z in self.all if self.inside(table.axes, codes, z)}
                if table.response_key.column == column and value is not None:
                    found.append((cell, value, value))
                if table.response_key.column == column and codes in table.bounds:
                    found.append((cell, *table.bounds[codes]))
                if column == "count" and table.zeros == "known":
                    found.append((cell, 1, FAR))
            if column == "count" and table.made:
                found += [(cell, 1, FAR) for cell in self._codes(table)]
        return found

    def _codes(self, table: Shown) -> Iterator[set[Combination]]:
        """All that has a code which a table made from records lists."""
        for i, axis in enumerate(table.axes):
            for code in table.codes(i):
                people = [(a, c) for j, a in enumerate(table.axes) for c in table.codes(j) if a.level[c] < 0]
                own = [axis, *(a for a, _ in people)], (code, *(c for _, c in people))
                yield {z for z in self.all if self.inside(*own, z)}

    def counts(self) -> Iterator[dict[Combination, int]]:
        """All whole numbers of records that fit."""
        rows = self._rows("count")
        limit = {z: min([self.most, *(int(hi) for cell, _, hi in rows if z in cell)]) for z in self.all}
        free = [z for z in self.all if z not in self.empty]
        size = 1
        for z in free:
            size *= limit[z] + 1
        if size > 60_000:
            raise TooMany
        for numbers in product(*(range(limit[z] + 1) for z in free)):
            n = dict.fromkeys(self.all, 0) | dict(zip(free, numbers, strict=True))
            if all(lo <= sum(n[z] for z in cell) <= hi for cell, lo, hi in rows):
                yield n

    def intervals(self, cells: Mapping[str, tuple[str, set[Combination]]]) -> dict[str, tuple[float, float]]:
        """The least and the most of each cell, given by its response and combinations, over everything that fits."""
        values = [c for c in self.truth if c != "count"]
        found: dict[str, list[float]] = {name: [] for name in cells}
        supports: dict[frozenset[Combination], bool] = {}
        if not self.count:
            supports[frozenset(z for z in self.all if z not in self.empty)] = True
        for n in self.counts() if self.count else ():
            support = frozenset(z for z in self.all if n[z])
            if support not in supports:
                supports[support] = all(self._ends(c, set(), support) is not None for c in values)
            if supports[support]:
                for name, (column, cell) in cells.items():
                    if column == "count":
                        found[name].append(sum(n[z] for z in cell))
        for support in (s for s, fits in supports.items() if fits):
            for name, (column, cell) in cells.items():
                if column != "count":
                    found[name] += self._ends(column, cell, support)
        return {name: (min(ends), max(ends)) for name, ends in found.items()}

    def _ends(self, column: str, cell: set[Combination], support: frozenset[Combination]) -> list[float] | None:
        rows = self._rows(column)
        zero = {
            z
            for table in self.tables
            if table.response_key.column == column
            for z in self.all
            if self._no_value(table, z)
        }
        bounds = [(0, FAR if z in support and z not in zero else 0) for z in self.all]
        matrix = [[1.0 * (z in inside) for z in self.all] for inside, _, _ in rows]
        upper = matrix + [[-v for v in row] for row in matrix]
        limits = [hi if hi < FAR else FAR * len(self.all) for _, _, hi in rows] + [-lo for _, lo, _ in rows]
        ends = []
        for sign in (1, -1):
            objective = [sign * (z in cell) for z in self.all]
            done = linprog(objective, A_ub=upper or None, b_ub=limits or None, bounds=bounds)
            if done.status == 2:
                return None
            assert done.status == 0, done.message
            ends.append(sign * done.fun)
        return ends

    def _no_value(self, table: Shown, z: Combination) -> bool:
        many = range(len(table.axes))
        return all(self._is_seen(table, i, z) for i in many) and any(self._is_gone(table, i, z) for i in many)
