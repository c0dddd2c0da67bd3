"""`cellguard audit --table`: tables that another tool protected, from files and a few words about their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.attack.audit import audit
from cellguard.attack.derivation import explain
from cellguard.attack.external_totals import read_external_totals
from cellguard.attack.third_party import Intervals, hidden_cells, infer, read_protected, refuse_unpublished
from cellguard.errors import InputError, InternalError, did_you_mean
from cellguard.hierarchy.build import TOTAL, by_digits
from cellguard.hierarchy.codelists import read_levels, read_parents
from cellguard.hierarchy.confidential_codes import may_be_values, suggested_column
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.hrc import read_hrc
from cellguard.methods.suppress.headline import foreign
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.rules.simple import Given
from cellguard.run_context import Run
from cellguard.table.additivity import check_additive
from cellguard.table.apriori import State
from cellguard.table.binding import flat_dimension
from cellguard.table.fact import Mark
from cellguard.table.pattern import Pattern
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import Source, open_source
from cellguard.table.table import Table
from cellguard.table.tableset import assemble, link
from cellguard.world.knowledge import Knowledge

_MARK = "suppressed"
_WAYS = ("levels", "parents", "hrc", "digits", "total")


@dataclass(frozen=True)
class Foreign:
    """What the command line says of tables made elsewhere."""

    tables: Sequence[Path]
    dims: Sequence[str]
    value: str
    flag: str | None
    suppressed: Sequence[str]
    count: bool
    known: Path | None
    lower: float
    upper: float
    true: str | None
    primary: Sequence[str]
    percent: float


def audit_foreign(given: Foreign, *, threads: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Work out the intervals of all suppressed cells, and return them with a verdict."""
    if given.suppressed and not given.flag:
        raise InputError("--suppressed names values of the --flag column; give that too")
    sources = [open_source(path) for path in given.tables]
    _check_columns(given, sources)
    figures = [name for name in (given.value, given.true) if name]
    sources = [source.settled(name for name in figures if name in source.names) for source in sources]
    dimensions = {d.name: d for d in (_dimension(text, sources) for text in given.dims)}
    tables = []
    for path, source in zip(given.tables, sources, strict=True):
        by = {name: d for name, d in dimensions.items() if name in source.names}
        if not by:
            raise InputError(f"{path.name}: none of the columns {', '.join(dimensions)} is in it; name them with --dim")
        about = About(path.stem, response=given.value, is_count=given.count)
        table = read_protected(source, by, given.value, flag=given.flag, suppressed=given.suppressed, about=about)
        tables.append(_with_truth(given, table, source, by) if given.true else table)
    refuse_unpublished(tables)
    linked = assemble(tables)
    if not hidden_cells(linked).any():
        for table in tables:
            check_additive(table)
        raise InputError("no cell of these tables is suppressed; name the column that marks such cells with --flag")
    if given.true:
        return _audit_truth(given, tables, threads, tell)
    known = read_external_totals(given.known, linked) if given.known else None
    found = infer(linked, Knowledge(given.lower, given.upper), known=known, run=Run(tell, threads=threads))
    return summarise(found)


def _with_truth(given: Foreign, table: Table, source: Source, by: dict[str, Dimension]) -> Table:
    """Return the table with its true values; the cells to protect are marked."""
    hidden = table.apriori.has(State.secondary)
    known = read_cells(
        source, by, CellColumns(str(given.true)), About(table.name, table.response, is_count=given.count)
    )
    if len(known) != len(table):
        raise InternalError("the same rows made two different tables")
    wanted = hidden
    if given.primary:
        if not given.flag:
            raise InputError("--primary names values of the --flag column; give that too")
        flags = np.array(source.text(given.flag).fill_null("").to_pylist(), object)
        wanted = hidden & np.isin(np.append(flags, "")[table.rows], list(given.primary))
    return replace(known, apriori=table.apriori, facts=known.facts.plus({Mark(_MARK): wanted}))


def _audit_truth(given: Foreign, tables: list[Table], threads: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Audit tables whose true values are known: every cell to protect needs a percentage on both sides."""
    if not any(table.facts[Mark(_MARK)].any() for table in tables):
        raise InputError(
            "--primary: no suppressed cell has such a flag, so there is nothing to protect; check the flags"
        )
    findings = assess(link(tables), [Given(_MARK, given.percent)])
    needs = require(findings, Knowledge(given.lower, given.upper))
    hidden = hidden_cells(needs.tables)
    known = read_external_totals(given.known, needs.tables) if given.known else None
    sums = None if known is None else known.sums
    pattern = Pattern(needs.tables, needs.primary, hidden & ~needs.primary)
    judged = audit(needs, pattern, known=sums, intervals=True, run=Run(tell, threads=threads))
    done = SuppressionResult(findings, judged, known)
    found, cells = judged, np.flatnonzero(hidden).tolist()
    ends = [(needs.tables.cell_name(c), _finite(found.lower[c]), _finite(found.upper[c])) for c in cells]
    return done.summary().plain() | {"intervals": [{"cell": c, "lower": low, "upper": high} for c, low, high in ends]}


def summarise(found: Intervals) -> dict[str, Any]:
    """Return what was worked out of tables whose hidden values are not known, with a verdict."""
    tables, disclosed = found.tables, np.flatnonzero(found.disclosed).tolist()
    how = explain(
        found.constraints, found.constraints.relations, found.unknown, found.lower, found.upper, disclosed[:100]
    )
    return {
        "step": "audit",
        "verdict": "unsafe" if disclosed else "undecided" if found.constraints.open else "not exactly disclosed",
        "headline": foreign(len(disclosed), found.constraints.open),
        "set": {"cells": len(tables), "suppressed": int(found.unknown.sum()), "disclosed": len(disclosed)},
        "failing": [
            {"cell": tables.cell_name(c), "lower": float(found.lower[c]), "upper": float(found.upper[c]), "how": words}
            for c, words in zip(disclosed, how, strict=False)
        ],
        "intervals": [
            {"cell": tables.cell_name(c), "lower": _finite(found.lower[c]), "upper": _finite(found.upper[c])}
            for c in np.flatnonzero(found.unknown).tolist()
        ],
    }


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _check_columns(given: Foreign, sources: Sequence[Source]) -> None:
    """Refuse columns without a name, and tables without a dimension, with the columns that there are."""
    names = list(dict.fromkeys(name for source in sources for name in source.names))
    columns = suggested_column("", names).replace("known are", "the columns are")
    if not given.dims:
        raise InputError(f"no dimension columns are given; name them with --dim COLUMN{columns}")
    named = {"--value": given.value, "--flag": given.flag, "--true": given.true}
    named |= {f"--dim {text}": text.split(":")[0] for text in given.dims}
    for option, column in named.items():
        if column is not None and not column.strip():
            raise InputError(f"{option.strip()} names no column{columns}")


def _dimension(text: str, sources: Sequence[Source]) -> Dimension:
    """Build a dimension from words such as ``industry:levels=nace.csv`` or ``size:total=All``."""
    name, options = _column(text, sources)
    given = dict(option.partition("=")[::2] for option in options)
    for key in given:
        if key not in _WAYS:
            raise InputError(f"--dim {text}: unknown word {key!r}{did_you_mean(key, _WAYS)}")
    total = given.get("total", TOTAL)
    users = [source for source in sources if name in source.names]
    if not users:
        raise InputError(f"--dim {name}: no table has such a column{suggested_column(name, sources[0].names)}")
    rows = sum(len(source) for source in users)
    codes = list(dict.fromkeys(code for source in users for code in source.codes(name)[0]))
    if "levels" in given:
        return Dimension(name, read_levels(given["levels"], total=total))
    if "parents" in given:
        return Dimension(name, read_parents(given["parents"]))
    if "hrc" in given:
        return Dimension(name, read_hrc(given["hrc"], total=total))
    if "digits" in given:
        hushed = may_be_values(codes, rows, total)
        return Dimension(name, by_digits(codes, _digits(given["digits"]), total=total, name=name, hushed=hushed))
    return flat_dimension(name, codes, total=total, place=users[0].place.name, rows=rows)


def _column(text: str, sources: Sequence[Source]) -> tuple[str, list[str]]:
    """Split the words about a dimension into its column, whose name may hold a colon, and the rest."""
    words = text.split(":")
    names = {name for source in sources for name in source.names}
    cut = next((n for n in range(len(words), 0, -1) if ":".join(words[:n]) in names), 1)
    return ":".join(words[:cut]), words[cut:]


def _digits(text: str) -> list[int]:
    if not all(part.isdecimal() for part in text.split(",")):
        raise InputError("--dim: digits says how many characters each level adds, as in region:digits=1,1,2")
    return [int(part) for part in text.split(",")]
