"""The records of a job: opened with their roles, checked, and with what a τ-ARGUS ``.rda`` file adds to the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cellguard.errors import InputError
from cellguard.hierarchy.build import TOTAL
from cellguard.hierarchy.code_order import in_code_order
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Hierarchy, grow
from cellguard.job.dimension_specs import WAYS, DimensionSpec
from cellguard.job.jobfile import Job
from cellguard.job.specs import MicrodataSpec, TableSpec
from cellguard.microdata.address import is_remote
from cellguard.microdata.checked import Checked, check_codes, check_records, first_negative
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.microdata.nesting import nested_hierarchy
from cellguard.microdata.rda import Metadata, OutsideFile, read_code_list, read_rda
from cellguard.microdata.roles import MISSING_CODE, Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.reading.dialect import Dialect
from cellguard.reading.office import value_labels
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class JobRecords:
    """The records of a job, without faults; ``metadata`` is what a .rda file says of them."""

    spec: MicrodataSpec
    checked: Checked
    metadata: Metadata | None
    folder: Path

    def codes(self, column: str) -> list[str]:
        """Return the codes that the records have in a column."""
        return list(self.checked.labels[column])

    def complete(self, name: str, spec: DimensionSpec) -> DimensionSpec:
        """Return a dimension with what the metadata say, where the job is silent."""
        if self.metadata is None:
            return spec
        variable = self.metadata.variable(spec.column_of(name))
        said: dict[str, object] = {}
        if spec.total is None and variable.total:
            said["total"] = variable.total
        if all(getattr(spec, way) is None for way in WAYS):
            if variable.hrc:
                said |= {"hrc": str(self.metadata.file(variable.hrc, self.folder).resolve()), "lead": variable.lead}
            elif variable.digits:
                said["digits"] = list(variable.digits)
        return spec.model_copy(update=said)

    def nested(self, name: str, spec: DimensionSpec, labels: Mapping[str, str], *, hushed: bool) -> Hierarchy:
        """Return the hierarchy that columns of the records spell."""
        return nested_hierarchy(
            self.checked.opened,
            spec.nested,
            keep=self.checked.how.keep,
            absent=self.metadata.absent.get(spec.column_of(name), ()) if self.metadata else (),
            total=spec.total or TOTAL,
            labels=labels,
            hushed=hushed,
        )

    def labels(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Return what the codes of columns are called: by the file itself, or by a code list that the metadata name.

        A list that is not there is no fault.
        """
        if self.metadata is None:
            said = value_labels(self.folder / Path(self.spec.source).name)
            return {code: label for column in columns for code, label in said.get(column, {}).items()}
        listed = self.metadata.variable(columns[-1]).labels
        if not listed:
            return {}
        try:
            return read_code_list(self.metadata.file(listed, self.folder))
        except OutsideFile:
            raise
        except InputError:
            return {}

    def decimals(self, table: TableSpec) -> int | None:
        """Return how many decimals a table publishes, if the job or the metadata say."""
        if table.decimals is None and self.metadata and table.value != COUNT:
            return self.metadata.variable(table.value).decimals
        return table.decimals

    def placed(self, spec: TableSpec, table: Table) -> Table:
        """Return a table whose place is that of the first record below 0, if its rules cannot do with such values."""
        tops = table.facts.tops
        below = (table.value < 0).any() or (tops is not None and (tops < 0).any())
        if spec.value == COUNT or not below or not any(rule.nonnegative for rule in spec.rules):
            return table
        row = first_negative(self.checked, spec.value)
        return table if row is None else replace(table, place=replace(table.place, name=row))

    def accept(self, column: str, dimension: str, hierarchy: Hierarchy) -> None:
        """Refuse codes of the records that are not leaves of a dimension's hierarchy."""
        check_codes(self.checked, column, dimension, hierarchy)

    def with_missing(self, column: str, hierarchy: Hierarchy) -> Hierarchy:
        """Return a hierarchy with the category of missing codes below its total, if the records have one."""
        if self.spec.missing.code != "category":
            return hierarchy
        absent = {MISSING_CODE, *(self.metadata.absent.get(column, ()) if self.metadata else ())}
        extra = in_code_order(c for c in self.codes(column) if c.strip() in absent and c not in hierarchy.position)
        if not extra:
            return hierarchy
        edges = [Edge(code, hierarchy.parent_of(code) or "") for code in hierarchy.codes]
        grown = grow([*edges, *(Edge(code, hierarchy.total) for code in extra)], labels=hierarchy.labels)
        return replace(grown, hushed=hierarchy.hushed)


@dataclass(frozen=True, eq=False)
class HeldRecords:
    """Records that were read and summed before, which a job may hold in place of its file. Confidential."""

    records: JobRecords
    grouped: Grouped


def read_records(job: Job) -> JobRecords | None:
    """Open and check the records of a job: every column that a table without `cells` needs."""
    spec = job.microdata
    if spec is None:
        return None
    made = [table for table in job.tables if table.cells is None]
    metadata = read_rda(job.path(spec.rda), elsewhere=spec.files_elsewhere) if spec.rda else None
    written = metadata.dialect if metadata else Dialect(spec.delimiter)
    opened = open_records(
        job.data(spec.source),
        name=spec.source,
        query=spec.query,
        dialect=replace(written, decimal=spec.decimal, encoding=spec.encoding),
        remote=spec.remote,
    )
    request = spec.request or _said(metadata, "request")
    roles = Roles(
        dimensions=tuple(dict.fromkeys(column_of(job, name) for table in made for name in table.dimensions)),
        responses=tuple(dict.fromkeys([*(t.value for t in made if t.value != COUNT), *_proxies(made)])),
        weight=spec.weight or _said(metadata, "weight"),
        respondent=spec.respondent,
        holding=spec.holding or _said(metadata, "holding"),
        waiver=spec.waiver,
        request=request,
        missing=Missing(**spec.missing.model_dump()),
        absent=metadata.absent if metadata else {},
        request_codes=metadata.variable(request).request if metadata and request else (),
        record_key=spec.record_key,
        key_range=spec.key_range,
    )
    return JobRecords(spec, check_records(opened, roles), metadata, job.path(spec.source).parent)


def record_files(job: Job) -> dict[str, Path]:
    """Return the files that the records of a job come from, by the name that the job or the metadata give them."""
    spec = job.microdata
    if spec is None or is_remote(spec.source):
        return {}
    files = {spec.source: job.path(spec.source)}
    if spec.rda:
        files[spec.rda] = job.path(spec.rda)
        metadata = read_rda(job.path(spec.rda), elsewhere=spec.files_elsewhere)
        for variable in metadata.variables:
            for name in (variable.hrc, variable.labels):
                try:
                    files |= {name: metadata.file(name, job.path(spec.source).parent)} if name else {}
                except InputError:
                    continue
    return files


def column_of(job: Job, name: str) -> str:
    """Return the column of a dimension: the one that the job names, or the dimension's own name."""
    return job.dimensions[name].column_of(name) if name in job.dimensions else name


def _proxies(made: list[TableSpec]) -> list[str]:
    """Return the columns whose sizes stand for those of contributions that may be negative."""
    return [t.negative.proxy for t in made if t.negative is not None and t.negative.proxy is not None]


def _said(metadata: Metadata | None, role: str) -> str | None:
    return metadata.of_role(role) if metadata else None
