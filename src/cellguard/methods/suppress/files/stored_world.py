"""The world behind the tables, as the certificate states it: clusters, partitions, and the latent cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.arrays import Positions
from cellguard.attack.audit import Audit
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io.write import csv_text
from cellguard.world.table_views import Labels
from cellguard.world.world import World

NOBODY = -1


def write_world(folder: Path, audit: Audit) -> list[dict[str, Any]]:
    """Write partitions and latent cells into the internal folder; return the clusters of each response."""
    world = audit.needs.world
    dimensions = world.tables.dimensions
    partitions: dict[str, list[Labels]] = {name: [] for name in dimensions}
    responses = []
    for clusters in world.constraints.responses:
        rooms = [
            {
                "tables": [world.tables.tables[i].name for i in room.tables],
                "parts": {name: _number(partitions[name], labels) for name, labels in room.labels.items()},
                "parent": room.parent,
            }
            for room in clusters.rooms
        ]
        responses.append(
            {"response": clusters.response_key[0], "population": clusters.response_key[1], "clusters": rooms}
        )
    (folder / "parts").mkdir()
    for name, dimension in dimensions.items():
        _write_parts(folder / "parts" / f"{name}.csv", dimension, partitions[name])
    _write_between(folder / "world.parquet", world, audit, list(dimensions))
    return responses


def stated_between(world: World) -> Positions:
    """Return the latent cells that are cover cells; the others are sums of these, and follow."""
    cover_cells = [room.cell for clusters in world.constraints.responses for room in clusters.rooms]
    cells = np.concatenate([np.zeros(0, np.intp), *cover_cells]) - len(world.tables)
    return np.sort(cells[cells >= 0])


def _number(known: list[Labels], labels: Labels) -> int:
    """Return the number of a partition, a new one if it is not known yet."""
    for number, other in enumerate(known):
        if np.array_equal(other, labels):
            return number
    known.append(labels)
    return len(known) - 1


def _write_parts(path: Path, dimension: Dimension, partitions: list[Labels]) -> None:
    header = ["leaf", *(str(number) for number in range(len(partitions)))]
    rows = zip(dimension.main.leaves, *(labels.tolist() for labels in partitions), strict=True)
    path.write_text(csv_text(header, rows), encoding="utf-8")


def _write_between(path: Path, world: World, audit: Audit, names: list[str]) -> None:
    """Write one row a latent cell: its response, its cluster, its part of each dimension and its value in grains."""
    n, many = len(world.tables), world.between
    stated = stated_between(world)
    cluster = np.full(many, NOBODY, np.int64)
    part = {name: np.full(many, NOBODY, np.int64) for name in names}
    for clusters in world.constraints.responses:
        for number, room in enumerate(clusters.rooms):
            mine = np.flatnonzero(room.cell >= n)
            at = room.cell[mine] - n
            cluster[at] = number
            for name, column in room.cover_cells.items():
                part[name][at] = column[mine]
    columns = {
        "group": pa.array(world.constraints.response_key[stated], pa.int32()),
        "cluster": pa.array(cluster[stated], pa.int32()),
        **{f"part:{name}": pa.array(part[name][stated], pa.int32()) for name in names},
        "value": pa.array(audit.grains.value[n:][stated], pa.int64()),
    }
    pq.write_table(pa.table(columns), path)
