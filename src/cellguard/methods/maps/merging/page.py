"""The pages of a merged map: for the disclosure officer, and for the public."""

from __future__ import annotations

from typing import Any

from cellguard.methods.maps.merging.result import MergeResult
from cellguard.methods.maps.report.drawn import as_shown
from cellguard.methods.maps.report.page import grid_words
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.spec import table_of
from cellguard.report.render import render
from cellguard.report.run_facts import run_facts
from cellguard.report.section import Section
from cellguard.report.words import many, share
from cellguard.seam.outcome import Outcome
from cellguard.words.say import say

_SCRIPT = "map.js"


def internal_merged(outcome: Outcome[MergeResult]) -> str:
    """Return the page of the officer. Confidential: it says how many cells are unsafe, and what is left out."""
    done = outcome.protected
    name, word = table_of(done.job).name, done.pieces.word
    about = next(iter(outcome.summary["tables"].values()))
    sections = [
        Section(
            "map", "The map as shown", {"compares": False, "label": f"Map of {name}, {many(len(done.shown), word)}"}
        ),
        Section("moved", "What was merged", {"facts": _facts(outcome, about), "warnings": outcome.summary["warnings"]}),
        Section("undo", "What differences tell", {"rows": _undo(done, about)}),
        run_facts(outcome.summary, outcome.made, "How the run went."),
    ]
    return render(
        "internal.html",
        _SCRIPT,
        data=as_shown(done.shown),
        title=f"Merging of the map {name}",
        verdict=_verdict(outcome, about, word),
        sections=sections,
        made=outcome.made,
        holds="how many cells are unsafe, and what is left out",
        proven=False,
    )


def public_merged(shown: ShownMap) -> str:
    """Return the page of a map as published, made of what is shown only."""
    placed = f", coordinate system {shown.crs}" if shown.crs else ""
    label = f"Map of {shown.name}, {many(len(shown), shown.grid.word)}{placed}"
    section = Section("map", "The map", {"compares": False, "label": label})
    title = say("Map {table}: {response}", table=shown.name, response=shown.response)
    return render("map_public.html", _SCRIPT, data=as_shown(shown), title=title, sections=[section], how="merged")


def _verdict(outcome: Outcome[MergeResult], about: dict[str, Any], word: str) -> dict[str, Any]:
    head = outcome.verdict
    figures = [
        (f"{about['shown']:,}", f"{word}s shown", f"from {about['cells']:,} cells with records"),
        (f"{about['unsafe']:,}", "cells were unsafe", share(about["unsafe"], about["cells"])),
        (f"{about['kept']:,}", "cells as they were", share(about["kept"], about["cells"])),
        (f"{about['lost_records']:,}", "records not on the map", f"{about['lost_share']:.2%} of all"),
    ]
    released = "" if outcome.release is not None else "Nothing was released. "
    headline = f"{head.text[:1].upper()}{head.text[1:]}."
    kind = head.kind if head.kind in {"safe", "unsafe"} else "undecided"
    return {"kind": kind, "headline": headline, "sentence": released + head.caveat, "figures": figures}


def _facts(outcome: Outcome[MergeResult], about: dict[str, Any]) -> list[tuple[str, str]]:
    done = outcome.protected
    sizes = ", ".join(f"{n:,} of {size}" for size, n in outcome.summary["pieces"]["sizes"].items())
    return [
        ("Smallest cells", grid_words(done.tiles.grid.about())),
        ("Shown, by " + ("size" if done.pieces.word == "square" else "number of areas"), sizes),
        ("Coordinate system", done.located.crs or "not said"),
        ("Rules", "; ".join(map(str, table_of(done.job).rules))),
        ("Left out", f"{about['left_out']:,} unsafe at their largest size, {about['left_out_beside']:,} beside them"),
    ]


def _undo(done: MergeResult, about: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (
            "Differences",
            f"Shown cells and the total leave {about['remainders']:,} sums that can be worked out; a rule finds "
            f"{done.audit.unsafe:,} of them unsafe. They were worked out anew from the records and the outlines.",
        ),
        (
            "Can be concluded",
            "A merged cell has a part right below it that is unsafe, but not which; how places may be merged does not "
            "depend on records.",
        ),
        (
            "Must stay inside",
            "Which of the small cells have any records at all: who knows that of a merged cell may conclude that each "
            "has one.",
        ),
    ]
