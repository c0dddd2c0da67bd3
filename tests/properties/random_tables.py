"""Random hierarchies, dimensions and tables that add up, for the properties.

Hypothesis draws the sizes and a seed, and a generator does the rest: so examples are as large as they are meant to be,
and a failing one shrinks by its sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from cellguard.hierarchy.build import from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.read import About, cells

from oracle import ancestors, leaves_below

quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
TOPICS = {("x", "all"): 1, ("x", "large"): 2, ("y", "all"): 3}


def pick(rng, things):
    return things[rng.integers(len(things))]


def some(rng, things, chance=0.5):
    return [thing for thing in things if rng.random() < chance]


def random_hierarchy(rng, size):
    """A tree of any shape: ragged, with single-child levels, now and then a single chain."""
    codes = [f"c{i}" for i in range(1, size + 1)]
    reach = pick(rng, [1, 3, size])
    above = [pick(rng, ["Total", *codes[:i]][-reach:]) for i in range(size)]
    return from_parents([("Total", ""), *zip(codes, above, strict=True)])


def random_grouping(rng, hierarchy):
    """Another tree over the same leaves, which may share whole branches with the first."""
    todo, shared = ["Total"], []
    while todo:
        unit = todo.pop()
        below = hierarchy.children(unit)
        if below and (unit == "Total" or rng.random() < 0.5):
            todo += below
        else:
            shared.append(unit)
    groups = [f"g{i}" for i in range(1, 1 + rng.integers(1, 4))]
    above = {group: pick(rng, ["Total", *groups[:i]]) for i, group in enumerate(groups)}
    above |= {unit: pick(rng, ["Total", *groups]) for unit in shared}
    above |= {code: chain[0] for code, chain in ancestors(hierarchy).items() if set(chain) & set(shared)}
    while empty := [group for group in groups if group in above and group not in above.values()]:
        del above[empty[0]]
    return from_parents([("Total", ""), *above.items()])


def random_dimension(rng, name, size):
    main = random_hierarchy(rng, size)
    return Dimension(name, main, *(random_grouping(rng, main) for _ in range(pick(rng, [0, 0, 1]))))


def leaves_of(dimension):
    """The leaves of each code of a dimension, whatever the grouping that has it."""
    return {code: leaves for h in dimension.hierarchies for code, leaves in leaves_below(h).items()}


def random_codes(rng, dimension):
    """Some of the codes, so that a code's shown parts leave out no leaf of it (or none of its parts is shown)."""
    shown = set(some(rng, dimension.codes, pick(rng, [0.5, 0.8, 1]))) or {dimension.total}
    while lost := {leaf for h in dimension.hierarchies for leaf in _uncovered(h, shown)}:
        shown |= lost
    return [code for code in dimension.codes if code in shown]


def _uncovered(hierarchy, shown):
    above, leaves = ancestors(hierarchy), leaves_below(hierarchy)
    for whole in shown & set(hierarchy.codes):
        parts = [code for code in hierarchy.codes if code in shown and whole in above[code]]
        if parts:
            yield from leaves[whole] - set().union(*(leaves[part] for part in parts))


@dataclass(frozen=True)
class World:
    """Dimensions and one value for each combination of their leaves."""

    dimensions: tuple[Dimension, ...]
    value: np.ndarray

    def totals(self, wanted):
        """The totals of all combinations of some codes, by dimension name; a dimension left out is at its total."""
        cube = self.value
        for axis, dimension in enumerate(self.dimensions):
            below = leaves_of(dimension)
            parts = [
                cube.take([i for i, leaf in enumerate(dimension.main.leaves) if leaf in below[code]], axis).sum(axis)
                for code in wanted.get(dimension.name, [dimension.total])
            ]
            cube = np.stack(parts, axis)
        return cube.ravel()


def random_world(rng, many, size):
    """Dimensions with at most so many codes besides the total, and leaf values, often 0 and sometimes negative."""
    dims = tuple(random_dimension(rng, f"d{i}", int(rng.integers(1 + size // 2, size + 1))) for i in range(many))
    shape = [len(d.main.leaves) for d in dims]
    filled = rng.random(shape) < pick(rng, [0.2, 0.6, 1])
    return World(dims, np.where(filled, rng.integers(pick(rng, [-3, 1]), 20, shape), 0))


def table_of(rng, world, codes, *, scale=1, about=None):
    """The table of the world with the given codes, by dimension name; empty cells have a row or not."""
    dims = [d for d in world.dimensions if d.name in codes]
    names = list(product(*(codes[d.name] for d in dims)))
    values = scale * world.totals(codes)
    stored = rng.permutation(np.flatnonzero((values != 0) | (rng.random(len(values)) < pick(rng, [0, 0.3, 1]))))
    stored = stored if len(stored) else np.array([0])
    columns = dict(zip(codes, zip(*(names[i] for i in stored), strict=True), strict=True))
    return cells({**columns, "x": values[stored]}, dims, value="x", about=about or About())


def random_table(rng, shape, whole=False):
    world = random_world(rng, *shape)
    dims = world.dimensions
    return table_of(rng, world, {d.name: list(d.codes) if whole else random_codes(rng, d) for d in dims})


def random_tables(rng, shape, many):
    """Tables over subsets of the same dimensions, some about the same thing."""
    world = random_world(rng, *shape)
    found = []
    for i in range(many):
        response_key = pick(rng, list(TOPICS))
        about = About(name=f"t{i}", response=response_key[0], population=response_key[1])
        dims = some(rng, world.dimensions, 0.7) or [pick(rng, world.dimensions)]
        codes = {d.name: random_codes(rng, d) for d in dims}
        found.append(table_of(rng, world, codes, scale=TOPICS[response_key], about=about))
    return found


shapes = st.sampled_from([(1, 3), (2, 3), (1, 12), (2, 8), (3, 5), (4, 3)])
small_shapes = st.sampled_from([(1, 3), (2, 3), (1, 12), (2, 6), (3, 3)])
hierarchies = st.builds(random_hierarchy, generators, st.integers(1, 9))
dimensions = st.builds(random_dimension, generators, st.just("d"), st.integers(1, 9))
tables = st.builds(random_table, generators, shapes)
small_tables = st.builds(random_table, generators, small_shapes)
whole_tables = st.builds(random_table, generators, small_shapes, st.just(True))
linked_tables = st.builds(random_tables, generators, shapes.filter(lambda shape: shape[0] < 4), st.integers(1, 4))
