"""What the statistician says of single cells beforehand: manual states, costs, bounds and needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.errors import did_you_mean
from cellguard.reading.vocabulary import is_missing

if TYPE_CHECKING:
    from cellguard.table.source import Source


class State(IntEnum):
    """What a cell's manual state asks for.

    ``must_publish``: never suppress it. ``must_suppress``: treat it as unsafe, whatever the rules say. ``waived``: its
    contributors allow publication, so no rule makes it unsafe. ``unpublished``: not in the release, unknown to the
    attacker, free to suppress. ``secondary``: suppressed already, by an earlier run, with no protection level of its
    own.
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
    """One array a statement, one entry per cell; NaN where nothing is said.

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
        return cls(np.zeros(n, np.int8), *(np.broadcast_to(np.nan, n) for _ in NUMBERS))

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
        """Return which cells have the given manual state."""
        return self.state == state


NUMBERS = tuple(f.name for f in fields(Apriori) if f.name != "state")


def read_statements(source: Source, status: str | None, numbers: Mapping[str, str]) -> Apriori:
    """Return what columns of the data say of each row: manual states and numbers, blank where nothing."""
    silent = Apriori.silent(len(source))
    changes: dict[str, npt.NDArray[np.generic]] = {}
    if status:
        changes["state"] = _read_states(source, status)
    for name, column in numbers.items():
        said = source.numbers(column, blank_is_nan=True, infinite=name in {"lower", "upper"})
        changes[name] = said
        if name in {"cost", "need_lower", "need_upper"} and (said < 0).any():
            raise source.fault(int(np.flatnonzero(said < 0)[0]), column, f"{name} must not be below 0")
    return replace(silent, **changes)  # type: ignore[arg-type]


def _read_states(source: Source, column: str) -> npt.NDArray[np.int8]:
    words = source.text(column).to_pylist()
    known = {state: int(State[state]) for state in STATES}
    different = {word: 0 if is_missing(word) else known.get(word.strip(), -1) for word in dict.fromkeys(words)}
    states = np.array([different[word] for word in words], np.int8)
    if (states < 0).any():
        row = int(np.flatnonzero(states < 0)[0])
        word = str(words[row])
        # A column of values or names that is named by mistake must not get out.
        near = did_you_mean(word, STATES)
        shown = f" {word!r}" if near.startswith("; did you mean") else ""
        raise source.fault(row, column, f"unknown status{shown}{near}")
    return states
