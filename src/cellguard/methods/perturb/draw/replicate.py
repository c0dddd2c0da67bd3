"""Replication studies: the same perturbation many times, with averages and variation of every cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe
from cellguard.methods.perturb.draw.attributes import draw_attributes
from cellguard.methods.perturb.draw.balanced import balance
from cellguard.methods.perturb.draw.multipliers import Multipliers, fitted_leaves
from cellguard.methods.perturb.draw.noise import CellNoise, NoiseStatistics, groups_of, noise_statistics
from cellguard.methods.perturb.draw.zes import draw_multipliers
from cellguard.run_context import Run

_TOLD = 10  # replications between two events


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

    def of(self, number: int) -> slice:
        """Return where the cells of a table are."""
        start = sum(len(table) for table in self.tables[:number])
        return slice(start, start + len(self.tables[number]))

    def statistics(self, *, by_dominance: bool = False) -> NoiseStatistics:
        """Return the result table: averages of each cell first, then over cells."""
        interior, sensitive = groups_of(self.tables, by_dominance)
        return noise_statistics(self.noise, interior=interior, sensitive=sensitive)


def replicate_as_drawn(
    tables: Sequence[CalibrationTable], made: Multipliers, *, replications: int = 1000, run: Run | None = None
) -> Replication:
    """Repeat what made some multipliers: their plan and strata, attribute multipliers, definitions and rounding."""
    plan, how = made.plan, made.settings.attributes
    if not plan.repeatable:
        raise InputError("multipliers from a file do not say who is in which stratum; study them when they are drawn")
    leaves, run = list(made.by_leaf(_responses(tables))), run or Run()

    def draw(number: int) -> dict[str, FloatArray]:
        base = draw_multipliers(made.records, plan.zes, made.seed, mu=plan.by_unit, only=plan.only, purpose=number)
        again = replace(made, base=base)
        if made.settings.fitted is not None:
            again = replace(again, attributes=fitted_leaves(again, tables, number, run=run)[0])
        else:
            if made.settings.method == "balanced":
                base = balance(again, tables, made.settings.balanced)[0]
                again = replace(made, base=base)
            purpose = ("replication", number)
            attributes = draw_attributes(made.records, base, leaves, how, made.seed, purpose=purpose)
            again = replace(again, attributes=attributes)
        return {response: again.contributions(response) for response in _responses(tables)}

    return _study(tables, draw, replications, run)


def _responses(tables: Sequence[CalibrationTable]) -> list[str]:
    return list(dict.fromkeys(table.response for table in tables))


def _study(
    tables: Sequence[CalibrationTable], draw: Callable[[int], Mapping[str, FloatArray]], replications: int, run: Run
) -> Replication:
    """Tabulate what ``draw`` says that records add to each response, for each number of a replication."""
    if replications < 2:
        raise InputError(f"a replication study needs at least 2 replications, not {replications}")
    if not tables or any(table.records is not tables[0].records for table in tables):
        raise InputError("a replication study needs one or more tables, all of the same records")
    needs = [needs_of(table) for table in tables]
    totals = np.concatenate([table.total for table in tables])
    shift, square, size, unsafe = (np.zeros(len(totals)) for _ in range(4))
    for number in range(replications):
        run.check()
        if number % _TOLD == 0:
            run.tell(f"{number:,} of {replications:,} replications", number, replications)
        values = draw(number)
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
