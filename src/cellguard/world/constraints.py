"""What ties the cells of all tables of a population together, though no table may list the cells in between.

For each response the tables are arranged in clusters (see `hypergraph`). The cover cells of a cluster are cells that a
table lists, or else *latent cells*: unpublished variables. Every finest cell of a table is the sum of its cover cells,
and clusters that are linked agree on what they share. Tables of other responses say where there is nobody at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, Positions
from cellguard.table.relations import Relations
from cellguard.table.tableset import TableSet
from cellguard.world.builder import Builder, ResponseClusters
from cellguard.world.clusters import build_response
from cellguard.world.cover_cells import TableView, TooLarge
from cellguard.world.responses import tie_equations
from cellguard.world.table_views import view

T = TypeVar("T", bound=np.generic)
MOST = 2_000_000  # cover cells of a cluster that are looked at


@dataclass(frozen=True, eq=False)
class Constraints:
    """The latent cells and what ties them to the listed ones.

    Cells are numbered on from the listed ones. ``response`` is the number of each latent cell's response and
    population; ``crossing`` marks latent cells that belong to no single table. ``empty`` marks listed cells of which
    readers know that they are 0, ``occupied`` those that they know to be not empty. ``open`` says in words what could
    not be tied, and so is not part of any proof; ``accepted`` the same of what the user does not want to be looked at.
    """

    tables: TableSet
    relations: Relations
    response_key: Positions
    crossing: BoolArray
    empty: BoolArray
    occupied: BoolArray
    responses: tuple[ResponseClusters, ...]
    open: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    def extend(self, listed: npt.NDArray[T], between: npt.NDArray[T] | bool | float) -> npt.NDArray[T]:
        """Return one array over all cells from one over the listed ones and a filling for those between."""
        return np.concatenate([listed, np.broadcast_to(np.asarray(between, listed.dtype), len(self.response_key))])

    def by_response_key(self, listed: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return a property of the listed cells for all cells: between, that of another cell of the same response."""
        some = np.zeros(len(self.tables.response_keys), np.intp)
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            some[self.tables.response_keys.index(table.response_key)] = cells[0]
        return self.extend(listed, listed[some][self.response_key])

    def cell_name(self, cell: int) -> str:
        """Return a cell as 'turnover: North/B'; of a latent cell, in words which part of the world it is."""
        if cell < len(self.tables):
            return self.tables.cell_name(cell)
        response = self.tables.response_keys[int(self.response_key[cell - len(self.tables)])][0]
        for room in (room for clusters in self.responses for room in clusters.rooms):
            atom = np.flatnonzero(room.cell == cell)
            if len(atom):
                words = [f"{name} part {int(column[atom[0]])}" for name, column in room.cover_cells.items()]
                return f"an unpublished cell of {response} ({', '.join(words)})"
        return f"an unpublished cell of {response}"


def constrain_tables(
    tables: TableSet, *, crossing: bool = True, most: int = MOST, values_known: bool = True
) -> Constraints:
    """Find what lies between the listed cells.

    Without ``crossing`` nothing is asked of tables that only cross. ``values_known`` is whether suppressed values are
    the true ones; otherwise they stand as 0.
    """
    views = [
        TableView(
            t,
            {d.name: view(d, c) for d, c in zip(t.dimensions, t.codes, strict=True)},
            np.ones(len(t), bool),
            values_known,
        )
        for t in tables.tables
    ]
    builder = Builder(tables, views, crossing, most)
    responses, open_ = [], []
    for number, response_key in enumerate(tables.response_keys):
        try:
            responses.append(build_response(builder, number, response_key))
        except TooLarge:
            names = [tables.tables[i].name for i in builder.own(response_key)]
            open_.append(f"the tables {', '.join(names)} cross in more than {most:,} combinations, too many to look at")
    try:
        open_ += tie_equations(builder, {clusters.response_key: clusters for clusters in responses})
    except TooLarge:
        open_.append("an equation ties tables whose groupings do not nest")
    open_ += [] if crossing else _crossings(tables, responses)
    return Constraints(
        tables,
        builder.relations(),
        np.array(builder.response_key, np.intp),
        np.array(builder.crosses, bool),
        builder.empty,
        np.concatenate([builder.occupied, np.array(builder.occupied_between, bool)]),
        tuple(responses),
        tuple(open_) if crossing else (),
        () if crossing else tuple(open_),
    )


def _crossings(tables: TableSet, responses: Sequence[ResponseClusters]) -> list[str]:
    """Name the tables that form cycles."""
    rooms = [room for clusters in responses for room in clusters.rooms if room.crossing]
    return [f"the tables {', '.join(tables.tables[i].name for i in room.tables)} cross each other" for room in rooms]
