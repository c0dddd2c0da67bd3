"""The tables: windows of the grid, trees with sums, one cell after the other, states of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, HTTPException

from cellguard.errors import InputError
from cellguard.faces.studio.asking import Answer, Anyone, Here, Maker, named
from cellguard.faces.studio.models import MOST_SEEN, CellAsked, Seek, StatesAsked, Window
from cellguard.faces.studio.studio import Studio
from cellguard.methods.suppress.cell_card import cell_card
from cellguard.pipeline import cell_states
from cellguard.pipeline.sheets import run_tables
from cellguard.views.sheet import Drawn, Fold, Look, Sheet, Side
from cellguard.words.retell import retell

router = APIRouter(prefix="/api")


@router.get("/found")
def what_was_found(studio: Here, session: Anyone) -> Answer:
    """Return what the rules find in the job as it is now, or how far that is."""
    found, work = studio.assessing()
    if found is None:
        work.wait(0.5)
        found, work = studio.assessing()
    if found is None:
        return {"ready": False, "work": work.plain()}
    summary = found.summary()
    shown = {spec.name for spec in found.job.tables if spec.publish not in ("nothing", "latent")}
    tables = {name: told for name, told in summary["tables"].items() if name in shown}
    done, undone = cell_states.history(studio.job.record.entries())
    return {
        "ready": True,
        "headline": retell(summary["headline"]),
        "warnings": list(map(retell, summary["warnings"])),
        "set": summary["set"],
        "tables": tables,
        "records": summary.get("microdata", {}),
        "undo": len(done),
        "redo": len(undone),
    }


@router.get("/tables")
def tables_of(studio: Here, session: Anyone, run: int | None = None) -> Answer:
    """Return the tables that can be looked at, as the rules find them now, or of a run."""
    if run is not None:
        return {"tables": run_tables(studio.job.run(run).path)}
    return {"tables": [spec.name for spec in studio.assessed().job.tables if spec.publish not in ("nothing", "latent")]}


@router.post("/window")
def window(asked: Window, studio: Here, session: Anyone) -> Answer:
    """Return a window of a table: heads, and for each place the text, the status and the number of its cell."""
    if (asked.bottom - asked.top) * (asked.right - asked.left) > MOST_SEEN:
        raise InputError("this window is too large; ask for a smaller one")
    sheet = studio.sheet(asked.table, asked.run)
    look = sheet.usual_look() if asked.look is None else asked.look.look()
    figure = next(iter(sheet.figures)) if asked.figure is None else asked.figure
    if figure not in sheet.figures:
        raise InputError(f"there is no figure {figure!r}; there are {', '.join(sheet.figures)}")
    drawn = sheet.draw(look)
    seen = drawn.window(asked.top, asked.left, asked.bottom, asked.right)
    flat = seen.ravel().tolist()
    texts = ["" if cell < 0 else sheet.text(figure, cell) for cell in flat]
    status = [-1 if cell < 0 else int(sheet.status[cell]) for cell in flat]
    return {
        "rows": len(drawn.rows),
        "columns": len(drawn.columns),
        "top": asked.top,
        "left": asked.left,
        "wide": seen.shape[1],
        "row_heads": _heads(drawn.rows, asked.top, asked.top + seen.shape[0]),
        "column_heads": _heads(drawn.columns, asked.left, asked.left + seen.shape[1]),
        "texts": texts,
        "status": status,
        "picked": [i for i, cell in enumerate(flat) if cell >= 0 and drawn.marked[cell]],
        **({} if asked.look is not None else _about(sheet, look)),
        "matches": int(drawn.picked.sum()) if look.filters else 0,
    }


def _heads(side: Side, start: int, stop: int) -> list[list[Any]]:
    return [[h.code, h.label, h.depth, int(h.folds) + int(h.folds and h.open)] for h in side.heads(start, stop)]


def _about(sheet: Sheet, look: Look) -> Answer:
    """Return what a page must know of a table once: its dimensions, words, reasons and figures, and the first look."""
    return {
        "cells": len(sheet),
        "words": list(sheet.words),
        "counts": sheet.counts(),
        "reasons": {reason: int(cells.sum()) for reason, cells in sheet.reasons.items() if cells.any()},
        "figures": list(sheet.figures),
        "totals": {axis.name: next(iter(axis.depth), "") for axis in sheet.grid.axes},
        "dimensions": [{"name": axis.name, "codes": len(axis.codes)} for axis in sheet.grid.axes],
        "look": {
            "rows": look.rows,
            "columns": look.columns,
            "fixed": dict(look.fixed),
            "row_fold": _fold(look.row_fold),
            "column_fold": _fold(look.column_fold),
        },
    }


def _fold(fold: Fold) -> Answer:
    return {"depth": fold.depth, "turned": sorted(fold.turned)}


@router.post("/seek")
def seek(asked: Seek, studio: Here, session: Anyone) -> Answer:
    """Return where the next picked cell stands."""
    drawn: Drawn = studio.sheet(asked.table, asked.run).draw(asked.look.look())
    place = drawn.next_picked(asked.row, asked.column, back=asked.back)
    return {"place": place}


@router.get("/tree")
def tree(table: str, dimension: str, studio: Here, session: Anyone, run: int | None = None) -> Answer:
    """Return a dimension as a tree: each code with its margin, where all other dimensions are at their total."""
    sheet = studio.sheet(table, run)
    names = [axis.name for axis in sheet.grid.axes]
    if dimension not in names:
        raise HTTPException(404, f"table {table!r} has no dimension {dimension!r}")
    fixed = tuple((axis.name, next(iter(axis.depth), "")) for axis in sheet.grid.axes if axis.name != dimension)
    drawn = sheet.draw(Look(dimension, None, fixed))
    cells = drawn.window(0, 0, len(drawn.rows), 1)[:, 0].tolist()
    figure = next(iter(sheet.figures))
    unsafe = _unsafe_below(sheet, dimension)
    axis = sheet.grid.axis(dimension)
    heads = drawn.rows.heads(0, len(drawn.rows))
    return {
        "codes": [
            [h.code, h.label, h.depth, sheet.text(figure, cell) if cell >= 0 else "", unsafe[axis.position[h.code]]]
            for h, cell in zip(heads[:20_000], cells, strict=False)
        ],
        "left_out": max(len(heads) - 20_000, 0),
    }


def _unsafe_below(sheet: Sheet, dimension: str) -> list[int]:
    """Return how many cells of each code are unsafe, or suppressed."""
    number = [axis.name for axis in sheet.grid.axes].index(dimension)
    marked = np.isin(sheet.status, [i for i, w in enumerate(sheet.words) if w in {"unsafe", "primary", "secondary"}])
    size = len(sheet.grid.axes[number].codes)
    many: list[int] = np.bincount(sheet.grid.codes[number][marked], minlength=size).tolist()
    return many


@router.post("/cell")
def cell(asked: CellAsked, studio: Here, session: Anyone) -> Answer:
    """Return all that is known of a cell: by the rules as they are now, and by the run that is looked at."""
    told: Answer = {"card": None, "run": None, "said": {}}
    if asked.run is None:
        return told | _by_rules(studio, asked)
    sheet = studio.sheet(asked.table, asked.run)
    number = sheet.find(asked.codes)
    if number is None:
        raise HTTPException(404, "the table has no such cell")
    figures = {name: sheet.text(name, number) for name in sheet.figures}
    told["run"] = {"status": sheet.words[int(sheet.status[number])], "figures": figures}
    try:
        return told | _by_rules(studio, asked)
    except (InputError, HTTPException):  # the job is another one by now
        return told


def _by_rules(studio: Studio, asked: CellAsked) -> Answer:
    found = studio.assessed()
    if asked.table not in [table.name for table in found.tables.tables]:
        raise HTTPException(404, f"there is no table {asked.table!r}")
    try:
        position = found.findings[asked.table].table.find(asked.codes)
    except InputError as error:
        raise HTTPException(404, str(error)) from None
    card = cell_card(found.findings, found.needs, asked.table, position).plain()
    said = cell_states.said_of(studio.job, asked.table).get(tuple(asked.codes), {}) if studio.is_suppressed else {}
    return {"card": card, "said": dict(said)}


@router.post("/why")
def why(asked: CellAsked, studio: Here, session: Anyone) -> Answer:
    """Say why a cell of a run is suppressed, what it protects, and what would be lost if it were published."""
    if asked.run is None:
        raise InputError("only a run knows why its cells are suppressed")
    return {"lines": studio.explainer(asked.run).lines("/".join(asked.codes), asked.table)}


@router.post("/states")
def set_states(asked: StatesAsked, studio: Here, session: Maker) -> Answer:
    """Say something of cells: a state, a cost, or that nothing is said any more."""
    said = {"status": asked.status, "cost": asked.cost}
    given = {name: word.strip() for name, word in said.items() if word is not None}
    if not given:
        raise InputError("say a status or a cost")
    cells = [tuple(codes) for codes in asked.cells]
    found = studio.assessed().findings[asked.table].table
    for codes in cells:
        found.find(codes)
    who = named(session)
    changes = cell_states.set_states(studio.job, asked.table, cells, given, who=who, role=session.role)
    return {"changed": len(changes), "stamp": studio.tag()}


@router.post("/states/undo")
def undo(studio: Here, session: Maker) -> Answer:
    """Take back the last change of states."""
    changed = len(cell_states.undo(studio.job, who=named(session), role=session.role))
    return {"changed": changed, "stamp": studio.tag()}


@router.post("/states/redo")
def redo(studio: Here, session: Maker) -> Answer:
    """Make the last change again that was taken back."""
    changed = len(cell_states.redo(studio.job, who=named(session), role=session.role))
    return {"changed": changed, "stamp": studio.tag()}
