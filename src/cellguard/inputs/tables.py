"""From a job to its tables: dimensions with their hierarchies and recodings, cells, a-priori statements."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from cellguard.errors import InputError, JobError, did_you_mean
from cellguard.hierarchy.build import TOTAL, by_digits, flat
from cellguard.hierarchy.code_order import in_code_order
from cellguard.hierarchy.codelists import read_labels, read_levels, read_parents
from cellguard.hierarchy.confidential_codes import may_be_values
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
from cellguard.hierarchy.hrc import read_hrc
from cellguard.hierarchy.recode import cut, merge, to_level
from cellguard.hierarchy.sdmx import codelist_file, read_codelist
from cellguard.inputs.earlier_releases import Earlier, earlier_files, join_earlier, read_earlier
from cellguard.inputs.identity import check_identity
from cellguard.inputs.latent import with_latent
from cellguard.inputs.populations import (
    REST,
    listed_codes,
    selected,
    with_differences,
    with_population,
    with_populations,
)
from cellguard.inputs.records import HeldRecords, JobRecords, column_of, read_records, record_files
from cellguard.job.dimension_specs import AlsoSpec, DimensionSpec, RecodeSpec
from cellguard.job.jobfile import Job
from cellguard.job.specs import CellsSpec, TableSpec
from cellguard.microdata.checked import Checked
from cellguard.microdata.grouped import Grouped
from cellguard.microdata.nested_columns import nesting_note
from cellguard.microdata.query import group_records
from cellguard.reading.dialect import Dialect
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.binding import flat_dimension
from cellguard.table.fact import Count, Fact, Holdings, KeySum, Mark
from cellguard.table.lattice import leaf_positions
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import Source, open_source
from cellguard.table.statements import read_apriori
from cellguard.table.sums import Made, RecordSums
from cellguard.table.survey import light_weights
from cellguard.table.table import Table
from cellguard.table.tabulate import Wanted, make_tables

_SLIP = 0.8  # how alike the name of a dimension that no table has must be to another's, to be a slip of that


Keyed = Callable[[Grouped, Checked], Grouped]


@dataclass(frozen=True, eq=False)
class Built:
    """The tables of a job; what was noticed on the way; how many records, if any, they were made from.

    ``job`` is the job with all tables, those included that are only there to be protected; ``earlier`` are those of
    earlier releases.

    ``inputs`` are the digests of the files that were read, by the name that the job gives them; ``sums`` are the
    records behind the tables, by which sums of their cells are judged.
    """

    job: Job
    tables: list[Table]
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    earlier: tuple[Earlier, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    sums: RecordSums | None = None


def build_tables(job: Job, *, run: Run = UNWATCHED, keyed: Keyed | None = None) -> Built:
    """Read or make the tables of a job, with their dimensions, recodings and a-priori statements.

    The digests of the files are taken before and after, so that they are those of what was read. ``keyed`` gives the
    records keys of which every cell is to have the sum.
    """
    inputs = input_digests(job)
    built = _build_tables(job, read_earlier(job), run, keyed)
    refuse_changed(job, inputs)
    return replace(built, inputs=inputs)


def _build_tables(job: Job, earlier: list[Earlier], run: Run, keyed: Keyed | None) -> Built:
    _refuse_missing(job)
    check_identity(job)
    sources = {spec.name: _open(job, spec, spec.cells) for spec in job.tables if spec.cells}
    held = None if job.microdata is None else job.held.get(job.microdata.source)
    records = held.records if isinstance(held, HeldRecords) else read_records(job)
    dimensions = build_dimensions(job, sources, records)
    job = with_differences(job, dimensions, _present(job, dimensions, records), earlier)
    if isinstance(held, HeldRecords):
        grouped: Grouped | None = held.grouped
    else:
        grouped = None if records is None else group_records(records.checked, run=run)
    if grouped is not None and records is not None and keyed is not None:
        grouped = keyed(grouped, records.checked)
    if grouped is not None:
        job = with_latent(job, dimensions, grouped)
    own, dimensions = dimensions, with_populations(job, dimensions)
    by_name = {spec.name: _build_table(job, spec, spec.cells, sources, dimensions) for spec in job.tables if spec.cells}
    if records is None or grouped is None:
        return _joined(Built(job, [by_name[spec.name] for spec in job.tables]), earlier)
    made = [spec for spec in job.tables if spec.cells is None]
    more = () if keyed is None else (KeySum(grouped.key_modulus),)
    wanted = [_wanted(job, spec, records, own, more) for spec in made]
    tables = make_tables(grouped, wanted, run=run.during("making the tables"))
    for spec, table in zip(made, tables, strict=True):
        placed = records.placed(spec, _with_apriori(job, spec, table))
        by_name[spec.name] = with_population(placed, spec, dimensions)
    counts = {"records": int(grouped.records.sum()), "respondents": grouped.holdings}
    notes = grouped.notes + nesting_note(grouped) + _light(grouped, made)
    behind = [
        Made(spec.name, {name: column_of(job, name) for name in spec.dimensions}, want, tuple(spec.rules))
        for spec, want in zip(made, wanted, strict=True)
    ]
    others = {spec.name: tuple(spec.rules) for spec in job.tables if spec.cells}
    others |= {one.table.name: one.rules for one in earlier}
    sums = RecordSums(grouped, tuple(behind), others)
    return _joined(Built(job, [by_name[spec.name] for spec in job.tables], notes, counts, sums=sums), earlier)


def _joined(built: Built, earlier: list[Earlier]) -> Built:
    """Return the tables of a job over the union of their codes and those of earlier releases."""
    if not earlier:
        return built
    tables, moved = join_earlier(built.tables, earlier)
    return replace(built, tables=tables, earlier=tuple(moved))


def _present(job: Job, dimensions: Mapping[str, Dimension], records: JobRecords | None) -> dict[str, frozenset[str]]:
    """Return the leaves that records have in the columns by which tables select some of them."""
    if records is None:
        return {}
    present = {}
    for name in dict.fromkeys(name for spec in job.tables if spec.cells is None for name in spec.where or ()):
        column = column_of(job, name)
        places = leaf_positions(dimensions[name], records.codes(column), column)
        present[name] = frozenset(dimensions[name].codes[place] for place in places.tolist())
    return present


def input_digests(job: Job) -> dict[str, str]:
    """Return the sha-256 of every file that a job reads, by the name that the job gives it."""
    files = {name: _digest(path) for name, path in input_files(job).items() if path.is_file()}
    return files | {name: _digest_of_table(data) for name, data in job.held.items() if isinstance(data, pa.Table)}


def _refuse_missing(job: Job) -> None:
    """Refuse a job whose file of known totals is not there, which is read late, and dimensions that are slips."""
    if job.known and job.known not in job.held and not job.path(job.known).is_file():
        raise JobError(f"known: there is no file {job.known!r} beside the job; correct its name, or leave `known` out")
    used = list(dict.fromkeys(name for spec in job.tables for name in spec.dimensions))
    for name in job.dimensions:
        meant = difflib.get_close_matches(name, used, n=1, cutoff=_SLIP)
        if name not in used and meant and meant[0] not in job.dimensions:
            raise JobError(
                f"dimensions: no table has a dimension {name!r}; did you mean {meant[0]!r}? Correct the name, or leave "
                "it out"
            )


def refuse_changed(job: Job, inputs: Mapping[str, str]) -> None:
    """Refuse to go on if a file of a job is no longer the one whose digest was taken."""
    files = input_files(job)
    for name, digest in inputs.items():
        if name in job.held:  # which nobody else can write to
            continue
        path = files.get(name, job.path(name))
        if not path.is_file() or _digest(path) != digest:
            raise InputError(f"the file {name!r} changed while it was read; run again when no program writes to it")


def input_files(job: Job) -> dict[str, Path]:
    """Return the files that a job reads, by the names that it gives them."""
    names = [t.cells.source for t in job.tables if t.cells]
    names += [name for t in job.tables for name in (t.apriori, t.impossible) if name]
    for spec in job.dimensions.values():
        names += [name for name in (spec.levels, spec.parents, spec.hrc, spec.labels) if isinstance(name, str)]
        names += [name for also in spec.also for name in (also.levels, also.parents, also.hrc) if name]
        names += [codelist_file(one.codelist) for one in (spec, *spec.also) if one.codelist]
    names += [name for name in (job.known, job.policy_file) if name]
    names += [name for settings in job.settings.values() for name in getattr(settings, "files", ())]
    files = record_files(job) | {name: job.path(name) for name in dict.fromkeys(names)} | earlier_files(job)
    return {name: path for name, path in files.items() if name not in job.held}


def _digest_of_table(table: pa.Table) -> str:
    """Return the sha-256 of an Arrow table, as a stream of one batch without what its library says of it."""
    digest = hashlib.sha256()
    plain = table.replace_schema_metadata(None).combine_chunks()
    for name, column in zip(plain.column_names, plain.columns, strict=True):
        digest.update(f"{name}\0{column.type}\0{len(column)}\0".encode())
        for chunk in column.chunks:
            digest.update(pa.record_batch([chunk], names=["c"]).serialize())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None


def build_dimensions(job: Job, sources: Mapping[str, Source], records: JobRecords | None) -> dict[str, Dimension]:
    """Build every dimension that a table uses; one without a hierarchy gets the codes that the data have."""
    dimensions: dict[str, Dimension] = {}
    known = {n for s in sources.values() for n in s.names} | set(records.checked.opened.columns if records else ())
    for name in dict.fromkeys(name for spec in job.tables for name in spec.dimensions):
        users = [sources[t.name] for t in job.tables if name in t.by and t.cells]
        made = any(name in t.dimensions and t.cells is None for t in job.tables)
        if (users or made) and name not in job.dimensions and name not in known:
            raise JobError(f"no dimension or column {name!r}{did_you_mean(name, job.dimensions)}")
        spec = job.dimensions.get(name, DimensionSpec())
        dimensions[name] = _build_dimension(job, name, spec, users, records if made else None)
    return dimensions


def _build_dimension(
    job: Job, name: str, spec: DimensionSpec, sources: list[Source], records: JobRecords | None
) -> Dimension:
    column = spec.column_of(name)
    codes = list(dict.fromkeys(code for source in sources for code in source.codes(column)[0]))
    if not sources and not records:  # a column that no data have: some codes are named, the others are not known
        codes = listed_codes(job, name)
        codes.append(next(rest for i in range(len(codes) + 1) if (rest := REST + "'" * i) not in codes))
    labels = read_labels(job.path(spec.labels)) if spec.labels else {}
    if records:
        spec, labels = records.complete(name, spec), labels or records.labels(spec.nested or [column])
        codes = list(dict.fromkeys([*codes, *records.codes(column)]))
    rows = sum(len(source) for source in sources) + (records.checked.records if records else 0)
    taken = Taken(codes, may_be_values(codes, rows, spec.total or TOTAL))
    if not spec.nested:
        main = _read_grouping(job, name, spec, taken, spec.total, labels)
    elif records:
        main = records.nested(name, spec, labels, hushed=taken.hushed)
    else:
        raise JobError(
            f"dimension {name!r}: a list of `levels` names columns of records, and its tables have ready-made cells; "
            "name a file instead"
        )
    if main is None:
        inner = all(t.cells is None or t.cells.totals == "compute" for t in job.tables if name in t.by)
        main = _flat(name, taken, spec.total or TOTAL, [] if inner else sources, column, labels)
    others = [_alternative(job, name, also, main, labels) for also in spec.also]
    if records:
        main, others = records.with_missing(column, main), [records.with_missing(column, o) for o in others]
        records.accept(column, name, main)
    if spec.recode:
        try:
            main = _recode(main, spec.recode)
            others = [_follow(_merge(other, spec.recode), main) for other in others]
        except InputError as error:
            raise type(error)(f"dimension {name!r}: {error}") from None
    return Dimension(name, main, *others)


@dataclass(frozen=True)
class Taken:
    """The different codes that the data have in a column; ``hushed`` if they may be values."""

    codes: list[str]
    hushed: bool


def _flat(
    name: str, taken: Taken, total: str, sources: list[Source], column: str, labels: Mapping[str, str]
) -> Hierarchy:
    """Return the codes side by side; ready-made cells must have the total among them, and records must not."""
    if sources:
        place = sources[0].place.name
        tree = flat_dimension(name, taken.codes, total=total, place=place, column=column, labels=labels).main
        return replace(tree, hushed=taken.hushed)
    codes = in_code_order(set(taken.codes) - {total}, labels)
    return replace(flat(codes, total=total, labels=labels), hushed=taken.hushed)


def _alternative(job: Job, name: str, also: AlsoSpec, main: Hierarchy, labels: Mapping[str, str]) -> Hierarchy:
    grouping = _read_grouping(job, name, also, Taken(list(main.leaves), main.hushed), main.total, labels)
    if grouping is None:
        raise JobError(f"dimension {name!r}: the grouping {also.name!r} needs levels, parents, digits, hrc or codelist")
    return grouping


def _read_grouping(
    job: Job, name: str, spec: DimensionSpec | AlsoSpec, taken: Taken, total: str | None, labels: Mapping[str, str]
) -> Hierarchy | None:
    if isinstance(spec.levels, str):
        return read_levels(job.path(spec.levels), total=total or TOTAL, labels=labels)
    if spec.parents and isinstance(made := job.data(spec.parents), Hierarchy):
        return made
    if spec.parents:
        return read_parents(job.path(spec.parents), total=total, labels=labels)
    if spec.hrc:
        return read_hrc(job.path(spec.hrc), lead=spec.lead, total=total or TOTAL, labels=labels)
    if spec.codelist:
        path, column = job.path(codelist_file(spec.codelist)), job.dimensions[name].column_of(name)
        return read_codelist(spec.codelist, path, column, total=total, labels=labels)
    if spec.digits:
        digits, total = spec.digits, total or TOTAL
        return by_digits(taken.codes, digits, total=total, labels=labels, name=name, hushed=taken.hushed)
    return None


def _recode(hierarchy: Hierarchy, recode: RecodeSpec) -> Hierarchy:
    hierarchy = cut(_merge(hierarchy, recode), recode.cut)
    return hierarchy if recode.to_level is None else to_level(hierarchy, recode.to_level)


def _follow(other: Hierarchy, main: Hierarchy) -> Hierarchy:
    """Cut a second grouping where the main hierarchy now has its leaves."""
    return cut(other, [leaf for leaf in main.leaves if leaf in other.position])


def _merge(hierarchy: Hierarchy, recode: RecodeSpec) -> Hierarchy:
    return merge(hierarchy, recode.merge) if recode.merge else hierarchy


def _open(job: Job, spec: TableSpec, cells: CellsSpec) -> Source:
    dialect = Dialect(cells.delimiter, cells.decimal, cells.encoding, tuple(cells.columns or ()))
    source = open_source(job.data(cells.source), dialect, name=cells.source)
    for name in spec.by:
        source.column(column_of(job, name))
    return source


def _about(job: Job, spec: TableSpec) -> About:
    return About(
        name=spec.name,
        response=spec.response or spec.value,
        population=spec.population,
        is_count=spec.value == "count",
        decimals=spec.decimals,
        zeros="possible" if spec.impossible else spec.zeros,
        tolerance=spec.tolerance,
        publish=spec.publish if isinstance(spec.publish, dict) else None,
        impossible=open_source(job.path(spec.impossible)) if spec.impossible else None,
        totals=spec.cells.totals if spec.cells else "given",
    )


def _build_table(
    job: Job, spec: TableSpec, cells: CellsSpec, sources: Mapping[str, Source], dimensions: Mapping[str, Dimension]
) -> Table:
    """Read a table of ready-made cells."""
    is_count = spec.value == "count"
    columns = CellColumns(
        value=str(cells.count) if is_count else spec.value,
        count=cells.count,
        holdings=None if is_count else cells.holdings,
        top=tuple(cells.top),
        sizes=cells.sizes,
        signs=_signs(spec.name, cells),
        marks=tuple(dict.fromkeys(f.column for rule in spec.rules for f in rule.facts if isinstance(f, Mark))),
        **{name: getattr(cells, name) for name in ("status", "cost", "lower", "upper", "need_lower", "need_upper")},
    )
    by = {column_of(job, name): dimensions[name] for name in spec.by}
    table = _with_apriori(job, spec, read_cells(sources[spec.name], by, columns, _about(job, spec)))
    return with_population(table, spec, dimensions)


def _signs(table: str, cells: CellsSpec) -> tuple[str, ...]:
    """Return the columns of T+ and T-; both or none."""
    if bool(cells.positive) != bool(cells.negative):
        raise InputError(f"table {table!r}: `positive` and `negative` of its cells go together; name both columns")
    if cells.positive and cells.sizes:
        raise InputError(f"table {table!r}: T+ and T- tell the sizes of contributions; leave `sizes` out")
    return (cells.positive, cells.negative) if cells.positive and cells.negative else ()


def _wanted(
    job: Job, spec: TableSpec, records: JobRecords, dimensions: Mapping[str, Dimension], more: tuple[Fact, ...]
) -> Wanted:
    """Describe which table to make from the records, with the facts that its rules need."""
    insiders = [Holdings()] if job.insiders else []
    return Wanted(
        by={column_of(job, name): dimensions[name] for name in spec.by},
        value=spec.value,
        about=replace(_about(job, spec), decimals=records.decimals(spec)),
        facts=tuple(dict.fromkeys([Count(), *(fact for rule in spec.rules for fact in rule.facts), *insiders, *more])),
        survey=spec.survey,
        where={column_of(job, n): (dimensions[n], held) for n, held in selected(spec, dimensions).items()},
        negative=spec.negative,
    )


def _with_apriori(job: Job, spec: TableSpec, table: Table) -> Table:
    columns = [column_of(job, name) for name in spec.by]
    return read_apriori(table, job.data(spec.apriori), columns) if spec.apriori else table


def _light(grouped: Grouped, made: list[TableSpec]) -> tuple[str, ...]:
    """Describe how many weights below 1 the rules take for 1."""
    many = light_weights(grouped)
    if not many or all(spec.survey in {"sample", "handbook", "published_weights"} for spec in made):
        return ()
    return (f"{many:,} records have a weight below 1; the rules take it for 1, the published totals do not",)
