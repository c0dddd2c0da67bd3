"""What was done to the tables: the parts of the officer's page, each a small function from a outcome to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.attack.derivation import name
from cellguard.methods.suppress.report.edge import margins, nearly_unsafe, points, tightest
from cellguard.methods.suppress.report.interval_chart import widths_chart
from cellguard.methods.suppress.report.losses import LevelLoss, dearest, level_name, losses_by_level
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.protection import Requirements
from cellguard.report.cell_names import name_cell
from cellguard.report.section import Section
from cellguard.report.words import many, number, promise_of_counts, share
from cellguard.seam.outcome import Outcome
from cellguard.table.apriori import STATES, State
from cellguard.table.pattern import STATUS
from cellguard.table.table import ADDED

_RELEASED = {
    "here": "",
    "nowhere": "not released: only protected, since an attacker can work it out from others",
    "latent": "not released: cells of the cover table of several tables, protected where no table lists them",
    "fitted": "not released: cells of the cover table of several tables, with counts that fit these, protected where "
    "the tables leave no choice and no table lists them",
    "sums": "not released: sums of suppressed cells, protected since the rules call them unsafe",
    "earlier": "of an earlier release: what it shows is known, and it is not released again",
}


def protected(outcome: Outcome[SuppressionResult]) -> Section:
    """Describe what was protected, with which rules and settings, and what was said of single cells."""
    told = {t["name"]: t for t in outcome.summary.get("settings", {}).get("tables", ())}
    tables = []
    for here in outcome.protected.findings.by_table:
        table = here.table
        said = [(state, int(table.apriori.has(State[state]).sum())) for state in STATES]
        unpublished = int(table.unpublished.sum())
        tables.append(
            {
                "name": ADDED.get(table.release, table.name),
                "by": ["sum"] if table.release == "sums" else [d.name for d in table.dimensions],
                "value": table.response,
                "kind": "counts" if table.is_count else "sums",
                "decimals": table.decimals,
                "promise": promise_of_counts(here.rules) if table.is_count else "",
                "zeros": "are public zeros" if table.zeros == "known" else "may be suppressed",
                "rules": [
                    (str(rule), rule.words(), many(int((unsafe & here.primary).sum()), "cell"))
                    for rule, unsafe in zip(here.rules, here.unsafe, strict=True)
                ],
                "cost": _spell(told.get(table.name, {}).get("protect", {}).get("cost", "")),
                "said": [f"{state}: {many(n, 'cell')}" for state, n in said if n],
                "unpublished": unpublished,
                "released": _RELEASED[table.release],
            }
        )
    data = {"tables": tables, "equations": [str(e) for e in outcome.protected.audit.needs.tables.equations]}
    return Section("protected", "What was protected", data | {"warnings": list(outcome.summary.get("warnings", ()))})


def _spell(setting: object) -> str:
    """Write a setting, be it a word or a mapping, without the marks of a programming language."""
    if isinstance(setting, Mapping):
        return ", ".join(f"{key} {_spell(value)}" for key, value in setting.items())
    return " + ".join(map(_spell, setting)) if isinstance(setting, list) else str(setting)


def levels(outcome: Outcome[SuppressionResult]) -> Section:
    """Show for each table what is suppressed of every combination of levels; those that are whole are only counted."""
    tables = []
    for at, here in enumerate(outcome.protected.findings.by_table):
        if here.table.is_added:  # of which nothing is shown
            continue
        losses = losses_by_level(outcome.protected.audit.pattern, at)
        whole = [loss for loss in losses if not loss.hidden]
        tables.append(
            {
                "name": here.table.name,
                "value": here.table.response,
                "by": [d.name for d in here.table.dimensions],
                "rows": [_level_row(loss, here.table.decimals) for loss in losses if loss.hidden],
                "whole": len(whole),
                "whole_cells": many(sum(loss.cells for loss in whole), "cell"),
            }
        )
    return Section("levels", "What is suppressed, by level", {"tables": tables})


def _level_row(loss: LevelLoss, decimals: int) -> dict[str, Any]:
    parts = (loss.primary_value, loss.secondary_value)
    return {
        "level": list(map(level_name, loss.level)),
        "cells": f"{loss.cells:,}",
        "primary": f"{loss.primary:,}",
        "secondary": f"{loss.secondary:,}",
        "hidden_share": share(loss.hidden, loss.cells),
        "value": number(loss.hidden_value, decimals),
        "value_share": share(loss.hidden_value, loss.value),
        "bars": [100 * part / loss.value if loss.value else 0.0 for part in parts],
    }


def largest(outcome: Outcome[SuppressionResult], most: int = 10) -> Section:
    """List the suppressed cells of the largest value: what users of the tables will miss."""
    tables, pattern = outcome.protected.audit.needs.tables, outcome.protected.audit.pattern
    cells = dearest(pattern, most).tolist()
    worst = max(np.abs(tables.value[cells]), default=0.0)
    rows = [
        outcome.protected.cell(c)
        | {
            "status": outcome.protected.status(c),
            "value": number(tables.value[c], outcome.protected.decimals(c)),
            "share": share(abs(tables.value[c]), _whole(outcome, c)),
            "bar": 100 * abs(tables.value[c]) / worst if worst else 0.0,
            "why": outcome.protected.reasons(c) if pattern.primary[c] else protects(outcome, c, 3),
        }
        for c in cells
    ]
    return Section(
        "largest", "Largest losses", {"rows": rows, "hidden": int((pattern.hidden & ~pattern.unpublished).sum())}
    )


def _whole(outcome: Outcome[SuppressionResult], cell: int) -> float:
    """Return the largest absolute value of the cell's table, which its total has if nothing is negative."""
    tables = outcome.protected.audit.needs.tables
    return float(np.abs(tables.tables[int(tables.first[0][cell])].value).max())


def edge(outcome: Outcome[SuppressionResult]) -> Section:
    """List what is just safe enough: intervals that barely reach the protection level, cells that a rule barely lets
    pass.
    """
    audit, tables = outcome.protected.audit, outcome.protected.audit.needs.tables
    intervals, tight, known = outcome.protected.intervals, [], []
    if intervals is not None:
        margin = margins(audit, intervals)
        for c in tightest(audit, intervals).tolist():
            d = outcome.protected.decimals(c)
            needs = audit.needs
            tight.append(
                outcome.protected.cell(c)
                | {
                    "value": number(tables.value[c], d),
                    "interval": f"{number(intervals.lower[c], d)} to {number(intervals.upper[c], d)}",
                    "need": need_words(needs, c, d),
                    "margin": f"{margin[c]:,.2f} ×" if margin[c] < 100 else "> 100 ×",
                }
            )
        known = [outcome.protected.cell(c) for c in points(audit, intervals).tolist()]
    near = []
    for at, here in enumerate(outcome.protected.findings.by_table):
        for miss in nearly_unsafe(here, audit.pattern.status(at) == STATUS[0]):
            shown = name_cell(here.table, miss.cell) | {"rule": str(here.rules[miss.rule])}
            near.append(
                shown
                | {
                    "figure": f"{miss.figure:,.0f}" if miss.counted else f"{miss.figure:,.1f} %",
                    "value": number(here.table.value[miss.cell], here.table.decimals),
                }
            )
    chart = None if intervals is None else widths_chart(audit, intervals)
    data = {"exact": intervals is not None, "tight": tight, "points": known, "near": near, "chart": chart}
    return Section("edge", "Closest to the edge", data)


def need_words(needs: Requirements, cell: int, decimals: int) -> str:
    """Describe how far the interval of a cell must reach, rounded up, so that the figure is never too
    small.
    """
    place = 10.0**decimals
    amounts = (needs.lower[cell], needs.upper[cell], needs.sliding[cell])
    down, up, wide = (np.ceil(x * place - 1e-6) / place + 0.0 for x in amounts)  # -0 is 0
    reach = []
    if down > 0 or up > 0:
        reach.append(
            f"± {number(up, decimals)}" if down == up else f"− {number(down, decimals)}, + {number(up, decimals)}"
        )
    return ", ".join(reach + ([f"{number(wide, decimals)} wide"] if wide > 0 else []))


def reasons(outcome: Outcome[SuppressionResult], most: int = 60) -> Section:
    """Describe which secondaries protect which unsafe cells, the dearest secondaries first."""
    rows: list[dict[str, str]] = []
    more = 0
    if outcome.protected.explained is not None:
        pattern = outcome.protected.audit.pattern
        value = np.abs(outcome.protected.audit.needs.tables.value)
        secondary = np.flatnonzero(pattern.secondary & ~pattern.unpublished)
        order = secondary[np.argsort(-value[secondary], kind="stable")]
        rows = [outcome.protected.cell(c) | {"protects": protects(outcome, c, 6)} for c in order[:most].tolist()]
        more = max(len(order) - most, 0)
    data = {"explained": outcome.protected.explained is not None, "rows": rows, "more": more}
    return Section("reasons", "Which cells protect which", data)


def protects(outcome: Outcome[SuppressionResult], cell: int, most: int) -> str:
    """Name the unsafe cells that a secondary protects, as far as that was worked out, and what it is suppressed
    with.
    """
    followed = outcome.protected.hidden_with.get(cell, ())
    along = f"suppressed with {' and '.join(followed)}" if followed else ""
    if outcome.protected.explained is None:
        return along or "protects unsafe cells"
    others = [c for c in outcome.protected.explained.protects.get(cell, ()) if c != cell]
    whom = ""
    if not others and not outcome.protected.explained.whole:
        return along or "protects unsafe cells; cellguard explain tells which"
    if not others:
        others = [c for c in outcome.protected.inside_of.get(cell, ()) if c != cell]
        whom = " from respondents"
    if not others:
        return along or "no unsafe cell depends on it alone"
    names = [name(outcome.protected.audit.needs.world.constraints, c, cell) for c in others[:most]]
    more = f" and {len(others) - most} more" if len(others) > most else ""
    return "protects " + ", ".join(names) + more + whom + (f"; {along}" if along else "")
