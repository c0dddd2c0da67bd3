"""`audit`: can an outsider estimate an unsafe cell too closely? Verdict, intervals and witnesses for any pattern."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.attack.coalition_attack import attack_together
from cellguard.attack.deciding import Verdict, decide
from cellguard.attack.insider_pairs import Hint
from cellguard.attack.insiders import Inside, attack_inside
from cellguard.attack.intervals import exact_moves
from cellguard.errors import InputError, Spent
from cellguard.proofs.pricing import widened
from cellguard.proofs.problem import Grains, Problem, grains_of, pose
from cellguard.protection import Requirements
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.arrow import Streams, of_all, of_table
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern, Release, release
from cellguard.world.completion import MANY_CROSSING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Audit(Streams):
    """The verdict of an attack on a suppression pattern; `audit` returns it.

    The attacker knows every published cell, all additivity constraints and the a-priori bounds. An audit is an Arrow
    table, as a whole (with a column ``table``; all tables must have the same dimensions) or, by `rows`, table by
    table: dimension columns, ``value``, ``status``, ``failing``, ``undecided``, ``lower``, ``upper``. Confidential.

    Parameters
    ----------
    needs
        The protection levels that were checked.
    pattern
        The pattern that was attacked.
    grains
        The last published decimals, in which moves are counted.
    problem
        The attack as a system of constraints in whole numbers.
    decided
        What was proven of each unknown cell, with the witnesses.
    failing
        Which distinct cells do not reach a protection level.
    undecided
        Which distinct cells are neither proven nor refuted; the pattern is then not safe.
    lower, upper
        Per distinct cell the ends of the feasibility interval, or bounds of them; the value itself where it is
        published.
    exact
        For which cells ``lower`` and ``upper`` are the true ends.
    inside
        What respondents can work out, if internal attackers were looked at.
    unfinished
        Whether the work allowed was done before internal attackers were looked at; the pattern is then not safe.

    Examples
    --------
    >>> import cellguard as cg, pyarrow as pa
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> judged = cg.audit(needs, cg.suppress(needs).pattern)
    >>> judged.verdict, pa.table(judged)["status"].to_pylist()
    ('safe', ['published', 'primary', 'secondary'])
    """

    needs: Requirements
    pattern: Pattern
    grains: Grains
    problem: Problem
    decided: Verdict
    failing: BoolArray
    undecided: BoolArray
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    inside: Inside | None = None
    unfinished: bool = False

    def __repr__(self) -> str:
        failing, undecided = int(self.failing.sum()), int(self.undecided.sum())
        return f"<Audit: {self.verdict}; {failing} failing, {undecided} undecided of {len(self.failing)} cells>"

    @property
    def verdict(self) -> Literal["safe", "unsafe", "undecided"]:
        """Safe only if every protection level is proven, and nothing that cannot be protected is in the set."""
        if self.failing.any() or (self.inside is not None and self.inside.failing):
            return "unsafe"
        if self.unfinished or self.undecided.any() or (self.inside is not None and self.inside.undecided):
            return "undecided"
        return "safe"

    @cached_property
    def values(self) -> list[Decimal]:
        """The exact values of the cells of the world, as counted in grains; the distinct cells come first."""
        return self.grains.exact()

    def release(self) -> Release:
        """Return what may be published; raise `InputError` unless the verdict is safe."""
        if self.verdict != "safe":
            raise InputError(f"nothing is released: the audit's verdict is {self.verdict}")
        return release(self.pattern, self.grains.value.tolist(), self.grains.decimals.tolist())

    def rows(self, name: str) -> pa.Table:
        """Return one row per cell of one table; see the class. Confidential."""
        names = [table.name for table in self.needs.tables.tables]
        table, number = self.needs.tables[name], names.index(name)
        cells = self.needs.tables.cells_of[number]
        columns = {"value": table.value, "status": self.pattern.status(number).tolist()}
        about = {"failing": self.failing, "undecided": self.undecided, "lower": self.lower, "upper": self.upper}
        return of_table(table, columns | {name: column[cells] for name, column in about.items()})

    def to_arrow(self) -> pa.Table:
        """Return the rows of all tables that were not added, with a column ``table`` in front. Confidential."""
        listed = [table for table in self.needs.tables.tables if not table.is_added]
        return of_all({table.name: self.rows(table.name) for table in listed})

    def intervals(self) -> list[tuple[str, float, float]]:
        """Return the interval of each unknown cell by its name. Confidential."""
        cells = np.flatnonzero(self.pattern.unknown).tolist()
        return [(self.needs.tables.cell_name(c), float(self.lower[c]), float(self.upper[c])) for c in cells]

    def in_grains(self, amounts: LongArray) -> list[Decimal]:
        """Return whole numbers of grains, one per distinct cell, as exact decimals."""
        decimals = self.grains.decimals[: len(amounts)].tolist()
        return [Decimal(a).scaleb(-d) for a, d in zip(amounts.tolist(), decimals, strict=True)]


def audit(
    needs: Requirements,
    pattern: Pattern,
    *,
    known: sp.csr_array | None = None,
    intervals: bool = False,
    insiders: Contributions | None = None,
    coalition: int = 1,
    hints: Sequence[Hint] = (),
    run: Run = UNWATCHED,
) -> Audit:
    """Attack a suppression pattern and return the verdict.

    The attacker knows all published cells, all additivity constraints of the linked set, and the a-priori bounds. A
    protection level is proven by a witness: another consistent table in which the cell is that far from its value.
    What is not proven is unsafe or undecided; an unsafe pattern raises no error.

    Parameters
    ----------
    needs
        The protection levels, as `require` returns them.
    pattern
        The pattern to attack.
    known
        Sums of cells that the attacker has from elsewhere, one row each.
    intervals
        Whether to work out the exact feasibility interval of every suppressed cell, not only the verdict.
    insiders
        The respondents behind the cells: the pattern is then attacked as each of them would, too.
    coalition
        Up to how many respondents pool what they know.
    hints
        Moves to look at first; each is checked like any other.
    run
        Progress, a deadline and threads.

    Returns
    -------
    Audit
        The verdict, the cells that fail, the intervals and the witnesses.

    References
    ----------
    Fischetti, M. and Salazar, J. J. (2001). Solving the cell suppression problem on tabular data with linear
    constraints. *Management Science* 47(7), 1008-1027.

    Examples
    --------
    >>> from cellguard.rules.assess import assess
    >>> from cellguard.rules.simple import MinFrequency
    >>> from cellguard.protection import require
    >>> from cellguard.table.read import cells
    >>> t = cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 1, 4, 4]},
    ...           by=["r"], value="x", count="n")
    >>> needs = require(assess(t, [MinFrequency(3)]))
    >>> alone = Pattern(needs.tables, needs.primary, np.array([False] * 4))
    >>> audit(needs, alone).verdict
    'unsafe'
    >>> both = Pattern(needs.tables, needs.primary, np.array([False, False, False, True]))
    >>> audit(needs, both).verdict
    'safe'
    """
    judged, complete = _attack_outside(needs, pattern, known, intervals, run)
    if insiders is None or judged.verdict != "safe":
        return judged
    here = run.during("auditing against respondents")
    try:
        inside = attack_inside(judged.problem, judged.grains, needs, insiders, complete=complete, hints=hints, run=here)
        if coalition > 1 and not inside.failing and not inside.undecided:
            inside = attack_together(inside, coalition, complete=complete)
    except Spent:
        return replace(judged, unfinished=True)
    return replace(judged, inside=inside)


def _attack_outside(
    needs: Requirements, pattern: Pattern, known: sp.csr_array | None, intervals: bool, run: Run
) -> tuple[Audit, bool]:
    """Attack as an outsider; tell also whether all latent cells were free to move."""
    world, n = needs.world, len(needs.tables)
    grains = grains_of(world)
    unknown = pattern.unknown & ~world.constraints.empty
    if world.constraints.crossing.sum() <= MANY_CROSSING:
        problem = pose(needs, unknown, grains, known)
        decided = outer = decide(problem, run=run)
        bounds = problem
    else:
        # What is refuted without the crossing table is refuted; what is proven with some of its cover cells is proven.
        light = replace(needs, world=world.without_crossing())
        bounds = pose(light, unknown, grains_of(light.world), known)
        outer = decide(bounds, run=run)
        problem, decided = _with_cover_cells(needs, unknown, bounds.cells[outer.failing], known, run)
    least, most = outer.least, outer.most
    exact = np.zeros(len(bounds.cells), bool)
    if intervals:
        with suppress(Spent):
            least, most = exact_moves(bounds, run=run.during("working out intervals"))
            exact[:] = bounds is problem
    lower, upper = attacker_ends(grains, bounds, n, least, most)
    sharp, failing = np.ones(n, bool), np.zeros(n, bool)
    listed = bounds.cells < n
    sharp[bounds.cells[listed]], failing[bounds.cells[listed]] = exact[listed], outer.failing[listed]
    undecided = _open(problem, decided, n) & ~failing
    if world.open:
        undecided |= needs.primary & ~failing
    # An unsafe cell that an attacker sees, or knows to be empty, is disclosed.
    failing |= needs.primary & ~unknown
    judged = Audit(needs, pattern, grains, problem, decided, failing, undecided, lower, upper, sharp)
    return judged, bounds is problem


def _with_cover_cells(
    needs: Requirements, unknown: BoolArray, refuted: Positions, known: sp.csr_array | None, run: Run
) -> tuple[Problem, Verdict]:
    """Decide while cover cells of crossing tables move: those with a value, and then those that unmet protection
    levels ask for.
    """
    grains = grains_of(needs.world)
    thin = replace(needs, world=needs.world.thinned())
    problem = pose(thin, unknown, grains, known)
    decided = decide(problem, run=run)
    open_ = np.setdiff1d(np.flatnonzero(_open(problem, decided, len(needs.tables))), refuted)
    wide = widened(thin, unknown, open_, known, run=run)
    if wide is thin:
        return problem, decided
    wider = pose(wide, unknown, grains, known)
    place = np.searchsorted(wider.cells, problem.cells)
    moves = [decided.reduction.lift(move) for move in decided.moves]
    before = [replace(move, variables=place[move.variables]) for move in moves]
    return wider, decide(wider, before=before, run=run)


def _open(problem: Problem, decided: Verdict, n: int) -> BoolArray:
    """Return which distinct cells are not proven."""
    listed = problem.cells < n
    undecided = np.zeros(n, bool)
    undecided[problem.cells[listed]] = (decided.failing | decided.undecided)[listed]
    return undecided


def attacker_ends(
    grains: Grains, problem: Problem, n: int, least: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the attacker's interval of each distinct cell from the moves of a problem's cells."""
    size = grains.size()[:n]
    value = grains.value[:n] * size
    listed = problem.cells < n
    cells = problem.cells[listed]
    lower, upper = value.copy(), value.copy()
    lower[cells], upper[cells] = (value[cells] + ends[listed] * size[cells] for ends in (least, most))
    return lower, upper
