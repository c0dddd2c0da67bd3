"""Replication studies: the same perturbation many times, with averages and variation of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.errors import InputError
from cellguard.protect.perturb.incidence import CalibrationTable
from cellguard.protect.perturb.noise import CellNoise, NoiseStatistics, groups_of, noise_statistics
from cellguard.protect.perturb.sensitivity import needs_of, still_unsafe
from cellguard.protect.perturb.zes import Zes, draw_multipliers, perturbed
from cellguard.table.facts import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Replication:
    """What many replications gave for every cell of all tables, one table below the other.

    ``mean_ratio`` is the mean of perturbed total / total (Cuppen 2000, table 7.1), ``cv`` the coefficient of variation
    of the perturbed total (7.2), NaN where the total is 0; ``noise`` the cells' average noise; ``unsafe`` how often, as
    a share, a cell was still unsafe.
    """

    tables: tuple[CalibrationTable, ...]
    replications: int
    mean_ratio: FloatArray
    cv: FloatArray
    noise: CellNoise
    unsafe: FloatArray

    def statistics(self, *, by_dominance: bool = False) -> NoiseStatistics:
        """Return the result table: averages of each cell first, then over cells."""
        interior, sensitive = groups_of(self.tables, by_dominance)
        return noise_statistics(self.noise, interior=interior, sensitive=sensitive)


def replicate(
    tables: Sequence[CalibrationTable],
    zes: Zes,
    seed: int,
    *,
    replications: int = 1000,
    mu: FloatArray | None = None,
    only: BoolArray | None = None,
) -> Replication:
    """Draw multipliers again and again, each time from a stream of its own, and tabulate.

    All tables must be of the same records; ``mu`` and ``only`` are as for `draw_multipliers`.
    """
    if replications < 2:
        raise InputError(f"a replication study needs at least 2 replications, not {replications}")
    if not tables or any(table.records is not tables[0].records for table in tables):
        raise InputError("a replication study needs one or more tables, all of the same records")
    records = tables[0].records
    needs = [needs_of(table) for table in tables]
    totals = np.concatenate([table.total for table in tables])
    shift, square, size, unsafe = (np.zeros(len(totals)) for _ in range(4))
    for number in range(replications):
        multipliers = draw_multipliers(records, zes, seed, mu=mu, only=only, purpose=number)
        values = {r: perturbed(records, r, multipliers) for r in {table.response: None for table in tables}}
        noise = [table.sums(values[table.response]) - table.total for table in tables]
        unsafe += np.concatenate([still_unsafe(n, e) for n, e in zip(needs, noise, strict=True)])
        e = np.concatenate(noise)
        shift += e
        square += e**2
        size += np.abs(e)
    mean = shift / replications
    spread = np.sqrt(np.maximum(square - replications * mean**2, 0.0) / (replications - 1))
    return Replication(
        tuple(tables),
        replications,
        1 + _over(mean, totals),
        _over(spread, np.abs(totals)),
        CellNoise(100 * _over(size / replications, np.abs(totals)), size / replications, square / replications),
        unsafe / replications,
    )


def _over(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole != 0)
