"""Tables that another tool protected: suppressed cells are marked, and their true values may not be known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.attack.external_totals import NO_TOTALS, ExternalTotals
from cellguard.attack.intervals import exact_moves
from cellguard.errors import InputError, NotAdditive
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.proofs.levels import Levels
from cellguard.proofs.problem import SPARE, Problem
from cellguard.proofs.scale import UNLIMITED
from cellguard.run_context import UNWATCHED, Run
from cellguard.solver.program import Program, Status
from cellguard.table.additivity import allowance
from cellguard.table.apriori import State
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import Source
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet
from cellguard.world.constraints import Constraints, constrain_tables
from cellguard.world.knowledge import Knowledge, least_between
from cellguard.world.world import with_sums

_LONGEST = 2.0**60  # grains that a cell may move at most, so that it is a whole number of them in int64


@dataclass(frozen=True, eq=False)
class Intervals:
    """What an attacker can work out of tables without their suppressed values: an interval per distinct cell."""

    constraints: Constraints
    unknown: BoolArray
    lower: FloatArray
    upper: FloatArray

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.constraints.tables

    @property
    def disclosed(self) -> BoolArray:
        """The suppressed cells whose interval is narrower than one unit of the last decimal: they are known exactly."""
        return np.asarray(self.unknown & (self.upper - self.lower < self.tables.unit * 0.999), bool)


def read_protected(
    source: Source,
    by: Mapping[str, Dimension],
    value: str,
    *,
    flag: str | None = None,
    suppressed: Collection[str] = (),
    about: About,
) -> Table:
    """Read a table with suppressed cells: their value is a mark or blank, or a flag column says so.

    ``suppressed`` are the flags that mean it, if it has others too. Suppressed cells get the value 0 and the state
    ``secondary``; code that asks for their value must look at the state.
    """
    hidden = source.flagged(flag, value, suppressed) if flag else source.hidden(value)
    nothing = hidden | source.empty(flag, value) if flag else hidden
    source = source.settled([value])
    shown = pc.if_else(pa.array(~nothing), source.column(value).cast(pa.string()), "0")
    clean = replace(source, columns=source.columns.set_column(source.names.index(value), value, shown))
    table = read_cells(clean, by, CellColumns(value), replace(about, zeros=about.zeros or "known"))
    state = np.where(hidden[np.maximum(table.rows, 0)] & (table.rows >= 0), State.secondary, State.none)
    return replace(table, apriori=replace(table.apriori, state=state.astype(np.int8)))


def hidden_cells(tables: TableSet) -> BoolArray:
    """Return which distinct cells are suppressed in every table that shows them."""
    shown = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        shown[cells[~table.apriori.has(State.secondary) & ~table.unpublished]] = True
    return ~shown


def refuse_unpublished(tables: Sequence[Table]) -> None:
    """Refuse tables of which nothing is published: whatever is suppressed there, nobody could work it out."""
    if all(table.apriori.has(State.secondary)[table.rows >= 0].all() for table in tables):
        raise InputError(
            "every cell of these tables is suppressed, so nothing is published and there is nothing to attack. If the "
            "flags also mark published cells, say which of them mean suppressed, as --suppressed U --suppressed M; if "
            "the values are those of another column, name it with --value"
        )


def known_values(tables: TableSet, unknown: BoolArray) -> FloatArray:
    """Return the value of each distinct cell from a table that shows it; 0 for unknown ones."""
    value = np.zeros(len(tables))
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        shown = ~table.apriori.has(State.secondary) & ~table.unpublished
        value[cells[shown]] = table.value[shown]
    value[unknown] = 0.0
    return value


def infer(
    tables: TableSet,
    knowledge: Knowledge | None = None,
    *,
    known: ExternalTotals = NO_TOTALS,
    run: Run = UNWATCHED,
) -> Intervals:
    """Work out the exact interval of every suppressed cell from the published ones alone.

    Any first table that fits will do; everything else is a move from it. Published values may be rounded, so a relation
    may be off by what rounding allows.
    """
    knowledge = knowledge or Knowledge()
    unknown = hidden_cells(tables)
    value = known_values(tables, unknown)
    constraints = constrain_tables(tables, values_known=False)
    n = len(tables)
    relations, constant = constraints.relations, np.zeros(constraints.relations.shape[0])
    if len(known):
        if np.isnan(known.value).any():
            raise InputError("known: give the `value` of each total, since the tables' own values are not known")
        relations = with_sums(relations, known.sums)
        constant = np.concatenate([constant, known.value])
    slack = np.zeros(n)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        slack[cells] = np.maximum(slack[cells], allowance(table))
    target = constant - relations[:, :n] @ value
    allowed = abs(relations[:, :n]) @ np.where(unknown, 0.0, slack)
    every = constraints.extend(unknown, True)
    _check_published(tables, relations, every, target, allowed)
    bounds = _bounds(constraints, knowledge)
    search = _Search.of(relations, target, allowed, every, bounds)
    low, high = value.copy(), value.copy()
    n_unknown = int(unknown.sum())
    counts = constraints.by_response_key(tables.is_count)[every]
    low[unknown], high[unknown] = (ends[:n_unknown] for ends in search.ends(tables, counts, run))
    return Intervals(constraints, unknown, low, high)


def _bounds(constraints: Constraints, knowledge: Knowledge) -> tuple[FloatArray, FloatArray]:
    """Return the attacker's bounds of all cells: empty ones are 0, and counts that are not empty at least 1."""
    tables = constraints.tables
    n, between = len(tables), len(constraints.response_key)
    counted = constraints.by_response_key(tables.never_negative)
    least = np.where(tables.never_negative, max(knowledge.lower, 0.0), knowledge.lower)
    lower = np.concatenate([least, least_between(knowledge, counted[n:])])
    upper = np.concatenate([np.full(n, knowledge.upper), np.full(between, np.inf)])
    lower = np.where(constraints.occupied & constraints.by_response_key(tables.is_count), np.maximum(lower, 1.0), lower)
    lower[:n][constraints.empty], upper[:n][constraints.empty] = 0.0, 0.0
    return lower, upper


def _check_published(
    tables: TableSet, relations: sp.csr_array, unknown: BoolArray, target: FloatArray, allowed: FloatArray
) -> None:
    complete = abs(relations) @ unknown.astype(float) == 0
    bad = np.flatnonzero(complete & (np.abs(target) > allowed * (1 + 1e-9) + 1e-9))
    if len(bad):
        terms = relations.indices[relations.indptr[bad[0]] : relations.indptr[bad[0] + 1]]
        shown = ", ".join(tables.message_name(int(c)) for c in terms[:6] if c < len(tables))
        raise NotAdditive(f"{len(bad)} relations between published cells do not hold, the first among {shown}")


@dataclass(frozen=True, eq=False)
class _Search:
    """Unknown x with |matrix @ x - target| <= allowed and lower <= x <= upper."""

    matrix: sp.csr_array
    target: FloatArray
    allowed: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        relations: sp.csr_array,
        target: FloatArray,
        allowed: FloatArray,
        unknown: BoolArray,
        bounds: tuple[FloatArray, FloatArray],
    ) -> _Search:
        part = sp.csr_array(relations[:, np.flatnonzero(unknown)])
        rows = np.flatnonzero(np.diff(part.indptr))
        return cls(sp.csr_array(part[rows]), target[rows], allowed[rows], *(ends[unknown] for ends in bounds))

    def first_table(self, run: Run) -> FloatArray:
        """Return values that fit, or say that there are none."""
        scale = max(float(np.abs(self.target).max(initial=0)), 1.0)
        low, high = (self.target - self.allowed) / scale, (self.target + self.allowed) / scale
        nothing = np.zeros(self.matrix.shape[1])
        program = Program(self.matrix.astype(float), low, high, self.lower / scale, self.upper / scale, nothing)
        solution = solver.solve(program, run=run)
        if solution.status is not Status.optimal:
            raise InputError(
                "no table fits the published values and bounds: the published cells contradict each other, or a "
                "suppressed "
                "cell would have to be negative. Check the hierarchies, and for negative values give a lower bound"
            )
        return solution.x * scale

    def ends(self, tables: TableSet, counts: BoolArray, run: Run) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most of each x, as moves from a first table in grains.

        A relation that may be off gets a column of its own for that.
        """
        grain = 1.0 if counts.all() else 10.0 ** -(max(t.decimals for t in tables.tables) + SPARE)
        start = np.rint(self.first_table(run) / grain) * grain
        loose = np.flatnonzero(self.allowed > grain / 2)
        slacks, n = len(loose), self.matrix.shape[1]
        slack = sp.csr_array((np.ones(slacks), (loose, np.arange(slacks))), shape=(self.matrix.shape[0], slacks))
        off = (self.target - self.matrix @ start)[loose]
        down = np.concatenate([start - self.lower, self.allowed[loose] + off])
        up = np.concatenate([self.upper - start, self.allowed[loose] - off])
        problem = Problem(
            np.arange(n + slacks),
            sp.csr_array(sp.hstack([self.matrix, slack], format="csr")).astype(np.int64),
            _whole(down / grain),
            _whole(up / grain),
            Levels.none(n + slacks),
            np.concatenate([counts, np.zeros(slacks, bool)]),
        )
        low, high = exact_moves(problem, run=run)
        return start + low[:n] * grain, start + high[:n] * grain


def _whole(amount: FloatArray) -> LongArray:
    finite = np.clip(amount, 0, _LONGEST)
    return np.where(np.isinf(amount), UNLIMITED, np.rint(finite)).astype(np.int64)
