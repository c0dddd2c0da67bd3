"""`Asked`: the cells of a question, who is in them, and which may be shown by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.answers.question import Question
from cellguard.arrays import BoolArray, FloatArray, IntArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.answers.figures import largest_of, largest_of_sums, unsafe
from cellguard.methods.perturb.answers.system import Cells
from cellguard.rules.limits import NoiseRule
from cellguard.table.lattice import build_lattice, cells_by_leaves


@dataclass(frozen=True, eq=False)
class Response:
    """One response of a source: its contributors, those whose value is not 0. Confidential.

    ``record`` are the contributors' records, ``present`` the records that have the response at all; ``value`` and
    ``given`` are what contributors have and what they add to perturbed totals, in grains of ``decimals``.
    """

    name: str
    record: LongArray
    present: BoolArray
    value: FloatArray
    given: FloatArray
    grains: FloatArray
    decimals: int
    scale: int

    @property
    def size(self) -> FloatArray:
        """The contributions by size."""
        return np.abs(self.value)

    @property
    def noise(self) -> FloatArray:
        """What the multipliers add."""
        return self.given - self.value


@dataclass(frozen=True, eq=False)
class Asked:
    """The occupied cells of a question. Confidential.

    ``codes`` are their codes, a column per variable; ``interior`` marks those without a cell below them. ``alone`` are
    those that may be shown if nothing else is; ``width`` is how many contribute.
    """

    question: Question
    dimensions: tuple[Dimension, ...]
    codes: tuple[IntArray, ...]
    cells: Cells
    interior: BoolArray
    width: LongArray
    alone: BoolArray
    total: FloatArray

    def __len__(self) -> int:
        return len(self.interior)


def ask_cells(
    question: Question,
    response: Response,
    variables: Mapping[str, tuple[Dimension, IntArray]],
    rules: Sequence[NoiseRule],
    *,
    fewest: int,
    most: int,
) -> Asked:
    """Return the cells of a question; ``variables`` have for each record the position of its leaf code.

    Refused are names and codes that do not exist, and more than ``most`` cells.
    """
    for name in (*question.by, *(name for name, _ in question.where)):
        if name not in variables:
            raise InputError(f"no variable {name!r}{did_you_mean(name, variables)}")
    dimensions = tuple(variables[name][0] for name in question.by)
    inside = response.present.copy()
    for name, codes in question.where:
        inside &= _chosen(*variables[name], codes)
    records = np.flatnonzero(inside)
    levels = {d.name: chosen for d, name in zip(dimensions, question.by, strict=True) for chosen in _of(question, name)}
    for dimension, name in zip(dimensions, question.by, strict=True):
        deepest = int(dimension.level.max())
        if any(level > deepest for chosen in _of(question, name) for level in chosen):
            raise InputError(f"`levels`: {name!r} has levels 0 to {deepest} only")
    if not len(records):
        raise InputError("no record is chosen: `where` leaves nobody")
    columns = [variables[name][1][records] for name in question.by]
    _refuse_many(dimensions, columns, most)
    lattice = build_lattice(dimensions, columns, levels or None)
    if len(lattice) > most:
        raise InputError(f"the table has {len(lattice):,} cells; at most {most:,} are answered. Ask for coarser codes")
    sums, part = _merged(sp.csr_array(cells_by_leaves(lattice)))
    leaf = np.full(len(response.present), -1, np.int32)
    leaf[records] = part[lattice.leaf]
    mine = leaf[response.record].astype(np.int32)
    cells = Cells(mine, sums)
    many, n = sums.shape[1], max(rule.n for rule in rules)
    home = mine.astype(np.int64)
    into = np.where(home < 0, many, home)
    size, noise, count, grains = (
        sums @ np.bincount(into, column, many + 1)[:many]
        for column in (response.size, response.noise, np.ones(len(home)), response.grains)
    )
    top = largest_of_sums(sums, largest_of(home, response.size, many, n))
    alone = (count >= max(fewest, n + 1)) & ~unsafe(size, noise, top, rules)
    width = np.rint(count).astype(np.int64)
    return Asked(
        question, dimensions, lattice.codes, cells, _interior(sums), width, alone, np.asarray(np.rint(grains), float)
    )


def _of(question: Question, name: str) -> list[tuple[int, ...]]:
    return [chosen for said, chosen in question.levels if said == name]


def _chosen(dimension: Dimension, leaf: IntArray, codes: Sequence[str]) -> BoolArray:
    """Return which records are below one of some codes, in any of the dimension's hierarchies."""
    wanted = np.zeros(len(dimension.codes), bool)
    for code in codes:
        if code not in dimension.position:
            raise InputError(
                f"`where`: {dimension.name!r} has no code {code[:40]!r}{did_you_mean(code, dimension.told)}"
            )
        wanted[dimension.position[code]] = True
    for parent in dimension.parents:
        below = wanted.copy()
        for at, above in enumerate(parent.tolist()):  # parents come before their children
            below[at] |= above >= 0 and below[above]
        wanted = below
    return np.asarray(wanted[leaf], bool)


def _refuse_many(dimensions: Sequence[Dimension], columns: Sequence[IntArray], most: int) -> None:
    """Refuse a table that would be large long before it is made: its leaf combinations alone are too many."""
    key = np.zeros(len(columns[0]), np.int64)
    for dimension, column in zip(dimensions, columns, strict=True):
        if float(key.max(initial=0) + 1) * len(dimension.codes) > 2**60:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * len(dimension.codes) + column
    if (many := len(np.unique(key))) > 50 * most:
        raise InputError(f"the table has {many:,} combinations of codes, far too many; ask for fewer variables")


def _merged(by_leaf: sp.csr_array) -> tuple[sp.csr_array, IntArray]:
    """Return cells by parts and the part of each leaf combination: combinations in the same cells are one part."""
    keys = np.random.default_rng().integers(1, 2**62, by_leaf.shape[0]).astype(np.uint64)
    row = np.repeat(np.arange(by_leaf.shape[0]), np.diff(by_leaf.indptr))
    mark = np.zeros(by_leaf.shape[1], np.uint64)
    np.add.at(mark, by_leaf.indices, keys[row])
    _, first, part = np.unique(mark, return_index=True, return_inverse=True)
    merged = sp.csr_array(sp.csc_array(by_leaf)[:, first])
    return merged.astype(float), part.astype(np.int32)


def _interior(sums: sp.csr_array) -> BoolArray:
    """Return which cells have no cell below them: they are one part, or hold no other cell."""
    width = np.diff(sums.indptr)
    found = width == 1
    covered = np.zeros(sums.shape[1], bool)
    covered[sums.indices[np.repeat(found, width)]] = True
    for cell in np.flatnonzero(~found)[np.argsort(width[~found], kind="stable")].tolist():
        parts = sums.indices[sums.indptr[cell] : sums.indptr[cell + 1]]
        if not covered[parts].any():
            found[cell] = True
            covered[parts] = True
    return np.asarray(found, bool)
