"""The pages about sums with noise from cell keys: one for the officer, confidential, and one for the public."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.methods.keys.magnitudes.result import MagnitudeResult
from cellguard.report.changed_grids import changed_grid, shown_rows
from cellguard.report.page_grids import Grid
from cellguard.report.render import render
from cellguard.report.run_facts import attacks, run_facts
from cellguard.report.section import Section
from cellguard.report.tables_page import heading, listed, public_tables, status_words
from cellguard.report.words import many, number, share
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Release

LEGEND = (
    (".", "safe by the rules", ""),
    ("o", "sensitive: unsafe by a rule, and kept uncertain by its noise", "○"),
    ("x", "unsafe: an attacker comes too close to the largest contribution", "✕"),
    ("f", "published as it is", "="),
    ("u", "not in the release", "–"),
)
_LETTER = {"noisy": ".", "sensitive": "o", "unsafe": "x", "fixed": "f", "unpublished": "u"}
_UNITS = {
    "top_contr": "the largest contributions",
    "mean": "the mean contribution",
    "range": "the range of the contributions",
    "sum": "the sum",
}
_MOST_CELLS = 50


def internal_page(outcome: Outcome[MagnitudeResult]) -> str:
    """Return the page about sums with noise. Confidential: it holds true sums."""
    done = outcome.protected
    here = [number for number, table in enumerate(done.tables) if table.name in done.names()]
    grids = [_grid(done, number) for number in here]
    seen = set().union(*(grid["status"] for grid in grids))
    legend = [entry for entry in LEGEND if entry[0] in seen]
    sections = [
        _noise(done),
        Section("tables", "The tables", {"grids": [heading(g) for g in grids], "legend": legend}),
        _nearest(done),
        _attacks(outcome),
        run_facts(outcome.summary, outcome.made, "How the run went."),
    ]
    return render(
        "internal.html",
        title="Cell keys of " + listed(done.names()),
        verdict=_verdict(outcome),
        sections=sections,
        data={"kinds": status_words(LEGEND), "tables": grids},
        made=outcome.made,
        holds="true sums and their noise",
        proven=False,
    )


def public_page(release: Release) -> str:
    """Return a page of tables as published, which says that they do not add up; it is made from the release alone."""
    return public_tables("public_magnitudes.html", release, title="", marks=False)


def _grid(done: MagnitudeResult, at: int) -> Grid:
    table, cells = done.tables[at], done.assessed.tables.cells_of[at]
    kept = shown_rows(table)
    named = (
        ("published value", done.published),
        ("true value", done.made.sums.value),
        ("guessed from this figure, percent", 100 * done.guessed.alone),
        ("guessed from all figures, percent", 100 * done.guessed.together),
    )
    views = [(name, figures[cells[kept]]) for name, figures in named]
    letters, reasons = [_LETTER[word] for word in done.status(at)], done.assessed.findings.by_table[at].reasons()
    return changed_grid(table, kept, letters, views, reasons, "ox")


def _verdict(outcome: Outcome[MagnitudeResult]) -> dict[str, Any]:
    head, summary = outcome.verdict, outcome.summary
    about = summary["set"]
    kind = head.kind if head.kind in {"safe", "unsafe"} else "undecided"
    released = "" if outcome.release is not None else "Nothing was released. "
    limit = f"the limit is {summary['limit']:.0%}"
    figures = [
        (f"{about['cells']:,}", "cells", f"{about['changed']:,} changed"),
        (f"{about['primary']:,}", "unsafe by a rule", share(about["primary"], about["cells"])),
        (f"{summary['largest_alone']:.1%}", "best guess from one figure", limit),
        (f"{summary['largest_together']:.1%}", "best guess from all figures", limit),
    ]
    headline = f"{head.text[:1].upper()}{head.text[1:]}."
    return {"kind": kind, "headline": headline, "sentence": released + head.caveat, "figures": figures}


def _noise(done: MagnitudeResult) -> Section:
    noise, secret = done.made.noise, done.made.secret
    m = noise.multiplier
    drawn = "drawn from a secret seed, which internal/record_keys.json keeps" if secret.drawn else "given"
    lookup = {
        "hashed": "by a keyed hash of the cell key, and spread evenly over the steps of the table",
        "plain": "by the cell key itself, in the steps of the table: the noise of a sum depends on that of its parts",
    }
    falls = f" up to {m.point:g}, falling to {m.large:.3g}" if np.isfinite(m.point) else ""
    off = np.abs(done.published - done.made.sums.value)
    facts = [
        ("Perturbation table", f"{noise.table.name}; internal/perturbation_table.csv has it"),
        ("A unit of the noise", f"{m.small:.3g} of {_UNITS[noise.scaling]}{falls}"),
        ("Factors of the largest contributions", ", ".join(f"{e:g}" for e in noise.epsilon)),
        ("Sensitive cells", f"{noise.mu:g} units more" if noise.mu else "as all others"),
        ("Record keys", drawn),
        ("Looked up", lookup[secret.lookup]),
        ("Mean change", number(float(off.mean()) if len(off) else 0.0, 3)),
        ("Do the tables add up?", "no: every cell has noise of its own; the same records have the same everywhere"),
        ("True zeros", "stay 0"),
    ]
    return Section("noise-of-keys", "How the sums were perturbed", {"facts": facts, "warnings": done.notes}, "moved")


def _nearest(done: MagnitudeResult) -> Section:
    order = np.argsort(-done.guessed.together, kind="stable")[:_MOST_CELLS]
    rows = [
        (
            done.assessed.tables.cell_name(cell),
            f"{done.guessed.alone[cell]:.1%} from its own figure, {done.guessed.together[cell]:.1%} from all",
        )
        for cell in order[done.guessed.together[order] > 0].tolist()
    ]
    return Section("nearest", "The cells that an attacker comes nearest to", {"rows": rows}, "undo")


def _attacks(outcome: Outcome[MagnitudeResult]) -> Section:
    done = outcome.protected
    who = "All other contributors of a cell together, who know the method."
    unsafe = many(int(done.made.sums.sensitive.sum()), "unsafe cell")
    rows = [
        (f"the published value of {unsafe}", "checked", who, "no" if done.over.any() else "yes"),
        (
            "all published values with the same respondent",
            "checked",
            f"{who} They know all other contributions to all other figures, too.",
            "no" if done.open.any() else "yes",
        ),
        *((a.name, "not checked", a.who, "open") for a in outcome.verdict.not_checked if a.key != "together"),
    ]
    return attacks(rows)
