"""Whom the tables of a job are about: the codes that `where` names, and the differences that must be judged too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cellguard.errors import JobError, UnknownCode, did_you_mean
from cellguard.hierarchy.groups import Leaves, with_groups
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.earlier_releases import Earlier
from cellguard.job.jobfile import Job
from cellguard.job.names import LONGEST
from cellguard.job.specs import AllBut, TableSpec
from cellguard.rules.all_of import parts
from cellguard.rules.rule import Rule
from cellguard.table.populations import Extent, Held, differences, extents_of
from cellguard.table.table import Released, Table

UNRELEASED: Mapping[str, Released] = {"nothing": "nowhere", "latent": "latent"}
REST = "other"  # an attacker who has none of the codes that a job names of a column that no table shows


def listed_codes(job: Job, name: str) -> list[str]:
    """Return the codes of a column that some `where` names."""
    said = [spec.where[name] for spec in job.tables if spec.where and name in spec.where]
    listed = dict.fromkeys(code for codes in said for code in (codes.all_but if isinstance(codes, AllBut) else codes))
    return list(listed)


def selected(spec: TableSpec, dimensions: Mapping[str, Dimension]) -> dict[str, Held]:
    """Return for each column of a table's `where` the leaves that its respondents have."""
    return {name: _leaves(spec, dimensions[name], codes) for name, codes in (spec.where or {}).items()}


def _leaves(spec: TableSpec, dimension: Dimension, codes: list[str] | AllBut) -> Held:
    leaves, listed = Leaves(dimension), codes.all_but if isinstance(codes, AllBut) else codes
    held = {code: some for some, same in leaves.codes.items() for code in same}
    for code in listed:
        if code not in held:
            near = did_you_mean(code, dimension.told)
            raise UnknownCode(f"table {spec.name!r}: `where` names {code!r}, no code of {dimension.name!r}{near}")
    named = frozenset().union(*(held[code] for code in listed))
    meant = leaves.held[leaves.total] - named if isinstance(codes, AllBut) else named
    if not meant:
        raise JobError(
            f"table {spec.name!r}: `where` leaves no respondent, since it excludes all codes of {dimension.name!r}"
        )
    return meant


def with_differences(
    job: Job, dimensions: Mapping[str, Dimension], present: Mapping[str, Held], earlier: Sequence[Earlier] = ()
) -> Job:
    """Return the job with a table, not released, for each difference of populations of tables made from records.

    ``present`` are the leaves of each column that records have: a difference of others is nobody. Of ready-made tables
    it is not known who contributes to the difference; such a difference must be given, or is named as not judged.
    Tables of ``earlier`` releases are about the same respondents, so that the records tell who is in the difference.
    """
    made = {spec.name: spec for spec in job.tables if spec.cells is None}
    extents = [extent_of(spec, dimensions) for spec in job.tables]
    before = [extent for extent in extents_of([one.table for one in earlier])[0] if _is_known(extent, dimensions)]
    extents += before
    past = {extent.name for extent in before}
    leaves = {name: frozenset(dimension.main.leaves) for name, dimension in dimensions.items()}
    like, more = dict(made), list[TableSpec]()
    for difference in differences(extents, leaves):
        extent = difference.extent
        pair = difference.larger, difference.smaller
        if extent is None or not all(name in like or name in past for name in pair) or past.issuperset(pair):
            continue
        if all(held & present.get(name, held) for name, held in extent.where.items()):
            taken = [spec.name for spec in [*job.tables, *more]]
            same = next(like[name] for name in reversed(pair) if name in like)
            same = same.model_copy(update={"rules": rules_of(extent, made.values(), earlier)})
            more.append(_difference(same, extent, dimensions, taken))
            like[extent.name] = more[-1]
    return job.model_copy(update={"tables": [*job.tables, *more]}) if more else job


def _is_known(extent: Extent, dimensions: Mapping[str, Dimension]) -> bool:
    """Whether the columns of an extent are those of the job, and have the leaves that it speaks of."""
    columns = {*extent.by, *extent.where}
    leaves = {name: set(dimensions[name].main.leaves) for name in extent.where if name in dimensions}
    return columns <= set(dimensions) and all(held <= leaves[name] for name, held in extent.where.items())


def extent_of(spec: TableSpec, dimensions: Mapping[str, Dimension]) -> Extent:
    """Return what a table of a job is about."""
    return Extent(spec.name, response_key_of(spec), tuple(spec.by), selected(spec, dimensions))


def response_key_of(spec: TableSpec) -> tuple[str, str]:
    """Return the response and the population of a table."""
    return spec.response or spec.value, spec.population


def rules_of(extent: Extent, specs: Iterable[TableSpec], earlier: Sequence[Earlier] = ()) -> list[Rule]:
    """Return the rules of all tables of a response; those about rows along a dimension where there is one."""
    listed = [rule for spec in specs if response_key_of(spec) == extent.response_key for rule in spec.rules]
    before = [one for one in earlier if (one.table.response, one.table.population) == extent.response_key]
    listed += [rule for one in before for rule in one.rules]
    there = [rule for rule in listed if all(getattr(part, "by", extent.by[0]) in extent.by for part in parts(rule))]
    return list({str(rule): rule for rule in there}.values())


def _difference(
    like: TableSpec, extent: Extent, dimensions: Mapping[str, Dimension], taken: Sequence[str]
) -> TableSpec:
    name = extent.name
    if len(name) > LONGEST or name.lower() in map(str.lower, taken):
        name = next(n for i in range(1, len(taken) + 2) if (n := f"difference{i}") not in taken)
    said = {
        "name": name,
        "by": list(extent.by),
        "where": {column: _codes(dimensions[column], held) for column, held in extent.where.items()},
        "publish": "nothing",
        "apriori": None,
        "impossible": None,
    }
    return like.model_copy(update=said)


def _codes(dimension: Dimension, held: Held) -> list[str] | AllBut:
    """Return the codes that hold some leaves, in few words: one code, all but one, or the leaves themselves."""
    leaves = Leaves(dimension)
    if held in leaves.codes:
        return leaves.codes[held][:1]
    rest = leaves.held[leaves.total] - held
    if rest in leaves.codes:
        return AllBut(all_but=leaves.codes[rest][:1])
    return [leaf for leaf in dimension.main.leaves if leaf in held]


def with_populations(job: Job, dimensions: Mapping[str, Dimension]) -> dict[str, Dimension]:
    """Return the dimensions with a code for every population that a table is about."""
    wanted: dict[str, dict[Held, str]] = {name: {} for name in dimensions}
    for spec in job.tables:
        for name, held in selected(spec, dimensions).items():
            codes = (spec.where or {})[name]
            words = f"not {', '.join(codes.all_but)}" if isinstance(codes, AllBut) else ", ".join(codes)
            wanted[name].setdefault(held, words)
    return {name: with_groups(dimension, wanted[name]) for name, dimension in dimensions.items()}


def with_population(table: Table, spec: TableSpec, dimensions: Mapping[str, Dimension]) -> Table:
    """Return a table with the columns that say whom it is about: each has one code in all cells.

    Its own columns are then those of all tables, with the codes of every population: no cell of it has one of these,
    since whom another table is about is no business of this one.
    """
    more = []
    for name, held in selected(spec, dimensions).items():
        said = (spec.where or {})[name]
        if isinstance(said, list) and len(said) == 1:
            code = said[0]
        else:
            code = Leaves(dimensions[name]).codes[held][0]
        more.append((dimensions[name], np.full(len(table), dimensions[name].position[code], np.int32)))
    release = UNRELEASED.get(spec.publish, table.release) if isinstance(spec.publish, str) else table.release
    return replace(
        table,
        dimensions=(*(dimensions[d.name] for d in table.dimensions), *(d for d, _ in more)),
        codes=(*table.codes, *(c for _, c in more)),
        release=release,
    )
