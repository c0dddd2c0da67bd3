"""What suppressing a cell costs: functions from a table and its unsafe cells to one number per cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.randomness import stream

if TYPE_CHECKING:
    from cellguard.table.table import Table
    from cellguard.table.tableset import TableSet

Cost = Callable[["Table", BoolArray], FloatArray]
SPREAD = 0.25  # of random factors, measured: see docs/decisions/0021


def value(table: Table, primary: BoolArray) -> FloatArray:
    """Return the size of each cell, at least one unit of the last decimal."""
    return np.maximum(np.abs(table.value), table.unit)


def count(table: Table, primary: BoolArray) -> FloatArray:
    """Return the number of respondents, at least 1."""
    if table.facts.count is None:
        raise InputError(
            f"table {table.name!r}: the cost `count` needs the number of respondents; name its column with `count`"
        )
    return np.maximum(table.facts.count, 1.0)


def constant(table: Table, primary: BoolArray) -> FloatArray:
    """Return 1 for every cell: as few cells as possible are suppressed."""
    return np.ones(len(table))


def log(table: Table, primary: BoolArray) -> FloatArray:
    """Return log(1 + size in units), between `value` and `constant`."""
    return np.maximum(np.log1p(np.abs(table.value) / table.unit), 1e-6)


def box_cox(exponent: float, table: Table, primary: BoolArray) -> FloatArray:
    """Return the size in units to the power of ``exponent``, as τ-ARGUS's lambda; an exponent of 0 is `log`."""
    if not 0 <= exponent <= 1:
        raise InputError(f"box_cox: the exponent must lie between 0 and 1, not {exponent:g}")
    if exponent == 0:
        return log(table, primary)
    return np.maximum((np.abs(table.value) / table.unit) ** exponent, 1e-6)


def distance(table: Table, primary: BoolArray) -> FloatArray:
    """Return 1 + the number of relations between a cell and the nearest unsafe one: suppress near to what is
    suppressed.
    """
    steps = np.where(primary, 1.0, np.inf)
    relations = abs(table.relations)
    for step in range(1, len(table) + 1):
        reached = (relations.T @ (relations @ np.isfinite(steps).astype(float) > 0).astype(float)) > 0
        new = reached & np.isinf(steps)
        if not new.any():
            break
        steps[new] = step + 1.0
    far = np.isinf(steps)
    steps[far] = steps[~far].max(initial=1.0) + 1.0
    return steps


def inner_first(base: Cost, table: Table, primary: BoolArray) -> FloatArray:
    """Return a cost doubled for each level that the cell's codes lie above the finest: inner cells before margins."""
    above = np.zeros(len(table))
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        level = dimension.level[column]
        above += level.max(initial=0) - level
    return base(table, primary) * 2.0**above


def weighted_sum(parts: list[tuple[Cost, float]], table: Table, primary: BoolArray) -> FloatArray:
    """Return a sum of costs, each times its weight."""
    return np.sum([weight * cost(table, primary) for cost, weight in parts], axis=0)


COSTS: Mapping[str, Cost] = {
    "value": value,
    "count": count,
    "constant": constant,
    "log": log,
    "distance": distance,
}
_FORMS = ("box_cox", "inner_first", "sum")


def parse_cost(data: object) -> Cost:
    """Return the cost that a job describes: a name, {box_cox: 0.5}, {inner_first: cost} or {sum: [{cost, weight}]}.

    >>> parse_cost("constant").__name__
    'constant'
    """
    if isinstance(data, str):
        if data not in COSTS:
            raise InputError(f"unknown cost {data!r}{did_you_mean(data, [*COSTS, *_FORMS])}")
        return COSTS[data]
    if not isinstance(data, Mapping) or len(data) != 1:
        raise InputError("a cost is a name such as `value`, or {box_cox: 0.5}, {inner_first: value}, {sum: [...]}")
    ((form, what),) = data.items()
    if form == "box_cox" and isinstance(what, (int, float)) and not isinstance(what, bool):
        return partial(box_cox, float(what))
    if form == "inner_first":
        return partial(inner_first, parse_cost(what))
    if form == "sum" and isinstance(what, list) and what:
        return partial(weighted_sum, [_part(item) for item in what])
    if form not in _FORMS:
        raise InputError(f"unknown cost {form!r}{did_you_mean(str(form), [*COSTS, *_FORMS])}")
    raise InputError(f"the cost {form} is written as {{box_cox: 0.5}} or {{sum: [{{cost: value, weight: 1}}]}}")


def _part(item: object) -> tuple[Cost, float]:
    if not isinstance(item, Mapping) or set(item) != {"cost", "weight"}:
        raise InputError("each part of a sum has the keys cost and weight")
    weight = item["weight"]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < np.inf:
        raise InputError("the weight of a cost must be a number above 0")
    return parse_cost(item["cost"]), float(weight)


def set_costs(tables: TableSet, primary: BoolArray, costs: Mapping[str, Cost]) -> FloatArray:
    """Return the cost of each distinct cell: the highest of the tables that show it; costs of single cells replace it.

    A cost column of the cells or the a-priori file says what single cells cost.
    """
    found = np.zeros(len(tables))
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.release != "here":  # nobody shows it now, so that it costs nothing to suppress
            continue
        own = costs[table.name](table, primary[cells])
        own = np.where(np.isnan(table.apriori.cost), own, table.apriori.cost)
        found[cells] = np.maximum(found[cells], own)
    return found


def random_factors(cells: int, seed: int, spread: float = SPREAD) -> FloatArray:
    """Return a random factor for the cost of each cell: e to the power of a normal number with that deviation.

    Whoever runs the program on other tables learns which of them give the pattern that was released. With factors that
    how many more do is not known; none is ruled out for its costs alone, since the factors have no bounds.

    >>> bool((random_factors(3, 7) == random_factors(3, 7)).all()), bool((random_factors(3, 8) > 0).all())
    (True, True)
    """
    from scipy.special import ndtri  # few jobs draw factors, and all of them read the names of costs

    return np.exp(spread * ndtri(stream(seed, "costs").uniform(cells)))


def costs_by(tables: TableSet, primary: BoolArray, cost: object) -> FloatArray:
    """Return the cost of each distinct cell, given as a job writes it, as a function, or as numbers.

    >>> from cellguard.table.read import cells
    >>> from cellguard.table.tableset import link
    >>> signed = link(cells({"r": ["Total", "N", "S"], "x": [0, -5, 5]}, by=["r"], value="x"))
    >>> costs_by(signed, np.zeros(3, bool), "value").tolist()
    [1.0, 5.0, 5.0]
    """
    if callable(cost) or isinstance(cost, (str, Mapping)):
        each = cost if callable(cost) else parse_cost(cost)
        return _checked(set_costs(tables, primary, {table.name: each for table in tables.tables}), len(tables))
    return _checked(np.asarray(cost, float), len(tables))


def _checked(costs: FloatArray, cells: int) -> FloatArray:
    """Refuse costs that a search cannot minimise: another number of them, missing, infinite or negative."""
    if costs.shape != (cells,):
        raise InputError(f"`cost` must be a name such as 'value', or one number for each of the {cells} distinct cells")
    if not (np.isfinite(costs) & (costs >= 0)).all():
        raise InputError('a cost is negative, missing or infinite; `cost="value"` takes the size of each cell')
    return costs
