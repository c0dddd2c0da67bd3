"""What an attacker knows beforehand of each distinct cell, and how far the unsafe ones must be protected."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.categories import Axes
from cellguard.verifier.cells import Cells
from cellguard.verifier.facts import MUST_PUBLISH, MUST_SUPPRESS, WAIVED, Facts
from cellguard.verifier.numbers import LARGEST, Bools, Floats, Int64, Ints, bools, difference, floors, narrow, scaled
from cellguard.verifier.relations import Matrix
from cellguard.verifier.rows import Rows
from cellguard.verifier.rules import Rule
from cellguard.verifier.spec import EARLIER, FITTED, LATENT, SUMS, Attack, Group, TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.verdict import DEFAULT_PERCENT, NOISE


@dataclass(frozen=True)
class Capacities:
    """How far each distinct cell may go down and up, in whole grains; the largest int64 means without limit."""

    down: Int64
    up: Int64


@dataclass(frozen=True)
class Needs:
    """What the rules ask for each distinct cell, in grains, and which cells they call unsafe."""

    unsafe: Bools
    lower: Int64
    upper: Int64
    sliding: Int64


def capacities(
    cells: Cells, rows: Rows, facts: Sequence[Facts], counted: Collection[Group] = frozenset()
) -> Capacities:
    """Return the capacities of all distinct cells: the narrowest over the tables that show a cell.

    No bound lets the responses go below 0 that are ``counted``.
    """
    down = np.full(cells.count, LARGEST, dtype=np.int64)
    up = np.full(cells.count, LARGEST, dtype=np.int64)
    for i, table in enumerate(cells.spec.tables):
        if table.where == SUMS:
            continue
        decimals = cells.spec.grains[table.group]
        value, cell = rows.value[i], cells.cell[cells.rows(i)]
        usual_down, usual_up = _usual(value, cells.spec.attack, decimals)
        # An upper bound is a lower bound of the mirror image: both sides then round alike.
        np.minimum.at(down, cell, _given(facts[i].lower, value, usual_down, decimals, table, mirror=False))
        np.minimum.at(up, cell, _given(facts[i].upper, value, usual_up, decimals, table, mirror=True))
        if table.group in counted:
            np.minimum.at(down, cell, difference(value, 0))
    return Capacities(down, up)


def with_sums(limits: Capacities, sums: Matrix) -> Capacities:
    """Return capacities in which a sum has that of all its parts: without limit, if one of them is.

    ``sums`` has a row per sum, with 1 at it and -1 at each of its parts.
    """
    down, up = limits.down.copy(), limits.up.copy()
    for row in range(sums.shape[0]):
        terms = slice(sums.indptr[row], sums.indptr[row + 1])
        whole, parts = sums.data[terms] > 0, sums.indices[terms][sums.data[terms] < 0]
        for capacity in (down, up):
            capacity[sums.indices[terms][whole]] = min(sum(int(capacity[part]) for part in parts), LARGEST)
    return Capacities(down, up)


def _usual(value: Ints, attack: Attack, decimals: int) -> tuple[Int64, Int64]:
    """Return the capacities that the attacker's general knowledge leaves: floor((value - lower) / grain), and up."""
    down = np.full(value.size, LARGEST, dtype=np.int64)
    up = down.copy()
    if attack.lower is not None:
        down = difference(value, -((-attack.lower * 10**decimals) // 1))
    if attack.upper is not None:
        up = difference(-value, -((attack.upper * 10**decimals) // 1))
    if attack.percent is not None:
        share: Fraction = attack.percent / 100
        near = narrow(scaled(np.abs(value), share.numerator) // share.denominator)
        down, up = np.minimum(down, near), np.minimum(up, near)
    return down, up


def _given(bound: pa.Array, value: Ints, usual: Int64, decimals: int, table: TableSpec, *, mirror: bool) -> Int64:
    """Return the usual capacity, replaced where a bound was given for the cell."""
    said, limitless = bools(pc.is_valid(bound)), bools(pc.fill_null(pc.match_substring(bound, "inf"), False))
    capacity = np.where(limitless, LARGEST, usual)
    given = np.flatnonzero(said & ~limitless)
    if not given.size:
        return capacity
    low, exact = floors(bound.take(pa.array(given)), decimals, table.facts)
    if mirror:
        capacity[given] = difference(-value[given], -low)
    else:
        capacity[given] = difference(value[given], low + ~exact)
    return capacity


def units(cells: Cells) -> Int64:
    """Return one unit of the last published decimal of each distinct cell in grains: the coarsest of its tables."""
    unit = np.ones(cells.count, dtype=np.int64)
    for i, table in enumerate(cells.spec.tables):
        finer = max(cells.spec.grains[table.group] - table.decimals, 0)
        if finer > 17:
            raise Refused(f"the grain of {table.name} is too fine for its published decimals")
        np.maximum.at(unit, cells.cell[cells.rows(i)], np.int64(10**finer))
    return unit


def needs(cells: Cells, facts: Sequence[Facts], rules: Sequence[Sequence[Rule]], limits: Capacities) -> Needs:
    """Recompute which cells are unsafe and their protection levels: the largest over rules and tables, capped, never
    nothing.
    """
    unsafe = np.zeros(cells.count, dtype=bool)
    lower, upper, sliding, wide = (np.zeros(cells.count, dtype=np.int64) for _ in range(4))
    listed = judged_elsewhere(cells)
    for i, table in enumerate(cells.spec.tables):
        cell = cells.cell[cells.rows(i)]
        placed = replace(facts[i], axes=axes_of(cells, i))
        here, levels = _table_needs(table, placed, rules[i], cells.spec.grains[table.group])
        here &= ~listed[cells.rows(i)]
        unsafe[cell[here]] = True
        for total, level in zip((lower, upper, wide), levels, strict=True):
            np.maximum.at(total, cell[here], level[here])
        if table.count:
            sliding[cell[here]] = 10 ** min(cells.spec.grains[table.group], 17)
    lower, upper = np.minimum(lower, np.maximum(limits.down, 0)), np.minimum(upper, np.maximum(limits.up, 0))
    known = np.where(np.maximum(limits.down, limits.up) > LARGEST // 2, LARGEST, limits.down + limits.up)
    sliding = np.maximum(sliding, np.minimum(wide, np.maximum(known, 0)))
    unit = units(cells)
    # What float rounding may have taken off a level of one unit must not count.
    least = unit - unit // 10**8 - (unit > 1)
    nothing = unsafe & (lower < least) & (upper < least) & (sliding < least)
    return Needs(unsafe, lower, upper, np.where(nothing, unit, sliding))


def judged_elsewhere(cells: Cells) -> Bools:
    """Return the rows of latent tables that another table lists, whose rules judge them."""
    listed, latent = np.zeros(cells.count, dtype=bool), np.zeros(cells.cell.size, dtype=bool)
    for i, table in enumerate(cells.spec.tables):
        listed[cells.cell[cells.rows(i)]] |= table.where not in (LATENT, FITTED)
        latent[cells.rows(i)] = table.where in (LATENT, FITTED)
    return np.asarray(latent & listed[cells.cell], dtype=bool)


def axes_of(cells: Cells, table: int) -> Axes:
    """Return the codes of a table's rows."""
    codes = cells.row_codes[cells.rows(table)]
    places = cells.axes(cells.spec.tables[table])
    own = {cells.dimensions[a].name: a for a in places}
    return Axes({name: codes[:, a] for name, a in own.items()}, {name: cells.dimensions[a] for name, a in own.items()})


def _table_needs(
    table: TableSpec, facts: Facts, rules: Sequence[Rule], decimals: int
) -> tuple[Bools, tuple[Int64, Int64, Int64]]:
    """Return the cells that this table makes unsafe, and their lower and upper levels and widths in grains."""
    if table.count:
        facts = replace(facts, count=np.where(np.isnan(facts.count), facts.total, facts.count))
    size = facts.total.size
    unsafe, missing = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    upper, noise, further, below, wide = (np.zeros(size) for _ in range(5))
    for rule in rules:
        verdict = rule.judge(facts)
        missing |= verdict.missing
        unsafe |= verdict.unsafe
        upper = np.where(verdict.unsafe, np.maximum(upper, verdict.upper), upper)
        noise = np.where(verdict.unsafe, np.maximum(noise, verdict.noise), noise)
        further = np.where(verdict.unsafe, np.maximum(further, verdict.further), further)
        below = np.where(verdict.unsafe, np.maximum(below, verdict.below), below)
        wide = np.where(verdict.unsafe, np.maximum(wide, verdict.wide), wide)
    missing &= facts.state != WAIVED
    if missing.any():
        raise Refused(f"{table.facts} row {int(np.argmax(missing))} lacks a fact that a rule needs")
    alone = (facts.state == MUST_SUPPRESS) & ~unsafe
    upper = np.where(alone & (not table.count), DEFAULT_PERCENT / 100 * facts.gross, upper)
    lower = np.where(np.isnan(facts.need_upper), np.maximum(upper, below), facts.need_upper)
    lower = np.where(np.isnan(facts.need_lower), lower, facts.need_lower)
    upper = np.where(np.isnan(facts.need_upper), np.maximum(upper, further), facts.need_upper)
    noise = np.maximum(noise, NOISE * upper)
    here = (unsafe | (facts.state == MUST_SUPPRESS)) & (facts.state != WAIVED)
    if table.where == EARLIER:  # what is public cannot be protected any more
        here &= facts.state != MUST_PUBLISH
    levels = (_grains_up(lower, noise, decimals), _grains_up(upper, noise, decimals))
    return here, (*levels, _grains_up(wide, noise, decimals))


def _grains_up(level: Floats, noise: Floats, decimals: int) -> Int64:
    """Return levels rounded up to whole grains, without what float rounding may have added."""
    exact = level * 10.0**decimals
    slack = 1e-9 * np.maximum(1, exact) + noise * 10.0**decimals
    return np.minimum(np.ceil(np.maximum(exact - slack, 0)), 9e18).astype(np.int64)
