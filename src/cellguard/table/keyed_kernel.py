"""The compiled part of `keyed_cells`: codes of keys, and which cell is taken into which."""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel(nogil=True)
def decode(keys, extents):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the codes of some keys, one row per dimension."""
    codes = np.empty((len(extents), len(keys)), np.int32)
    for i in range(len(keys)):
        rest = keys[i]
        for d in range(len(extents) - 1, -1, -1):
            upper = rest // extents[d]
            codes[d, i] = rest - upper * extents[d]
            rest = upper
    return codes


@kernel(nogil=True)
def count_steps(codes, first, start, rung, rungs):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return how many cells each rung takes into others.

    A cell takes part in dimension d if its codes of all later ones are leaves; the codes above a code are
    ``start[i]:start[i + 1]`` with i = first[d] + code. A leaf is of rung 0 by its own entry, see `keyed_cells`.
    """
    counts = np.zeros(rungs, np.int64)
    for cell in range(codes.shape[1]):
        for d in range(len(first) - 1, -1, -1):
            i = first[d] + codes[d, cell]
            for edge in range(start[i] + 1, start[i + 1]):
                counts[rung[edge]] += 1
            if rung[start[i]]:
                break
    return counts


@kernel(nogil=True)
def _search(keys, key):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return the place of a key; numpy's own search takes a second to compile."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(nogil=True)
def fill_steps(codes, first, start, rung, shift, keys, where, place):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return each cell and the one that it is taken into, rung by rung; ``place`` is where each rung begins."""
    child, parent = np.empty(place[-1], np.int32), np.empty(place[-1], np.int32)
    place = place[:-1].copy()
    for cell in range(codes.shape[1]):
        for d in range(len(first) - 1, -1, -1):
            i = first[d] + codes[d, cell]
            for edge in range(start[i] + 1, start[i + 1]):
                key = keys[cell] + shift[edge]
                child[place[rung[edge]]] = cell
                parent[place[rung[edge]]] = where[key] if len(where) else _search(keys, key)
                place[rung[edge]] += 1
            if rung[start[i]]:
                break
    return child, parent


@kernel(nogil=True)
def climb_cube(cube, child, parent):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Mark the codes above marked ones; the dimension is the middle axis."""
    for outer in range(cube.shape[0]):
        for i in range(len(child)):
            for inner in range(cube.shape[2]):
                cube[outer, parent[i], inner] |= cube[outer, child[i], inner]


@kernel(nogil=True)
def number_cube(cube, extents, count):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the marked keys, the number of each among them, and their codes as `decode` does."""
    keys, where = np.empty(count, np.int64), np.zeros(len(cube), np.int32)
    codes = np.empty((len(extents), count), np.int32)
    here, number = np.zeros(len(extents), np.int32), 0
    for key in range(len(cube)):
        if cube[key]:
            keys[number], where[key] = key, number
            for d in range(len(extents)):
                codes[d, number] = here[d]
            number += 1
        d = len(extents) - 1
        here[d] += 1
        while d > 0 and here[d] == extents[d]:
            here[d] = 0
            d -= 1
            here[d] += 1
    return keys, where, codes
