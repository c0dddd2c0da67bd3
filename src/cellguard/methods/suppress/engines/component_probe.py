"""The attacker's programs of a pattern: how far may one cell move, and which multipliers prove it.

For a class t of a `HiddenSystem`: max d_t with M' d = 0 and -down <= d <= up. Its optimum says whether a protection
level is met, its solution is a move, and its dual multipliers pi bound d_t for every pattern: they are what a capacity
cut is made of. Components of M' are separate programs. Bounds far beyond what is asked for are cut off, since a simplex
method is only as exact as its largest number is small.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines.hidden_system import HiddenSystem
from cellguard.methods.suppress.engines.substitution import Substitution
from cellguard.proofs.probe import Probe, Unsolved
from cellguard.run_context import Run

_FAR = 1e6
_POWERS = 20  # needs within a factor of 2 ** 20 share a session


class ComponentProbes:
    """One probe per component and scale, made when it is asked for; only some ``cells`` will be probed."""

    def __init__(self, classes: HiddenSystem, cells: LongArray, run: Run) -> None:
        self.classes = classes
        self._run = run
        self._probes: dict[tuple[int, int], ComponentProbe] = {}
        self._probed = np.zeros(len(classes.roots), bool)
        places = classes.place[cells]
        self._probed[places[places >= 0]] = True

    def of(self, cell: int, need: float) -> ComponentProbe:
        """Return the probe of a cell that is not fixed."""
        # One program serves needs of similar size: numbers that differ by more cost the solver its exactness.
        power = _POWERS * round(np.log2(need) / _POWERS)
        key = int(self.classes.label[self.classes.place[cell]]), power
        if key not in self._probes:
            self._probes[key] = ComponentProbe(self.classes, key[0], self._probed, 2.0**power, self._run)
        return self._probes[key]


class ComponentProbe:
    """The attacker's programs of one component at one scale, each warm from the last."""

    def __init__(self, classes: HiddenSystem, label: int, probed: BoolArray, scale: float, run: Run) -> None:
        self.classes = classes
        self.scale = scale
        self._members = np.flatnonzero(classes.label == label)
        part = sp.csr_array(classes.matrix[:, self._members])
        self.rows = np.flatnonzero(np.diff(part.indptr))
        rooms = classes.down[self._members], classes.up[self._members]
        self._less = Substitution(sp.csr_array(part[self.rows]), *rooms, probed[self._members], classes.system.policy)
        self.columns = self._members[self._less.columns]
        self.up = np.minimum(classes.up[self.columns] / scale, _FAR)
        self.down = np.minimum(classes.down[self.columns] / scale, _FAR)
        self.height = len(self._less.rows)
        self._probe = Probe(self._less.matrix, -self.down, self.up, primal=True, run=run)
        self._at = {int(c): i for i, c in enumerate(self.columns)}

    @property
    def iterations(self) -> int:
        """How many steps the last program took."""
        return self._probe.iterations

    def probe(self, cell: int, upward: bool, need: float) -> tuple[FloatArray | None, float, Positions, FloatArray]:
        """Return the moves of all cells, how far the cell goes up to its protection level, and multipliers on
        relations left.
        """
        classes = self.classes
        at, ratio = self._at[int(classes.place[cell])], float(classes.ratio[cell])
        want = (need if upward else -need) / ratio / self.scale
        sign = np.sign(want)
        one = np.array([at])
        lower, upper = -self.down[at], self.up[at]
        least, most = max(lower, want) if sign < 0 else lower, min(upper, want) if sign > 0 else upper
        self._probe.limit(np.array([least]), np.array([most]), one)
        try:
            solution = self._probe.furthest(at, sign)
        except Unsolved:
            return None, 0.0, self.rows[:0], np.zeros(0)
        finally:
            self._probe.limit(np.array([lower]), np.array([upper]), one)
        full = np.zeros(len(classes.roots))
        full[self._members] = self._less.moves(solution.x) * self.scale
        reach = abs(float(solution.x[at]) * self.scale * ratio)
        return classes.expand(full), reach, self.rows, self._less.multipliers(solution.duals) * sign * ratio
