"""Checks of perturbed tables as a linear system (Cuppen 2000, section 6.2): whose multiplier do the cells give away?

If the perturbed contribution u = m X of a unit is determined by published cells, the unit learns its own multiplier and
can take itself out of every cell; a small group whose sum is determined, or a combination of cells that holds a few
units only, does nearly the same for coalitions of all but one of them. With weights u = X (m + w - 1) tells neither m
nor X; there S_N decides. And whatever else combinations of cells leave is a cell, see `implied`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.rowspace import RowSpace
from cellguard.methods.perturb.checks.coalitions import MOST_UNITS, tie, tied_pairs, tied_sets, told_by_units, work_of
from cellguard.methods.perturb.checks.contribution_bounds import close_bounds
from cellguard.methods.perturb.checks.finding import Cell, Finding, Kind
from cellguard.methods.perturb.checks.implied import Accepts, Limits, implied
from cellguard.methods.perturb.checks.judged import Judge, Shares
from cellguard.methods.perturb.checks.listed import few_contributors, together
from cellguard.methods.perturb.checks.published import Published, published
from cellguard.methods.perturb.checks.unknowns import Unknowns
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.run_context import Run

_SPELLED = 2_000
_ENTRIES = 12_000
_LARGEST = 6
# Where the release is forbidden already, some searches list more of what is wrong: so many, and so many times unknowns.
_FEW_SEARCHES, _UNSAFE_ANYWAY = 20, 4_000


@dataclass(frozen=True, eq=False)
class Disclosed:
    """What the linear system gives away, and what was not looked at (``limits``).

    ``told`` are the findings by the unknowns that they are about: one that is determined, or several of which all but
    one learn that one.
    """

    unknowns: Unknowns
    findings: tuple[Finding, ...]
    told: Mapping[tuple[int, ...], Finding]
    limits: tuple[str, ...] = field(default=())


def disclosed(
    system: Unknowns,
    watch: Watch | None = None,
    *,
    accepts: Accepts = lambda _: False,
    unsafe: bool = False,
    run: Run | None = None,
) -> Disclosed:
    """Check one family of tables; less thoroughly where the release is ``unsafe`` already.

    What forbids the release: a determined unit, one that a coalition of n - 1 learns, and every sum of contributions
    that combinations of cells give and that is unsafe as a cell. ``accepts`` says which findings do not count.
    """
    watch, run = watch or Watch(), run or Run()
    n = max(table.n for table in system.tables)
    judges = [Judge(system, rule) for rule in dict.fromkeys(r for t in system.tables for r in t.rules)]
    run.tell("looking for multipliers that the cells give away")
    cells, limits = published(system, watch.core)
    known = np.flatnonzero(cells.sure & (system.sizes <= n))
    known = known[np.argsort(system.sizes[known], kind="stable")]
    told = _told(cells, known[:_SPELLED])
    loud = [t for t in told if _counts(judges, t.shares)]
    more = [u for u in known[_SPELLED:].tolist() if _counts(judges, {u: 1})]
    forbid = [t.finding for t in loud]
    if more:
        forbid.append(Finding("disclosed", f"{len(more)} more are determined", (), units=system.whose(more)))
    run.tell("looking for cells that the published ones imply")
    listed = np.zeros(len(system.size), bool)
    listed[[*(u for t in loud for u in t.shares), *more]] = True
    unsafe = unsafe or any(not accepts(f) for f in forbid)
    unsafe_sums, exposed, unsure = _implied(cells, judges, listed, watch, accepts, unsafe=unsafe, run=run)
    run.tell("looking for coalitions")
    tied, cut = _tied(system, cells.space, ~cells.sure & (system.sizes < n), n, watch, run)
    if not exposed.any():
        cut = []  # all sums and differences are proven safe; what is left are combinations with unequal shares
    coalitions = [t for t in _told_of_coalitions(cells, tied) if _counts(judges, t.shares)]
    run.tell("bounding single contributions")
    near, undecided = _bounded(system, _targets(judges) & ~cells.sure & (system.sizes == 1), watch, run)
    findings = [
        *forbid,
        *(t.finding for t in coalitions),
        *unsafe_sums,
        *near,
        *few_contributors(system, watch),
        *together(system, watch),
    ]
    alone = [t for t in told if system.sizes[list(t.shares)][0] == 1]
    known_to_somebody = {tuple(t.shares): t.finding for t in [*loud, *alone, *coalitions]}
    return Disclosed(system, tuple(findings), known_to_somebody, (*limits, *unsure, *cut, *undecided))


@dataclass(frozen=True, eq=False)
class _Told:
    """A combination of unknowns that somebody learns, and the finding about it."""

    shares: Shares
    finding: Finding


def _told(cells: Published, known: LongArray) -> list[_Told]:
    """Return one finding for each determined unknown."""
    told = []
    shares = [{unknown: 1} for unknown in known.tolist()]
    for target, how in zip(shares, cells.spelled(shares), strict=True):
        size = int(cells.system.sizes[list(target)][0])
        text = (
            "the perturbed contribution of one contributor is determined, so it learns its multiplier"
            if size == 1
            else f"the sum of the perturbed contributions of {size} contributors is determined"
        )
        told.append(_Told(target, _finding("disclosed", text, cells.system, list(target), how)))
    return told


def _finding(
    kind: Kind,
    text: str,
    system: Unknowns,
    unknowns: Sequence[int],
    how: tuple[tuple[Cell, ...], tuple[Fraction, ...]],
) -> Finding:
    last = unknowns[-1]
    size = abs(float(system.value[last]))
    figures = {"perturbed": float(system.perturbed[last])}
    if size:
        figures["deviation"] = abs(float(system.noise[last])) / size
    return Finding(kind, text, how[0], True, system.whose(unknowns), how[1], figures)


def _counts(judges: Sequence[Judge], shares: Shares) -> bool:
    """Return whether the findings about a few units forbid the release; where they have weights, S_N decides.

    What is 0 by definition tells nothing.
    """
    verdicts = [judge(shares) for judge in judges]
    weighted = judges[0].system.weighted[list(shares)].any()
    return any(judged.unsafe for judged in verdicts) or (verdicts[0].largest > 0 and not weighted)


def _implied(
    cells: Published,
    judges: Sequence[Judge],
    listed: BoolArray,
    watch: Watch,
    accepts: Accepts,
    *,
    unsafe: bool,
    run: Run,
) -> tuple[list[Finding], BoolArray, list[str]]:
    """Return the unsafe sums that the cells imply, under the rule of each table, and say if not all were looked for.

    Besides, return the unknowns of which a unit may need noise in some sum.
    """
    findings: list[Finding] = []
    undecided = 0
    exposed = np.zeros(len(listed), bool)
    for judge in judges:
        unsafe = unsafe or any(not accepts(f) for f in findings)
        few = min(_FEW_SEARCHES, _UNSAFE_ANYWAY // max(len(listed), 1))
        looks = min(watch.looks, few) if unsafe else watch.looks
        limits = Limits(looks, watch.effort, watch.searches_among(len(listed)))
        sums = implied(cells, judge, listed, limits, accepts=accepts, run=run)
        findings += sums.findings
        undecided += sums.undecided
        exposed |= sums.exposed
    if not undecided:
        return findings, exposed, []
    why = ", since the release is forbidden anyway" if unsafe else ""
    return findings, exposed, [f"{undecided:,} contributors were not searched for in combinations of cells{why}"]


def _targets(judges: Sequence[Judge]) -> BoolArray:
    """Return which unknowns give their largest contributor away to an attacker who knows their sum."""
    targets = np.zeros(len(judges[0].system.size), bool)
    for judge in judges:
        targets[judge.unknown[judge.targets]] = True
    return targets


def _tied(
    system: Unknowns, space: RowSpace, free: BoolArray, n: int, watch: Watch, run: Run
) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the sets of unknowns with at most n units of which all but one learn that one."""
    if n < 2:
        return [], []
    kernel, limits = space.kernel(), []
    smallest_first = np.flatnonzero(free)[np.argsort(system.sizes[free], kind="stable")]
    tied: list[tuple[int, ...]] = list(tied_pairs(kernel, smallest_first))
    paired = {u for pair in tied for u in pair[1:]}
    singleton = free & (system.sizes <= max(n - 2, 1))
    singleton[list(paired)] = False
    for size in range(3, min(n, _LARGEST) + 1):
        most = watch.sparse
        while work_of(sparse := _cells_up_to(system, most), size) > watch.work and most > 2:
            most //= 2
        if most < watch.sparse:
            limits.append(f"coalitions of {size - 1} were looked for in cells with at most {most} contributors")
        run.check()
        tied += tied_sets(kernel, singleton, sparse, size, 50 * watch.most)
    own = free & (system.sizes == 1)
    if int((np.bincount(system.units[np.flatnonzero(own)].indices) > 1).sum()) > MOST_UNITS:
        limits.append(f"of contributors in several unknowns only {MOST_UNITS} were looked at as intruders")
    tied += told_by_units(kernel, system.units, own, _cells_up_to(system, watch.sparse))
    tied = _smallest([f for f in tied if len(system.whose(list(f))) <= n])
    if len(tied) > watch.most:
        limits.append(f"{len(tied)} coalitions were found, {watch.most} are listed")
    return tied[: watch.most], limits


def _cells_up_to(system: Unknowns, most: int) -> sp.csr_array:
    return sp.csr_array(system.members[system.contributors <= most])


def _smallest(sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the sets that hold no other set."""
    kept: dict[frozenset[int], tuple[int, ...]] = {}
    for unknowns in sorted(sets, key=len):
        mine = frozenset(unknowns)
        parts = (frozenset(p) for size in range(2, len(mine) + 1) for p in combinations(sorted(mine), size))
        if not any(part in kept for part in parts):
            kept[mine] = unknowns
    return list(kept.values())


def _told_of_coalitions(cells: Published, tied: Sequence[tuple[int, ...]]) -> list[_Told]:
    targets = [t for t in (tie(cells.space, unknowns) for unknowns in tied) if t is not None]
    told = []
    for shares, how in zip(targets, cells.spelled(targets), strict=True):
        size = len(cells.system.whose(list(shares)))
        text = (
            "a combination of cells holds parts of one contributor only, so it learns its multiplier"
            if size == 1
            else f"a combination of cells holds {size} contributors only: {size - 1} of them together learn the "
            "perturbed contribution of the other"
        )
        if how[0]:
            told.append(_Told(shares, _finding("coalition", text, cells.system, list(shares), how)))
    return told


def _bounded(system: Unknowns, single: BoolArray, watch: Watch, run: Run) -> tuple[list[Finding], list[str]]:
    """Return the units whose perturbed contribution is bounded to within p, since no contribution is below 0."""
    if not watch.programs:
        return [], ["bounds on single contributions were not worked out, at your request"]
    rows, limits = _sparse_rows(system, watch)
    part = system.members[rows]
    columns, inverse = np.unique(part.indices, return_inverse=True)
    part = sp.csr_array((part.data, inverse, part.indptr), shape=(len(rows), len(columns)))
    p = max(rule.accuracy for table in system.tables for rule in table.rules)
    wanted = np.flatnonzero((single & ~system.signed)[columns])
    if not len(wanted):
        return [], limits
    solution, lower = system.perturbed[columns], np.where(system.signed[columns], -np.inf, 0.0)
    close, undecided = close_bounds(part, solution, lower, wanted, p, programs=watch.programs, run=run)
    if undecided:
        limits.append(f"{undecided} contributions were not bounded: the linear programs allowed were spent")
    text = f"bounded to within {100 * p:.3g} percent, since no contribution is below 0"
    findings = []
    for at, low, high in close:
        unknown = int(columns[at])
        cells = tuple(system.name(int(rows[r])) for r in np.flatnonzero(part[:, [at]].toarray().ravel()))
        figures = {"lower": low, "upper": high, "perturbed": float(system.perturbed[unknown])}
        words = f"the perturbed contribution of one contributor is {text}"
        findings.append(Finding("interval", words, cells, True, system.whose(unknown), (), figures))
    return findings, limits


def _sparse_rows(system: Unknowns, watch: Watch) -> tuple[LongArray, list[str]]:
    """Return the sparse cells, as many of the smallest as linear programs can have, and say so if not all."""
    rows = np.flatnonzero(~system.follows & (system.contributors <= watch.sparse))
    entries = np.cumsum(np.diff(system.members.indptr)[rows])
    if not len(rows) or entries[-1] <= _ENTRIES:
        return rows, []
    most = int(system.contributors[rows[np.searchsorted(entries, _ENTRIES)]]) - 1
    words = f"bounds on single contributions use cells with at most {most} contributors"
    return rows[system.contributors[rows] <= most], [words]
