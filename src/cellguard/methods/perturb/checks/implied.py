"""Cells that nobody published but that published cells imply: S_N applies to them as well (Cuppen 2000, section 6.2).

Any sum of contributions that is a combination of published cells is known to everybody: N less N2, where N2 is part of
N; P0 + P1 less Coast, of two groupings; whatever the linear system has a row for. However many contribute to it, one of
them may dominate. Steps, the cheap ones first, find such sums or prove that there is none: unknowns that are determined
by themselves; proofs that a unit cannot be taken out of its surroundings, by linear algebra (`surrounded`) and by
linear programs (`movable`); for the few that are left a search by integer programs (`sum_search`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.checks.judged import Judge, Shares
from cellguard.methods.perturb.checks.movable import Moves
from cellguard.methods.perturb.checks.published import Published
from cellguard.methods.perturb.checks.sum_search import Search, Sums
from cellguard.methods.perturb.checks.surrounded import Surroundings
from cellguard.run_context import Run

Accepts = Callable[[Finding], bool]
End = Literal["none", "protected", "open", "undecided"]
_ROUNDS, _SPELLED = 20, 2_000
_NODES, _LEAST_NODES = 400_000, 50  # nodes of an integer program times unknowns, and nodes at least


@dataclass(frozen=True, slots=True)
class Limits:
    """How many units to look at one by one, what linear programs for that may cost, and how many units to search for.

    ``effort`` is in rows times unknowns.
    """

    looks: int
    effort: int
    searches: int


@dataclass(frozen=True, eq=False)
class Implied:
    """Unsafe sums of unknowns, and how many units there may be other such sums about.

    ``exposed`` marks unknowns that are not determined and of which a unit may need noise in some sum.
    """

    findings: tuple[Finding, ...]
    undecided: int
    exposed: BoolArray


def implied(
    cells: Published,
    judge: Judge,
    told: BoolArray,
    limits: Limits,
    *,
    accepts: Accepts = lambda _: False,
    run: Run | None = None,
) -> Implied:
    """Judge every sum of unknowns that the cells determine.

    Unknowns that were ``told`` are findings already. The search about a unit ends with the first sum that is not
    accepted; units beyond the ``limits`` are undecided.
    """
    run = run or Run()
    sure = cells.sure & ~told
    findings = _determined(cells, judge, np.flatnonzero(sure & judge.unsafe))
    home = judge.unknown[judge.targets]
    noisy = judge.targets[sure[home] & ~judge.unsafe[home]]
    hidden = judge.targets[~cells.sure[home]]
    hidden = hidden[~Surroundings(cells.independent, judge, run=run).surrounded(hidden)]
    hidden = hidden[np.argsort(-judge.gains[hidden], kind="stable")]
    sums, moves = Sums(cells.independent, cells.sure, judge), Moves(cells.independent, judge)
    exposed, undecided, searched = np.zeros(len(sure), bool), 0, 0
    for number, entry in enumerate([*noisy.tolist(), *hidden.tolist()]):
        run.check()
        here, end = int(judge.unknown[entry]), "undecided"
        looked_at = number < limits.looks and moves.spent <= limits.effort
        if looked_at and not sums.free[here] and moves.protect(entry):
            continue
        if looked_at and searched < limits.searches:
            more, end = _searched(cells, sums, entry, accepts)
            findings += more
            searched += 1
        exposed[here] |= end != "none"
        undecided += end == "undecided"
    return Implied(tuple({f.combination() or f.cells: f for f in findings}.values()), undecided, exposed & ~cells.sure)


def _determined(cells: Published, judge: Judge, unsafe: LongArray) -> list[Finding]:
    """Return the determined unknowns that are unsafe and no published cells."""
    left = [{b: 1} for b in unsafe.tolist() if not cells.showing({b: 1})]
    findings = [
        _finding(judge, shares, *how) for shares, how in zip(left, cells.spelled(left[:_SPELLED]), strict=False)
    ]
    if len(left) > _SPELLED:
        text = f"{len(left) - _SPELLED:,} more sums of contributions are determined and unsafe"
        findings.append(Finding("implied", text, ()))
    return findings


def _searched(cells: Published, sums: Sums, entry: int, accepts: Accepts) -> tuple[list[Finding], End]:
    """Return unsafe sums about one unit, and how the search ended: with all of them unless it is undecided."""
    findings: list[Finding] = []
    if not sums.free[sums.judge.unknown[entry]]:
        findings, end = _walk(cells, sums.judge, Search(sums, entry, subsets=False), accepts)
        if end != "protected":
            return findings, end
    sets = Search(sums, entry, subsets=True)
    if sets.quiet:
        return findings, "protected"
    more, end = _walk(cells, sums.judge, sets, accepts)
    return findings + more, "protected" if end == "none" else end


def _walk(cells: Published, judge: Judge, search: Search, accepts: Accepts) -> tuple[list[Finding], End]:
    """Go through the sums of a search to the first that is unsafe and not accepted (``open``).

    If there is none, tell whether none needs noise, or those that do are protected by it.
    """
    findings: list[Finding] = []
    end: End = "none"
    for signs in search.found(_ROUNDS, max(_NODES // len(cells.sure), _LEAST_NODES)):
        if signs is None:
            return findings, "undecided"
        end = "protected"
        if judge(signs).unsafe and cells.space.holds(signs):
            shown = cells.showing(signs)
            here = _sensitive(cells, judge, shown) if shown else [_finding(judge, signs, *cells.spelled([signs])[0])]
            findings += [] if shown else here
            if not all(map(accepts, here)):
                return findings, "open"
    return findings, end


def _sensitive(cells: Published, judge: Judge, rows: list[int]) -> list[Finding]:
    """Return published cells as the findings that they are when their own rule judges them."""
    system = cells.system
    mine = [row for row in rows if judge.rule in system.tables[int(system.table[row])].rules]
    return [Finding("sensitive", "", (system.name(row),)) for row in mine]


def _finding(judge: Judge, shares: Shares, cells: tuple[Cell, ...], coefficients: tuple[Fraction, ...]) -> Finding:
    judged, system = judge(shares), judge.system
    size = len(system.units_of(list(shares)))
    what = "difference" if min(shares.values()) < 0 else "sum"
    text = (
        f"a combination of cells is a {what} of {size} contributors that is no cell of any table, and a coalition can "
        "estimate the largest of them too closely"
    )
    figures = {"need": judged.need, "noise": judged.noise, "S_N": judged.need - abs(judged.noise)}
    return Finding("implied", text, cells, True, (str(system.keys[judged.unit]),), coefficients, figures)
