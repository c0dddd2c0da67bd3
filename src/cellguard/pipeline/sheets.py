"""Tables as sheets: what the rules found in a job's tables, and what a run left in its output folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.assessment import Assessment
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_run import read_dimension
from cellguard.job.names import check_stored_names
from cellguard.job.registry import declared
from cellguard.job.yamlfile import read_yaml
from cellguard.table.apriori import State
from cellguard.table.source import Source, open_source
from cellguard.table.table import Table
from cellguard.views.grid import Grid
from cellguard.views.sheet import Sheet

FOUND = ("safe", "unsafe", "unpublished")
KEPT = ("published", "primary", "secondary", "unpublished")
NOISY = ("safe", "sensitive", "unsafe", "accepted", "not proven", "unpublished")
STATE_REASON = "state: "


def sheet_of_findings(assessment: Assessment, name: str) -> Sheet:
    """Return a table as the rules found it: its values, which cells are unsafe, and why."""
    here = assessment.findings[name]
    table = here.table
    unsafe = assessment.findings.shown_primary(name)
    status = np.where(table.unpublished, 2, np.where(unsafe, 1, 0)).astype(np.int8)
    reasons: dict[str, BoolArray] = {
        str(rule): said & unsafe for rule, said in zip(here.rules, here.unsafe, strict=True)
    }
    reasons |= _states(table)
    figures: dict[str, FloatArray] = {"value": table.value}
    if table.facts.count is not None and not table.is_count:
        figures["respondents"] = table.facts.count
    grid = Grid.of(name, table.dimensions, table.codes)
    return Sheet(grid, FOUND, status, reasons, figures, table.decimals)


def _states(table: Table) -> dict[str, BoolArray]:
    said = {state.name: table.apriori.has(state) for state in State if state}
    return {STATE_REASON + name: cells for name, cells in said.items() if cells.any()}


def sheet_of_folder(folder: str | Path, name: str) -> Sheet:
    """Return a table of an output folder, with suppressed or true values: what its internal half says of each cell."""
    output = OutputFolder(folder)
    source = open_source(output.inside / f"{name}.csv")
    by = _dimensions_of(output, name)
    check_stored_names(folder, (name, *by))
    columns = source.names[: len(by)]
    dimensions = [read_dimension(output.inside, dimension) for dimension in by]
    codes = [_codes(source, column, dimension) for column, dimension in zip(columns, dimensions, strict=True)]
    grid = Grid.of(name, dimensions, codes)
    changed = declared(output.method).look.figure
    if changed and changed in source.names:
        return _changed(source, grid, changed)
    texts = {figure: source.text(figure).to_pylist() for figure in ("value", "count", "status", "reasons")}
    status = _numbered(texts["status"], KEPT)
    intervals = _intervals(source)
    figures: dict[str, Sequence[str]] = {
        "value": [_spaced(text) for text in texts["value"]],
        "published": [
            _spaced(value) if word == "published" else ""
            for value, word in zip(texts["value"], texts["status"], strict=True)
        ],
    }
    if any(texts["count"]):
        figures["respondents"] = texts["count"]
    if any(intervals):
        figures["interval"] = intervals
    return Sheet(grid, KEPT, status, _reasons(texts["reasons"], status == 1), figures)


def _changed(source: Source, grid: Grid, column: str) -> Sheet:
    """Return a table whose figures a method changed: as published and as they are, and the factor between them."""
    texts = {figure: source.text(figure).to_pylist() for figure in ("value", column, "status")}
    true, drawn = (np.array([_figure(x) for x in texts[name]]) for name in ("value", column))
    factor = np.divide(drawn, true, out=np.full(len(true), np.nan), where=true != 0)
    figures: dict[str, Sequence[str]] = {
        "published": [_spaced(text) for text in texts[column]],
        "true value": [_spaced(text) for text in texts["value"]],
        "factor": ["" if np.isnan(x) else f"{x:.4f}" for x in factor.tolist()],
    }
    if "interval_lower" in source.names:
        figures["interval"] = _intervals(source)
    words = tuple(dict.fromkeys([*NOISY, *texts["status"]]))
    status = _numbered(texts["status"], words)
    reasons = _reasons(source.text("reasons").to_pylist(), status >= 0) if "reasons" in source.names else {}
    return Sheet(grid, words, status, {reason: cells for reason, cells in reasons.items() if reason}, figures)


def _figure(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:  # a mark of what is suppressed
        return float("nan")


def _intervals(source: Source) -> list[str]:
    ends = zip(*(source.text(f"interval_{end}").to_pylist() for end in ("lower", "upper")), strict=True)
    return [f"{_spaced(low)} – {_spaced(high)}" if low or high else "" for low, high in ends]


def _dimensions_of(output: OutputFolder, name: str) -> list[str]:
    job, _ = read_yaml(output.inside / "job.yaml")
    try:
        return next([str(d) for d in table["by"]] for table in job["tables"] if table["name"] == name)
    except (StopIteration, KeyError, TypeError):
        raise InputError(f"the run has no table {name!r}") from None


def _codes(source: Source, column: str, dimension: Dimension) -> npt.NDArray[np.int32]:
    texts, index = source.codes(column)
    try:
        return np.array([dimension.position[text] for text in texts], np.int32)[index]
    except KeyError:
        raise InputError(f"the run is damaged: a code is not in dimension {dimension.name!r}") from None


def _numbered(words: Sequence[str], known: Sequence[str]) -> npt.NDArray[np.int8]:
    number = {word: i for i, word in enumerate(known)}
    try:
        return np.array([number[word] for word in words], np.int8)
    except KeyError as error:
        raise InputError(f"the run is damaged: unknown status {error.args[0]!r}") from None


def _reasons(texts: Sequence[str], unsafe: BoolArray) -> dict[str, BoolArray]:
    different, inverse = np.unique(np.array(texts, object).astype(str), return_inverse=True)
    found: dict[str, BoolArray] = {}
    for number, text in enumerate(different.tolist()):
        here = (inverse == number) & unsafe
        for reason in text.split("; ") if here.any() else ():
            found[reason] = found.get(reason, False) | here
    return found


def _spaced(text: str) -> str:
    whole, point, part = text.partition(".")
    digits = whole.removeprefix("-")
    return f"{'-' * whole.startswith('-')}{int(digits):,}{point}{part}" if digits.isdigit() else text


def run_tables(folder: str | Path) -> list[str]:
    """Return the tables of an output folder that have cells to look at."""
    output = OutputFolder(folder)
    job, _ = read_yaml(output.inside / "job.yaml")
    listed = job.get("tables") if isinstance(job, dict) else None
    shown = [t for t in listed or () if isinstance(t, dict) and t.get("publish") not in {"nothing", "latent"}]
    return [str(t["name"]) for t in shown if "name" in t and (output.inside / f"{t['name']}.csv").is_file()]
