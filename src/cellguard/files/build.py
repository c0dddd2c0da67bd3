"""From a job to its tables: dimensions with their hierarchies and recodings, cells, a-priori statements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from cellguard.errors import InputError, JobError, did_you_mean
from cellguard.files.jobfile import AlsoSpec, DimensionSpec, Job, RecodeSpec, TableSpec
from cellguard.hierarchy.build import TOTAL, by_digits
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
from cellguard.hierarchy.hrc import read_hrc
from cellguard.hierarchy.read import read_labels, read_levels, read_parents
from cellguard.hierarchy.recode import cut, merge, to_level
from cellguard.rules.rule import Rule
from cellguard.rules.simple import Given
from cellguard.table.read import About, CellColumns, flat_dimension, read_cells
from cellguard.table.source import Dialect, Source, open_source
from cellguard.table.statements import read_apriori
from cellguard.table.table import Table


def build_tables(job: Job) -> list[Table]:
    """Read the tables of a job, with their dimensions, recodings and a-priori statements."""
    sources = {spec.name: _open(job, spec) for spec in job.tables}
    if len(sources) < len(job.tables):
        raise JobError("two tables have the same name; give each a name of its own")
    dimensions = build_dimensions(job, sources)
    return [_build_table(job, spec, sources[spec.name], dimensions) for spec in job.tables]


def input_digests(job: Job) -> dict[str, str]:
    """Return the sha-256 of every file that a job reads, by the name that the job gives it."""
    names = [t.cells.source for t in job.tables if t.cells]
    names += [name for t in job.tables for name in (t.apriori, t.impossible) if name]
    for spec in job.dimensions.values():
        names += [name for name in (spec.levels, spec.parents, spec.hrc, spec.labels) if name]
        names += [name for also in spec.also for name in (also.levels, also.parents, also.hrc) if name]
    names += [job.known] if job.known else []
    found = {name: job.path(name) for name in dict.fromkeys(names)}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items() if path.is_file()}


def build_dimensions(job: Job, sources: Mapping[str, Source]) -> dict[str, Dimension]:
    """Build every dimension that a table uses; one without a hierarchy gets the codes that the tables have."""
    found: dict[str, Dimension] = {}
    for name in dict.fromkeys(name for spec in job.tables for name in spec.by):
        if name not in job.dimensions and name not in {n for s in sources.values() for n in s.names}:
            raise JobError(f"no dimension or column {name!r}{did_you_mean(name, job.dimensions)}")
        spec = job.dimensions.get(name, DimensionSpec())
        users = [sources[t.name] for t in job.tables if name in t.by]
        found[name] = _build_dimension(job, name, spec, users)
    return found


def _build_dimension(job: Job, name: str, spec: DimensionSpec, sources: list[Source]) -> Dimension:
    column = spec.column or name
    codes = list(dict.fromkeys(code for source in sources for code in source.codes(column)[0]))
    labels = read_labels(job.path(spec.labels)) if spec.labels else {}
    main = _read_grouping(job, spec, codes, spec.total, labels)
    if main is None:
        main = flat_dimension(name, codes, total=spec.total or TOTAL, place=sources[0].place.name, column=column).main
    others = [_alternative(job, name, also, main, labels) for also in spec.also]
    if spec.recode:
        try:
            main = _recode(main, spec.recode)
            others = [_follow(_merge(other, spec.recode), main) for other in others]
        except InputError as error:
            raise type(error)(f"dimension {name!r}: {error}") from None
    return Dimension(name, main, *others)


def _alternative(job: Job, name: str, also: AlsoSpec, main: Hierarchy, labels: Mapping[str, str]) -> Hierarchy:
    grouping = _read_grouping(job, also, list(main.leaves), main.total, labels)
    if grouping is None:
        raise JobError(f"dimension {name!r}: the grouping {also.name!r} needs levels, parents, digits or hrc")
    return grouping


def _read_grouping(
    job: Job, spec: DimensionSpec | AlsoSpec, codes: list[str], total: str | None, labels: Mapping[str, str]
) -> Hierarchy | None:
    if spec.levels:
        return read_levels(job.path(spec.levels), total=total or TOTAL, labels=labels)
    if spec.parents:
        return read_parents(job.path(spec.parents), total=total, labels=labels)
    if spec.hrc:
        return read_hrc(job.path(spec.hrc), lead=spec.lead, total=total or TOTAL, labels=labels)
    if spec.digits:
        return by_digits(codes, spec.digits, total=total or TOTAL, labels=labels)
    return None


def _recode(hierarchy: Hierarchy, recode: RecodeSpec) -> Hierarchy:
    hierarchy = cut(_merge(hierarchy, recode), recode.cut)
    return hierarchy if recode.to_level is None else to_level(hierarchy, recode.to_level)


def _follow(other: Hierarchy, main: Hierarchy) -> Hierarchy:
    """Cut a second grouping where the main hierarchy now has its leaves."""
    return cut(other, [leaf for leaf in main.leaves if leaf in other.position])


def _merge(hierarchy: Hierarchy, recode: RecodeSpec) -> Hierarchy:
    return merge(hierarchy, recode.merge) if recode.merge else hierarchy


def _open(job: Job, spec: TableSpec) -> Source:
    cells = spec.cells
    if cells is None:
        raise JobError(f"table {spec.name!r}: no `cells`")
    dialect = Dialect(cells.delimiter, cells.decimal, cells.encoding)
    source = open_source(job.path(cells.source), dialect)
    for name in spec.by:
        source.column(_column(job, name))
    return source


def _column(job: Job, name: str) -> str:
    return (job.dimensions[name].column if name in job.dimensions else None) or name


def _build_table(job: Job, spec: TableSpec, source: Source, dimensions: Mapping[str, Dimension]) -> Table:
    cells = spec.cells
    if cells is None:
        raise JobError(f"table {spec.name!r}: no `cells`")
    is_count = spec.value == "count"
    columns = CellColumns(
        value=str(cells.count) if is_count else spec.value,
        count=cells.count,
        holdings=None if is_count else cells.holdings,
        top=tuple(cells.top),
        marks=tuple(dict.fromkeys(rule.column for rule in _every(spec.rules) if isinstance(rule, Given))),
        **{name: getattr(cells, name) for name in ("status", "cost", "lower", "upper", "need_lower", "need_upper")},
    )
    about = About(
        name=spec.name,
        response=spec.response or spec.value,
        population=spec.population,
        is_count=is_count,
        decimals=spec.decimals,
        zeros="possible" if spec.impossible else spec.zeros,
        tolerance=spec.tolerance,
        publish=spec.publish,
        impossible=open_source(job.path(spec.impossible)) if spec.impossible else None,
    )
    by = {_column(job, name): dimensions[name] for name in spec.by}
    table = read_cells(source, by, columns, about)
    return read_apriori(table, job.path(spec.apriori), list(by)) if spec.apriori else table


def _every(rules: list[Rule]) -> Iterator[Rule]:
    """Go through rules and the rules inside `all`."""
    for rule in rules:
        yield rule
        yield from _every(list(getattr(rule, "rules", ())))
