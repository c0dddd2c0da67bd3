"""`ChangedResult`: what results of all methods that change figures have in common; they say what, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import LongArray
from cellguard.inputs.assessment import Assessment
from cellguard.job.jobfile import Job
from cellguard.seam.method import Result
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class ChangedResult(Result):
    """Tables with other figures than the true ones, and what the rules found in them. Confidential, but the release.

    It must say `drawn` and `verdict`, and so what is released.
    """

    assessed: Assessment

    @property
    def job(self) -> Job:  # type: ignore[override]
        """The job with all tables that were looked at."""
        return self.assessed.job

    @property
    def tables(self) -> Sequence[Table]:
        """The true tables."""
        return self.assessed.tables.tables

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files that were read."""
        return self.assessed.inputs

    @cached_property
    def release(self) -> Release | None:
        """The tables as made, if the verdict allows a release."""
        return self.drawn if self.verdict.allows_release else None

    def names(self) -> list[str]:
        """Return the names of the tables that are published."""
        return [spec.name for spec in self.job.tables if self.assessed.tables[spec.name].release == "here"]

    def with_units(self, units: LongArray) -> Release:
        """Return the published tables, in which every distinct cell has so many units of the last decimal."""
        linked, released = self.assessed.tables, []
        for table, cells in zip(linked.tables, linked.cells_of, strict=True):
            if table.release != "here":
                continue
            rows = np.flatnonzero(~table.unpublished)
            told: Sequence[int | None] = [int(x) for x in units[cells[rows]].tolist()]
            codes = tuple(
                np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True)
            )
            names, gone = tuple(d.name for d in table.dimensions), np.zeros(len(rows), bool)
            head = (table.name, names, codes, told, gone, table.response, table.population, table.decimals)
            released.append(ReleasedTable(*head))
        return Release.of(released, {d.name: d for table in linked.tables for d in table.dimensions})
