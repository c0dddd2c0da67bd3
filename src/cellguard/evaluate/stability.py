"""How stable is protection? The same job over bootstrap samples of its records: how often is a cell unsafe, suppressed?

Respondents (holdings, where there are some) are drawn with replacement, with all their records; one that is drawn
twice is two respondents. Cells are matched by their codes, so that a code that no sample has stays at 0.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, NotProtected
from cellguard.evaluate.candidates import repeatable
from cellguard.job.jobfile import Job
from cellguard.job.specs import MicrodataSpec
from cellguard.microdata.sources import open_records
from cellguard.pipeline import assess_job, run
from cellguard.randomness import stream
from cellguard.reading.dialect import Dialect
from cellguard.rules.assess import Findings, TableFindings
from cellguard.run_context import Run
from cellguard.scratch import scratch_in
from cellguard.table.pattern import Release
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Stability:
    """For each table of a job and each of its cells the shares of samples in which it was unsafe, and suppressed.

    Shares are of the samples that have the cell at all; of ``samples``, ``failed`` could not be protected, and do not
    count for what is suppressed. Confidential.
    """

    tables: Mapping[str, Table]
    unsafe: Mapping[str, FloatArray]
    suppressed: Mapping[str, FloatArray]
    samples: int
    failed: int

    def rows(self) -> tuple[list[str], list[list[object]]]:
        """Return the names of columns, and one row per cell."""
        rows: list[list[object]] = []
        for name, table in self.tables.items():
            shares = zip(self.unsafe[name].tolist(), self.suppressed[name].tolist(), strict=True)
            rows += [[name, table.cell_name(cell), *map(_share, pair)] for cell, pair in enumerate(shares)]
        return ["table", "cell", "unsafe", "suppressed"], rows


def study_stability(job: Job, samples: int = 50, *, seed: int = 1, within: Run = Run()) -> Stability:  # noqa: B008
    """Run a job on bootstrap samples of its records.

    Raises `InputError` for a job without records, or with records that a .rda file describes.
    """
    spec = job.microdata
    if spec is None or spec.rda:
        raise InputError("stability is studied on records with column names; the job needs `microdata` without `rda`")
    if samples < 1:
        raise InputError("a study needs at least one sample")
    tables = {here.table.name: here.table for here in _listed(assess_job(job, within=within).findings)}
    unsafe, hidden = _Tally.over(tables), _Tally.over(tables)
    drawn, failed = _Resampled.of(job, spec), 0
    with scratch_in(Path(tempfile.gettempdir())) as work:
        for number in range(samples):
            within.tell(f"sample {number + 1} of {samples}", number, samples)
            sample = drawn.job(job, work.path / "sample.parquet", seed, number)
            findings = assess_job(sample).findings
            for here in _listed(findings):
                unsafe.add(here.table.name, here.table.code_texts(), findings.shown_primary(here.table.name))
            release = _released(sample)
            failed += release is None
            for table in () if release is None else release.tables:
                hidden.add(table.name, table.codes, table.suppressed)
    return Stability(tables, unsafe.shares(), hidden.shares(), samples, failed)


def _listed(findings: Findings) -> list[TableFindings]:
    """Return what was found in the tables that a job lists; cellguard may add others to one sample and not another."""
    return [here for here in findings.by_table if not here.table.is_added]


def _released(job: Job) -> Release | None:
    try:
        return run(job, **repeatable(job)).release
    except NotProtected:
        return None


@dataclass(frozen=True, eq=False)
class _Tally:
    """Counts of each table's cells: in how many samples they are, and in how many they have a mark."""

    places: Mapping[str, Mapping[tuple[str, ...], int]]
    seen: Mapping[str, LongArray]
    marked: Mapping[str, LongArray]

    @classmethod
    def over(cls, tables: Mapping[str, Table]) -> _Tally:
        places = {name: {key: i for i, key in enumerate(_keys(table.code_texts()))} for name, table in tables.items()}
        seen, marked = ({name: np.zeros(len(table), np.int64) for name, table in tables.items()} for _ in range(2))
        return cls(places, seen, marked)

    def add(self, table: str, codes: Sequence[npt.NDArray[np.object_]], marks: BoolArray) -> None:
        cells = np.array([self.places[table].get(key, -1) for key in _keys(codes)], np.intp)
        known = cells >= 0
        self.seen[table][cells[known]] += 1
        self.marked[table][cells[known]] += marks[known]

    def shares(self) -> dict[str, FloatArray]:
        return {
            name: np.divide(self.marked[name], seen, out=np.full(len(seen), np.nan), where=seen > 0)
            for name, seen in self.seen.items()
        }


def _keys(codes: Sequence[npt.NDArray[np.object_]]) -> Iterator[tuple[str, ...]]:
    return zip(*codes, strict=True)


@dataclass(frozen=True, eq=False)
class _Resampled:
    """The records of a job, and the number of the respondent (or holding) of each."""

    spec: MicrodataSpec
    records: pa.Table
    unit: LongArray

    @classmethod
    def of(cls, job: Job, spec: MicrodataSpec) -> _Resampled:
        dialect = Dialect(spec.delimiter, spec.decimal, spec.encoding)
        records = open_records(job.data(spec.source), query=spec.query, dialect=dialect, remote=spec.remote).to_arrow()
        column = spec.holding or spec.respondent
        if column is None:
            return cls(spec, records, np.arange(len(records)))
        number = records[column].combine_chunks().dictionary_encode(null_encoding="encode").indices
        return cls(spec, records, number.to_numpy().astype(np.int64))

    def job(self, job: Job, path: Path, seed: int, number: int) -> Job:
        """Write a sample, and return the job that reads it."""
        pq.write_table(self._sample(seed, number), path)
        read = {"source": str(path), "query": None, "remote": None, "delimiter": None, "encoding": None}
        made = job.model_copy(update={"microdata": self.spec.model_copy(update=read)})
        made._folder = job.folder
        return made

    def _sample(self, seed: int, number: int) -> pa.Table:
        units = int(self.unit.max(initial=-1)) + 1
        draws = (stream(seed, "bootstrap", number).uniform(units) * units).astype(np.int64)
        times = np.bincount(draws, minlength=units)[self.unit]
        rows = np.repeat(np.arange(len(self.records)), times)
        copy = pa.array((np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)).astype(str))
        sample = self.records.take(rows)
        for column in filter(None, (self.spec.respondent, self.spec.holding)):
            named = pc.binary_join_element_wise(pc.cast(sample[column], pa.string()), copy, "#")
            sample = sample.set_column(sample.column_names.index(column), column, named)
        return sample


def _share(value: float) -> float | str:
    return "" if value != value else round(value, 4)
