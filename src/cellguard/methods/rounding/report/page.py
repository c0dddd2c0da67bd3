"""The pages about rounded tables: one for the disclosure officer, confidential, and one for the public."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.methods.rounding.report.grids import LEGEND, rounded_grid
from cellguard.methods.rounding.report.sections import concluded, looked_at, rounding, verdict
from cellguard.methods.rounding.result import RoundingResult
from cellguard.report.changed_pages import tables_of
from cellguard.report.render import render
from cellguard.report.run_facts import run_facts
from cellguard.report.tables_page import listed, public_tables, status_words
from cellguard.seam.outcome import Outcome


def internal_page(outcome: Outcome[RoundingResult]) -> str:
    """Return the page about rounded tables. Confidential: it holds true values."""
    done = outcome.protected
    here = [number for number, table in enumerate(done.tables) if table.name in done.bases()]
    grids = [rounded_grid(done, number) for number in here]
    return render(
        "internal.html",
        title="Rounding of " + listed(list(done.bases())),
        verdict=verdict(outcome),
        sections=[
            rounding(outcome),
            tables_of(grids, LEGEND),
            concluded(outcome),
            looked_at(outcome),
            run_facts(outcome.summary, outcome.made, "How the run went."),
        ],
        data={"kinds": status_words(LEGEND), "tables": grids},
        made=outcome.made,
        holds="true values and what an attacker can conclude of them",
        proven=False,
    )


def public_page(outcome: Outcome[RoundingResult]) -> str:
    """Return a page of rounded tables as published: their figures, and how they were rounded."""
    release = outcome.release
    assert release is not None  # noqa: S101 - a page of what may not be published is not made
    done = outcome.protected
    words = {name: done.words(name) for name in done.bases()}
    more: dict[str, Any] = {
        "rounding": list(dict.fromkeys(_how(said) for said in words.values())),
        "suppressed": bool(np.any([table.hidden for table in release.tables])),
        "adds_up": done.rounded.is_additive,
    }
    return public_tables("public_rounded.html", release, title="", marks=more["suppressed"], **more)


def _how(said: dict[str, Any]) -> str:
    base = f"{said['base']:g}"
    if said["kind"] == "conventional":
        return f"each is the multiple of {base} that is nearest to the true one"
    if said["kind"] == "small_counts":
        return f"inner counts below {base} are 0 or {base}, and all other figures are sums of inner ones"
    if said["kind"] == "controlled":
        far = "" if not said["steps"] else f", or up to {said['steps']} further"
        return (
            f"each is one of the two multiples of {base} next to the true one{far}, chosen so that the figures add up"
        )
    return f"each is one of the two multiples of {base} next to the true one, chosen at random"
