"""Clusters and latent cells, as they are collected: what each is, and the relations that tie them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.table.numbering import ResponseKey
from cellguard.table.relations import Relations, distinct_rows
from cellguard.table.tableset import TableSet
from cellguard.world.cover_cells import Columns, TableView
from cellguard.world.table_views import Labels


@dataclass(frozen=True, eq=False)
class ResponseCluster:
    """A cluster of one response: the tables in it, its partition of each dimension, and its cover cells with their
    cells.

    ``cell`` is the cell of the whole numbering that each cover cell is: a listed one, or one between. ``crossing`` says
    that several tables meet in it, and ``asked`` whether anybody wants to know its cover cells.
    """

    tables: tuple[int, ...]
    labels: Mapping[str, Labels]
    cover_cells: Columns
    cell: Positions
    parent: int | None
    crossing: bool
    asked: bool = True

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, eq=False)
class ResponseClusters:
    """All clusters of one response and population, those that hang on others first."""

    response_key: ResponseKey
    rooms: tuple[ResponseCluster, ...]


@dataclass(eq=False)
class Builder:
    """Collects latent cells and relations; ``empty`` and ``occupied`` are over the listed cells.

    ``crossing`` and ``most`` say whether crossing tables are asked for, and up to how many cover cells.
    """

    tables: TableSet
    views: Sequence[TableView]
    crossing: bool
    most: int
    empty: BoolArray = field(init=False)
    occupied: BoolArray = field(init=False)
    response_key: list[int] = field(default_factory=list)
    crosses: list[bool] = field(default_factory=list)
    occupied_between: list[bool] = field(default_factory=list)
    number: list[LongArray] = field(default_factory=list)
    columns: list[LongArray] = field(default_factory=list)
    signs: list[FloatArray] = field(default_factory=list)
    height: int = 0

    def __post_init__(self) -> None:
        self.empty, self.occupied = np.zeros(len(self.tables), bool), np.zeros(len(self.tables), bool)

    def own(self, response_key: ResponseKey) -> list[int]:
        """Return the tables of a response."""
        return [i for i, t in enumerate(self.tables.tables) if t.response_key == response_key]

    def between(self, n: int, response_key: int, *, crossing: bool, occupied: bool = False) -> Positions:
        """Return new latent cells."""
        start = len(self.tables) + len(self.response_key)
        self.response_key += [response_key] * n
        self.crosses += [crossing] * n
        self.occupied_between += [occupied] * n
        return np.arange(start, start + n)

    def tie(self, wholes: Positions, group: Positions, parts: Positions, sign: float = -1.0) -> None:
        """Add relations whole = sum of parts, one for each whole (-1: 0); ``group`` is the whole of each part."""
        there = np.flatnonzero(wholes >= 0)
        self.number.append(self.height + np.concatenate([there, group]))
        self.columns.append(np.concatenate([wholes[there], parts]))
        self.signs.append(np.concatenate([np.ones(len(there)), np.full(len(parts), sign)]))
        self.height += len(wholes)

    def relations(self) -> Relations:
        """Return the tables' own relations and all that were collected."""
        first, width = self.tables.relations, len(self.tables) + len(self.response_key)
        first = sp.csr_array((first.data, first.indices, first.indptr), shape=(first.shape[0], width))
        if not self.height:
            return first
        place = (np.concatenate(self.number), np.concatenate(self.columns))
        more = sp.csr_array((np.concatenate(self.signs), place), shape=(self.height, width))
        return distinct_rows(sp.csr_array(sp.vstack([first, more], format="csr")))
