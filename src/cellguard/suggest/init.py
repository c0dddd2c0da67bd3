"""A commented job for a file, as `cellguard init` writes it. What lies beside it counts too: metadata, hierarchies."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cellguard.errors import InputError
from cellguard.hierarchy.build import from_parents
from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job, job_schema
from cellguard.microdata.rda import describes_cells, read_rda, read_rda_of_cells
from cellguard.microdata.sources import Opened, open_records, quoted
from cellguard.reading.dialect import Dialect
from cellguard.reading.encodings import check_readable
from cellguard.reading.features import FEATURES
from cellguard.reading.vocabulary import is_number
from cellguard.suggest.cells import Draft, draft_cells_job
from cellguard.suggest.columns import Column, look_at
from cellguard.suggest.points import draft_map_job
from cellguard.suggest.records import draft_records_job
from cellguard.suggest.sdmx import draft_sdmx_job, holds_observations
from cellguard.suggest.shape import inner_cells, point_columns, refuse_total_row, total_codes, warnings_about
from cellguard.table.additivity import allowance

SCHEMA = "cellguard.schema.json"
_ROUNDING = 1e-5
_JOBS = (".yaml", ".yml")
_TEXTS = (".asc", ".txt", ".csv", ".dat", ".tab")


@dataclass(frozen=True)
class Suggestion:
    """A job as it is guessed from a file: its commented text, and the files that it needs beside it, by their names."""

    text: str
    files: Mapping[str, str]

    @property
    def schema(self) -> tuple[str, str]:
        """The file that editors complete and check the job with, to be written beside it: its name and its text."""
        return SCHEMA, json.dumps(job_schema(), indent=1) + "\n"

    @property
    def job(self) -> dict[str, Any]:
        """The job as plain data, without its comments, as `Job.parse` takes it."""
        return dict(yaml.safe_load(self.text))


def suggest_job(
    data: str | Path,
    folder: str | Path | None = None,
    *,
    rda: str | Path | None = None,
    structure: str | Path | None = None,
) -> Suggestion:
    """Guess a job from a table of cells or from records; each guess is explained in its text, to be read and corrected.

    Paths in it are relative to ``folder``, where the job is to be; without one, to that of the data. ``rda`` are the
    metadata of τ-ARGUS, if they are not called like the data; ``structure`` is the SDMX structure message of SDMX-CSV,
    if it does not lie beside the data. It writes nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     path = Path(here, "sales.csv")
    ...     _ = path.write_text("region,sales\\n" + "".join(f"{'NSW'[i % 3]},{17 * i + 5}\\n" for i in range(60)))
    ...     suggested = suggest_job(path)
    >>> [(table["by"], table["value"]) for table in suggested.job["tables"]]
    [(['region'], 'sales')]
    """
    path = Path(data)
    place = path.parent if folder is None else Path(folder)
    draft = draft_job(
        path, place, None if rda is None else Path(rda), structure=None if structure is None else Path(structure)
    )
    off = needed_tolerance(_as_job(draft, place)) if draft.cells else 0
    text = draft.with_tolerance(off) if off else draft.text
    return Suggestion(f"# yaml-language-server: $schema={SCHEMA}\n{text}", draft.files)


def _as_job(draft: Draft, place: Path) -> Job:
    """Return a draft as a job; the hierarchies that it comes with are held in memory, since nothing is written yet."""
    held = {}
    for name, text in draft.files.items():
        header, *rows = csv.reader(io.StringIO(text))
        if header == ["code", "parent"]:
            held[name] = from_parents((code, parent) for code, parent in rows)
    data = yaml.safe_load(draft.text)
    for table in data["tables"]:
        if table.get("apriori") in draft.files:  # no sum depends on it
            del table["apriori"]
    return Job.parse(data, folder=place, held=held)


def draft_job(data: Path, folder: Path, rda: Path | None = None, *, structure: Path | None = None) -> Draft:
    """Return a job for the table or the records in a file; paths in it are relative to the job's folder."""
    if data.suffix.lower() in _JOBS:
        raise InputError(
            f"{data.name} is named like a job, and `init` writes one from data. To run it: cellguard protect "
            f"{data.name} --out out. To write another, name the data: cellguard init data.csv --out other.yaml"
        )
    check_readable(data)
    if structure is not None or holds_observations(data):
        return draft_sdmx_job(data, folder, structure)
    if rda is None:
        data, rda = _with_metadata(data)
    else:
        check_readable(rda)
    if rda and describes_cells(rda):
        described = read_rda_of_cells(rda)
        names = tuple(variable.name for variable in described.variables)
        opened = open_records(data, dialect=Dialect(described.delimiter, columns=names))
        return draft_cells_job(data, folder, look_at(opened), metadata=described)
    metadata = read_rda(rda) if rda else None
    opened = open_records(data, dialect=metadata.dialect if metadata else None)
    columns = look_at(opened)
    if metadata is None:
        _refuse_no_header(opened, columns)
    if metadata is not None:
        return Draft(draft_records_job(data, folder, opened, columns, rda=rda, metadata=metadata))
    places = point_columns(columns)
    if data.suffix.lower() in FEATURES or places:
        return Draft(draft_map_job(data, folder, columns, places))
    totals = total_codes(opened, columns)
    refuse_total_row(opened, columns, totals)
    if totals:
        warned = warnings_about(opened, columns, list(totals), records=False)
        return draft_cells_job(data, folder, columns, totals=totals, warned=warned)
    inner = inner_cells(opened, columns)
    if inner:
        warned = warnings_about(opened, columns, inner.dimensions, records=False)
        return draft_cells_job(data, folder, columns, inner=inner, warned=warned)
    return Draft(draft_records_job(data, folder, opened, columns))


def _refuse_no_header(opened: Opened, columns: list[Column]) -> None:
    """Refuse a file whose first line is data: it names columns by numbers, and others by one of their own entries."""
    coded = [c for c in columns if not c.is_number]
    if not coded or len(coded) == len(columns) or not all(is_number(c.name) for c in columns if c.is_number):
        return
    own = ", ".join(f"count_if(CAST({opened.column(c.name)} AS VARCHAR) = {quoted(c.name)})" for c in coded)
    if any(opened.rows(f"SELECT {own} FROM {opened.scan}")[0]):  # noqa: S608
        raise InputError(
            f"{opened.name} line 1: this is no header but data (numbers, and codes that come again below); put a line "
            "with the names of the columns in front"
        )


def _with_metadata(data: Path) -> tuple[Path, Path | None]:
    """Return the file with the data, and the metadata of the same name beside it, if there are any."""
    beside = {path.name.lower(): path for path in sorted(data.parent.iterdir()) if path.is_file()}
    stem = data.stem.lower()
    if data.suffix.lower() != ".rda":
        rda = beside.get(f"{stem}.rda") if data.suffix.lower() in _TEXTS else None
        if rda is None and data.suffix.lower() == ".asc":
            raise InputError(
                f"{data.name}: fixed-width text needs its metadata, which say where each column stands; put "
                f"{data.stem}.rda beside it, or save the records as CSV with a header line"
            )
        return data, rda
    texts = [beside[f"{stem}{ending}"] for ending in _TEXTS if f"{stem}{ending}" in beside]
    if not texts:
        wanted = ", ".join(f"{data.stem}{ending}" for ending in _TEXTS)
        raise InputError(f"{data.name}: its data are not beside it; put one of {wanted} there")
    return texts[0], data


def needed_tolerance(job: Job) -> int:
    """Return how far the sums of a job's ready-made cells are off, if that may be rounding: a whole number, 0 if not.

    Values rounded one by one miss their sums by a few units, which is next to nothing of a table's total.
    """
    try:
        tables = build_tables(job).tables
    except InputError:
        return 0
    gaps = [abs(table.relations @ table.value) - abs(table.relations) @ allowance(table) for table in tables]
    gap = max((float(gap.max(initial=0.0)) for gap in gaps), default=0.0)
    whole = max(float(abs(table.value).max(initial=0.0)) for table in tables)
    return math.ceil(gap) if 0 < gap <= _ROUNDING * whole else 0
