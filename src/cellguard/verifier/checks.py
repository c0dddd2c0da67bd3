"""Checks 2 to 5 and 7: rows, published values, suppressing, needs, and what the witnesses reach."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier import facts as said
from cellguard.verifier.cells import Cells, combine
from cellguard.verifier.facts import Facts
from cellguard.verifier.numbers import Bools, Int64, bools, check_plainest, grains, rounded, scaled
from cellguard.verifier.released import METADATA, guarded_dimensions
from cellguard.verifier.requirements import Needs, units
from cellguard.verifier.rows import PRIMARY, PUBLISHED, SECONDARY, UNPUBLISHED, Published, Rows, blank, listed
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import can_fire
from cellguard.verifier.spec import EARLIER, Spec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_bytes, read_json
from cellguard.verifier.witnesses import Witnesses, reach, wide_enough


def _refuse(wrong: Bools, cells: Cells, what: str, *, base: int = 0) -> None:
    """Refuse the first row that is wrong, counted from ``base`` among the rows of all tables."""
    if wrong.any():
        raise Refused(f"{cells.row_name(base + int(np.argmax(wrong)))} {what}")


def check_once(cells: Cells) -> None:
    """Refuse a table that shows a cell twice."""
    for i, table in enumerate(cells.spec.tables):
        cell = cells.cell[cells.rows(i)]
        first = np.zeros(cell.size, dtype=bool)
        first[np.unique(cell, return_index=True)[1]] = True
        _refuse(~first, cells, f"is a cell that {table.internal} already has", base=int(cells.offsets[i]))


def check_order(cells: Cells) -> None:
    """Refuse rows that are not in the order of the hierarchies: any other order tells something about the values."""
    for i, table in enumerate(cells.spec.tables):
        axes, rows = cells.axes(table), cells.row_codes[cells.rows(i)]
        key = combine([rows[:, a] for a in axes], [len(cells.dimensions[a].codes) for a in axes], len(rows))
        late = np.concatenate([[False], key[1:] < key[:-1]])
        _refuse(late, cells, "is not in the order of the hierarchies", base=int(cells.offsets[i]))


def check_copies(cells: Cells, rows: Rows) -> None:
    """Refuse linked copies of a cell that differ in value, or in status where both are shown."""
    shown = np.flatnonzero(rows.status != UNPUBLISHED)
    status = np.full(cells.count, UNPUBLISHED, dtype=np.int64)
    status[cells.cell[shown[::-1]]] = rows.status[shown[::-1]]
    differs = (rows.status != UNPUBLISHED) & (rows.status != status[cells.cell])
    _refuse(differs, cells, "does not have the status that the same cell has elsewhere")
    first = cells.first_row()[cells.cell]
    value = np.concatenate(rows.value)
    _refuse(value != value[first], cells, "does not have the value that the same cell has elsewhere")


def check_facts(cells: Cells, rows: Rows, facts: Sequence[Facts]) -> None:
    """Refuse facts whose total or count is not that of the internal row."""
    for i, table in enumerate(cells.spec.tables):
        value = rows.value[i].astype(np.float64)
        total = facts[i].total * 10.0 ** cells.spec.grains[table.group]
        off = np.abs(total - value) > 0.5 + 1e-9 + 1e-15 * np.abs(value)
        _refuse(off, cells, f"does not have the total of {table.facts}", base=int(cells.offsets[i]))
        count = np.where(np.isnan(facts[i].count), -1, facts[i].count)
        differs = count != rows.count[cells.rows(i)]
        _refuse(differs, cells, f"does not have the count of {table.facts}", base=int(cells.offsets[i]))


def check_shown(cells: Cells, rows: Rows, not_shown: Bools) -> None:
    """Refuse a row whose status does not tell whether it is to be in the release."""
    unpublished = rows.status == UNPUBLISHED
    _refuse(unpublished & ~not_shown, cells, "is unpublished, but neither its state nor the job's levels say so")
    _refuse(~unpublished & not_shown, cells, "is not to be published, but its status says otherwise")


def check_published(cells: Cells, rows: Rows, release: Sequence[Published]) -> None:
    """Refuse a published value that is not the rounded one, and a suppressed row that is not empty and flagged."""
    for i, (table, published) in enumerate(zip(cells.spec.tables, release, strict=True)):
        status = rows.status[cells.rows(i)][published.shown]
        hidden = status != PUBLISHED
        flag = bools(pc.equal(published.flag, "c"))
        wrong = np.where(hidden, ~blank(published.value) | ~flag, blank(published.value) | ~blank(published.flag))
        if wrong.any():
            line = int(np.argmax(wrong)) + 2
            raise Refused(f"{table.release} line {line} does not show value and flag as its status asks")
        there = np.flatnonzero(~hidden)
        nothing = "0." + "0" * table.decimals if table.decimals else "0"
        text, where = pc.if_else(pa.array(hidden), nothing, published.value), f"{table.release}, published value"
        shown = grains(text, table.decimals, where)[there]
        check_plainest(text, table.decimals, where)
        finer = cells.spec.grains[table.group] - table.decimals
        true = rows.value[i][published.shown[there]]
        expected = rounded(true, 10**finer) if finer > 0 else scaled(true, 10**-finer)
        differs = shown != expected
        if differs.any():
            line = int(there[np.argmax(differs)]) + 2
            raise Refused(f"{table.release} line {line} is not the true value rounded to {table.decimals} decimals")


def check_metadata(folder: Folder, cells: Cells, release: Sequence[Published]) -> None:
    """Refuse published metadata that is wrong or says more than it may."""
    metadata: Any = read_json(read_bytes(folder, METADATA), METADATA).get("tables")
    if not isinstance(metadata, dict) or set(metadata) != {t.name for t in cells.spec.released}:
        raise Refused(f"{METADATA} does not have exactly the released tables of the certificate")
    whole = {}
    for table, published in zip(cells.spec.tables, release, strict=True):
        if not table.released:
            continue
        expected = {
            "by": list(table.by),
            "response": table.response,
            "population": table.population,
            "decimals": table.decimals,
            "cells": int(published.shown.size),
            "suppressed": int(blank(published.value).sum()),
        }
        guarded = guarded_dimensions(folder, table)
        expected |= {"guarded": guarded} if guarded else {}
        if metadata[table.name] != expected:
            raise Refused(f"{METADATA} does not say of {table.name} what it should, and nothing else")
        whole[table.name] = expected
    text = json.dumps({"tables": whole}, indent=1, ensure_ascii=False) + "\n"
    if read_bytes(folder, METADATA) != text.encode("utf-8"):
        raise Refused(f"{METADATA} says something besides its tables, or in another way than a folder does")


def check_hidden(cells: Cells, rows: Rows, release: Sequence[Published]) -> None:
    """Refuse a primary that some table shows, and a cell that is published here and suppressed there."""
    seen = np.zeros(cells.cell.size, dtype=bool)
    for i, published in enumerate(release):
        seen[int(cells.offsets[i]) + published.shown[~blank(published.value)]] = True
    seen |= rows.status == PUBLISHED
    primary, hidden = np.zeros(cells.count, dtype=bool), np.zeros(cells.count, dtype=bool)
    primary[cells.cell[rows.status == PRIMARY]] = True
    hidden[cells.cell[~seen & (rows.status != UNPUBLISHED)]] = True
    _refuse(seen & primary[cells.cell], cells, "is primary, but a table shows it")
    _refuse(seen & hidden[cells.cell], cells, "is published, but another table suppresses the same cell")


def check_earlier(cells: Cells, rows: Rows, facts: Sequence[Facts]) -> None:
    """Refuse a cell that an earlier release shows, as its state says, but that is taken to be unknown."""
    for i, table in enumerate(cells.spec.tables):
        if table.where == EARLIER:
            public = facts[i].state == said.MUST_PUBLISH
            off = public != (rows.status[cells.rows(i)] == PUBLISHED)
            off &= public | (facts[i].state != said.WAIVED)
            _refuse(off, cells, "is not what the earlier release made of it", base=int(cells.offsets[i]))


def check_needs(cells: Cells, rows: Rows, asked: Needs) -> None:
    """Refuse an unsafe cell that is not primary, and stored needs that are smaller than the recomputed ones.

    An unpublished cell keeps its status; if it is unsafe it has needs like a primary. Who moves a cell both down and up
    by its protection levels moves it by their sum.
    """
    unsafe = asked.unsafe[cells.cell]
    named = (rows.status == PRIMARY) | (rows.status == UNPUBLISHED)
    _refuse(unsafe & ~named, cells, "is unsafe, but not primary")
    for name, stored, need in (
        ("lower", rows.lower, asked.lower),
        ("upper", rows.upper, asked.upper),
        ("sliding", np.maximum(rows.sliding, rows.lower + rows.upper), asked.sliding),
    ):
        _refuse(unsafe & (stored < need[cells.cell]), cells, f"has a smaller {name} need than the rules ask for")
    unit = units(cells)[cells.cell]
    most = np.maximum(np.maximum(rows.lower, rows.upper), rows.sliding)
    _refuse((rows.status == PRIMARY) & (most < unit), cells, "is primary without a protection level of one unit")


def check_reached(cells: Cells, rows: Rows, witnesses: Witnesses) -> int:
    """Refuse a need that no witness reaches; return how many distinct cells have needs."""
    lower, upper, sliding = (_largest(cells, need) for need in (rows.lower, rows.upper, rows.sliding))
    reached = reach(witnesses, cells)
    short = {
        "down": reached.down < lower,
        "up": reached.up < upper,
        "wide enough": ~wide_enough(witnesses, reached, sliding),
    }
    for word, missing in short.items():
        if missing.any():
            name = cells.cell_name(int(np.argmax(missing)))
            raise Refused(
                f"no witness takes {name} {word} as far as its protection level ({int(missing.sum())} cells in all)"
            )
    return int(((lower > 0) | (upper > 0) | (sliding > 0)).sum())


def _largest(cells: Cells, need: Int64) -> Int64:
    largest = np.zeros(cells.count, dtype=np.int64)
    np.maximum.at(largest, cells.cell, need)
    return largest


def known_cells(cells: Cells, rows: Rows) -> Bools:
    """Return the distinct cells that an attacker knows: published somewhere, or visibly empty in some table.

    A combination without a row, all of whose codes a table shows, is a public 0.
    """
    known = np.zeros(cells.count, dtype=bool)
    known[cells.cell[rows.status == PUBLISHED]] = True
    for i, table in enumerate(cells.spec.tables):
        part = cells.rows(i)
        mine = np.flatnonzero(cells.group == cells.spec.groups.index(table.group))
        mine = mine[~np.isin(mine, cells.cell[part])]
        if mine.size:
            shown = listed(cells, rows, i)
            known[mine[cells.covered(i, cells.combination[mine], shown)]] = True
    return known


def check_trust(spec: Spec, unknown: set[str]) -> None:
    """Refuse a table without rules, and trust in other rules than exactly those that cannot be recomputed."""
    judged = [table for table in spec.tables if any(can_fire(parse_rule(rule)) for rule in table.rules)]
    for table in spec.tables:
        # Counts may be no secret beside values that rules judge.
        shown = [other for other in judged if not other.count and other.population == table.population]
        beside = table.count and table.rules and any(set(other.by) == set(table.by) for other in shown)
        if table not in judged and not beside:
            raise Refused(f"no rule was applied to {table.name}, so nothing is claimed of it")
    for name in sorted(unknown - set(spec.trusted)):
        raise Refused(f"rule {name} cannot be recomputed, and the certificate does not name it as taken on trust")
    for name in sorted(set(spec.trusted) - unknown):
        raise Refused(f"the certificate asks to trust {name}, which is not a rule that needs trust")


def warnings(cells: Cells, rows: Rows, facts: Sequence[Facts], witnesses: Witnesses) -> list[str]:
    """Return what a reader should know although no check fails."""
    moved = np.zeros(cells.count, dtype=bool)
    moved[witnesses.cell] = True
    first = cells.first_row()
    secondary = np.zeros(cells.count, dtype=bool)
    secondary[cells.cell[rows.status == SECONDARY]] = True
    still = np.flatnonzero(~moved & secondary)
    notes = []
    if still.size:
        names = "; ".join(cells.row_name(int(first[c])) for c in still[:5])
        notes.append(f"{still.size} secondary cells may be worked out exactly, no witness moves them: {names}")
    state = np.concatenate([f.state for f in facts])
    odd = {
        "must_publish": (state == said.MUST_PUBLISH) & (rows.status != PUBLISHED),
        "secondary": (state == said.SECONDARY) & (rows.status == PUBLISHED),
    }
    for word, where in odd.items():
        if where.any():
            notes.append(f"{int(where.sum())} rows were said to be {word} and are not: first {_name(cells, where)}")
    return notes


def count_said(cells: Cells, facts: Sequence[Facts]) -> dict[str, int]:
    """Return of how many distinct cells each state, a cost, a bound or a protection level was stated in advance."""
    state = np.concatenate([f.state for f in facts])
    said_of = {word: state == number for number, word in enumerate(said.STATES)}
    columns = [np.concatenate(column) for column in zip(*(f.said for f in facts), strict=True)]
    said_of |= {"cost": columns[1], "bounds": columns[2] | columns[3], "needs": columns[4] | columns[5]}
    return {word: int(np.unique(cells.cell[rows]).size) for word, rows in said_of.items() if rows.any()}


def _name(cells: Cells, where: Bools) -> str:
    return cells.row_name(int(np.argmax(where)))
