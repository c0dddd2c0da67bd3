"""The stored hierarchies: codes, and the tree that is left of each of them within one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.numbers import Bools, Int64
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_csv

COLUMNS = ("hierarchy", "code", "parent", "label")


@dataclass(frozen=True)
class Tree:
    """One hierarchy: positions of its codes and of their parents (-1 for the total), parents first."""

    codes: tuple[int, ...]
    parents: tuple[int, ...]

    @property
    def leaves(self) -> set[int]:
        """The codes without parts."""
        return set(self.codes) - set(self.parents)


@dataclass(frozen=True)
class Dimension:
    """All codes of a dimension (position 0 is the total), its hierarchies, the main one first, and labels of codes."""

    name: str
    codes: tuple[str, ...]
    trees: tuple[Tree, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    def encode(self, column: pa.Array, where: str) -> Int64:
        """Return the position of each code; refuse a code that no hierarchy has."""
        positions = pc.index_in(column, value_set=pa.array(self.codes, pa.string()))
        if positions.null_count:
            row = int(np.argmax(np.asarray(pc.is_null(positions).to_numpy(zero_copy_only=False), dtype=bool)))
            raise Refused(f"{where} line {row + 2} has a code that is not in hierarchies/{self.name}.csv")
        return np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64)

    def uppers(self, occurs: Bools) -> list[Int64]:
        """Return, for each hierarchy that says something of a table, every code's next code above in that table.

        Only codes that occur count, and -1 means that there is none. A further grouping says nothing if no code
        occurs that it alone has: it would add up leaves that the table need not show.
        """
        return [upper(tree, occurs) for tree in self.used(occurs)]

    def used(self, occurs: Bools) -> list[Tree]:
        """Return the hierarchies that say something of a table: the main one, and each with a code of its own in it."""
        main = set(self.trees[0].codes)
        others = (tree for tree in self.trees[1:] if any(occurs[c] for c in tree.codes if c not in main))
        return [self.trees[0], *others]

    def first_parents(self) -> Int64:
        """Return the position of each code's parent in the first hierarchy that has it; -1 for the total."""
        above = np.full(len(self.codes), -1, dtype=np.int64)
        for tree in reversed(self.trees):
            above[list(tree.codes)] = tree.parents
        return above

    def levels(self) -> Int64:
        """Return the depth of each code in the first hierarchy that has it; the total has 0."""
        depth = np.zeros(len(self.codes), dtype=np.int64)
        for tree in reversed(self.trees):
            for code, parent in zip(tree.codes, tree.parents, strict=True):
                depth[code] = depth[parent] + 1 if parent >= 0 else 0
        return depth


def upper(tree: Tree, occurs: Bools) -> Int64:
    """Return, for each code that occurs, the next code above it that does; -1 if there is none."""
    above = np.full(occurs.size, -1, dtype=np.int64)
    for code, parent in zip(tree.codes, tree.parents, strict=True):
        if parent >= 0:
            above[code] = parent if occurs[parent] else above[parent]
    above[~occurs] = -1
    return above


def read_dimensions(folder: Folder, names: Sequence[str]) -> Mapping[str, Dimension]:
    """Read the hierarchies of all dimensions that the tables have."""
    return {name: _read_dimension(folder, name) for name in names}


def _read_dimension(folder: Folder, name: str) -> Dimension:
    where = f"internal/hierarchies/{name}.csv"
    numbers, codes, parents, words = (c.to_pylist() for c in read_csv(folder, where, COLUMNS))
    rows: dict[str, list[tuple[str, str]]] = {}
    for number, code, parent in zip(numbers, codes, parents, strict=True):
        rows.setdefault(number, []).append((code, parent))
    if not rows or list(rows) != [str(i) for i in range(len(rows))]:
        raise Refused(f"{where} does not number its hierarchies 0, 1, 2, ... in this order")
    positions = {code: i for i, code in enumerate(dict.fromkeys(codes))}
    trees = tuple(_tree(pairs, positions, where) for pairs in rows.values())
    if any(tree.codes[0] != 0 for tree in trees):
        raise Refused(f"{where} has hierarchies with different totals")
    if any(tree.leaves != trees[0].leaves for tree in trees):
        raise Refused(f"{where} has groupings of different leaves")
    labels = {code: word for code, word in zip(codes, words, strict=True) if word}
    return Dimension(name, tuple(positions), trees, labels)


def _tree(pairs: Sequence[tuple[str, str]], positions: Mapping[str, int], where: str) -> Tree:
    seen: set[str] = set()
    for i, (code, parent) in enumerate(pairs):
        if not code or code in seen:
            raise Refused(f"{where} has a blank code, or a code twice in one hierarchy")
        if (parent == "") != (i == 0) or (parent and parent not in seen):
            raise Refused(f"{where} is not a tree with one total and parents first")
        seen.add(code)
    return Tree(tuple(positions[c] for c, _ in pairs), tuple(positions[p] if p else -1 for _, p in pairs))
