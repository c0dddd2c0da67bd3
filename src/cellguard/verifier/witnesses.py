"""The witnesses: moves of suppressed cells that keep every relation, and how far they take each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy import sparse

from cellguard.verifier.cells import Cells
from cellguard.verifier.numbers import LARGEST, Bools, Int64
from cellguard.verifier.relations import Matrix
from cellguard.verifier.requirements import Capacities
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet

NAME = "internal/certificate.parquet"
KINDS = {
    "witness": pa.int32(),
    "table": pa.int32(),
    "row": pa.int64(),
    "move": pa.int64(),
    "denominator": pa.int64(),
}
CHUNK = 500_000
BETWEEN = -1


@dataclass(frozen=True)
class Witnesses:
    """One entry for each cell that a witness moves, in order of witnesses: by move / denominator grains.

    ``starts`` has the first entry of each witness, and one more for the end.
    """

    witness: Int64
    cell: Int64
    move: Int64
    denominator: Int64
    starts: Int64

    def listed(self, count: int) -> Witnesses:
        """Return the moves of the distinct cells, without those of the latent cells."""
        here = self.cell < count
        starts = np.concatenate([[0], np.cumsum(here)])[self.starts]
        return Witnesses(self.witness[here], self.cell[here], self.move[here], self.denominator[here], starts)

    def since(self, first: int) -> Witnesses:
        """Return the witnesses from one on, numbered anew."""
        if first > self.starts.size - 1:
            raise Refused(f"{NAME} does not have the witnesses for insiders that certificate.json counts")
        here = slice(int(self.starts[first]), None)
        starts = self.starts[first:] - self.starts[first]
        return Witnesses(self.witness[here] - first, self.cell[here], self.move[here], self.denominator[here], starts)


@dataclass(frozen=True)
class Reach:
    """How far the witnesses take each distinct cell, rounded down to whole grains."""

    down: Int64
    up: Int64


def read_witnesses(folder: Folder, cells: Cells, between: int) -> Witnesses:
    """Read the witnesses; refuse wrong types, rows that do not exist and a cell that a witness names twice.

    The latent cells (so many) are numbered after the distinct cells.
    """
    columns = _columns(folder)
    witness, table, row, move, denominator = (columns[name] for name in KINDS)
    count = cells.spec.witnesses
    starts_at = np.unique(witness)
    if starts_at.size != count or (count and (starts_at[0] != 0 or starts_at[-1] != count - 1)):
        raise Refused(f"{NAME} does not hold the witnesses 0, 1, ... that certificate.json counts")
    if ((table < BETWEEN) | (table >= len(cells.spec.tables))).any():
        raise Refused(f"{NAME} names a table that does not exist")
    # The number of latent cells stands last, so that table -1 finds it.
    if ((row < 0) | (row >= np.append(np.diff(cells.offsets), between)[table])).any():
        raise Refused(f"{NAME} names a row that does not exist")
    if (denominator <= 0).any():
        raise Refused(f"{NAME} has a denominator that is not above 0")
    if (move == 0).any() or (move < -LARGEST).any():
        raise Refused(f"{NAME} has a move of 0 or one that is too large")
    order = np.argsort(witness, kind="stable")
    witness, denominator = witness[order], denominator[order]
    among = table == BETWEEN
    cell = np.where(among, cells.count + row, cells.cell[np.where(among, 0, cells.offsets[table] + row)])[order]
    starts = np.searchsorted(witness, np.arange(count + 1))
    if (denominator != denominator[starts[witness]]).any():
        raise Refused(f"{NAME} has a witness with two denominators")
    pairs = np.sort(witness * (cells.count + between) + cell)
    if (pairs[1:] == pairs[:-1]).any():
        raise Refused(f"{NAME} has a witness that names a cell twice")
    return Witnesses(witness, cell, move[order], denominator, starts)


def _columns(folder: Folder) -> dict[str, Int64]:
    listed = read_parquet(folder, NAME)
    if {name: listed.schema.field(name).type for name in listed.schema.names} != KINDS:
        raise Refused(f"{NAME} does not have exactly the columns and types {', '.join(KINDS)}")
    if any(listed.column(name).null_count for name in KINDS):
        raise Refused(f"{NAME} has gaps")
    return {name: listed.column(name).to_numpy().astype(np.int64) for name in KINDS}


def check_moves(proof: Witnesses, cells: Cells, known: Bools, limits: Capacities) -> None:
    """Refuse a witness that moves what an attacker knows, leaves the bounds, or splits a frequency."""
    outside = ~known & ((limits.down < 0) | (limits.up < 0))
    if outside.any():
        name = cells.cell_name(int(np.argmax(outside)))
        raise Refused(f"{name} is suppressed, but its value is outside the attacker's a-priori bounds")
    _none(known[proof.cell], proof, cells, "moves a cell that an attacker knows:")
    # Floor division is exact, and rounding away from 0 keeps the comparison with whole capacities exact.
    _none(proof.move // proof.denominator < -limits.down[proof.cell], proof, cells, "goes below the bounds of")
    _none(-(-proof.move // proof.denominator) > limits.up[proof.cell], proof, cells, "goes above the bounds of")
    frequency = np.zeros(cells.count, dtype=bool)
    for i, table in enumerate(cells.spec.tables):
        if table.count:
            frequency[cells.cell[cells.rows(i)]] = True
            if cells.spec.grains[table.group] != 0:
                raise Refused(f"table {table.name} has frequencies, but their grain is not 1")
    split = frequency[proof.cell] & (proof.denominator != 1)
    _none(split, proof, cells, "does not move in whole numbers the frequency")


def _none(wrong: Bools, proof: Witnesses, cells: Cells, what: str) -> None:
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise Refused(f"witness {int(proof.witness[entry])} {what} {cells.cell_name(int(proof.cell[entry]))}")


def check_relations(
    proof: Witnesses, relations: Matrix, cells: Cells, naming: Callable[[int], str] | None = None
) -> None:
    """Refuse a witness with M d != 0, in exact whole numbers."""
    turned = sparse.csr_array(relations.T.tocsr())
    longest = int(np.abs(relations.data).max(initial=0)) * int(np.diff(relations.indptr).max(initial=0))
    for first, last in _chunks(proof.starts):
        begin, end = int(proof.starts[first]), int(proof.starts[last])
        moves = proof.move[begin:end]
        # Each partial sum of a relation stays below this, so int64 cannot overflow.
        if int(np.abs(moves).max(initial=0)) * longest <= LARGEST:
            broken = _product(proof, turned, first, last)
        else:
            broken = _long_product(proof, turned, begin, end)
        if broken is not None:
            terms = relations.indices[relations.indptr[broken[1]] : relations.indptr[broken[1] + 1]]
            name = (naming or cells.cell_name)(int(terms.min()))
            raise Refused(f"witness {broken[0]} does not keep a relation of {name}")


def _chunks(starts: Int64) -> Iterator[tuple[int, int]]:
    """Yield ranges of witnesses with about so many entries, so that memory stays small."""
    first, count = 0, starts.size - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _product(proof: Witnesses, turned: Matrix, first: int, last: int) -> tuple[int, int] | None:
    """Return a witness and a relation that it breaks, by a sparse product in int64."""
    starts = proof.starts[first : last + 1]
    part = slice(int(starts[0]), int(starts[-1]))
    shape = (last - first, turned.shape[0])
    moves = sparse.csr_array((proof.move[part], proof.cell[part], starts - starts[0]), shape=shape)
    sums = (moves @ turned).tocoo()
    wrong = np.flatnonzero(sums.data)
    if not wrong.size:
        return None
    first_wrong = wrong[np.argmin(sums.coords[0][wrong])]
    return first + int(sums.coords[0][first_wrong]), int(sums.coords[1][first_wrong])


def _long_product(proof: Witnesses, turned: Matrix, begin: int, end: int) -> tuple[int, int] | None:
    """Return the same in Python integers, for moves so long that int64 might overflow."""
    cell, witness = proof.cell[begin:end], proof.witness[begin:end]
    length = np.diff(turned.indptr).astype(np.int64)[cell]
    entry = np.repeat(np.arange(end - begin), length)
    term = np.arange(entry.size) - np.repeat(np.cumsum(length) - length, length) + turned.indptr[cell][entry]
    key = witness[entry] * turned.shape[1] + turned.indices[term]
    order = np.argsort(key, kind="stable")
    key, term, entry = key[order], term[order], entry[order]
    if not key.size:
        return None
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    terms = proof.move[begin:end][entry].astype(object) * turned.data[term].astype(object)
    wrong = np.flatnonzero(np.add.reduceat(terms, begins) != 0)
    if not wrong.size:
        return None
    first = int(key[begins[wrong[0]]])
    return divmod(first, int(turned.shape[1]))


def reach(proof: Witnesses, cells: Cells) -> Reach:
    """Return how far down and up the witnesses take each cell."""
    down, up = np.zeros(cells.count, dtype=np.int64), np.zeros(cells.count, dtype=np.int64)
    np.maximum.at(down, proof.cell, -proof.move // proof.denominator)
    np.maximum.at(up, proof.cell, proof.move // proof.denominator)
    return Reach(down, up)


def wide_enough(proof: Witnesses, reached: Reach, width: Int64) -> Bools:
    """Return which cells the witnesses take as wide as asked: down and up together, fractions of a grain included."""
    whole = np.minimum(reached.down, 2**61) + np.minimum(reached.up, 2**61)
    enough = whole >= width
    close = np.flatnonzero(~enough & (whole + 1 >= width))
    if not close.size:
        return enough
    asked = np.zeros(width.size, dtype=bool)
    asked[close] = True
    low: dict[int, Fraction] = {}
    high: dict[int, Fraction] = {}
    for i in np.flatnonzero(asked[proof.cell]):
        cell, step = int(proof.cell[i]), Fraction(int(proof.move[i]), int(proof.denominator[i]))
        low[cell] = min(low.get(cell, Fraction(0)), step)
        high[cell] = max(high.get(cell, Fraction(0)), step)
    for place in close:
        span = high.get(int(place), Fraction(0)) - low.get(int(place), Fraction(0))
        enough[place] = span >= int(width[place])
    return enough
