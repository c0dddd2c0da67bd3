"""The ways to raise every sensitive cell of a map to the threshold, each from counts to transfers.

All of them raise each sensitive cell to exactly the threshold t, take from no cell that would fall below it, and leave
empty cells empty. Their price is mu, the sum of the distances of all moved units; `optimal` has the smallest there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.errors import InputError, InternalError, NotProtected, did_you_mean
from cellguard.geometry.space import Space
from cellguard.methods.maps.fill_kernel import fill_up
from cellguard.methods.maps.transfers import Transfers
from cellguard.methods.maps.transport_kernel import carry, take_apart

Algorithm = Callable[[Space, LongArray, int, "Order"], Transfers]
Order = Literal["smallest", "isolated"]


def sensitive(count: LongArray, threshold: int) -> Positions:
    """Return the cells that have records, but fewer than the threshold."""
    return np.flatnonzero((count > 0) & (count < threshold))


def is_enough(count: LongArray, threshold: int) -> bool:
    """Return whether the records suffice for the threshold in every cell that has any."""
    return int(count.sum()) >= threshold * int((count > 0).sum())


def group(space: Space, count: LongArray, threshold: int, order: Order = "smallest") -> Transfers:
    """Algorithm 1: fill the smallest group of cells around each sensitive one from its own surplus.

    >>> line = Space.of_pairs(3, [(0, 1), (1, 2)])
    >>> group(line, np.array([1, 2, 9]), 3).mu
    5
    """
    return _fill(space, count, threshold, order, grouped=True)


def nearest(space: Space, count: LongArray, threshold: int, order: Order = "smallest") -> Transfers:
    """Algorithm 1 without groups: fill each sensitive cell from the nearest cells that have a surplus."""
    return _fill(space, count, threshold, order, grouped=False)


def everybody(space: Space, count: LongArray, threshold: int, order: Order = "smallest") -> Transfers:
    """Algorithm 2: all cells with a surplus give alike, and the units go where the distances add up to the least."""
    return _transport(space, donations(space, count, threshold), count, threshold)


def optimal(space: Space, count: LongArray, threshold: int, order: Order = "smallest") -> Transfers:
    """The transport of the smallest mu, which bounds all others from below.

    >>> line = Space.of_pairs(3, [(0, 1), (1, 2)])
    >>> optimal(line, np.array([1, 2, 9]), 3).mu
    5
    """
    return _transport(space, np.maximum(count - threshold, 0), count, threshold)


ALGORITHMS: dict[str, Algorithm] = {"group": group, "nearest": nearest, "everybody": everybody, "optimal": optimal}


def algorithm_named(name: str) -> Algorithm:
    """Return the algorithm of that name."""
    if name not in ALGORITHMS:
        raise InputError(f"unknown algorithm {name!r}{did_you_mean(name, ALGORITHMS)}")
    return ALGORITHMS[name]


def donations(space: Space, count: LongArray, threshold: int) -> LongArray:
    """Return how much each cell gives in Algorithm 2: one unit per round, as long as it has a surplus.

    In the last round, where not all need give, those nearest to any sensitive cell do (ties: larger count, order).
    """
    needy = sensitive(count, threshold)
    deficit = int(threshold * len(needy) - count[needy].sum())
    surplus = np.maximum(count - threshold, 0)
    rounds = _full_rounds(surplus, deficit)
    given = np.minimum(surplus, rounds)
    left = deficit - int(given.sum())
    if left > 0:
        chosen = np.zeros(len(count), bool)
        chosen[needy] = True
        able = np.flatnonzero(surplus > rounds)
        steps = space.steps(chosen)[able]
        given[able[np.lexsort((able, -count[able], steps))][:left]] += 1
    return given


def _full_rounds(surplus: LongArray, deficit: int) -> int:
    """Return the largest number of rounds in which everybody who can gives, without giving more than needed."""
    low, high = 0, deficit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(surplus, middle).sum() <= deficit else (low, middle - 1)
    return low


def _fill(space: Space, count: LongArray, threshold: int, order: Order, *, grouped: bool) -> Transfers:
    _refuse_too_few(count, threshold)
    needy = sensitive(count, threshold)
    if order == "isolated":
        steps = space.steps(count > threshold)[needy]
        needy = needy[np.lexsort((needy, count[needy], -steps))]
    else:
        needy = needy[np.lexsort((needy, count[needy]))]
    rows = fill_up(
        space.start, space.neighbours, space.cells, space.cell_of, count.astype(np.int64), needy, threshold, grouped
    )
    return _checked(Transfers.of(*rows), count, threshold)


def _transport(space: Space, surplus: LongArray, count: LongArray, threshold: int) -> Transfers:
    _refuse_too_few(count, threshold)
    needy = sensitive(count, threshold)
    supply, demand = np.zeros(space.nodes, np.int64), np.zeros(space.nodes, np.int64)
    supply[space.cells] = surplus
    demand[space.cells[needy]] = threshold - count[needy]
    flow, _, unused, unserved = carry(space.start, space.neighbours, supply, demand)
    rows = take_apart(space.start, space.neighbours, flow, supply - unused, demand - unserved)
    rows[:2] = space.cell_of[rows[:2]]
    return _checked(Transfers.of(*rows), count, threshold)


def _refuse_too_few(count: LongArray, threshold: int) -> None:
    if not is_enough(count, threshold):
        raise NotProtected(
            f"the map has too few records to raise every cell to {threshold}; choose larger hexagons or a lower "
            "threshold"
        )


def _checked(transfers: Transfers, count: LongArray, threshold: int) -> Transfers:
    """Return the transfers if all cells that have records end at the threshold or above."""
    after = count + transfers.change(len(count))
    if sensitive(after, threshold).size or (after[count == 0] != 0).any():
        raise NotProtected("some cells cannot be reached from any with records to spare; are parts of the map apart?")
    if (np.minimum(count, threshold) > after).any():
        raise InternalError("a cell gave more than it could spare")
    return transfers
