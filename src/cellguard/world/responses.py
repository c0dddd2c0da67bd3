"""Equations between responses, over the cover cells of their clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cellguard.table.numbering import ResponseKey
from cellguard.world.builder import Builder, ResponseClusters
from cellguard.world.clusters import listed, shared
from cellguard.world.cover_cells import TooLarge, length
from cellguard.world.table_views import Labels, coarsest


def tie_equations(builder: Builder, responses: Mapping[ResponseKey, ResponseClusters]) -> list[str]:
    """Tie the cover cells of responses that an equation ties; name those equations that may tie more than is looked at.

    Parts of a whole are like the codes of one more dimension. They leave the hypergraph as it is if all parts have the
    same largest tables as the whole, or all parts have one largest table over the same dimensions, which a table of the
    whole has too. With a minus sign a response is no part of another, and only one largest table will do.
    """
    tables, untied = builder.tables, []
    once: set[ResponseKey] = set()
    for equation in tables.equations:
        for population in dict.fromkeys(t.population for t in tables.tables):
            response_keys = [(name, population) for _, name in equation.terms]
            if any(response_key not in tables.response_keys for response_key in response_keys):
                continue
            shapes = [
                _shape(responses[response_key]) if response_key in responses else None for response_key in response_keys
            ]
            signs = [sign for sign, _ in equation.terms]
            again = bool(once & set(response_keys[1:]))
            once |= set(response_keys[1:])
            shared = _shared_shapes(shapes, signs, again)
            if shared is None:
                untied.append(f"the equation {equation} ties tables that are not of one shape")
                continue
            for shape in shared:
                _tie_sums(builder, [responses[response_key] for response_key in response_keys], signs, shape)
    return untied


def _shared_shapes(
    shapes: Sequence[frozenset[frozenset[str]] | None], signs: Sequence[int], again: bool
) -> frozenset[frozenset[str]] | None:
    """Return the sets of dimensions over which an equation ties everything there is to tie; None if there is more."""
    whole, parts = shapes[0], shapes[1:]
    if whole is None or any(part is None for part in parts):
        return None
    plus = all(sign < 0 for sign in signs[1:])
    if len(whole) == 1 and all(part == whole for part in parts):
        return whole
    if not plus or again:
        return None
    if all(part == whole for part in parts):
        return whole
    first = parts[0]
    inside = first is not None and len(first) == 1 and any(next(iter(first)) <= other for other in whole)
    return first if inside and all(part == first for part in parts) else None


def _tie_sums(
    builder: Builder, responses: Sequence[ResponseClusters], signs: Sequence[int], shape: frozenset[str]
) -> None:
    """Tie responses over each combination of the parts of some dimensions."""
    rooms = [max((r for r in h.rooms if shape <= set(r.labels)), key=lambda r: -len(r.labels)) for h in responses]
    common: dict[str, Labels] = {}
    for name in sorted(shape):
        labels = rooms[0].labels[name]
        for room in rooms[1:]:
            coarser = coarsest(labels, room.labels[name])
            if coarser is None:
                raise TooLarge
            labels = coarser
        common[name] = labels
    groups, columns = shared(common, rooms)
    combinations = length(columns)
    for clusters, room, sign, group in zip(responses, rooms, signs, groups, strict=True):
        own = builder.own(clusters.response_key)
        cell = listed(builder, room, own, common, columns)
        there = np.flatnonzero(cell >= 0)
        rest = np.flatnonzero(cell[group] < 0)
        nobody = np.full(combinations, -1)
        builder.tie(
            nobody, np.concatenate([there, group[rest]]), np.concatenate([cell[there], room.cell[rest]]), float(sign)
        )
        builder.height -= combinations  # all terms belong to the same relations
    builder.height += combinations


def _shape(clusters: ResponseClusters) -> frozenset[frozenset[str]]:
    """Return the dimensions of the largest clusters of a response."""
    sets = {frozenset(room.labels) for room in clusters.rooms}
    return frozenset(one for one in sets if not any(one < other for other in sets))
