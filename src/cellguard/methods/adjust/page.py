"""The pages about adjusted tables: one for the disclosure officer, confidential, and one for the public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.methods.adjust.result import AdjustmentResult
from cellguard.methods.adjust.spec import options_of
from cellguard.report.changed_grids import changed_grid, shown_rows
from cellguard.report.changed_pages import tables_of, verdict_of
from cellguard.report.page_grids import Grid
from cellguard.report.render import render
from cellguard.report.run_facts import attacks, run_facts
from cellguard.report.section import Section
from cellguard.report.tables_page import listed, public_tables, status_words
from cellguard.report.words import share
from cellguard.seam.outcome import Outcome

LEGEND = (
    (".", "adjusted", ""),
    ("e", "unchanged: the published value is the true one", ""),
    ("o", "protected: unsafe by a rule, moved away from its true value", "○"),
    ("k", "kept: published as it is", "="),
    ("u", "not in the release", "–"),
)
_MARKS = {"adjusted": ".", "unchanged": "e", "protected": "o", "kept": "k", "unpublished": "u"}
_WEIGHTS = {
    "one": "a unit costs the same everywhere",
    "value": "a unit costs the value",
    "inverse": "a unit costs 1/value",
}
_DISTANCES = {"l1": "the sum of all moves", "l2": "the sum of the squares of all moves"}


def internal_page(outcome: Outcome[AdjustmentResult]) -> str:
    """Return the page about adjusted tables. Confidential: it holds true values."""
    done = outcome.protected
    here = [number for number, table in enumerate(done.tables) if table.name in done.names()]
    grids = [_grid(done, number) for number in here]
    facts = run_facts(outcome.summary, outcome.made, "How the run went.")
    return render(
        "internal.html",
        title="Adjustment of " + listed(done.names()),
        verdict=_verdict(outcome),
        sections=[_how(outcome), tables_of(grids, LEGEND), _looked_at(outcome), facts],
        data={"kinds": status_words(LEGEND), "tables": grids},
        made=outcome.made,
        holds="true values and the sides to which unsafe cells moved",
        proven=False,
    )


def public_page(outcome: Outcome[AdjustmentResult]) -> str:
    """Return a page of adjusted tables as published, and that they are adjusted."""
    release = outcome.release
    assert release is not None  # noqa: S101 - a page of what may not be published is not made
    return public_tables("public_adjusted.html", release, title="", marks=False)


def _grid(done: AdjustmentResult, number: int) -> Grid:
    table, cells = done.tables[number], done.assessed.tables.cells_of[number]
    kept, plan = shown_rows(table), done.adjusted.plan
    size = plan.grid * 10.0 ** -plan.decimals.astype(float)
    shown = np.where(plan.shown, done.adjusted.value * size, np.nan)
    true = plan.grains.value * plan.grains.size()
    named = (("published value", shown), ("true value", true), ("moved by", shown - true))
    views = [(name, figures[cells[kept]]) for name, figures in named]
    letters, reasons = [_MARKS[word] for word in done.status(number)], done.assessed.findings.by_table[number].reasons()
    return changed_grid(table, kept, letters, views, reasons, "o")


def _verdict(outcome: Outcome[AdjustmentResult]) -> Mapping[str, Any]:
    about, off = outcome.summary["set"], outcome.summary["distance"]
    figures = [
        (f"{about['cells']:,}", "cells", f"{about['shown']:,} published"),
        (f"{about['primary']:,}", "unsafe, and moved", share(about["primary"], about["cells"])),
        (f"{about['adjusted']:,}", "published cells changed", share(about["adjusted"], about["shown"])),
        (f"{off['total']:,.6g}", "moved in all", f"{off['mean']:.3g} on average"),
    ]
    return verdict_of(outcome, figures)


def _how(outcome: Outcome[AdjustmentResult]) -> Section:
    done, summary = outcome.protected, outcome.summary
    off, gap = summary["distance"], done.adjusted.gap
    facts = [
        ("Method", "controlled tabular adjustment: unsafe cells move to a side, the others as little as possible"),
        ("Weights", _WEIGHTS[options_of(done.job.tables[0].protect).weights]),
        ("Least is", _DISTANCES[options_of(done.job.tables[0].protect).distance]),
        ("Do values add up?", "yes, exactly"),
        ("Zeros", "a true zero is published as 0"),
        ("Moved in all", f"{off['total']:,.6g}"),
        ("Largest move of a cell that is not unsafe", f"{off['largest_of_safe']:,.6g}"),
        ("Search", "the optimum" if gap < 1e-6 else f"at most {gap:.1%} from the optimum"),
    ]
    return Section(
        "adjustment", "How the tables were adjusted", {"facts": facts, "warnings": summary["warnings"]}, "rounding"
    )


def _looked_at(outcome: Outcome[AdjustmentResult]) -> Section:
    who = "Somebody who takes published values for the true ones, and does not know the method."
    rows = [("unsafe cells are a protection level away", "checked", who, "yes")]
    rows += [(attack.name, "not checked", attack.who, "open") for attack in outcome.verdict.not_checked]
    return attacks(rows)
