"""The pages of a map: before and after for the disclosure officer, and what is shown for the public.

Cells are drawn on a canvas, so tens of thousands of them are no burden. The public page is made of a `ShownMap`,
which holds no true value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellguard.methods.maps.report.drawn import as_shown, before_and_after
from cellguard.methods.maps.report.plots import mark, plots
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.spec import table_of
from cellguard.report.render import render
from cellguard.report.run_facts import run_facts
from cellguard.report.section import Section
from cellguard.report.words import many, number, share, short
from cellguard.seam.outcome import Outcome
from cellguard.words.say import say

_SCRIPT = "map.js"


def internal_map(outcome: Outcome[MapResult]) -> str:
    """Return the page with the map before and after. Confidential: it holds true values."""
    done = outcome.protected
    name = table_of(done.job).name
    data = before_and_after(done)
    label = f"Map of {name} before and after, {many(len(done.before), done.tiles.grid.word)}"
    sections = [
        Section("map", "Before and after", {"compares": True, "label": label}),
        _moved(outcome),
        _undo(done),
        *([_utility(done)] if done.others else []),
        run_facts(outcome.summary, outcome.made, "How the run went."),
    ]
    return render(
        "internal.html",
        _SCRIPT,
        data=data,
        title=f"Redistribution of the map {name}",
        verdict=_verdict(outcome),
        sections=sections,
        made=outcome.made,
        holds="true values and where they were moved",
        proven=False,
    )


def public_map(shown: ShownMap) -> str:
    """Return the page of a map as published. It is made of what is shown only, and does not tell what was changed."""
    data = as_shown(shown)
    placed = f", coordinate system {shown.crs}" if shown.crs else ""
    label = f"Map of {shown.name}, {many(len(shown), shown.grid.word)}{placed}"
    section = Section("map", "The map", {"compares": False, "label": label})
    title = say("Map {table}: {response}", table=shown.name, response=shown.response)
    return render("map_public.html", _SCRIPT, data=data, title=title, sections=[section], how="moved")


def _verdict(outcome: Outcome[MapResult]) -> dict[str, Any]:
    head = outcome.verdict
    about = next(iter(outcome.summary["tables"].values()))
    moved = about.get("units_moved", about.get("contributors_moved", 0))
    word = outcome.protected.tiles.grid.word
    figures = [
        (f"{about['shown']:,}", f"{word}s shown", f"of {about['hexagons']:,} with records"),
        (f"{about['sensitive']:,}", "had too few records", share(about["sensitive"], about["hexagons"])),
        (f"{moved:,}", "records moved", f"mu {about['mu']:,}"),
        (f"{about['lost_records']:,}", "records lost to the map", f"{about['lost_share']:.2%} of the total"),
    ]
    kind = head.kind if head.kind in {"safe", "unsafe"} else "undecided"
    released = "" if outcome.release is not None else "Nothing was released. "
    headline = f"{head.text[:1].upper()}{head.text[1:]}."
    return {"kind": kind, "headline": headline, "sentence": released + head.caveat, "figures": figures}


def _moved(outcome: Outcome[MapResult]) -> Section:
    """Describe what was moved, what it cost, and whether the total is kept."""
    done = outcome.protected
    about = next(iter(outcome.summary["tables"].values()))
    lost = about["lost_records"]
    kept = (
        f"no: {many(lost, 'record')} ({about['lost_share']:.2%} of the total) left the map"
        if lost
        else "yes: no record was removed"
    )
    grid = done.tiles.grid
    facts = [
        ("Cells", grid_words(grid.about())),
        ("Coordinate system", done.crs or "not said"),
        ("Rules", "; ".join(map(str, table_of(done.job).rules))),
        ("Outliers", f"{about['outliers']:,} ({_TREATED[done.spec.outliers]})"),
        ("Is the total kept?", kept),
        ("Utility U", f"{about['utility']:.1%} of the total is where it was"),
    ]
    if done.counts is not None:
        facts += [
            ("Algorithm", done.spec.algorithm),
            ("Moved", f"{many(about['units_moved'], 'record')}, {about['mu']:,} steps in all (mu)"),
            ("The least mu possible", _above(about["mu"], about["least_mu"])),
        ]
    else:
        facts += [
            ("Moved", f"{many(about['contributors_moved'], 'contributor')}, {about['mu']:,} steps in all (mu)"),
            (
                "Passed on",
                f"{about['passed_share']:.2%} of the total, in {many(about['passes'], 'round')}",
            ),
            ("Cells changed", f"{about['changed']:,}"),
        ]
    return Section("moved", "What was moved", {"facts": facts, "warnings": outcome.summary["warnings"]})


def grid_words(about: Mapping[str, Any]) -> str:
    """Return the grid of a map in words."""
    if about["of"] == "hexagons":
        return f"hexagons {short(about['dx'])} wide, neighbouring rows {short(about['dy'] / 2)} apart"
    if about["of"] == "squares":
        return f"squares {short(about['size'])} wide, of {about['neighbours']} neighbours each"
    return f"{about['areas']:,} areas with {about['borders']:,} borders"


_TREATED = {"remove": "removed", "redistribute": "their records went to the closest cells", "keep": "kept"}


def _above(mu: int, least: int | None) -> str:
    if least is None:
        return "not worked out, since the map is too wide"
    saved = "nothing" if mu <= least else f"at most {share(mu - least, mu)}"
    return f"{least:,}, so that {saved} could be saved"


def _undo(done: MapResult) -> Section:
    """Describe what somebody who knows the algorithm can undo, and what the attacker cannot."""
    t = done.threshold
    if done.values is None:
        about = done.summary()["tables"][table_of(done.job).name]
        received = done.spec.outliers == "redistribute"
        above = "" if received else f"A cell above {t} never had fewer than it shows. "
        rows: Sequence[tuple[str, str]] = [
            (
                "Cannot be undone",
                "Redistributing the shown map changes nothing, so the shown map may itself be the true one: no count "
                f"below {t} of a shown cell follows from it, even if one knows the algorithm, its settings and the "
                "total.",
            ),
            (
                "Can be concluded",
                above + "Every shown cell has at least one record of its own. Empty cells are empty, or were "
                "outliers; if outliers were removed, who knows the true total knows how many records they had, and "
                "where if only one place is possible.",
            ),
            (
                "Is likely",
                f"Of the {about['at_threshold']:,} cells that show exactly {t}, {about['raised']:,} had fewer.",
            ),
            (
                "Must stay inside",
                "How many records were moved, mu, and even that something was moved: with these, raised cells can "
                "be identified. Nothing of this is in the release.",
            ),
        ]
    else:
        rows = [
            (
                "Cannot be undone",
                "The changed contributions satisfy all rules and would not be changed again, so they may be the true "
                "ones for all that the shown totals tell (unless one knows, say, that all contributions are whole).",
            ),
            (
                "Direct estimates",
                f"Of {int(done.values.close.sum()):,} changed cells the total, or the total less the second largest "
                f"contribution, is within {done.values.closeness:g} % of the true largest one.",
            ),
            ("Not looked at", "Somebody who knows several contributions of a cell, or of its neighbours."),
        ]
    return Section("undo", "What an attacker can undo", {"rows": rows})


def _utility(done: MapResult) -> Section:
    """Show risk and utility of all algorithms, and the figures of the one that was used."""
    from markupsafe import Markup

    least = done.others["optimal"].mu if "optimal" in done.others else 0
    algorithms = [
        {
            "name": name,
            "used": name == done.spec.algorithm,
            "mu": f"{other.mu:,}",
            "above": share(other.mu - least, least) if least else "–",
            "units": f"{other.transfers.units_moved:,}",
            "u2_sum": f"{other.measures.u2_sum:,}",
            "u2_mean": number(other.measures.u2_mean, 3),
        }
        for name, other in done.others.items()
    ]
    pictures = [
        {**plot, "marks": Markup(plot["marks"])}  # noqa: S704 - made of numbers only
        for plot in plots({name: other.measures for name, other in done.others.items()})
    ]
    own = done.others[done.spec.algorithm].measures
    columns = (own.u, own.cells, own.r1, own.r2, own.u1, own.u3)
    rows = [
        ["infinite" if np.isinf(x) else short(float(x)) for x in row]
        for row in zip(*(c.tolist() for c in columns), strict=True)
    ]
    marks = [(name, Markup(mark(name, 6, 6))) for name in done.others]  # noqa: S704
    data = {"algorithms": algorithms, "plots": pictures, "rows": rows, "marks": marks}
    return Section("utility", "Risk and utility", data)
