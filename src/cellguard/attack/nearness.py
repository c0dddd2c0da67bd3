"""How near each insider may come to the largest other contributor of an unsafe cell: the view from the firms.

Insider h, with y in a cell that may be as large as u in its eyes, can tell of the largest other one only that it has no
more than u - y. So it overestimates x by at least (u - y) / x - 1, or comes as near as that where u is the true end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.attack.coalition_proofs import CoalitionProofSearch
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.insiders import Inside
from cellguard.proofs.scale import as_floats
from cellguard.solver.program import Program, Status

_ALL = (1 << 30, 0, 1 << 30)
_FAR = 1e4
_LOOKS = 4  # coalitions worked out exactly, per one that is told


class Near(NamedTuple):
    """An insider, an unsafe cell as a distinct one, and by how many percent the insider overestimates at the least.

    ``failing`` says that this is nearer than the rules allow; ``others`` are those who tell the insider more.
    """

    insider: int
    cell: int
    percent: float
    failing: bool
    others: tuple[int, ...] = ()

    @property
    def who(self) -> str:
        """The insider, or all who work together, as people read it."""
        if self.others:
            return f"insiders {', '.join(map(str, (self.insider, *self.others)))} together"
        return "somebody from elsewhere" if self.insider < 0 else f"insider {self.insider}"


def nearest(inside: Inside, most: int = 50) -> list[Near]:
    """Return the pairs in which an insider may come nearest, as far as the proof tells; those that fail come first."""
    book = inside.book
    failing = {(pair.insider, pair.cell) for pair in inside.failing}
    cells = book.standing.problem.cells
    pairs = [
        Near(p.insider, int(cells[p.cell]), _exact(book, p.members, p.cell), True, p.others)
        for p in inside.failing[:most]
    ]
    safe: list[Near] = []
    for cell in book.targets():
        if not _has_amounts(book, cell):
            continue
        reached = book.reached(cell)
        percent = _percent(book, cell, reached.who, reached.up)
        order = np.argsort(percent, kind="stable")[:3]
        safe += [
            Near(int(reached.who[i]), int(cells[cell]), float(percent[i]), False)
            for i in order.tolist()
            if (int(reached.who[i]), cell) not in failing and reached.who[i] >= 0 and np.isfinite(percent[i])
        ]
        if all(pair.cell != cell for pair in inside.failing):
            safe += [near._replace(cell=int(cells[cell])) for near in _together(book, cell)[:3]]
    return (
        sorted(pairs, key=lambda near: near.percent) + sorted(safe, key=lambda near: near.percent)[: most - len(pairs)]
    )


def nearest_to(inside: Inside, cell: int, most: int = 5) -> list[Near]:
    """Return the insiders who come nearest to the others of one unsafe distinct cell, worked out exactly."""
    book = inside.book
    place = np.flatnonzero(book.standing.problem.cells == cell)
    if not len(place) or not _has_amounts(book, int(place[0])):
        return []
    here = int(place[0])
    failing = {pair.insider for pair in inside.failing if pair.cell == here}
    who = [int(h) for h in book.reached(here).who if h >= 0]
    near = [Near(h, cell, _exact(book, (h,), here), h in failing) for h in who]
    for some in _together(book, here)[: _LOOKS * most]:
        members = (some.insider, *some.others)
        fails = any(pair.cell == here and pair.members == members for pair in inside.failing)
        near.append(Near(some.insider, cell, _exact(book, members, here), fails, some.others))
    return sorted((n for n in near if np.isfinite(n.percent)), key=lambda n: n.percent)[:most]


def _has_amounts(book: InsiderProofSearch, cell: int) -> bool:
    standing = book.standing
    return bool(standing.told[cell]) and not bool(standing.problem.whole[cell]) and not standing.signed[cell]


def _percent(book: InsiderProofSearch, cell: int, who: LongArray, up: LongArray) -> FloatArray:
    own, other = book.standing.parties(cell, who)
    most = book.standing.value[cell] + up - own
    return 100 * np.divide(most - other, other, out=np.full(len(who), np.inf), where=other > 0)


def _together(book: InsiderProofSearch, cell: int) -> list[Near]:
    """Return the coalitions that may matter to a cell, the nearest first as far as the proof tells."""
    if not isinstance(book, CoalitionProofSearch):
        return []
    near = []
    for reached in book.looked_at(cell, lambda: book.entries(cell)):
        if len(reached.members) > 1:
            first, *others = sorted(reached.members)
            percent = _percent_together(book, cell, (first, *others), reached.up)
            near.append(Near(first, cell, percent, reached.short, tuple(others)))
    return sorted((n for n in near if np.isfinite(n.percent)), key=lambda n: n.percent)


def _exact(book: InsiderProofSearch, members: tuple[int, ...], cell: int) -> float:
    """Return by how many percent insiders overestimate at the least, from the true end of their interval."""
    near, standing = book.neighbours, book.standing
    everything: BoolArray = np.ones(near.n, bool)
    cells = near.near((cell,), _ALL, everything, ~everything)
    matrix = near.relations_of(cells)
    some = [who for who in members if who >= 0]
    down, up = (
        book.limits(some) if isinstance(book, CoalitionProofSearch) else standing.limits(np.array(some, np.int64))
    )
    scale = float(max(standing.value[cell], 1))
    low, high = (np.minimum(as_floats(limit[cells]) / scale, _FAR) for limit in (down, up))
    cost = np.where(cells == cell, -1.0, 0.0)
    zero = np.zeros(matrix.shape[0])
    solution = solver.solve(Program(matrix.astype(float), zero, zero, -low, high, cost), presolve=True, run=book.run)
    if solution.status is not Status.optimal:
        return float("inf")
    reach = np.array([round(-solution.objective * scale)], np.int64)
    if isinstance(book, CoalitionProofSearch) and len(members) > 1:
        return _percent_together(book, cell, members, int(reach[0]))
    return float(_percent(book, cell, np.array(members), reach)[0])


def _percent_together(book: CoalitionProofSearch, cell: int, members: tuple[int, ...], up: int) -> float:
    own, other = book.coalitions.parties(cell, members)
    return 100 * (int(book.standing.value[cell]) + up - own - other) / other if other else float("inf")
