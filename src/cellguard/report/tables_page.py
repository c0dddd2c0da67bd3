"""What pages about tables of any method have in common: titles, headings, legends, and the public page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellguard.report.page_grids import Grid, public_grid
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.report.words import many
from cellguard.table.pattern import Release
from cellguard.words.say import say, say_number

Legend = Sequence[tuple[str, str, str]]  # the letter of a status, its meaning, its mark
SUPPRESSED_OR_NOT: Legend = ((".", "published", ""), ("c", "suppressed", "c"))


def listed(names: Sequence[str]) -> str:
    """Return the first names of some tables."""
    return ", ".join(names[:3]) + (say(" and more") if len(names) > 3 else "")


def status_words(legend: Legend) -> dict[str, tuple[str, str]]:
    """Return for each letter that stands for a status its word and its mark."""
    return {letter: (words.split(":")[0], mark) for letter, words, mark in legend}


def heading(grid: Grid) -> dict[str, Any]:
    """Return what the heading of a grid says."""
    return {
        "name": grid["name"],
        "response": grid["response"],
        "by": say(" by ").join(axis["title"] for axis in grid["axes"]),
        "cells": many(len(grid["status"]), "cell"),
        "left_out": f"{grid['left_out']:,}" if grid["left_out"] else "",
    }


def public_tables(template: str, release: Release, *, title: str, marks: bool, **more: object) -> str:
    """Return a page of tables as published, made of the release and of nothing else."""
    dimensions = {dimension.name: dimension for dimension in release.dimensions}
    legend = SUPPRESSED_OR_NOT if marks else ()
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
            "cells": say_number(f"{len(table):,}"),
            "suppressed": say_number(f"{int(table.suppressed.sum()):,}"),
        }
        for table in release.tables
    ]
    tables = Section("tables", "The tables", {"grids": [heading(g) for g in grids], "legend": legend})
    name = title or say(
        "Table {tables}" if len(about) == 1 else "Tables {tables}", tables=", ".join(t.name for t in release.tables)
    )
    data = {"kinds": status_words(SUPPRESSED_OR_NOT), "tables": grids}
    return render(template, title=name, tables=about, sections=[tables], data=data, marks=marks, **more)
