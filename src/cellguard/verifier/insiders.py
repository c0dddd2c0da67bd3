"""What respondents know of themselves: whether witnesses that each of them must accept reach every protection level
against it.

Insider h contributes y to a cell of value v. It accepts another world only if the cell stays at y or more there, and
the same where h is the only respondent and a table lists the cell: nothing tells h that it is alone in a latent cell
or a sum. Let x be the largest contribution of another: against h the cell must move up by y + (1 + a/100) x - v, where
a is the accuracy of the rules that make it unsafe, and down by as much (but not below y); and at least by one unit in
all. Frequencies have the protection levels against outsiders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cellguard.verifier.categories import Axes
from cellguard.verifier.cells import Cells
from cellguard.verifier.facts import Facts
from cellguard.verifier.insider_requirements import Demands
from cellguard.verifier.job import Job, given_axes
from cellguard.verifier.numbers import Bools, Floats, Int64
from cellguard.verifier.rows import Rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import InRows
from cellguard.verifier.spec import FITTED, LATENT, SUMS, TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet
from cellguard.verifier.witnesses import Witnesses

NAME = "internal/insiders.parquet"
KINDS = {"table": pa.int32(), "row": pa.int64(), "insider": pa.int64(), "amount": pa.int64()}
NOBODY = -1


@dataclass(frozen=True)
class Contributors:
    """Who contributes how many grains to which cell, by cell and the largest first; -1 where nobody is alone.

    ``rest`` is the most that anybody contributes who is not listed, ``told`` says of which cells anything is.
    ``unlisted`` are latent cells and sums: nothing tells anybody that it is alone there.
    """

    starts: Int64
    insider: Int64
    amount: Int64
    rest: Int64
    owner: Int64
    told: Bools
    unlisted: Bools


def read_contributors(folder: Folder, cells: Cells) -> Contributors:
    """Read the contributions; refuse rows that do not exist, and a contributor that a cell names twice."""
    listed = read_parquet(folder, NAME)
    if {name: listed.schema.field(name).type for name in listed.schema.names} != KINDS:
        raise Refused(f"{NAME} does not have exactly the columns and types {', '.join(KINDS)}")
    if any(listed.column(name).null_count for name in KINDS):
        raise Refused(f"{NAME} has gaps")
    table, row, insider, amount = (listed.column(name).to_numpy().astype(np.int64) for name in KINDS)
    if ((table < 0) | (table >= len(cells.spec.tables))).any():
        raise Refused(f"{NAME} names a table that does not exist")
    if ((row < 0) | (row >= np.diff(cells.offsets)[table])).any():
        raise Refused(f"{NAME} names a row that does not exist")
    if ((insider < NOBODY) | (np.abs(amount) > 2**60)).any():
        raise Refused(f"{NAME} has an insider below -1, or a contribution that is too large")
    cell = cells.cell[cells.offsets[table] + row]
    order = np.lexsort((insider, cell))
    twice = (np.diff(cell[order]) == 0) & (np.diff(insider[order]) == 0)
    if twice.any():
        raise Refused(f"{NAME} names a contributor of {cells.cell_name(int(cell[order][np.argmax(twice)]))} twice")
    rest, told = np.zeros(cells.count, dtype=np.int64), np.zeros(cells.count, dtype=bool)
    others = insider == NOBODY
    rest[cell[others]], told[cell[others]] = amount[others], True
    if (rest < 0).any() or not told[cell].all():
        raise Refused(f"{NAME} does not say of each of its cells what those who are not listed contribute at most")
    cell, insider, amount = cell[~others], insider[~others], amount[~others]
    order = np.lexsort((insider, -amount, cell))
    starts = np.searchsorted(cell[order], np.arange(cells.count + 1))
    single = np.flatnonzero((np.diff(starts) == 1) & (rest == 0))
    owner = np.full(cells.count, NOBODY, dtype=np.int64)
    owner[single] = insider[order][starts[single]]
    return Contributors(starts, insider[order], amount[order], rest, owner, told, cells.only_in(LATENT, SUMS))


def check_contributors(known: Contributors, cells: Cells, rows: Rows, facts: Sequence[Facts], job: Job) -> None:
    """Refuse contributions that are not those of the facts: too many or few, too little in all, another largest one.

    Where not all respondents are listed, at least one more is than may work together: so nobody is alone unnoticed.
    """
    if cells.spec.linked and any(said["cells"] for said in job.tables):
        raise Refused("certificate.json says that respondents are known from records, but some tables have none")
    many = np.diff(known.starts)
    sums = np.concatenate([[0], np.cumsum(known.amount)])[known.starts]
    sums = np.diff(sums)
    public = np.zeros(cells.count, dtype=bool)
    public[cells.cell[rows.status == 0]] = True
    made = np.zeros(cells.count, dtype=bool)
    for i, said in enumerate(job.tables):
        made[cells.cell[cells.rows(i)]] |= not said["cells"]
    for i, (table, said) in enumerate(zip(cells.spec.tables, job.tables, strict=True)):
        if table.where == FITTED:  # whose counts fit, but tell of nobody who is alone
            continue
        cell, here = cells.cell[cells.rows(i)], facts[i]
        hidden = ~public[cell]  # a level that one table does not show may be another one's
        count = here.count if said["cells"] else _concerned(given_axes(job, cells, i, here), table, here.count)
        listed, told = many[cell], known.told[cell]
        must = hidden & (count > 0) if not said["cells"] else hidden & (count == 1)
        _refuse(must & ~told, cells, i, "is suppressed, but its contributors are not listed")
        # Of a cell that records tell, a ready-made copy may count records where these count holdings.
        told = told & hidden & ~(made[cell] & bool(said["cells"]))
        _refuse(told & (listed > count), cells, i, "has fewer respondents than are listed")
        some = told & (listed < count)
        few = some & (listed <= cells.spec.coalition)
        _refuse(few, cells, i, "has more respondents than are listed, and none is identified")
        slack = 2.0 * np.maximum(count, 1) + 1e-9 * np.abs(rows.value[i].astype(float))
        left = rows.value[i].astype(float) - sums[cell]
        _refuse(told & (listed == count) & (left > slack), cells, i, "is more than the sum of its contributions")
        least = left / np.maximum(count - listed, 1)
        _refuse(some & (known.rest[cell] < least - slack), cells, i, "has larger contributions than are listed")
        if not said.get("negative"):
            _check_largest(known, cells, i, told & (listed > 0), here, table)


def _concerned(axes: Axes, table: TableSpec, count: Floats) -> Floats:
    """Return how many respondents the rows of a table concern: those of cells that rules about rows add, the row's."""
    for rule in map(parse_rule, table.rules):
        count = rule.concerned(axes, count) if isinstance(rule, InRows) else count
    return count


def _check_largest(known: Contributors, cells: Cells, number: int, told: Bools, facts: Facts, table: TableSpec) -> None:
    """Refuse a largest contribution that is not that of the facts; with weights these are not comparable."""
    if facts.base is not None or facts.excess or not facts.tops:
        return
    cell = cells.cell[cells.rows(number)]
    where = np.minimum(known.starts[cell], max(known.amount.size - 1, 0))
    largest = known.amount[where].astype(float) if known.amount.size else np.zeros(cell.size)
    top = np.nan_to_num(facts.tops[0]) * 10.0 ** cells.spec.grains[table.group]
    off = np.abs(largest - top) > 2 + 1e-9 * np.abs(top)
    if facts.signs:  # where some are negative, contributors are listed by size
        off &= facts.signs[1] >= 0
    _refuse(told & (facts.total >= 0) & off, cells, number, "does not have the largest contribution of the facts")


def check_inside(known: Contributors, cells: Cells, demands: Demands, proof: Witnesses) -> int:
    """Refuse a need that the witnesses do not reach against some insider; return how many pairs were looked at."""
    starts, numbers = _notices(known, cells, demands.value, proof, demands.signed)
    order = np.argsort(proof.cell, kind="stable")
    first = np.searchsorted(proof.cell[order], np.arange(cells.count + 1))
    looked = 0
    for cell in demands.cells:
        moves = order[first[cell] : first[cell + 1]]
        seen = [numbers[starts[w] : starts[w + 1]] for w in proof.witness[moves].tolist()]
        own = known.insider[known.starts[cell] : known.starts[cell + 1]]
        who = np.unique(np.concatenate([own, np.array([NOBODY]), *seen]))
        who = who[(who == NOBODY) | (who != known.owner[cell])]
        down, up = _reached(proof, moves, seen, who)
        asked = demands.asked(cell, *_parties(known, cell, who))
        short = (down < asked[0]) | (up < asked[1]) | (up + down < asked[2])
        if short.any():
            whom = int(who[np.argmax(short)])
            name = "a respondent from elsewhere" if whom == NOBODY else f"insider {whom}"
            raise Refused(
                f"no witness that {name} must accept moves {cells.cell_name(cell)} as far as its protection level"
            )
        looked += who.size
    return looked


def _reached(proof: Witnesses, moves: Int64, seen: list[Int64], who: Int64) -> tuple[Int64, Int64]:
    """Return how far down and up a cell goes by those of its moves that each insider must accept."""
    step = proof.move[moves]
    reach = np.sign(step) * (np.abs(step) // proof.denominator[moves])
    up, down = np.zeros(who.size, dtype=np.int64), np.zeros(who.size, dtype=np.int64)
    for far, noticing in zip(reach.tolist(), seen, strict=True):
        accepted = np.ones(who.size, dtype=bool)
        place = np.minimum(np.searchsorted(who, noticing), who.size - 1)  # who are sorted, and few of them notice
        accepted[place[who[place] == noticing]] = False
        way, size = (up, far) if far >= 0 else (down, -far)
        np.maximum(way, size, out=way, where=accepted)
    return down, up


def _notices(known: Contributors, cells: Cells, value: Int64, proof: Witnesses, signed: Bools) -> tuple[Int64, Int64]:
    """Return the insiders who do not accept each witness: starts, and numbers."""
    owner = np.where(known.unlisted, NOBODY, known.owner)[proof.cell]
    pairs = [np.stack([proof.witness[owner >= 0], owner[owner >= 0]])]
    falling = np.flatnonzero((proof.move < 0) & ~signed[proof.cell])
    cell = proof.cell[falling]
    left = value[cell] + proof.move[falling] // proof.denominator[falling]
    low = known.told[cell] & (left < known.rest[cell])
    if low.any():
        raise Refused(f"a witness for insiders leaves too little of {cells.cell_name(int(cell[np.argmax(low)]))}")
    size = np.diff(known.starts)[cell]
    entry = np.repeat(known.starts[cell] - np.cumsum(size) + size, size) + np.arange(size.sum())
    more = known.amount[entry] > np.repeat(left, size)
    pairs.append(np.stack([np.repeat(proof.witness[falling], size)[more], known.insider[entry][more]]))
    both = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return np.searchsorted(both[0], np.arange(proof.starts.size)), both[1]


def _parties(known: Contributors, cell: int, who: Int64) -> tuple[Int64, Int64]:
    """Return what each insider contributes to a cell, at most, and what the largest other one does."""
    part = slice(known.starts[cell], known.starts[cell + 1])
    insider, amount = known.insider[part], np.maximum(known.amount[part], 0)
    mine = dict(zip(insider.tolist(), amount.tolist(), strict=True))
    rest = int(known.rest[cell])
    ranked = [*amount.tolist(), rest, rest]
    first = int(insider[0]) if insider.size else None
    own = np.array([mine.get(h, rest) for h in who.tolist()], dtype=np.int64)
    return own, np.array([ranked[1] if h == first else ranked[0] for h in who.tolist()], dtype=np.int64)


def _refuse(wrong: Bools, cells: Cells, number: int, what: str) -> None:
    if wrong.any():
        raise Refused(f"{NAME}: {cells.row_name(int(cells.offsets[number]) + int(np.argmax(wrong)))} {what}")
