"""The pages of a smoothed map."""

from __future__ import annotations

from cellguard.methods.maps.report.drawn import as_shown
from cellguard.methods.maps.report.page import grid_words
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.smoothing.result import SmoothResult
from cellguard.methods.maps.spec import table_of
from cellguard.report.render import render
from cellguard.report.run_facts import run_facts
from cellguard.report.section import Section
from cellguard.report.words import many, share, short
from cellguard.seam.outcome import Outcome
from cellguard.words.say import say

_SCRIPT = "map.js"


def internal_smoothed(outcome: Outcome[SmoothResult]) -> str:
    """Return the page of the officer. Confidential: it says how many squares are sensitive."""
    done, head = outcome.protected, outcome.verdict
    name = table_of(done.job).name
    about = next(iter(outcome.summary["tables"].values()))
    figures = [
        (f"{about['squares']:,}", "squares with records", f"{about['records']:,} records"),
        (f"{about['sensitive']:,}", "were sensitive", share(about["sensitive"], about["squares"])),
        (f"{about['shown']:,}", "squares after", "that anything of a record reaches"),
        (f"{about['still_sensitive']:,}", "still are", share(about["still_sensitive"], about["shown"])),
    ]
    facts = [
        ("Cells", grid_words(done.grid.about())),
        ("Bandwidth", f"{short(done.bandwidth)}, the standard deviation of the kernel"),
        ("Risk", f"{outcome.summary['risk']}, sensitive above {outcome.summary['max_risk']:g}"),
        ("Coordinate system", done.located.crs or "not said"),
    ]
    rows = [
        ("Not proven", "Nothing: the measures look at squares one by one, and at nobody who computes."),
        ("Can be undone", "An attacker who knows the kernel can solve for the figures before it, up to rounding."),
    ]
    released = "" if outcome.release is not None else "Nothing was released. "
    return render(
        "internal.html",
        _SCRIPT,
        data=as_shown(done.shown),
        title=f"Smoothing of the map {name}",
        verdict={
            "kind": "undecided",
            "headline": f"{head.text}.",
            "sentence": released + head.caveat,
            "figures": figures,
        },
        sections=[
            Section("map", "The map smoothed", {"compares": False, "label": f"Map of {name}"}),
            Section("moved", "How it was smoothed", {"facts": facts, "warnings": outcome.summary["warnings"]}),
            Section("undo", "What an attacker can undo", {"rows": rows}),
            run_facts(outcome.summary, outcome.made, "How the run went."),
        ],
        made=outcome.made,
        holds="how many squares are sensitive",
        proven=False,
    )


def public_smoothed(shown: ShownMap) -> str:
    """Return the page of a map as published, made of what is shown only."""
    label = f"Map of {shown.name}, {many(len(shown), shown.grid.word)}"
    section = Section("map", "The map", {"compares": False, "label": label})
    title = say("Map {table}: {response}", table=shown.name, response=shown.response)
    return render("map_public.html", _SCRIPT, data=as_shown(shown), title=title, sections=[section], how="smoothed")
