"""What the statistician says of single cells beforehand: manual states, costs, bounds and needs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from cellguard.table.facts import FloatArray


class State(IntEnum):
    """What a cell's manual state asks for.

    ``must_publish``: never hide it. ``must_suppress``: treat it as unsafe, whatever the rules say. ``waived``: its
    contributors allow publication, so no rule makes it unsafe. ``unpublished``: not in the release, unknown to the
    attacker, free to hide. ``secondary``: hidden already, by an earlier run, with no need of its own.
    """

    none = 0
    must_publish = 1
    must_suppress = 2
    waived = 3
    unpublished = 4
    secondary = 5


STATES = tuple(state.name for state in State if state)


@dataclass(frozen=True, eq=False)
class Apriori:
    """One array a statement, one entry a cell; NaN where nothing is said.

    ``lower`` and ``upper`` are the attacker's bounds on the cell; ``need_lower`` and ``need_upper`` are distances that
    the attacker's interval must reach below and above the true value.
    """

    state: npt.NDArray[np.int8]
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    need_lower: FloatArray
    need_upper: FloatArray

    def __repr__(self) -> str:
        return f"<Apriori of {len(self.state)} cells: {int((self.state > 0).sum())} with a state>"

    @classmethod
    def silent(cls, n: int) -> Apriori:
        """Return the statement about ``n`` cells that says nothing."""
        return cls(np.zeros(n, np.int8), *(np.full(n, np.nan) for _ in NUMBERS))

    def take(self, index: npt.NDArray[np.intp]) -> Apriori:
        """Return the statements of the chosen cells; index -1 says nothing."""
        some = index >= 0
        chosen = [np.where(some, getattr(self, name)[index], np.nan) for name in NUMBERS]
        return Apriori(np.where(some, self.state[index], 0).astype(np.int8), *chosen)

    def override(self, other: Apriori) -> Apriori:
        """Return these statements, replaced wherever the other says something."""
        mixed = [
            np.where(np.isnan(getattr(other, name)), getattr(self, name), getattr(other, name)) for name in NUMBERS
        ]
        return Apriori(np.where(other.state > 0, other.state, self.state).astype(np.int8), *mixed)

    def has(self, state: State) -> npt.NDArray[np.bool_]:
        """Tell which cells have the given manual state."""
        return self.state == state


NUMBERS = tuple(f.name for f in fields(Apriori) if f.name != "state")
