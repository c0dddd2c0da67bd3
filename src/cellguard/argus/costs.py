"""What suppressing a cell costs: ``<SPECIFYTABLE>`` names a variable, or -1 records, -2 the same for all, -3 distance.

A power lambda between 0 and 1 flattens costs; with 0 they are log(1 + x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.argus.commands import SpecifyTable
from cellguard.arrays import FloatArray
from cellguard.errors import InputError

LEAST = 0.0001  # of a cell whose cost would be 0


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of each cell, the variable that it is from, and whether nearness to unsafe cells decides instead."""

    numbers: FloatArray
    name: str = ""
    distant: bool = False


def cost_of(spec: SpecifyTable, value: FloatArray, freq: FloatArray, variable: FloatArray | None) -> Cost:
    """Return the costs of cells from what the batch asks for."""
    if spec.cost == "-1":
        return Cost(_flattened(freq, spec.power))
    if spec.cost == "-2":
        return Cost(np.ones(len(value)))
    if spec.cost == "-3":
        return Cost(np.ones(len(value)), distant=True)
    given = np.abs(value) if variable is None else variable
    if (given < 0).any():
        raise InputError(f"the cost variable {spec.cost!r} is below 0 for some cells; costs are 0 or more")
    return Cost(_flattened(given, spec.power), spec.cost)


def _flattened(numbers: FloatArray, power: float) -> FloatArray:
    """Return numbers to a power, or their logarithms.

    >>> _flattened(np.array([0.0, 4.0]), 0.5).tolist()
    [0.0001, 2.0]
    """
    flat = np.log1p(numbers) if power == 0 else numbers if power == 1 else numbers**power
    return np.asarray(np.maximum(flat, LEAST), float)
