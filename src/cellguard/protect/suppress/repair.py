"""Repair: the cheapest move that serves a target, through hidden cells for nothing and others for their cost."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import scipy.sparse as sp

from cellguard.protect.suppress.cuts import Target
from cellguard.protect.suppress.system import Positions, System
from cellguard.solver.highs import solve
from cellguard.solver.program import Program, Status
from cellguard.table.facts import BoolArray, FloatArray

_LADDER = ((2, 6, 300), (3, 10, 1_500), (5, 20, 6_000))
_FAR = 1e5
_SCALINGS = 5


@dataclass(frozen=True, eq=False)
class Flow:
    """A move that serves a target: the cells that move, how far in grains, and what hiding the new ones costs."""

    cells: Positions
    moves: FloatArray
    cost: float


class Repairer:
    """Finds flows: in a small neighbourhood first, in wider ones while that is cheaper, in the whole table at last."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.columns = sp.csc_array(system.matrix)
        rows = sp.csr_array(system.matrix)
        number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        order = np.lexsort((system.cost[rows.indices], number))
        self.row_start = rows.indptr.astype(np.int64)
        self.row_cells = rows.indices[order].astype(np.int64)
        self.cell_start = self.columns.indptr.astype(np.int64)
        self.cell_rows = self.columns.indices.astype(np.int64)

    def flow(
        self,
        target: Target,
        hidden: BoolArray,
        guide: FloatArray,
        *,
        allowed: BoolArray | None = None,
        local: bool = False,
    ) -> Flow | None:
        """Return the cheapest flow found, or None: through ``hidden`` cells for nothing, others for ``guide``.

        Only ``allowed`` cells may move. With ``local`` the search ends with the widest neighbourhood.
        """
        barred = self.system.never if allowed is None else ~allowed
        best: Flow | None = None
        for rounds, per_row, most in _LADDER:
            cells = _neighbourhood(
                target.cell, rounds, per_row, most, self.row_start, self.row_cells, self.cell_start, self.cell_rows,
                hidden, barred,
            )  # fmt: skip
            found = self._solve(target, cells, hidden, guide)
            if found is not None and (found.cost <= 1e-6 or (best is not None and found.cost >= 0.98 * best.cost)):
                return found if best is None or found.cost < best.cost else best
            if found is not None and (best is None or found.cost < best.cost):
                best = found
            if local and best is not None:
                return best
        if best is not None or local:
            return best
        cells = np.flatnonzero(~barred | (np.arange(len(barred)) == target.cell))
        return self._solve(target, cells, hidden, guide)

    def serves(self, flow: Flow) -> set[Target]:
        """Return the targets that a flow serves, and, where the bounds allow it, its reverse."""
        system, at = self.system, flow.cells
        found: set[Target] = set()
        for moves in (flow.moves, -flow.moves):
            if (moves <= system.up[at] * (1 + 1e-9)).all() and (-moves <= system.down[at] * (1 + 1e-9)).all():
                up = at[(system.need_up[at] > 0) & (moves >= system.need_up[at])]
                down = at[(system.need_down[at] > 0) & (-moves >= system.need_down[at])]
                found |= {Target(int(c), float(system.need_up[c])) for c in up}
                found |= {Target(int(c), -float(system.need_down[c])) for c in down}
        return found

    def _solve(self, target: Target, cells: Positions, hidden: BoolArray, guide: FloatArray) -> Flow | None:
        """Return a flow among the cells that hides little: slopes are scaled until each used cell pays its whole cost.

        The cost of hiding a cell does not depend on how far it moves, but a program's cost does. A cell that moves by d
        gets the slope cost / d the next time, so that using it less does not save anything (dynamic slope scaling).
        """
        network = _Network.of(self, target, cells)
        if network is None:
            return None
        price = np.where(hidden[cells], 0.0, guide[cells])
        best: Flow | None = None
        size = np.ones(len(cells))
        for _ in range(_SCALINGS):
            moves = network.cheapest(price / np.maximum(size, 1e-6))
            if moves is None:
                return best
            used = np.abs(moves) > 1e-7
            cost = float(price[used].sum())
            if best is None or cost < best.cost * (1 - 1e-9):
                best = Flow(cells[used], moves[used] * abs(target.amount), cost)
            else:
                return best
            if cost <= 1e-6:
                return best
            size = np.where(used, np.abs(moves), size)
        return best


@dataclass(frozen=True, eq=False)
class _Network:
    """The program of one target in one neighbourhood: moves in units of the need, split into up and down."""

    matrix: sp.csr_array
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, repairer: Repairer, target: Target, cells: Positions) -> _Network | None:
        system, size, n = repairer.system, abs(target.amount), len(cells)
        matrix = sp.csr_array(sp.csr_array(repairer.columns[:, cells]))
        matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
        up, down = (np.minimum(bound[cells] / size, _FAR) for bound in (system.up, system.down))
        at = int(np.searchsorted(cells, target.cell))
        lower, upper = np.zeros(2 * n), np.concatenate([up, down])
        forward, backward = (at, n + at) if target.amount > 0 else (n + at, at)
        if upper[forward] < 1 - 1e-9:
            return None
        lower[forward], upper[forward], upper[backward] = 1.0, 1.0, 0.0
        return cls(sp.csr_array(sp.hstack([matrix, -matrix], format="csr")), lower, upper)

    def cheapest(self, slope: FloatArray) -> FloatArray | None:
        """Return the cheapest moves at these slopes, or None if there are none."""
        n = len(slope)
        room = np.clip(self.upper, 1e-9, 1.0)
        cost = np.concatenate([slope, slope]) / room
        some = cost[cost > 0]
        # A touch of cost on hidden cells keeps moves short.
        cost = (cost / np.median(some) if len(some) else cost) + 1e-6
        zero = np.zeros(self.matrix.shape[0])
        program = Program(self.matrix, zero, zero, self.lower, self.upper, cost)
        found = solve(program, presolve=n > 500)
        return found.x[:n] - found.x[n:] if found.status is Status.optimal else None


@numba.njit(cache=True)
def _neighbourhood(  # type: ignore[no-untyped-def] # noqa: ANN202
    cell,  # noqa: ANN001
    rounds,  # noqa: ANN001
    per_row,  # noqa: ANN001
    most,  # noqa: ANN001
    row_start,  # noqa: ANN001
    row_cells,  # noqa: ANN001
    cell_start,  # noqa: ANN001
    cell_rows,  # noqa: ANN001
    hidden,  # noqa: ANN001
    never,  # noqa: ANN001
):
    """Return the cells near a cell: breadth first, from each relation its hidden cells and its cheapest others."""
    near = np.zeros(len(hidden), np.bool_)
    seen = np.zeros(len(row_start) - 1, np.bool_)
    found = np.empty(len(hidden), np.int64)
    found[0] = cell
    near[cell] = True
    many, start = 1, 0
    for _ in range(rounds):
        end = many
        for i in range(start, end):
            c = found[i]
            for z in range(cell_start[c], cell_start[c + 1]):
                r = cell_rows[z]
                if seen[r]:
                    continue
                seen[r] = True
                taken = 0
                for y in range(row_start[r], row_start[r + 1]):
                    j = row_cells[y]
                    if near[j] or never[j]:
                        continue
                    if hidden[j] or taken < per_row:
                        if not hidden[j]:
                            taken += 1
                        near[j] = True
                        found[many] = j
                        many += 1
            if many > most:
                break
        if many > most:
            break
        start = end
    # cells all of whose relations are touched cost nothing to take along
    for r in range(len(seen)):
        if seen[r]:
            for y in range(row_start[r], row_start[r + 1]):
                j = row_cells[y]
                if near[j] or never[j]:
                    continue
                inside = True
                for z in range(cell_start[j], cell_start[j + 1]):
                    if not seen[cell_rows[z]]:
                        inside = False
                        break
                if inside:
                    near[j] = True
                    found[many] = j
                    many += 1
    return np.sort(found[:many])
