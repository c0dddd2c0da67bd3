"""The two pages about perturbed tables: one for the disclosure officer, confidential, and one for the public."""

from __future__ import annotations

from cellguard.methods.perturb.report.checks import extreme, findings, looked_at, run, verdict
from cellguard.methods.perturb.report.pictures import pictures
from cellguard.methods.perturb.report.sections import chosen_mu, noise, perturbed
from cellguard.methods.perturb.report.tables import LEGEND, perturbed_grid
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.report.tables_page import heading, listed, public_tables, status_words
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Release


def perturbed_page(outcome: Outcome[PerturbationResult]) -> str:
    """Return the page about perturbed tables. Confidential: it holds true values and noise."""
    grids = [perturbed_grid(outcome, at) for at in range(len(outcome.protected.check.tables))]
    seen = set().union(*(grid["status"] for grid in grids))
    legend = [entry for entry in LEGEND if entry[0] in seen]
    tables = Section("tables", "The tables", {"grids": [heading(g) for g in grids], "legend": legend})
    made = (
        perturbed(outcome),
        tables,
        noise(outcome),
        pictures(outcome),
        chosen_mu(outcome),
        findings(outcome),
        extreme(outcome),
        looked_at(outcome),
    )
    return render(
        "internal.html",
        title="Perturbation of " + listed([here.table.name for here in outcome.protected.check.tables]),
        verdict=verdict(outcome),
        sections=[*(section for section in made if section is not None), run(outcome)],
        data={"kinds": status_words(LEGEND), "tables": grids},
        made=outcome.made,
        holds="true values and their noise",
        proven=False,
    )


def public_perturbed_page(release: Release, *, adds_up: bool = True, title: str = "") -> str:
    """Return a page of perturbed tables as published, which says in general words that they carry noise.

    It is made from the release and from nothing else; ``adds_up`` False says that rounding broke sums.
    """
    return public_tables("public_perturbed.html", release, title=title, marks=False, adds_up=adds_up)
