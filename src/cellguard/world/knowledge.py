"""What an attacker knows beforehand, and the bounds of every cell that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The a-priori bounds: what an attacker knows of every cell value before the release.

    By default values are not negative and otherwise unbounded. Bounds of single cells replace these. Counts are never
    negative.

    Parameters
    ----------
    lower, upper
        Bounds of every cell.
    percent
        Instead: the attacker knows every value to within this percentage.
    crossing
        Whether the attacker also uses that one cover table exists behind tables that form a cycle.

    Raises
    ------
    InputError
        If ``lower`` is not below ``upper``, or ``percent`` is not above 0.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> findings = cg.assess(t, cg.MinFrequency(3))
    >>> cg.require(findings, cg.Knowledge(percent=5)).upper.tolist()      # he knows the 5 to within 0.25 anyway
    [0.0, 0.25, 0.0]
    """

    lower: float = 0.0
    upper: float = np.inf
    percent: float | None = None
    crossing: bool = True

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise InputError("attack: lower must be below upper")
        if self.percent is not None and not self.percent > 0:
            raise InputError(f"attack: percent must be above 0, not {self.percent:g}")


def least_between(knowledge: Knowledge, never_negative: BoolArray) -> FloatArray:
    """Return the lower bounds of cells that no table lists: 0, unless they are of values that may be negative."""
    return np.where(never_negative | (knowledge.lower >= 0), 0.0, -np.inf)


def listed_bounds(tables: TableSet, knowledge: Knowledge) -> tuple[FloatArray, FloatArray]:
    """Return the attacker's a-priori bounds of the distinct cells; of several bounds on a cell the narrowest."""
    lower = np.full(len(tables), -np.inf)
    upper = np.full(len(tables), np.inf)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.release == "sums":
            continue
        general_lower = np.full(len(table), knowledge.lower)
        general_upper = np.full(len(table), knowledge.upper)
        if knowledge.percent is not None:
            reach = knowledge.percent / 100 * np.abs(table.value)
            general_lower = np.maximum(general_lower, table.value - reach)
            general_upper = np.minimum(general_upper, table.value + reach)
        own_lower = np.where(np.isnan(table.apriori.lower), general_lower, table.apriori.lower)
        own_upper = np.where(np.isnan(table.apriori.upper), general_upper, table.apriori.upper)
        own_lower = np.maximum(own_lower, 0.0) if table.never_negative else own_lower
        outside = (table.value < own_lower) | (table.value > own_upper)
        if outside.any():
            cell = int(np.flatnonzero(outside)[0])
            raise InputError(
                f"{table.where(cell)}: the value of {table.message_name(cell)} lies outside the attacker's a-priori "
                "bounds "
                f"({int(outside.sum())} cells do); correct `lower` and `upper`; for negative "
                "values say `attack: {lower: unbounded}`"
            )
        lower[cells] = np.maximum(lower[cells], own_lower)
        upper[cells] = np.minimum(upper[cells], own_upper)
    if tables.parts is not None:
        # Of a sum the attacker knows what follows from its parts.
        before = tables.parts.shape[1]
        lower[before:], upper[before:] = _added(tables.parts, lower[:before]), _added(tables.parts, upper[:before])
    return lower, upper


def _added(parts: sp.csr_array, bounds: FloatArray) -> FloatArray:
    """Return the sums of the parts' bounds; one without a bound has none."""
    endless = np.isinf(bounds)
    sums = np.asarray(parts @ np.where(endless, 0.0, bounds), float)
    return np.where(parts @ endless.astype(float) > 0, bounds[endless][:1].sum() if endless.any() else 0.0, sums)
