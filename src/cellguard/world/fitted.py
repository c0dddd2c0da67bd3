"""Crossing tables of counts that nobody has records of: their cells, with numbers that fit the tables in front of them.

Ready-made tables by a and b, a and c, b and c have one table by a, b and c behind them, of which only the sums are
known. Any whole numbers that fit will do for its cells: where the tables leave no choice they are the true ones, and
where these differ somebody who knows less than all tables cannot tell either. So whatever published tables determine
has its true number here, and is judged like a listed cell.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cellguard.errors import Place
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.apriori import Apriori
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.fact import Count, Total
from cellguard.table.facts import Facts
from cellguard.table.lattice import build_lattice, cells_by_leaves
from cellguard.table.table import Table
from cellguard.types import IntArray
from cellguard.world.builder import House, Room
from cellguard.world.views import OUTSIDE, Labels, codes_of_parts, view
from cellguard.world.world import World

MOST = 200_000  # cells of a crossing table up to which it is judged


def fitted_table(world: World, house: House, name: str, most: int = MOST) -> Table | None:
    """Return the crossing table behind the tables of a response, with counts that fit; None if there is none to judge.

    That is so if its tables form no cycle: then every cell that they determine equals one that they list. It is None,
    too, if the crossing table has too many cells, or cells that the codes of the dimensions do not name.
    """
    room = next((room for room in house.rooms if room.crossing and room.asked), None)
    if room is None or not 0 < len(room) <= most:
        return None
    own = [t for t in world.tables.tables if (t.response, t.population) == house.topic]
    dimensions = {d.name: d for t in own for d in t.dimensions}
    columns = _codes(room, dimensions)
    if columns is None:
        return None
    by = tuple(dimensions[name] for name in columns)
    lattice = build_lattice(by, list(columns.values()))
    if len(lattice) > most:
        return None
    atoms = np.bincount(lattice.leaf, world.value[room.cell], lattice.combinations)
    value = np.asarray(cells_by_leaves(lattice) @ atoms, float)
    told = [table.tolerance for table in own if table.tolerance is not None]
    table = Table(
        name=name,
        dimensions=by,
        codes=lattice.codes,
        facts=Facts({Total(): value, Count(): value}),
        apriori=Apriori.silent(len(value)),
        response=house.topic[0],
        population=house.topic[1],
        is_count=True,
        zeros="possible",
        decimals=max(table.decimals for table in own),
        tolerance=max(told, default=None),
        place=Place(f"the table {name!r}", unit="cell"),
        rows=np.arange(len(value)),
        release="fitted",
    )
    return in_hierarchy_order(table)


def _codes(room: Room, dimensions: Mapping[str, Dimension]) -> dict[str, IntArray] | None:
    """Return the code that each atom has in each dimension; None if a part of one has no code of its own."""
    if not set(room.labels) <= set(dimensions):
        return None
    columns = {name: _named(dimensions[name], labels)[room.atoms[name]] for name, labels in room.labels.items()}
    return None if any((column == OUTSIDE).any() for column in columns.values()) else columns


def _named(dimension: Dimension, labels: Labels) -> npt.NDArray[np.int32]:
    every = np.arange(len(dimension.codes), dtype=np.int32)
    return codes_of_parts(view(dimension, every), labels)
