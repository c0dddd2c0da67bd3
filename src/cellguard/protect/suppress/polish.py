"""Clean-up: drop a secondary if all who use it can be served without it, or by cheaper cells in its place."""

from __future__ import annotations

import numpy as np

from cellguard.errors import InternalError
from cellguard.protect.suppress.cuts import Target, targets_of
from cellguard.protect.suppress.policy import POLICY
from cellguard.protect.suppress.repair import Flow, Repairer
from cellguard.protect.suppress.system import System
from cellguard.types import BoolArray, Run


class Polisher:
    """A safe pattern in which every target has a witness of its own: the cells of a cheap flow through hidden cells."""

    def __init__(self, system: System, repairer: Repairer, hidden: BoolArray) -> None:
        self.system = system
        self.repairer = repairer
        self.hidden = hidden | system.hidden
        self.flows: dict[Target, Flow] = {}
        self.users: dict[int, set[Target]] = {}
        self.programs = 0
        # Largest first: what they need serves many smaller ones too.
        for target in targets_of(system):
            self._set(target, self._inside(target))
        self._drop_unused()

    def polish(self, *, most: int, run: Run) -> BoolArray:
        """Try to do without each secondary, the dearest first; stop after so many programs."""
        start, before = self.programs, np.inf
        while self.programs - start < most and self.cost() < before * (1 - POLICY.polish_gain):
            before = self.cost()
            for cell in self._secondaries():
                if self.programs - start >= most:
                    break
                if self.hidden[cell]:
                    self._without(int(cell))
            run.tell(f"polishing: {int((self.hidden & ~self.system.hidden).sum()):,} secondary cells")
            run.check()
        return self.hidden.copy()

    def cost(self) -> float:
        """Return the cost of the secondaries."""
        return float(self.system.cost[self.hidden & ~self.system.hidden].sum())

    def _secondaries(self) -> list[int]:
        cells = np.flatnonzero(self.hidden & ~self.system.hidden)
        return cells[np.argsort(-self.system.cost[cells], kind="stable")].tolist()

    def _inside(self, target: Target) -> Flow:
        """Return the cheapest flow through hidden cells only."""
        self.programs += 1
        flow = self.repairer.flow(target, self.system.hidden, self.system.cost + 1e-9, allowed=self.hidden)
        if flow is None:
            raise InternalError("a pattern that should serve every need does not")
        return flow

    def _without(self, cell: int) -> bool:
        """Try to hide other cells, cheaper altogether, in place of one."""
        budget = self.system.cost[cell] * (1 - 1e-9)
        allowed = ~self.system.never
        allowed[cell] = False
        free = self.hidden.copy()
        free[cell] = False
        found: dict[Target, Flow] = {}
        new: set[int] = set()
        for target in sorted(self.users.get(cell, ()), key=lambda t: (-abs(t.amount), t.cell, t.amount)):
            self.programs += 1
            flow = self.repairer.flow(target, free, self.system.cost + 1e-9, allowed=allowed, local=True)
            if flow is None:
                return False
            fresh = [int(c) for c in flow.cells if not free[c]]
            new.update(fresh)
            budget -= float(self.system.cost[fresh].sum())
            if budget <= 0:
                return False
            free[fresh] = True
            found[target] = flow
        self.hidden[cell] = False
        for extra in new:
            self.hidden[extra] = True
        for target, flow in found.items():
            self._set(target, flow)
        self._drop_unused()
        return True

    def _set(self, target: Target, flow: Flow) -> None:
        for cell in self.flows[target].cells.tolist() if target in self.flows else ():
            self.users[cell].discard(target)
        self.flows[target] = flow
        for cell in flow.cells.tolist():
            self.users.setdefault(cell, set()).add(target)

    def _drop_unused(self) -> None:
        for cell in np.flatnonzero(self.hidden & ~self.system.hidden).tolist():
            if not self.users.get(cell):
                self.hidden[cell] = False
