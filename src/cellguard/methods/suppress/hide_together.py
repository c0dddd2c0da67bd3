"""One pattern for several responses: cells that are suppressed wherever the same cell of another response is.

Suppressing more takes no witness away: a move that is 0 on every published cell still is if fewer are published. So a
safe pattern stays safe when cells join it, for whatever reason, and why a cell is suppressed is nothing that a proof
rests on. A first search bounds the cost. A second one finds what is suppressed anyway next to free, and the cheaper
pattern counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError, NotProtected, Stopped, did_you_mean
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.engines.system import System, build_system, manageable
from cellguard.methods.suppress.suppress import Suppression
from cellguard.protection import Requirements
from cellguard.table.pattern import Pattern
from cellguard.table.tableset import TableSet

_ALMOST_FREE = 1e-3  # of its cost a cell has that is suppressed anyway
Search = Callable[[FloatArray, BoolArray | None], Suppression]  # by costs, and perhaps from a pattern


@dataclass(frozen=True, eq=False)
class Followers:
    """Distinct cells: each of ``cells`` is suppressed wherever its ``leaders`` entry is."""

    leaders: Positions
    cells: Positions

    @classmethod
    def of(cls, tables: TableSet, hide_with: Mapping[str, Sequence[str]]) -> Followers:
        """Return which cells follow which; ``hide_with`` names for each table the responses that it follows.

        The cell that a cell follows has the same codes, and is of the same population.
        """
        leaders, cells = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for number, table in enumerate(tables.tables):
            for response in hide_with.get(table.name, ()):
                response_key = _topic(tables, table.name, table.population, response)
                leader = tables.locate(response_key, number, np.arange(len(table)))
                shown = (leader >= 0) & ~table.unpublished
                leaders.append(leader[shown])
                cells.append(tables.cells_of[number][shown])
        return cls(np.concatenate(leaders), np.concatenate(cells))

    @classmethod
    def in_job(cls, tables: TableSet, job: Job) -> Followers:
        """Return which cells follow which in the tables of a job."""
        return cls.of(tables, {spec.name: getattr(spec.protect, "hide_with", ()) for spec in job.tables})

    def joined(self, hidden: BoolArray) -> BoolArray:
        """Return the suppressed cells, and those that follow them."""
        joined = hidden.copy()
        joined[self.cells[hidden[self.leaders]]] = True
        return joined

    def all_joined(self, hidden: BoolArray) -> BoolArray:
        """Return the suppressed cells, those that follow them, those that follow these, and so on."""
        while ((wider := self.joined(hidden)) != hidden).any():
            hidden = wider
        return hidden


def hidden_with(pattern: Pattern, job: Job) -> dict[int, list[str]]:
    """Return for the cells that a job has suppressed wherever others are, and that are, the responses of these."""
    responses: dict[int, list[str]] = {}
    for spec in job.tables:
        for response in getattr(spec.protect, "hide_with", ()):
            followers = Followers.of(pattern.tables, {spec.name: [response]})
            for cell in followers.cells[pattern.hidden[followers.leaders]].tolist():
                responses.setdefault(cell, []).append(response)
    return responses


def _topic(tables: TableSet, table: str, population: str, response: str) -> tuple[str, str]:
    response_key = (response, population)
    if response_key not in tables.response_keys:
        known = sorted(name for name, people in tables.response_keys if people == population)
        raise InputError(
            f"table {table!r} is to be suppressed with {response!r}, but no table of its population has that response"
            f"{did_you_mean(response, known)}"
        )
    return response_key


def suppress_together(
    needs: Requirements, costs: FloatArray, followers: Followers, search: Search, known: sp.csr_array | None = None
) -> Suppression:
    """Search for a pattern of which no follower is published where its leader is suppressed."""
    system = build_system(manageable(needs), costs, known)
    first = search(costs, None)
    found = _listed(needs, first.pattern)
    pattern = closed(system, followers, found)
    anyway = followers.joined(closed(system, followers, _leading(found, followers)).hidden)
    try:
        second = search(np.where(anyway, _ALMOST_FREE * costs, costs), anyway)
    except Stopped:  # with the first pattern, which will do
        return replace(first, pattern=pattern, cost=_paid(costs, pattern), costs=costs, finished=False)
    patterns = [pattern, closed(system, followers, _listed(needs, second.pattern))]
    paid = [_paid(costs, pattern) for pattern in patterns]
    best = int(np.argmin(paid))
    return replace(
        first, pattern=patterns[best], cost=paid[best], costs=costs, finished=first.finished and second.finished
    )


def _paid(costs: FloatArray, pattern: Pattern) -> float:
    return float(costs[pattern.secondary].sum())


def _listed(needs: Requirements, pattern: Pattern) -> Pattern:
    """Return what a pattern, perhaps of the set with sums of its cells, suppresses of the cells that tables list."""
    return Pattern(needs.tables, needs.primary, pattern.secondary[: len(needs.tables)])


def _leading(pattern: Pattern, followers: Followers) -> Pattern:
    """Return what a pattern suppresses of cells that others follow, and its unsafe cells."""
    leads = np.isin(np.arange(len(pattern.secondary)), followers.leaders)
    return replace(pattern, secondary=pattern.secondary & leads)


def with_followers(
    needs: Requirements, chosen: Suppression, followers: Followers, known: sp.csr_array | None = None
) -> Suppression:
    """Return a suppression whose pattern has all followers of what it suppresses, too."""
    if not len(followers.cells):
        return chosen
    pattern = closed(build_system(manageable(needs), chosen.costs, known), followers, chosen.pattern)
    return replace(chosen, pattern=pattern, cost=_paid(chosen.costs, pattern))


def closed(system: System, followers: Followers, pattern: Pattern) -> Pattern:
    """Return the pattern with all that follow suppressed cells, and all that equal those; refuse one that cannot be
    so.
    """
    while True:
        wanted = followers.joined(pattern.hidden)
        wider = system.pattern(system.merge(wanted))
        if (wider.hidden == pattern.hidden).all():
            break
        pattern = wider
    refuse_shown(wanted & ~pattern.hidden & ~system.needs.world.constraints.empty, pattern.tables)
    return pattern


def refuse_shown(stays: BoolArray, tables: TableSet) -> None:
    """Refuse cells that stay published although they follow suppressed ones."""
    if stays.any():
        raise NotProtected(
            f"{tables.message_name(int(np.argmax(stays)))} must be published, but follows a cell that is "
            "suppressed; leave "
            "it out of `must_publish`, or its table out of `hide_with`"
        )
