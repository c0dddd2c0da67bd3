"""The two pages about counts with noise from cell keys: one for the officer, confidential, and one for the public."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.arrays import LongArray
from cellguard.methods.keys.files.keyed_tables import statuses
from cellguard.methods.keys.result import KeysResult
from cellguard.report.page_grids import MOST, Grid, coarsest, marked_grid
from cellguard.report.render import render
from cellguard.report.run_facts import attacks, run_facts
from cellguard.report.section import Section
from cellguard.report.tables_page import heading, listed, public_tables, status_words
from cellguard.report.words import many, number, share
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Release

LEGEND = (
    (".", "safe", ""),
    ("o", "small: fewer records than the rule asks for, safe with its noise", "○"),
    ("u", "not in the release", "–"),
    ("x", "unsafe: an attacker is surer of a small count than the limit allows", "✕"),
)
_LETTER = {"safe": ".", "sensitive": "o", "unsafe": "x"}
_MOST_CELLS = 50


def keyed_page(outcome: Outcome[KeysResult]) -> str:
    """Return the page about counts with noise. Confidential: it holds true counts."""
    done = outcome.protected
    status = np.array([_LETTER[word] for word in statuses(done).tolist()])
    linked = done.cells.tables
    grids = [
        _grid(done, at, np.where(table.unpublished, "u", status[cells]), cells)
        for at, (table, cells) in enumerate(zip(linked.tables, linked.cells_of, strict=True))
    ]
    seen = set().union(*(grid["status"] for grid in grids))
    legend = [entry for entry in LEGEND if entry[0] in seen]
    sections = [
        _noise(outcome),
        Section("tables", "The tables", {"grids": [heading(g) for g in grids], "legend": legend}),
        _nearest(done),
        _differences(outcome),
        _attacks(outcome),
        run_facts(outcome.summary, outcome.made, "How the run went."),
    ]
    return render(
        "internal.html",
        title="Cell keys of " + listed([table.name for table in done.tables]),
        verdict=_verdict(outcome),
        sections=sections,
        data={"kinds": status_words(LEGEND), "tables": grids},
        made=outcome.made,
        holds="true counts and their noise",
        proven=False,
    )


def public_keyed_page(release: Release) -> str:
    """Return a page of tables as published, which says that they do not add up; it is made from the release alone."""
    return public_tables("public_keyed.html", release, title="", marks=False)


def _grid(done: KeysResult, at: int, status: np.ndarray[tuple[int], np.dtype[np.str_]], cells: LongArray) -> Grid:
    """Return a table with the mark of each cell, its published and true count, and what an attacker concludes."""
    table = done.tables[at]
    kept = coarsest(table.dimensions, table.codes, MOST)
    grid = marked_grid(table, 0, kept, status[kept].tolist())
    here = cells[kept]
    posterior = [f"{100 * x:.1f}" for x in done.largest[here].tolist()]
    grid["views"] = [
        ["published count", " ".join(map(str, np.where(table.unpublished[kept], 0, done.counts[here]).tolist()))],
        ["true count", " ".join(map(str, done.cells.count[here].tolist()))],
        ["likeliest small count, percent", " ".join(posterior)],
    ]
    return grid | {"word": "marked", "marked": "ox"}


def _verdict(outcome: Outcome[KeysResult]) -> dict[str, Any]:
    done, head = outcome.protected, outcome.verdict
    released = "" if outcome.release is not None else "Nothing was released. "
    accepted = "The job accepts what is not proven. " if head.accepted and outcome.release is not None else ""
    cells, small = len(done.counts), int(done.cells.small.sum())
    figures = [
        (f"{cells:,}", "cells", many(len(done.tables), "table")),
        (f"{small:,}", "small counts", share(small, cells) + " of the cells"),
        (f"{done.worst:.1%}", "largest posterior", f"the limit is {done.spec.limit:.0%}"),
        (number(done.table.variance(done.table.last), 2), "variance of the noise", f"at most {done.table.deviation}"),
    ]
    kind = head.kind if head.kind in {"safe", "unsafe"} else "undecided"
    headline = f"{head.text[:1].upper()}{head.text[1:]}."
    return {"kind": kind, "headline": headline, "sentence": released + accepted + head.caveat, "figures": figures}


def _noise(outcome: Outcome[KeysResult]) -> Section:
    done, table = outcome.protected, outcome.protected.table
    drawn = "drawn from a secret seed, which internal/record_keys.json keeps" if done.secret.drawn else "given"
    lookup = {
        "hashed": "by a keyed hash of the cell key and the count: the noise of a sum is independent of its parts'",
        "plain": "by the cell key itself: the noise of a sum depends on that of its parts",
    }
    changed = int((done.counts != done.cells.count).sum())
    facts = [
        ("Perturbation table", f"{table.name}; internal/perturbation_table.csv has it"),
        ("Mean of the noise", f"{round(max(abs(table.mean(i)) for i in range(table.last + 1)), 6):g} at most"),
        ("Record keys", drawn),
        ("Looked up", lookup[done.secret.lookup]),
        ("Changed", f"{many(changed, 'cell')} of {len(done.counts):,}"),
        (
            "Do the tables add up?",
            "no: every cell has noise of its own; a cell that several tables show is the same in all",
        ),
        ("True zeros", "stay 0: no records, no key, no noise"),
    ]
    return Section("noise-of-keys", "How the counts were perturbed", {"facts": facts, "warnings": done.notes}, "moved")


def _nearest(done: KeysResult) -> Section:
    """List the cells that an attacker comes nearest to."""
    order = np.argsort(-done.largest, kind="stable")[:_MOST_CELLS]
    rows = []
    for cell in order[done.largest[order] > 0].tolist():
        how = "" if done.posterior.exact[cell] else ", estimated"
        threshold = int(done.cells.threshold[cell])
        chances = [float(done.posterior.of(count)[cell]) for count in range(1, threshold)]
        best = int(np.argmax(chances)) + 1
        text = f"published {done.counts[cell]}: {chances[best - 1]:.1%} for a count of {best}{how}"
        rows.append((done.cells.tables.cell_name(cell), text))
    return Section("nearest", "The cells that an attacker comes nearest to", {"rows": rows}, "undo")


def _differences(outcome: Outcome[KeysResult]) -> Section:
    rows = [
        (
            many(one["cells"], "published count") + (" added or subtracted" if one["cells"] > 1 else ""),
            f"variance {one['variance']:.3g}; a guess of the true figure is right in at most {one['guess']:.1%}",
        )
        for one in outcome.summary["differences"]
    ]
    if "simulation" in outcome.summary:
        done = outcome.summary["simulation"]
        text = (
            f"{done['above']:.1%} of them go over the limit; guesses of small counts are right in {done['right']:.1%}, "
            f"and their posterior says {done['claimed']:.1%}"
        )
        rows.append((f"{done['draws']:,} simulated releases", text))
    return Section("differences", "What differences still hide", {"rows": rows}, "undo")


def _attacks(outcome: Outcome[KeysResult]) -> Section:
    done = outcome.protected
    result = f"at most {done.worst:.1%} for a small count"
    rows = [
        ("all published counts and relations together", result, "everybody", "no" if done.over.any() else "yes"),
        *((a.name, "not checked", a.who, "open") for a in outcome.verdict.not_checked),
    ]
    return attacks(rows)
