"""What several respondents know together: whether witnesses that every coalition must accept reach every protection
level.

A coalition is an insider who contributes what its members do together, see `insiders`: it accepts another world only if
each cell stays at that or more there, and the same where nobody else is in it. Of respondents who are not listed in a
cell it may have as many as it lacks members.

Whether all coalitions of up to k respondents are served is searched as a tree, from nobody on. Two witnesses of a
cell, one up and one down, that reach its protection levels against any coalition and that this one accepts, serve all
larger ones too, but for those with a respondent who could help to notice one of these two: only such respondents join
it. Where there are no two such witnesses, those join who are in the cell, since they change its protection level, and
who could help to notice two that go far enough against this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.insider_requirements import Demands
from cellguard.verifier.insiders import Contributors
from cellguard.verifier.stages import Refused
from cellguard.verifier.witnesses import Witnesses

_ENDLESS = 1 << 62


class _Seen(NamedTuple):
    """A cell that a witness moves, and what is left of it: who contributes to it, and what others do at most.

    ``few`` says that a coalition may know that nobody else is in it.
    """

    amounts: dict[int, int]
    rest: int
    left: int
    few: bool


@dataclass(frozen=True)
class _Witness:
    """How far a witness takes a cell, the cells in which it could be noticed, and who could help to."""

    reach: int
    seen: tuple[_Seen, ...]
    helping: frozenset[int]


class Coalitions:
    """All coalitions of up to ``size`` respondents, and the witnesses that are to serve unsafe cells against them."""

    def __init__(self, known: Contributors, demands: Demands, proof: Witnesses, size: int) -> None:
        self._known, self._demands, self._proof, self._size = known, demands, proof, size
        self._order = np.argsort(proof.cell, kind="stable")
        self._sorted = proof.cell[self._order]
        self._places: dict[int, tuple[tuple[_Seen, ...], frozenset[int]]] = {}

    def check(self, cells: Cells) -> int:
        """Refuse a need that the witnesses do not reach against some coalition; return how many were looked at."""
        return sum(self._check(cell, cells) for cell in self._demands.cells)

    def _check(self, cell: int, cells: Cells) -> int:
        amounts, rest = self._contributions(cell)
        witnesses, most = self._witnesses(cell), self._most(cell, amounts, rest)
        waiting: list[frozenset[int]] = [frozenset()]
        known = set(waiting)
        for some in waiting:  # which grows
            if amounts and len(amounts) <= self._size and amounts.keys() <= some:
                continue
            accepted = [w for w in witnesses if not self._noticed(w, some)]
            asked = self._asked(cell, amounts, rest, some)
            if _short(asked, accepted):
                names = ", ".join(map(str, sorted(some))) or "from elsewhere"
                what = f"moves {cells.cell_name(cell)} as far as its protection level"
                raise Refused(f"no witness that insiders {names} together must accept {what}")
            if len(some) < self._size:
                joined = [some | {who} for who in _joining(accepted, most, asked, amounts) - some]
                waiting += [more for more in joined if more not in known]
                known.update(joined)
        return len(waiting)

    def _contributions(self, cell: int) -> tuple[dict[int, int], int]:
        """Return who contributes what to a cell, and what those do at most who are not listed."""
        part = slice(self._known.starts[cell], self._known.starts[cell + 1])
        amounts = np.maximum(self._known.amount[part], 0).tolist()
        return dict(zip(self._known.insider[part].tolist(), amounts, strict=True)), int(self._known.rest[cell])

    def _witnesses(self, cell: int) -> list[_Witness]:
        """Return the witnesses that move a cell."""
        first, last = np.searchsorted(self._sorted, [cell, cell + 1])
        witnesses = []
        for entry in self._order[first:last].tolist():
            move, denominator = int(self._proof.move[entry]), int(self._proof.denominator[entry])
            reach = abs(move) // denominator
            witnesses.append(_Witness(reach if move > 0 else -reach, *self._seen(int(self._proof.witness[entry]))))
        return witnesses

    def _seen(self, witness: int) -> tuple[tuple[_Seen, ...], frozenset[int]]:
        """Return the cells in which a witness could be noticed, and who could help to."""
        if witness not in self._places:
            seen, helping = list[_Seen](), set[int]()
            for entry in range(int(self._proof.starts[witness]), int(self._proof.starts[witness + 1])):
                cell, move = int(self._proof.cell[entry]), int(self._proof.move[entry])
                amounts, rest = self._contributions(cell)
                bounded = move < 0 and not self._demands.signed[cell] and bool(self._known.told[cell])
                after = int(self._demands.value[cell]) + move // int(self._proof.denominator[entry])
                left = after if bounded else _ENDLESS
                others = (self._size - 1) * max([*amounts.values(), rest])
                few = len(amounts) <= self._size and not self._known.unlisted[cell]
                who = {one for one, amount in amounts.items() if few or amount + others > left}
                if who or self._size * rest > left:
                    seen.append(_Seen(amounts, rest, left, few))
                    helping |= who
            self._places[witness] = tuple(seen), frozenset(helping)
        return self._places[witness]

    def _noticed(self, witness: _Witness, some: frozenset[int]) -> bool:
        """Return whether a coalition does not accept a witness."""
        if witness.helping.isdisjoint(some):
            return any(self._size * rest > left for _, rest, left, _ in witness.seen)
        for amounts, rest, left, few in witness.seen:
            own = [amounts[one] for one in some if one in amounts]
            fills = few and 0 < len(own) == len(amounts)
            if fills or sum(own) + (self._size - len(own)) * rest > left:
                return True
        return False

    def _asked(self, cell: int, amounts: dict[int, int], rest: int, some: frozenset[int]) -> tuple[int, int, int]:
        """Return how far a cell must move down, up and in all against a coalition."""
        own = [amounts[one] for one in some if one in amounts]
        other = max([rest, *(amount for one, amount in amounts.items() if one not in some)])
        together = sum(own) + (self._size - len(own)) * rest
        down, up, either = self._demands.asked(cell, np.array([together]), np.array([other]))
        return int(down[0]), int(up[0]), int(either[0])

    def _most(self, cell: int, amounts: dict[int, int], rest: int) -> tuple[int, int, int]:
        """Return how far a cell must go down, up and in all against any coalition, at most."""
        demands = self._demands
        down, up, either = (int(need[cell]) for need in demands.needs)
        if demands.signed[cell] or demands.frequency[cell] or not demands.told[cell]:
            return down, up, either
        first, *others = sorted([*amounts.values(), *[rest] * (self._size + 1)], reverse=True)[: self._size + 1]
        level = int(demands.level(cell, np.array([sum(others)]), np.array([first]))[0])
        down, up = (min(level, int(limit[cell])) for limit in (demands.limits.down, demands.limits.up))
        return down, up, int(demands.unit[cell]) - 1


def _short(asked: tuple[int, int, int], accepted: list[_Witness]) -> bool:
    """Return whether some witnesses do not move a cell as far as it must."""
    down, up, either = asked
    far = [0, *(witness.reach for witness in accepted)]
    return -min(far) < down or max(far) < up or max(far) - min(far) < either


def _joining(
    accepted: list[_Witness], most: tuple[int, int, int], asked: tuple[int, int, int], amounts: dict[int, int]
) -> set[int]:
    """Return who may make a coalition that accepts some witnesses one that these do not serve."""
    joining = _helping(accepted, most)
    if joining is not None:
        return joining
    joining = _helping(accepted, asked)
    if joining is None:
        joining = set().union(*(witness.helping for witness in accepted))
    return joining | set(amounts)


def _helping(accepted: list[_Witness], asked: tuple[int, int, int]) -> set[int] | None:
    """Return who could help to notice one witness up and one down that are far enough; None if there are none."""
    down, up, either = asked
    helping: set[int] = set()
    for sign, need in ((-1, down), (1, max(up, either))):
        enough = [witness.helping for witness in accepted if sign * witness.reach >= need]
        if need > 0 and not enough:
            return None
        helping |= min(enough, key=len) if need > 0 else set()
    return helping
