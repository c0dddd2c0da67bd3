"""Checks of perturbed tables as a linear system (Cuppen 2000, section 6.2): whose multiplier do the cells give away?

If the perturbed contribution u = m X of a unit is determined by published cells, the unit learns its own multiplier and
can take itself out of every cell; a small group whose sum is determined, or a combination of cells that holds a few
units only, does the same for coalitions of all but one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError
from cellguard.protect.perturb.bounds import close_bounds
from cellguard.protect.perturb.coalitions import MOST_UNITS, tie, tied_pairs, tied_sets, told_by_units, work_of
from cellguard.protect.perturb.finding import Cell, Finding, Kind
from cellguard.protect.perturb.rowspace import Combination, RowSpace
from cellguard.protect.perturb.unknowns import Unknowns
from cellguard.table.facts import BoolArray

Positions = npt.NDArray[np.int64]
Tell = Callable[[str], None]
_SPELLED = 2_000
_ENTRIES = 12_000
_LARGEST = 6


@dataclass(frozen=True, slots=True)
class Watch:
    """How far the checks go.

    ``few``: cells with fewer contributors are listed. ``sparse``: cells with at most so many contributors are looked at
    for coalitions of two, for bounds and for pairs; all cells take part in the elimination. ``core``: the largest
    number of rows to eliminate; beyond it the largest cells are left out, and the result says so. ``most``: coalitions
    and pairs that are spelled out. ``programs``: linear programs to spend on bounds, 0 for none. ``work``: pairs of
    neighbours to look at; beyond it the limit ``sparse`` is lowered, and the result says so.
    """

    few: int = 3
    sparse: int = 100
    core: int = 4_000
    most: int = 200
    programs: int = 400
    work: int = 40_000_000

    def __post_init__(self) -> None:
        for name, least in (("few", 1), ("sparse", 2), ("core", 1), ("most", 1), ("programs", 0), ("work", 1)):
            if getattr(self, name) < least:
                raise InputError(f"checks: {name} must be at least {least}")


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


def disclosed(system: Unknowns, watch: Watch | None = None, *, tell: Tell = lambda _: None) -> Disclosed:
    """Check one family of tables; a determined unit, or one that a coalition of n - 1 learns, forbids the release."""
    watch = watch or Watch()
    n = max(table.rule.n for table in system.tables)
    tell("looking for multipliers that the cells give away")
    rows, space, limits = _space(system, watch)
    sure = space.determined()
    known = np.flatnonzero(sure & (system.sizes <= n))
    known = known[np.argsort(system.sizes[known], kind="stable")]
    told = _told(system, rows, space, known)
    more = known[_SPELLED:]
    tell("looking for coalitions")
    tied, cut = _tied(system, space, ~sure & (system.sizes < n), n, watch)
    told |= _told_of_coalitions(system, rows, space, tied)
    tell("bounding single contributions")
    near, undecided = _bounded(system, ~sure & (system.sizes == 1), watch)
    findings = [*told.values(), *near, *few_contributors(system, watch), *together(system, watch)]
    if len(more):
        findings.append(Finding("disclosed", f"{len(more)} more are determined", (), units=system.whose(more)))
    limits += cut + undecided
    if n > _LARGEST:
        limits.append(f"coalitions of up to {_LARGEST - 1} were tested; n = {n} asks for coalitions of up to {n - 1}")
    return Disclosed(system, tuple(findings), told, tuple(limits))


def if_deviations_are_equal(perturbed: float, deviation: float) -> tuple[float, float]:
    """Return what a perturbed contribution stands for if its multiplier is as far from 1 as one that is known.

    >>> if_deviations_are_equal(120, 0.5)
    (80.0, 240.0)
    """
    return perturbed / (1 + deviation), perturbed / (1 - deviation)


def _space(system: Unknowns, watch: Watch) -> tuple[Positions, RowSpace, list[str]]:
    """Return the rows that say something of their own, as a row space; without the largest cells if it is too large."""
    rows = np.flatnonzero(~system.follows)
    most = int(system.contributors.max(initial=0))
    space = RowSpace(sp.csr_array(system.members[rows]))
    limits: list[str] = []
    while space.core[0] > watch.core and most > 1:
        most //= 2
        rows = np.flatnonzero(~system.follows & (system.contributors <= most))
        space = RowSpace(sp.csr_array(system.members[rows]))
        limits = [f"the linear system is large: only cells with at most {most} contributors were combined"]
    return rows, space, limits


def _told(system: Unknowns, rows: Positions, space: RowSpace, known: Positions) -> dict[tuple[int, ...], Finding]:
    """Return one finding for each determined unknown."""
    found: dict[tuple[int, ...], Finding] = {}
    for unknown, how in zip(known[:_SPELLED].tolist(), space.combinations(known[:_SPELLED].tolist()), strict=True):
        many = int(system.sizes[unknown])
        text = (
            "the perturbed contribution of one contributor is determined, so it learns its multiplier"
            if many == 1
            else f"the sum of the perturbed contributions of {many} contributors is determined"
        )
        found[(unknown,)] = _finding("disclosed", text, system, rows, (unknown,), how)
    return found


def _finding(
    kind: Kind, text: str, system: Unknowns, rows: Positions, unknowns: tuple[int, ...], how: Combination | None
) -> Finding:
    last = unknowns[-1]
    size = abs(float(system.value[last]))
    figures = {"perturbed": float(system.perturbed[last])}
    if size:
        figures["deviation"] = abs(float(system.noise[last])) / size
    cells = () if how is None else tuple(system.name(int(rows[r])) for r in how.rows)
    shares = () if how is None else how.coefficients
    return Finding(kind, text, cells, True, system.whose(list(unknowns)), shares, figures)


def _tied(
    system: Unknowns, space: RowSpace, free: BoolArray, n: int, watch: Watch
) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the sets of unknowns with at most n units of which all but one learn that one."""
    if n < 2:
        return [], []
    kernel, limits = space.kernel(), []
    smallest_first = np.flatnonzero(free)[np.argsort(system.sizes[free], kind="stable")]
    found: list[tuple[int, ...]] = list(tied_pairs(kernel, smallest_first))
    paired = {u for pair in found for u in pair[1:]}
    lone = free & (system.sizes <= max(n - 2, 1))
    lone[list(paired)] = False
    for size in range(3, min(n, _LARGEST) + 1):
        most = watch.sparse
        while work_of(sparse := _cells_up_to(system, most), size) > watch.work and most > 2:
            most //= 2
        if most < watch.sparse:
            limits.append(f"coalitions of {size - 1} were looked for in cells with at most {most} contributors")
        found += tied_sets(kernel, lone, sparse, size, 50 * watch.most)
    own = free & (system.sizes == 1)
    if int((np.bincount(system.units[np.flatnonzero(own)].indices) > 1).sum()) > MOST_UNITS:
        limits.append(f"of contributors in several unknowns only {MOST_UNITS} were looked at as intruders")
    found += told_by_units(kernel, system.units, own, _cells_up_to(system, watch.sparse))
    found = _smallest([f for f in found if len(system.whose(list(f))) <= n])
    if len(found) > watch.most:
        limits.append(f"{len(found)} coalitions were found, {watch.most} are listed")
    return found[: watch.most], limits


def _cells_up_to(system: Unknowns, most: int) -> sp.csr_array:
    return sp.csr_array(system.members[system.contributors <= most])


def _smallest(found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the sets that hold no other set."""
    kept: dict[frozenset[int], tuple[int, ...]] = {}
    for unknowns in sorted(found, key=len):
        mine = frozenset(unknowns)
        parts = (frozenset(p) for size in range(2, len(mine) + 1) for p in combinations(sorted(mine), size))
        if not any(part in kept for part in parts):
            kept[mine] = unknowns
    return list(kept.values())


def _told_of_coalitions(
    system: Unknowns, rows: Positions, space: RowSpace, tied: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], Finding]:
    targets = [tie(space, unknowns) for unknowns in tied]
    proven = [(u, t) for u, t in zip(tied, targets, strict=True) if t is not None]
    found = {}
    for (unknowns, _), how in zip(proven, space.combinations([t for _, t in proven]), strict=True):
        many = len(system.whose(list(unknowns)))
        text = (
            "a combination of cells holds parts of one contributor only, so it learns its multiplier"
            if many == 1
            else f"a combination of cells holds {many} contributors only: {many - 1} of them together learn the "
            "perturbed contribution of the other"
        )
        if how is not None:
            found[unknowns] = _finding("coalition", text, system, rows, unknowns, how)
    return found


def _bounded(system: Unknowns, single: BoolArray, watch: Watch) -> tuple[list[Finding], list[str]]:
    """Return the units whose perturbed contribution is bounded to within p, since no contribution is below 0."""
    if not watch.programs:
        return [], ["bounds on single contributions were not worked out, as was asked"]
    if (system.perturbed < 0).any() or (system.members.data < 0).any():
        return [], ["bounds on single contributions need contributions of 0 or more; they were not worked out"]
    rows, limits = _sparse_rows(system, watch)
    part = system.members[rows]
    columns, inverse = np.unique(part.indices, return_inverse=True)
    part = sp.csr_array((part.data, inverse, part.indptr), shape=(len(rows), len(columns)))
    p = max(table.rule.accuracy for table in system.tables)
    wanted = np.flatnonzero(single[columns])
    if not len(wanted):
        return [], limits
    close, undecided = close_bounds(part, system.perturbed[columns], wanted, p, programs=watch.programs)
    if undecided:
        limits.append(f"{undecided} contributions were not bounded: the linear programs allowed were spent")
    text = f"bounded to within {100 * p:.3g} percent, since no contribution is below 0"
    found = []
    for at, low, high in close:
        unknown = int(columns[at])
        cells = tuple(system.name(int(rows[r])) for r in np.flatnonzero(part[:, [at]].toarray().ravel()))
        figures = {"lower": low, "upper": high, "perturbed": float(system.perturbed[unknown])}
        words = f"the perturbed contribution of one contributor is {text}"
        found.append(Finding("interval", words, cells, True, system.whose(unknown), (), figures))
    return found, limits


def _sparse_rows(system: Unknowns, watch: Watch) -> tuple[Positions, list[str]]:
    """Return the sparse cells, as many of the smallest as linear programs can have, and say so if not all."""
    rows = np.flatnonzero(~system.follows & (system.contributors <= watch.sparse))
    entries = np.cumsum(np.diff(system.members.indptr)[rows])
    if not len(rows) or entries[-1] <= _ENTRIES:
        return rows, []
    most = int(system.contributors[rows[np.searchsorted(entries, _ENTRIES)]]) - 1
    words = f"bounds on single contributions use cells with at most {most} contributors"
    return rows[system.contributors[rows] <= most], [words]


def few_contributors(system: Unknowns, watch: Watch) -> list[Finding]:
    """Return for each table its cells with fewer contributors than ``few``; holdings count once."""
    sparse = np.flatnonzero(system.contributors <= watch.sparse)
    many = np.diff(_by_units(system, sparse).indptr)
    rows = sparse[many < watch.few]
    found = []
    for number in np.unique(system.table[rows]).tolist():
        cells = tuple(system.name(int(r)) for r in rows[system.table[rows] == number])
        text = f"{len(cells)} cells have fewer than {watch.few} contributors"
        found.append(Finding("few", text, cells, blocks=False))
    return found


def together(system: Unknowns, watch: Watch) -> list[Finding]:
    """Return pairs of units that are together in several sparse cells, those in the smallest cells first."""
    most = watch.sparse
    while True:
        rows = np.flatnonzero(~system.follows & (system.contributors <= most))
        here = _by_units(system, rows)
        width = np.diff(here.indptr).astype(np.int64)
        if int((width**2).sum()) <= watch.work // 8 or most <= 2:
            break
        most //= 2
    weight = sp.csr_array((1.0 / np.repeat(width, width), here.indices, here.indptr), shape=here.shape)
    often, score = (sp.coo_array(sp.csr_array(sp.triu(m.T @ here, k=1, format="csr"))) for m in (here, weight))
    pairs = np.flatnonzero(often.data > 1)
    first, second, closeness = often.coords[0][pairs], often.coords[1][pairs], score.data[pairs]
    rank = np.lexsort((second, first, -closeness))[: watch.most]
    by_unit = sp.csc_array(here)
    found = []
    for a, b in zip(first[rank].tolist(), second[rank].tolist(), strict=True):
        shared = np.intersect1d(by_unit[:, [a]].indices, by_unit[:, [b]].indices)
        cells: tuple[Cell, ...] = tuple(system.name(int(rows[r])) for r in shared)
        keys = (str(system.keys[a]), str(system.keys[b]))
        text = f"two contributors are together in {len(cells)} sparse cells"
        found.append(Finding("together", text, cells, blocks=False, units=keys))
    return found


def _by_units(system: Unknowns, rows: Positions) -> sp.csr_array:
    """Return the 0/1 matrix of cells by the units in them."""
    found = sp.csr_array(abs(system.members[rows]).astype(np.int64) @ system.units.astype(np.int64))
    found.data[:] = 1
    return found
