"""One column is one dimension and one value column is one response, whatever a job calls them.

Under two names the same cells would count as different ones, so that nothing would tie them in the search and in the
proof, while every reader of the tables sees that they are tied. Such jobs are refused with the cure.
"""

from __future__ import annotations

from pathlib import Path

from cellguard.errors import JobError
from cellguard.inputs.records import column_of
from cellguard.job.dimension_specs import DimensionSpec
from cellguard.job.jobfile import Job
from cellguard.job.specs import CellsSpec, TableSpec


def check_identity(job: Job) -> None:
    """Refuse a job that gives one column two names, or one name to two columns."""
    _check_dimensions(job)
    made = [table for table in job.tables if table.cells is None]
    _check_records(made)
    _check_cells(job, [(table, table.cells) for table in job.tables if table.cells])


def _check_dimensions(job: Job) -> None:
    owner: dict[str, str] = {}
    for name in dict.fromkeys(name for table in job.tables for name in table.dimensions):
        column = column_of(job, name)
        first = owner.setdefault(column, name)
        if first != name:
            raise JobError(
                f"the dimensions {first!r} and {name!r} are the same column {column!r}, so their cells are tied; "
                f"{_one_dimension(job, first, name)}"
                + (". If the files mean different things by it, rename it in one of them" if _in_files(job) else "")
            )


def _one_dimension(job: Job, first: str, second: str) -> str:
    """Describe how two dimensions become one: the second grouping goes into `also`, or there is none."""
    main, other = (job.dimensions.get(name, DimensionSpec()) for name in (first, second))
    if not _grouping(other):
        return f"leave out {second!r} and use {first!r} in its place (`publish` says which levels a table shows)"
    if not _grouping(main):
        return f"leave out {first!r} and use {second!r} in its place (`publish` says which levels a table shows)"
    return (
        f"make the second grouping an `also` of the first, `{first}: {{..., also: [{{name: {second}, "
        f"{_grouping(other)}}}]}}`, and use {first!r} in all tables"
    )


def _grouping(spec: DimensionSpec) -> str:
    """Return the words of a job that say how codes are grouped, '' if they stand side by side."""
    for key in ("levels", "parents", "digits", "hrc"):
        if getattr(spec, key) is not None:
            return f"{key}: {getattr(spec, key)}"
    return ""


def _in_files(job: Job) -> bool:
    return len({table.cells.source for table in job.tables if table.cells}) > 1


def _check_records(tables: list[TableSpec]) -> None:
    """Check tables from the same records: as many responses as value columns, and one population."""
    called: dict[str, TableSpec] = {}
    summed: dict[str, TableSpec] = {}
    for table in tables:
        other = called.setdefault(table.value, table)
        if _response(other) != _response(table):
            raise JobError(_two_responses(other, table, f"the same `value: {table.value}` of the records"))
        other = summed.setdefault(_response(table), table)
        if other.value != table.value:
            raise JobError(_two_columns(other, table))
        if table.population != tables[0].population:
            raise JobError(
                f"tables {tables[0].name!r} and {table.name!r} are made from the same records, but are said to be of "
                f"the populations {tables[0].population!r} and {table.population!r}; leave `population` out, or give "
                "all of them the same; `where` says which records a table is about"
            )


def _check_cells(job: Job, tables: list[tuple[TableSpec, CellsSpec]]) -> None:
    """Check ready-made tables of one file: a column has one meaning, and no two columns have the same one."""
    meant: dict[tuple[Path, str], TableSpec] = {}
    held: dict[tuple[Path, str, str, str], tuple[TableSpec, str]] = {}
    for table, cells in tables:
        path, column = job.path(cells.source).resolve(), _column(table, cells)
        other = meant.setdefault((path, column), table)
        if _response(other) != _response(table):
            raise JobError(_two_responses(other, table, f"the same column {column!r} of {cells.source}"))
        if other.population != table.population:
            raise JobError(
                f"tables {other.name!r} and {table.name!r} show the same column {column!r} of {cells.source}, but are "
                f"said to be of the populations {other.population!r} and {table.population!r}; give them the same"
            )
        if other.where != table.where:
            raise JobError(
                f"tables {other.name!r} and {table.name!r} show the same column {column!r} of {cells.source}, but "
                "`where` says that they are about different respondents; give each a column or a file of its own"
            )
        other, before = held.setdefault((path, _response(table), table.population, _where(table)), (table, column))
        if before != column:
            raise JobError(_two_columns(other, table))


def _response(table: TableSpec) -> str:
    return table.response or table.value


def _where(table: TableSpec) -> str:
    return str(sorted((table.where or {}).items()))


def _column(table: TableSpec, cells: CellsSpec) -> str:
    return str(cells.count) if table.value == "count" else table.value


def _two_responses(first: TableSpec, second: TableSpec, what: str) -> str:
    return (
        f"tables {first.name!r} and {second.name!r} show {what}, but call it {_response(first)!r} and "
        f"{_response(second)!r}; give them the same `response`"
    )


def _two_columns(first: TableSpec, second: TableSpec) -> str:
    return (
        f"tables {first.name!r} and {second.name!r} give two value columns the same response {_response(first)!r}; "
        "give each its own `response`"
    )
