"""Values of the latent cells: any that fit the listed ones will do, since every world is a move from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.run_context import Run
from cellguard.solver.program import SEED, Program, Status
from cellguard.table.additivity import allowance
from cellguard.table.components import components
from cellguard.world.constraints import Constraints

MANY_CROSSING = 8_000  # cover cells of a crossing table from which only some of them move
_CORNERS = 4  # whose mean is taken, so that cells that could move in one of them can
_LARGEST = (10, 30, 90, None)  # cells per relation among which corners are looked for, more if there are none


def complete(constraints: Constraints, lower: FloatArray, is_count: BoolArray, *, run: Run) -> FloatArray:
    """Return a value for each latent cell, at least its ``lower``, such that all relations hold; counts are whole.

    If there is none, no set of records can have these tables, and the input is wrong.
    """
    tables = constraints.tables
    n = len(tables)
    value = np.zeros(len(constraints.response_key))
    if not len(value):
        return value
    rows = np.flatnonzero(np.bincount(*_entries(constraints.relations, n), constraints.relations.shape[0]))
    part = sp.csr_array(constraints.relations[rows])
    target = -(part[:, :n] @ tables.value)
    slack = abs(part[:, :n]) @ tables.gather([allowance(t) + (t.tolerance or 0.0) for t in tables.tables])
    matrix = sp.csr_array(part[:, n:])
    of_row, of_column = components(matrix)
    for name in np.unique(of_column):
        cells, here = np.flatnonzero(of_column == name), np.flatnonzero(of_row == name)
        system = sp.csr_array(matrix[here][:, cells])
        whole = bool(is_count[cells[0]])
        # Sums of records hold exactly; only tables that were rounded one by one need what rounding allows.
        values = _fit(system, target[here], np.zeros(len(here)), lower[cells], whole, run)
        if values is None and slack[here].any():
            values = _fit(system, target[here], slack[here], lower[cells], whole, run)
        if values is None:
            _refuse(constraints, cells)
        value[cells] = values
    return value


def _entries(relations: sp.csr_array, n: int) -> tuple[Positions, FloatArray]:
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    return rows, (relations.indices >= n).astype(float)


def _fit(
    matrix: sp.csr_array, target: FloatArray, slack: FloatArray, lower: FloatArray, whole: bool, run: Run
) -> FloatArray | None:
    scale = 1.0 if whole else max(float(np.abs(target).max(initial=0)), 1.0)
    low, high = (target - slack) / scale, (target + slack) / scale
    ends = lower / scale, np.full(len(lower), np.inf)
    program = Program(matrix.astype(float), low, high, *ends, np.zeros(len(lower)))
    # In the middle of what fits, cells can move both ways; and a point inside survives rounding.
    solution = solver.solve(program, interior=not whole, run=run)
    if solution.status is not Status.optimal:
        return None
    point = _corners(program, solution.x, run) if len(lower) > MANY_CROSSING and not whole else solution.x
    values = np.maximum(point * scale, lower)
    if whole and (np.abs(values - np.rint(values)) > 1e-6).any():
        mixed = solver.solve(replace(program, integer=np.ones(len(lower), bool)), run=run)
        if mixed.status is not Status.optimal:
            return None
        values = mixed.x
    return np.rint(values) if whole else values


def _corners(program: Program, inside: FloatArray, run: Run) -> FloatArray:
    """Return the mean of a few corners of what fits, which is 0 almost everywhere: then few cells need to move.

    Corners are looked for among the cells that are large at a point ``inside``, which keeps the programs small.
    """
    rng, n = np.random.default_rng(SEED), len(inside)
    for largest in _LARGEST:
        some = np.arange(n) if largest is None else _largest(program.matrix, inside, largest)
        part = sp.csr_array(program.matrix[:, some])
        small = replace(
            program, matrix=part, lower=program.lower[some], upper=program.upper[some], cost=np.zeros(len(some))
        )
        session, mean = solver.open(small, run=run), np.zeros(n)
        for _ in range(_CORNERS):
            session.set_cost(np.arange(len(some)), rng.random(len(some)))
            solution = session.solve()
            if solution.status is not Status.optimal:
                break
            mean[some] += np.maximum(solution.x, 0.0) / _CORNERS
        else:
            return mean
    return inside


def _largest(matrix: sp.csr_array, inside: FloatArray, per_row: int) -> Positions:
    """Return the columns that are among the largest of some row at a point."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -inside[matrix.indices], rows))
    rank = np.arange(len(order)) - matrix.indptr[rows[order]]
    return np.unique(matrix.indices[order][rank < per_row])


def refuse_contradiction(constraints: Constraints) -> None:
    """Refuse tables of which one says that there is nothing where another has a value."""
    bad = np.flatnonzero(constraints.empty & (constraints.tables.value != 0))
    if len(bad):
        raise InputError(
            f"{constraints.tables.message_name(int(bad[0]))} is not 0, but other tables of the same respondents have "
            f"no row there, or a count of 0 ({len(bad)} cells contradict other tables in this way); check that every "
            "row of each table is given, or name the populations differently"
        )


def _refuse(constraints: Constraints, cells: Positions) -> None:
    tables = constraints.tables
    response, population = tables.response_keys[constraints.response_key[cells[0]]]
    names = [t.name for t in tables.tables if t.response_key == (response, population)]
    raise InputError(
        f"the tables {', '.join(map(repr, names))} contradict each other: each adds up, but no set of records can have "
        f"all of them, for instance because a part of {response!r} would have to be negative. Check that they are "
        "about the same respondents, and that every row of each table is given"
    )
