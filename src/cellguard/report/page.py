"""The two pages: one for the disclosure officer, confidential; one for the public, made of nothing but the release.

Both are single files without any address in them: style, script and data are inside, and a content security policy
forbids the rest. They need the extra `report` (jinja2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellguard.hierarchy.hierarchy import Dimension
from cellguard.protect.outcome import Outcome
from cellguard.report.assurance import checked, inside, run, verdict
from cellguard.report.counts import counts
from cellguard.report.grid import Grid, Positions, internal_grid, public_grid
from cellguard.report.perturbed import LEGEND as PERTURBED_LEGEND
from cellguard.report.perturbed import perturbed_grid
from cellguard.report.perturbed_checks import extreme, findings, looked_at
from cellguard.report.perturbed_checks import run as perturbed_run
from cellguard.report.perturbed_checks import verdict as perturbed_verdict
from cellguard.report.perturbed_sections import chosen_mu, noise, perturbed
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.report.sections import edge, largest, levels, protected, protects, reasons
from cellguard.report.signing import Baseline, compared, signing
from cellguard.report.unsafe import hidden_cells
from cellguard.report.what_if import what_if
from cellguard.report.words import many, number, told_count
from cellguard.results.noisy import Noisy
from cellguard.results.proven import Proven
from cellguard.table.pattern import Release
from cellguard.table.table import ADDED, Table


def internal_page(outcome: Outcome[Proven], earlier: Baseline | None = None) -> str:
    """Return the page from which a disclosure officer decides. Confidential: it holds hidden values.

    With an ``earlier`` run it says what changed since.
    """
    grids = [_internal_grid(outcome, at) for at in range(len(outcome.protected.findings.by_table))]
    legend = [entry for entry in _LEGEND if entry[0] != "u" or any("u" in grid["status"] for grid in grids)]
    headings = [_about(g) | _added(table) for g, table in zip(grids, outcome.protected.tables, strict=True)]
    tables = Section("tables", "The tables", {"grids": headings, "legend": legend})
    since = [compared(outcome, earlier)] if earlier else []
    return render(
        "internal.html",
        title="Disclosure control of "
        + _listed([table.name for table in outcome.protected.tables if not table.is_added]),
        verdict=verdict(outcome),
        sections=[protected(outcome), tables, *since, *filter(None, (make(outcome) for make in _AFTER_TABLES))],
        data={"kinds": _kinds(_LEGEND), "tables": grids},
        made=outcome.made,
        holds="hidden values",
        proven=True,
    )


def perturbed_page(outcome: Outcome[Noisy]) -> str:
    """Return the page about perturbed tables. Confidential: it holds true values and noise."""
    grids = [perturbed_grid(outcome, at) for at in range(len(outcome.protected.check.tables))]
    seen = set().union(*(grid["status"] for grid in grids))
    legend = [entry for entry in PERTURBED_LEGEND if entry[0] in seen]
    tables = Section("tables", "The tables", {"grids": [_about(g) for g in grids], "legend": legend})
    made = (
        perturbed(outcome),
        tables,
        noise(outcome),
        chosen_mu(outcome),
        findings(outcome),
        extreme(outcome),
        looked_at(outcome),
    )
    return render(
        "internal.html",
        title="Perturbation of " + _listed([here.table.name for here in outcome.protected.check.tables]),
        verdict=perturbed_verdict(outcome),
        sections=[*(section for section in made if section is not None), perturbed_run(outcome)],
        data={"kinds": _kinds(PERTURBED_LEGEND), "tables": grids},
        made=outcome.made,
        holds="true values and their noise",
        proven=False,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")


def public_page(release: Release, dimensions: Mapping[str, Dimension], *, title: str = "") -> str:
    """Return a page of the tables as published. It is made from the release and from public codes and labels only.

    It tells no hidden value, no sum of them, and not why a cell is suppressed.
    """
    return _public("public.html", release, dimensions, title=title, marks=True)


def public_perturbed_page(
    release: Release, dimensions: Mapping[str, Dimension], *, adds_up: bool = True, title: str = ""
) -> str:
    """Return a page of perturbed tables as published, which says in general words that they carry noise.

    It is made from the release and from public codes and labels only; ``adds_up`` False says that rounding broke sums.
    """
    return _public("public_perturbed.html", release, dimensions, title=title, marks=False, adds_up=adds_up)


def _public(
    template: str, release: Release, dimensions: Mapping[str, Dimension], *, title: str, marks: bool, **more: bool
) -> str:
    legend = _PUBLIC_LEGEND if marks else ()
    grids = [public_grid(table, [dimensions[name] for name in table.by]) for table in release.tables]
    if not marks:
        grids = [grid | {"word": ""} for grid in grids]
    about = [
        {
            "name": table.name,
            "by": ", ".join(table.by),
            "response": table.response,
            "population": table.population,
            "decimals": table.decimals,
            "cells": f"{len(table):,}",
            "suppressed": f"{int(table.suppressed.sum()):,}",
        }
        for table in release.tables
    ]
    tables = Section("tables", "The tables", {"grids": [_about(g) for g in grids], "legend": legend})
    heading = title or ("Table " if len(about) == 1 else "Tables ") + ", ".join(t.name for t in release.tables)
    data = {"kinds": _kinds(_PUBLIC_LEGEND), "tables": grids}
    return render(template, title=heading, tables=about, sections=[tables], data=data, marks=marks, **more)


_AFTER_TABLES = (hidden_cells, levels, largest, counts, edge, reasons, inside, what_if, checked, run, signing)
_LEGEND = (
    (".", "published", ""),
    ("p", "primary: hidden because a rule calls it unsafe", "●"),
    ("s", "secondary: hidden to protect others", "○"),
    ("u", "not in the release", "–"),
)
_PUBLIC_LEGEND = ((".", "published", ""), ("c", "suppressed", "c"))


def _kinds(legend: Sequence[tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    """Return for each letter that stands for a status its word and its mark."""
    return {letter: (words.split(":")[0], mark) for letter, words, mark in legend}


def _about(grid: Grid) -> dict[str, Any]:
    """Return what the heading of a grid says."""
    return {
        "name": grid["name"],
        "response": grid["response"],
        "by": " by ".join(axis["title"] for axis in grid["axes"]),
        "cells": many(len(grid["status"]), "cell"),
        "left_out": f"{grid['left_out']:,}" if grid["left_out"] else "",
    }


def _added(table: Table) -> dict[str, str]:
    """Return what the heading of a table says that cellguard added."""
    if not table.is_added:
        return {}
    return {"name": ADDED[table.release]} | ({"by": "sum"} if table.release == "sums" else {})


def _internal_grid(outcome: Outcome[Proven], at: int) -> Grid:
    audit, cells = outcome.protected.audit, outcome.protected.audit.needs.tables.cells_of[at]
    values = [audit.values[c] for c in cells.tolist()]
    grid, kept = internal_grid(outcome.protected.findings.by_table[at].table, audit.pattern.status(at), values)
    grid["notes"] = _notes(outcome, at, kept)
    return grid


def _notes(outcome: Outcome[Proven], at: int, kept: Positions) -> dict[str, Any]:
    """Return for the hidden cells of a grid what a click on them tells: reasons, needs and intervals."""
    audit, here = outcome.protected.audit, outcome.protected.findings.by_table[at]
    cells = audit.needs.tables.cells_of[at][kept]
    where = np.flatnonzero(audit.pattern.hidden[cells])
    cells, rows = cells[where], kept[where]
    rules = here.reasons()
    texts: dict[str, int] = {}
    reason = [
        texts.setdefault(_why(outcome, int(c), rules[row]), len(texts))
        for c, row in zip(cells.tolist(), rows.tolist(), strict=True)
    ]
    notes: dict[str, Any] = {"at": where.tolist(), "reason": reason, "texts": list(texts)}
    digits = here.table.decimals + 1
    for name in ("lower", "upper", "sliding"):
        need = getattr(audit.needs, name)[cells]
        notes[name] = [float(x) for x in np.round(need, digits).tolist()]
    if outcome.protected.intervals is not None:
        ends = outcome.protected.intervals.lower[cells].tolist(), outcome.protected.intervals.upper[cells].tolist()
        notes["interval"] = [_seen(here.table, low, high) for low, high in zip(*ends, strict=True)]
    return notes


def _seen(table: Table, low: float, high: float) -> str:
    """Say what an outsider sees of a hidden cell."""
    if table.is_count:
        return told_count(low, high)
    return f"{number(low, table.decimals)} to {number(high, table.decimals)}"


def _why(outcome: Outcome[Proven], cell: int, rules: str) -> str:
    """Say why a distinct cell is hidden, and through which cells it is protected."""
    if not outcome.protected.audit.pattern.primary[cell]:
        return protects(outcome, cell, 8)
    return rules or "unsafe in a linked table"
