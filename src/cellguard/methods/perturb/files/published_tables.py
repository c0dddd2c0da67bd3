"""Perturbed tables that are published already, so that new ones from the same multipliers are checked with them.

Only a whole output folder says which tables these are: its internal half has the job, and its release the figures that
the multipliers must give again. What cannot take part in the check is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cellguard.errors import InputError, file_name
from cellguard.io import layout
from cellguard.io.folder import OutputFolder
from cellguard.job.dimension_specs import DimensionSpec
from cellguard.job.jobfile import Job
from cellguard.job.specs import TableSpec
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.checks.conflicts import TableMethod
from cellguard.methods.perturb.draw.multipliers import Multipliers

_PERTURBED = "perturb"


@dataclass(frozen=True)
class PublishedFolder:
    """An output folder that the job names in ``published``: its perturbed tables, and how all of them are protected.

    ``tables`` are called by the folder and their name, as ``q1/turnover``; ``dimensions`` are theirs, without those
    ``from_files``, which must be in the job itself.
    """

    folder: OutputFolder
    methods: tuple[TableMethod, ...]
    tables: tuple[TableSpec, ...] = ()
    dimensions: Mapping[str, DimensionSpec] = field(default_factory=dict)
    from_files: frozenset[str] = frozenset()

    def original(self, table: str) -> str:
        """Return the name that a table has in its folder."""
        return table.rpartition("/")[2]


def read_published(job: Job, folders: Sequence[str]) -> list[PublishedFolder]:
    """Read what the job's ``published`` folders hold; perturbed tables need the internal half of their folder."""
    return [_read(job, name) for name in folders]


def with_published(job: Job, published: Sequence[PublishedFolder]) -> Job:
    """Return the job with the perturbed tables that are published already, for reading the records."""
    more = [table for here in published for table in here.tables]
    if not more:
        return job
    columns = {table.response or table.value: table.value for table in job.tables}
    for table in more:
        if columns.setdefault(table.response or table.value, table.value) != table.value:
            raise InputError(
                f"`published`: table {table.name!r} takes the response {table.response or table.value!r} from another "
                "column than this job does; call different things by different names"
            )
    dimensions = dict(job.dimensions)
    for here in published:
        for name in sorted(here.from_files - job.dimensions.keys()):
            raise InputError(
                f"`published`: the tables in {file_name(here.folder.path)!r} have the dimension {name!r} from a file; "
                "give it in `dimensions` of this job as in that one"
            )
        dimensions = {**here.dimensions, **dimensions}
    return job.model_copy(update={"tables": [*job.tables, *more], "dimensions": dimensions})


def check_same(published: Sequence[PublishedFolder], tables: Sequence[CalibrationTable], drawn: Multipliers) -> None:
    """Refuse published tables whose figures are not what the multipliers give: they come from other ones."""
    by_name = {table.name: table for table in tables}
    for here in published:
        for spec in here.tables:
            if not _figures_agree(here, by_name[spec.name], drawn):
                raise InputError(
                    f"`published`: table {spec.name!r} shows other figures than these multipliers give, so it was made "
                    "from other multipliers or other records, and cannot be checked together with these tables. Of the "
                    "same records, make these with --multipliers and the file of that run: an attacker who has two "
                    "perturbations of one respondent averages the noise. Of other records, take the folder out of "
                    "`published`"
                )


def _read(job: Job, name: str) -> PublishedFolder:
    folder = OutputFolder(job.path(name))
    try:
        about = folder.about()["tables"]
        methods = tuple(
            TableMethod(table, said["response"], said.get("method", "suppress"), said["population"], file_name(name))
            for table, said in about.items()
        )
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"`published`: the metadata of {file_name(name)!r} cannot be read") from None
    except InputError as error:
        raise InputError(f"`published`: {error}") from None
    wanted = [table.name for table in methods if table.method == _PERTURBED]
    if not wanted:
        return PublishedFolder(folder, methods)
    said = _job_of(folder, name)
    found = {table.name: table for table in said.tables}
    if not set(wanted) <= found.keys():
        raise InputError(f"`published`: the release of {file_name(name)!r} has other tables than its job")
    tables = tuple(found[table].model_copy(update={"name": f"{name}/{table}"}) for table in wanted)
    used = {name for table in tables for name in table.by}
    theirs = {name: spec for name, spec in said.dimensions.items() if name in used}
    files = frozenset(name for name, spec in theirs.items() if _needs_file(spec))
    plain = {name: spec for name, spec in theirs.items() if name not in files}
    return PublishedFolder(folder, methods, tables, plain, files)


def _job_of(folder: OutputFolder, name: str) -> Job:
    path = folder.inside / "job.yaml"
    if not path.is_file():
        raise InputError(
            f"`published`: {file_name(name)!r} has perturbed tables but no internal half, so they cannot be checked "
            "together with these; name the whole output folder, or list its tables in this job"
        )
    return Job.load(path)


def _needs_file(spec: DimensionSpec) -> bool:
    files = (spec.levels, spec.parents, spec.hrc, spec.codelist, spec.labels)
    return any(isinstance(file, str) for file in files) or bool(spec.also)


def _figures_agree(here: PublishedFolder, table: CalibrationTable, drawn: Multipliers) -> bool:
    """Return whether the released figures of a table are those that the multipliers give, cell by cell."""
    name = here.original(table.name)
    said = here.folder.about()["tables"][name]
    cells = table.table
    columns = layout.released(said["by"])
    guarded = [columns[said["by"].index(d)] for d in said.get("guarded", ())]
    shown = {
        tuple(row[column] for column in columns[: len(said["by"])]): row["value"]
        for row in here.folder.rows(name, internal=False, guarded=guarded)
    }
    rows = np.flatnonzero(~cells.unpublished).tolist()
    names = [tuple(d.codes[c[row]] for d, c in zip(cells.dimensions, cells.codes, strict=True)) for row in rows]
    if len(names) != len(shown) or not set(names) <= shown.keys():
        return False
    told = np.array([float(shown[codes] or "nan") for codes in names])
    unit = 10.0 ** -int(said["decimals"])
    return bool((np.abs(told - drawn.totals(table)[rows]) <= 0.5001 * unit).all())
