"""Capacity cuts (Fischetti and Salazar 2001): what every safe pattern must satisfy.

The attacker's program for an unsafe cell, with bounds scaled by x (1 = suppressed), must reach the protection level u.
If it does not, its duals give weights with: the sum over the other cells of min(u, weight times capacity) x >= u. A
sliding need is the width that the programs up and down must reach together, so the weights of both are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.pool import pooled_moves
from cellguard.proofs.probe import Probe
from cellguard.proofs.scale import decades
from cellguard.run_context import Run
from cellguard.table.components import components


@dataclass(frozen=True, slots=True)
class Target:
    """A cell that must be able to move by ``amount`` grains: up if it is above 0, down if below."""

    cell: int
    amount: float

    def reversed(self) -> Target:
        """Return the same need the other way."""
        return Target(self.cell, -self.amount)


@dataclass(frozen=True, eq=False)
class Cut:
    """The sum of weight times x over some cells must be 1 or more."""

    cells: Positions
    weights: FloatArray

    def key(self) -> tuple[bytes, bytes]:
        """Return what two equal cuts have in common."""
        return self.cells.tobytes(), np.round(self.weights, 6).tobytes()


def relation_cuts(system: System) -> list[Cut]:
    """Return one cut a relation, unsafe cell and direction: the other cells of the relation must make up for it."""
    columns, rows = sp.csc_array(system.matrix), sp.csr_array(system.matrix)
    up, down = np.flatnonzero(system.levels.up), np.flatnonzero(system.levels.down)
    target, amount = np.concatenate([up, down]), np.concatenate([system.levels.up[up], -system.levels.down[down]])
    # One pair per target and relation, and one term per pair and cell of the relation.
    of_target, place = _spread(columns.indptr, target)
    row, own = columns.indices[place], columns.data[place]
    pair, place = _spread(rows.indptr, row)
    cells, values = rows.indices[place], rows.data[place]
    p, wanted = target[of_target][pair], amount[of_target][pair]
    one_way = np.where(values * own[pair] * np.sign(wanted) < 0, system.up[cells], system.down[cells])
    # The width of a sliding need may come from both directions of the other cells.
    wide = system.pinned[p]
    room = np.where(wide, system.up[cells] + system.down[cells], one_way)
    room = room / np.where(wide, system.levels.width[p], np.abs(wanted)) * np.abs(values / own[pair])
    share = np.where(cells == p, 0.0, np.minimum(room, 1.0))
    right = 1.0 - np.bincount(pair, share * system.hidden[cells], len(row))
    keep = ~system.hidden[cells] & ~system.never[cells] & (share > 1e-7) & (right > 1e-6)[pair]
    weights = np.minimum(share[keep] / right[pair[keep]], 1.0)
    order = np.lexsort((cells[keep], pair[keep]))
    chosen, weights = cells[keep][order].astype(np.intp), weights[order]
    ends = np.cumsum(np.bincount(pair[keep], minlength=len(row)))
    cuts: dict[tuple[bytes, bytes], Cut] = {}
    for number in np.flatnonzero(right > 1e-6).tolist():
        part = slice(ends[number - 1] if number else 0, ends[number])
        cut = Cut(chosen[part], weights[part])
        cuts[cut.key()] = cut
    return list(cuts.values())


def _spread(indptr: npt.NDArray[np.integer], chosen: npt.NDArray[np.integer]) -> tuple[Positions, Positions]:
    """Return for every entry of some rows or columns which of them it is in, and where it is.

    >>> [part.tolist() for part in _spread(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 0, 0, 1, 1], [2, 3, 4, 0, 1]]
    """
    many = np.diff(indptr)[chosen]
    owner = np.repeat(np.arange(len(chosen)), many)
    first = np.cumsum(many) - many
    return owner, np.arange(len(owner)) - first[owner] + indptr[chosen][owner]


def targets_of(system: System) -> list[Target]:
    """Return all that must be able to move, largest first."""
    found = [Target(int(c), float(system.levels.up[c])) for c in np.flatnonzero(system.levels.up)]
    found += [Target(int(c), -float(system.levels.down[c])) for c in np.flatnonzero(system.levels.down)]
    return sorted(found, key=lambda t: (-abs(t.amount), t.cell, t.amount))


def asked_of(system: System, target: Target) -> float:
    """Return how far a cell must be able to go in the direction of a target, whatever it can do in the other one."""
    if not system.pinned[target.cell]:
        return abs(target.amount)
    return float((system.asked.up if target.amount > 0 else system.asked.down)[target.cell])


def rooms(system: System, cell: int, reduced: FloatArray) -> FloatArray:
    """Return what each cell, if suppressed, can add to a move of another, in grains, by reduced costs."""
    reduced = np.where(np.abs(reduced) < system.policy.dust, 0.0, reduced)
    reduced[cell] = 0.0
    room = np.where(reduced < 0, system.up, system.down)
    return np.multiply(np.abs(reduced), room, out=np.zeros(len(room)), where=(reduced != 0) & (room > 0))


def cut_of(system: System, room: FloatArray) -> Cut | None:
    """Return the cut from each cell's share of the protection level, or None if cells that are suppressed anyway
    satisfy it.
    """
    cells = np.flatnonzero(room)
    room = room[cells]
    share = np.minimum(room, 1.0)
    right = 1.0 - share[system.hidden[cells]].sum()
    keep = ~system.hidden[cells] & (share > 1e-7) & ~system.never[cells]
    if right <= 1e-6:
        return None
    weights = np.minimum(share[keep] / right, 1.0)
    order = np.argsort(cells[keep])
    return Cut(cells[keep][order].astype(np.intp), weights[order])


@dataclass(frozen=True, eq=False)
class Separation:
    """What a look at x found: targets that it does not serve, and the cuts that say so."""

    unserved: list[Target]
    cuts: list[Cut]
    programs: int


class _Served:
    """Which targets some move within the bounds already serves."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.up = system.levels.up <= 0
        self.down = system.levels.down <= 0

    def credit(self, moves: FloatArray) -> None:
        system = self.system
        either = system.two_sided & (np.abs(moves) >= system.levels.width * (1 - 1e-7))
        self.up |= (moves >= system.levels.up * (1 - 1e-7)) | either
        self.down |= (-moves >= system.levels.down * (1 - 1e-7)) | either

    def has(self, target: Target) -> bool:
        return bool(self.up[target.cell] if target.amount > 0 else self.down[target.cell])


def separate(system: System, x: FloatArray, *, most: int = 10**9, seed: int = 1, run: Run) -> Separation:
    """Find the targets that x does not serve, and for each of them a violated cut."""
    support = np.flatnonzero((x > 1e-7) & ~system.never)
    served = _Served(system)
    part = _Part(system, x, support)
    _serve_together(system, part, served, seed, run)
    unserved, cuts, programs = [], [], 0
    component = components(part.matrix)[1]
    probes: dict[int, _PartProbe] = {}
    for target in targets_of(system):
        if served.has(target):
            continue
        label = int(component[part.place[target.cell]])
        if label not in probes:
            probes[label] = _PartProbe(part, np.flatnonzero(component == label), run)
        moves, cut = probes[label].probe(target)
        programs += 1
        served.credit(moves)
        if not served.has(target):
            unserved.append(target)
            if cut is not None:
                cuts.append(cut)
            if len(unserved) >= most:
                break
    return Separation(unserved, cuts, programs)


def deepen(system: System, x: FloatArray, targets: Sequence[Target], *, run: Run) -> list[Cut]:
    """Find further cuts of targets that x does not serve: suppress the cheapest cells that satisfy one cut, and look
    again.

    Each is a small linear program, so that far fewer whole masters are needed.
    """
    every = np.flatnonzero(~system.never)
    part = _Part(system, np.ones(system.n), every)
    probe = _PartProbe(part, np.arange(len(every)), run)
    found = []
    for target in targets:
        trial = x.copy()
        for _ in range(system.policy.cut_depth):
            part.limit(trial)
            _, cut = probe.probe(target)
            if cut is None or not len(cut.cells):
                break
            found.append(cut)
            trial[_cheapest(system, cut, trial)] = 1.0
    return found


def _cheapest(system: System, cut: Cut, x: FloatArray) -> Positions:
    """Return the cells with the best weight for their cost that satisfy a cut together with x."""
    order = np.argsort(system.cost[cut.cells] / cut.weights, kind="stable")
    gained = np.cumsum((cut.weights * (1.0 - x[cut.cells]))[order])
    missing = 1.0 - float(cut.weights @ x[cut.cells])
    return cut.cells[order[: int(np.searchsorted(gained, missing)) + 1]]


def unproven(system: System, moving: BoolArray, *, run: Run) -> list[Target]:
    """Return the targets that pooled moves of some cells do not serve; single programs might still serve them."""
    served = _Served(system)
    part = _Part(system, moving.astype(float), np.flatnonzero(moving & ~system.never))
    _serve_together(system, part, served, 1, run)
    return [target for target in targets_of(system) if not served.has(target)]


class _Part:
    """The cells that x does not leave published, and what they may move."""

    def __init__(self, system: System, x: FloatArray, support: Positions) -> None:
        self.system = system
        self.support = support
        self.limit(x)
        self.matrix = sp.csr_array(system.matrix[:, support])
        self.rows = np.flatnonzero(np.diff(self.matrix.indptr))
        self.matrix = sp.csr_array(self.matrix[self.rows])
        self.place = np.full(system.n, -1)
        self.place[support] = np.arange(len(support))

    def limit(self, x: FloatArray) -> None:
        """Let each cell move as far as x says; a published one not at all, even if it has no bound."""
        some = x[self.support]
        self.down, self.up = (
            np.multiply(bound[self.support], some, out=np.zeros(len(some)), where=some > 0)
            for bound in (self.system.down, self.system.up)
        )


def _serve_together(system: System, part: _Part, served: _Served, seed: int, run: Run) -> None:
    """Serve what pooled moves can serve, in a few rounds with random directions."""
    rng = np.random.default_rng(seed)
    for _ in range(4):
        toss = rng.random(system.n) < 0.5
        open_up, open_down = ~served.up & (toss | served.down), ~served.down & (~toss | served.up)
        cells = np.flatnonzero((open_up | open_down) & (part.place >= 0))
        amounts = np.where(open_up, system.levels.up, -system.levels.down)[cells]
        before = int((~served.up).sum() + (~served.down).sum())
        for group in reversed(decades(np.abs(amounts))):
            moves = pooled_moves(part.matrix, part.down, part.up, part.place[cells[group]], amounts[group], run=run)
            if moves is not None:
                for sign in (1.0, -1.0):
                    if ((sign * moves <= part.up * (1 + 1e-9)) & (-sign * moves <= part.down * (1 + 1e-9))).all():
                        full = np.zeros(system.n)
                        full[part.support] = sign * moves
                        served.credit(full)
        if int((~served.up).sum() + (~served.down).sum()) > 0.9 * before:
            return


class _PartProbe:
    """The attacker's programs of one component of the support, for one target after the other."""

    def __init__(self, part: _Part, inside: Positions, run: Run) -> None:
        self.part = part
        self.inside = inside
        matrix = sp.csr_array(part.matrix[:, inside])
        local = np.flatnonzero(np.diff(matrix.indptr))
        self.matrix = sp.csr_array(matrix[local])
        self.rows = part.rows[local]
        none = np.zeros(len(inside))
        self._probe = Probe(self.matrix, none, none, run=run)
        self.place = {int(c): i for i, c in enumerate(part.support[inside])}
        self.transposed = sp.csr_array(part.system.matrix[self.rows].T)

    def probe(self, target: Target) -> tuple[FloatArray, Cut | None]:
        """Return the moves of the best attempt, in grains, and a cut if it falls short."""
        moves, reached, weights = self._attempt(target)
        system = self.part.system
        if reached >= 1 - 1e-6:
            return moves, None
        if not system.pinned[target.cell]:
            return moves, cut_of(system, weights / abs(target.amount))
        asked = asked_of(system, target)
        if asked > 0 and reached * abs(target.amount) < asked * (1 - 1e-6):
            return moves, cut_of(system, weights / asked)
        width = system.levels.width[target.cell]
        backward, back, others = self._attempt(Target(target.cell, -np.sign(target.amount) * width))
        if reached * abs(target.amount) + back * width >= width * (1 - 1e-6):
            # The width may be more than the cell itself can move that way, so such a move is no witness.
            room = system.down[target.cell] if target.amount > 0 else system.up[target.cell]
            return backward if back * width <= room else moves, None
        return moves, cut_of(system, (weights + others) / width)

    def _attempt(self, target: Target) -> tuple[FloatArray, float, FloatArray]:
        """Return the moves in grains, the share of the need that they reach, and what each cell can add to it."""
        part, at, size = self.part, self.place[target.cell], abs(target.amount)
        lower = -np.minimum(part.down[self.inside] / size, part.system.policy.cut_far)
        upper = np.minimum(part.up[self.inside] / size, part.system.policy.cut_far)
        if target.amount > 0:
            lower[at], upper[at] = 0.0, 1.0
        else:
            lower[at], upper[at] = -1.0, 0.0
        self._probe.limit(lower, upper)
        solution = self._probe.furthest(at, np.sign(target.amount))
        moves = np.zeros(part.system.n)
        moves[part.support[self.inside]] = solution.x * size
        weights = rooms(part.system, target.cell, -(self.transposed @ solution.duals))
        return moves, float(np.sign(target.amount) * solution.x[at]), weights


def as_rows(cuts: Sequence[Cut], n: int) -> sp.csr_array:
    """Return cuts as the rows of a matrix."""
    sizes = [len(cut.cells) for cut in cuts]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([cut.cells for cut in cuts]) if cuts else np.zeros(0, np.intp)
    weights = np.concatenate([cut.weights for cut in cuts]) if cuts else np.zeros(0)
    return sp.csr_array((weights, columns, indptr), shape=(len(cuts), n))
