"""`cellguard init` for SDMX-CSV: a job whose dimensions are those of the data structure, with its code lists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cellguard.errors import InputError
from cellguard.hierarchy.build import TOTAL
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.hierarchy.sdmx import TOTALS, Structure, codelist_hierarchy, read_structure
from cellguard.job.names import plain_name
from cellguard.reading.dialect import read_header
from cellguard.reading.encodings import check_readable
from cellguard.reading.files import kind_of
from cellguard.reading.sdmx_csv import SENSITIVE, STATUS, VALUE, dimensions_of, is_sdmx_csv
from cellguard.suggest.cells import Draft
from cellguard.suggest.hierarchies import Levels, find_levels
from cellguard.suggest.records import attack_words
from cellguard.suggest.yaml_words import in_comment, text_of
from cellguard.table.facts import FloatArray
from cellguard.table.source import Source, open_source

_MOST_FILES = 50
_LARGEST = 50_000_000
_LONGEST = 100_000  # bytes of a header line
_TIME = "TIME_PERIOD"


def holds_observations(data: Path) -> bool:
    """Return whether a file is SDMX-CSV, by its header line."""
    if kind_of(data) is not None or data.suffix.lower() == ".rda":
        return False
    with data.open("rb") as file:
        first = file.readline(_LONGEST).decode("utf-8-sig", "replace")
    return VALUE in first and is_sdmx_csv(read_header([first], data.name)[0])


def draft_sdmx_job(data: Path, folder: Path, structure: Path | None) -> Draft:
    """Return a job for the observations in a file; without a ``structure``, one is looked for beside them."""
    source = open_source(data)
    if VALUE not in source.names:
        raise InputError(f"{data.name}: is not SDMX-CSV: it has no column {VALUE}; a structure goes with SDMX-CSV only")
    codes = {name: source.codes(name)[0] for name in dimensions_of(source.names)}
    by = _spanning(data.name, codes)
    found = _structure(data, structure, source, by)
    trees = {} if found is None else _trees(found[1], {name: codes[name] for name in by})
    totals = {name: _total(trees.get(name), codes[name]) for name in by}
    inner = all(total not in codes[name] for name, total in totals.items())
    lines = [
        "# A cellguard job: a table of observations from SDMX-CSV. Run: cellguard protect JOB --out OUT",
        "# What follows a # explains a guess; correct what is wrong. `cellguard schema` describes every key.",
        "version: 1",
        "",
        "dimensions:",
    ]
    numbers = source.settled([VALUE]).numbers(VALUE)
    for name in by:
        levels = _said(found, trees, name, folder)
        if levels is None and not inner:
            levels = _by_sums(_figures(source, numbers, name, by, totals), totals[name], data, folder)
        lines += _dimension(name, totals[name], levels, inner=inner)
    lines += _table(source, os.path.relpath(data.resolve(), folder.resolve()), by, inner=inner)
    constant = [f"{name} ({held[0]} everywhere)" for name, held in codes.items() if len(held) == 1]
    lines += [f"# Not used: {in_comment(constant)}"] if constant else []
    negative = bool((numbers < 0).any())
    return Draft("\n".join([*lines, "", *attack_words(VALUE if negative else None), ""]), cells=True)


def _spanning(name: str, codes: Mapping[str, list[str]]) -> list[str]:
    """Return the dimensions that span the table: those with more than one code, of which time is none."""
    if len(codes.get(_TIME, ())) > 1:
        periods = ", ".join(sorted(codes[_TIME])[:4])
        raise InputError(
            f"{name}: has observations of several periods ({periods}); they do not add up. Give each period a file"
        )
    by = [dimension for dimension, held in codes.items() if len(held) > 1]
    if not by:
        raise InputError(f"{name}: no dimension has more than one code, so there is no table")
    return by


def _table(source: Source, path: str, by: list[str], *, inner: bool) -> list[str]:
    """Return the lines about the table: its cells, its rules and what is written."""
    known = [f"source: {text_of(path)}"]
    known += [f"status: {STATUS}"] if STATUS in source.names else []
    known += ["totals: compute"] if inner else []
    lines = ["", "tables:", f"  - name: {plain_name(Path(path).name.partition('.')[0], 'table')}"]
    lines += [f"    by: [{', '.join(map(text_of, by))}]", f"    value: {VALUE}", f"    cells: {{{', '.join(known)}}}"]
    if SENSITIVE in source.names:
        lines += [
            f"    # CONF_STATUS is read as two columns: {SENSITIVE} (primary, whatever the reason) and {STATUS}",
            "    rules:",
            f"      - {{given: {{column: {SENSITIVE}, protection_percent: 10}}}}",
        ]
    else:
        lines += [
            "    rules:",
            "      []   # no CONF_STATUS says what is confidential: name `count`, `top`, or a column for `given`;",
            "      # while no rule is applied, nothing is called safe",
        ]
    return [*lines, "", "output: {folder: out, formats: [csv, html, sdmx]}"]


def _dimension(name: str, total: str, levels: Levels | None, *, inner: bool) -> list[str]:
    parts = [f"total: {text_of(total)}"] if total != TOTAL else []
    if levels is None and not inner:
        return [
            f"  # MISSING: nothing says how the codes of {name} nest. Name the structure message of these data:",
            "  # `codelist: FILE.xml`, or `parents: FILE.csv` (columns code and parent)",
            f"  {name}: {{{', '.join(parts)}}}",
        ]
    parts += [levels.key] if levels and levels.key else []
    why = levels.why if levels else "codes side by side; a total is added"
    return [f"  {name}: {{{', '.join(parts)}}}          # {in_comment([why])}"]


def _structure(data: Path, given: Path | None, source: Source, by: list[str]) -> tuple[Path, Structure] | None:
    """Return the structure message: the one that is given, or one beside the data that knows their structure."""
    if given is not None:
        check_readable(given)
        return given, read_structure(given)
    said = source.names[1] if source.names[0] == "STRUCTURE" else source.names[0]
    asked = source.text(said).to_pylist()[0].rpartition(":")[2].partition("(")[0]
    files = sorted(path for path in data.resolve().parent.iterdir() if path.suffix.lower() in {".xml", ".json"})
    for path in files[:_MOST_FILES]:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            try:
                found = read_structure(path)
            except InputError:
                continue
            if asked in found.dimensions or all(found.list_of(name) for name in by):
                return path, found
    return None


def _trees(structure: Structure, codes: Mapping[str, list[str]]) -> dict[str, tuple[str, Hierarchy]]:
    """Return the code list and tree of each dimension whose code list has all codes of the data."""
    trees = {}
    for name, held in codes.items():
        listed = structure.list_of(name)
        if listed is not None and listed in structure.lists:
            tree = codelist_hierarchy(structure.lists[listed], f"{structure.source}, {listed}")
            if set(held) <= set(tree.codes):
                trees[name] = listed, tree
    return trees


def _total(tree: tuple[str, Hierarchy] | None, held: list[str]) -> str:
    if tree is not None:
        return tree[1].total
    return next((total for total in TOTALS if total in held), TOTAL)


def _said(
    found: tuple[Path, Structure] | None, trees: Mapping[str, tuple[str, Hierarchy]], name: str, folder: Path
) -> Levels | None:
    if found is None or name not in trees:
        return None
    path = os.path.relpath(found[0].resolve(), folder.resolve())
    return Levels(f"codelist: {text_of(f'{path}#{trees[name][0]}')}", f"its code list in {found[0].name}")


def _by_sums(figures: Mapping[str, float], total: str, data: Path, folder: Path) -> Levels | None:
    """Return how codes nest that no code list speaks of: side by side, or as a file beside the data says."""
    off = abs(2 * figures.get(total, 0.0) - sum(figures.values()))
    if off <= 1e-6 * max(map(abs, figures.values())):
        return Levels("", "they add up side by side")
    return find_levels((figures,), total, data, folder)


def _figures(
    source: Source, numbers: FloatArray, column: str, by: list[str], totals: Mapping[str, str]
) -> dict[str, float]:
    """Return the values of the codes of a dimension where all others are at their total."""
    figures = {}
    others = [source.text(name).to_pylist() for name in by if name != column]
    top = tuple(totals[name] for name in by if name != column)
    for code, number, *rest in zip(source.text(column).to_pylist(), numbers.tolist(), *others, strict=True):
        if tuple(rest) == top:
            figures[code] = number
    return figures or {"": 0.0}
