"""Random dimensions: flat ones, trees of any shape (ragged, with single-child levels), and second groupings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fuzz.public import TOTAL, path, uncovered

Tree = dict[str, str]


@dataclass(frozen=True)
class Dim:
    """A dimension of a job: without trees its codes stand side by side, and no file says so."""

    name: str
    column: str
    leaves: tuple[str, ...]
    trees: tuple[Tree, ...]

    @property
    def codes(self) -> list[str]:
        """All codes, the total first."""
        return list(dict.fromkeys(code for tree in self.grouped for code in tree))

    @property
    def grouped(self) -> tuple[Tree, ...]:
        """The groupings; a flat one, if no file gives any."""
        return self.trees or ({TOTAL: "", **dict.fromkeys(self.leaves, TOTAL)},)

    def deepest(self) -> int:
        """The deepest level of the main grouping."""
        return max(len(path(self.grouped[0], code)) for code in self.grouped[0]) - 1


def draw_dim(rng: Random, name: str, column: str, leaves: Sequence[str], *, filed: bool) -> Dim:
    """A dimension over given leaves; ``filed`` if it must have a hierarchy from a file."""
    if not filed and rng.random() < 0.4:
        return Dim(name, column, tuple(leaves), ())
    trees = [draw_tree(rng, f"{name.upper()}", leaves)]
    if rng.random() < 0.3:
        trees.append(draw_tree(rng, f"{name.upper()}alt", leaves, least=1))
    return Dim(name, column, tuple(leaves), tuple(trees))


def draw_tree(rng: Random, mark: str, leaves: Sequence[str], *, least: int = 0) -> Tree:
    """A tree over the leaves: one or two levels of groups between them and the total, any of them left out."""
    groups = [f"{mark}{i}" for i in range(rng.randint(least, max(least, min(3, len(leaves)))))]
    above = {leaf: rng.choice([*groups, *groups, TOTAL]) for leaf in leaves}
    if groups and len(groups) <= len(leaves):
        above |= dict(zip(rng.sample(list(leaves), len(groups)), groups, strict=True))
    tops = [f"{mark}up{i}" for i in range(rng.choice([0, 0, 0, 1, 2]))] if groups else []
    over = {group: rng.choice([*tops, TOTAL]) for group in groups}
    lines = {**over, **above} | {top: TOTAL for top in tops if top in over.values()}
    lines = {code: parent for code, parent in lines.items() if code not in groups or code in above.values()}
    lines |= {top: TOTAL for top in tops if top in lines.values()}
    lines = {code: parent for code, parent in lines.items() if code not in tops or code in lines.values()}
    order = list(lines)
    rng.shuffle(order)
    return {TOTAL: "", **{code: lines[code] for code in order}}


def draw_codes(rng: Random, dim: Dim, occupied: set[str], way: str) -> list[str]:
    """Some codes of a dimension, so that whatever code is broken down, no leaf with records is left out below it.

    ``way``: `all`, `no total`, `fine` (leaves alone, perhaps with the total), `coarse` (no leaves), or `any`.
    """
    codes = dim.codes
    leaves = set(dim.leaves)
    if way == "no total":
        codes = [code for code in codes if code != TOTAL]
    elif way == "fine":
        codes = [code for code in codes if code in leaves or (code == TOTAL and rng.random() < 0.7)]
    elif way == "coarse":
        codes = [code for code in codes if code not in leaves] or codes
        if rng.random() < 0.3 and len(codes) > 1:
            codes = [code for code in codes if code != TOTAL]
    elif way == "any":
        chance = rng.choice([0.4, 0.7, 0.9])
        codes = [code for code in codes if rng.random() < chance] or [TOTAL]
    shown = set(codes)
    main = set(dim.grouped[0])
    while True:
        used = [t for n, t in enumerate(dim.grouped) if n == 0 or shown & (set(t) - main)]
        lost = {leaf for tree in used for leaf in uncovered(tree, shown)} & occupied
        if not lost:
            return [code for code in dim.codes if code in shown]
        shown |= lost
