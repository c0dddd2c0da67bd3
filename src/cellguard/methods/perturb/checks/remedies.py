"""What can be done about cells that forbid a release: recode, another method or seed, another set of tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.checks.recoding import recoding_plan
from cellguard.methods.perturb.checks.redesign import redesign
from cellguard.methods.perturb.draw.mu import choose_mu
from cellguard.methods.perturb.draw.multipliers import Multipliers
from cellguard.methods.perturb.draw.redraw import LEAST, set_chances

MOST = 20
_MOST_LOOKED_AT = 200  # supersensitive cells of a table for which merges are sought
_SELDOM = 1e-3


def recoding_advice(tables: Sequence[CalibrationTable], findings: Sequence[Finding]) -> list[str]:
    """Return one recoding of all tables that was tried out; where there is none, merges for single cells."""
    plan = recoding_plan(tables)
    if plan.merges:
        more = "" if plan.complete or not plan.left else "; with so many records not all merges were tried"
        return [f"recode: {plan}{more}"]
    open_ = {cell for f in findings for cell in f.cells}
    offered = [m for table in tables for m in redesign(needs_of(table), most=_MOST_LOOKED_AT)]
    merges = [m for m in offered if Cell(m.table, m.name) in open_]
    advice = [f"recode: {merge}" for merge in merges[:MOST]]
    return advice or ["recode: merge codes, or publish fewer levels, so that these cells have more contributors"]


def method_advice(tables: Sequence[CalibrationTable], made: Multipliers, findings: Sequence[Finding]) -> list[str]:
    """Return whether another seed, a redraw or another method would do."""
    sensitive = sum(f.kind == "sensitive" for f in findings)
    if not sensitive and any(f.kind == "implied" for f in findings):
        return ["another method: a larger mu; findings.json says how much noise the sums that cells imply need"]
    if not sensitive and any(f.kind == "known" for f in findings):
        return [
            "another method: marg_zes keeps margins at their true values, so that known ones take no noise out of cells"
        ]
    if not sensitive:
        return ["another seed does not help: it is the cells' contributors that give the multipliers away"]
    settings = made.settings
    if settings.method in {"marg", "marg_zes"}:
        return [f"another method: {settings.method} does not look at protection levels; opt meets them, up to `cap`"]
    if settings.fitted is not None:
        return [
            f"another method: within the cap of {settings.opt.cap:g} some protection levels cannot be met; raise `cap`"
        ]
    if settings.method == "balanced":
        return [f"another method: a `low` and `high` above {settings.balanced.low:g}", *_seeds(tables, made)]
    choice = made.choice or choose_mu(tables, settings.mu)
    served, all_ = len(choice.of("served")), len(choice.cells)
    left_out, beyond = len(choice.of("supersensitive")), len(choice.of("not attainable"))
    seeds = _seeds(tables, made)
    if settings.method == "zes" and served:
        words = f"another method: zes_mu would use mu = {choice.mu:.3g} and serve {served} of {all_} sensitive cells"
        return [words, *seeds]
    if not left_out + beyond:
        return ["another method: zes_mu with `promise: release`, so that all cells get enough noise at once", *seeds]
    return [
        f"another method: of {all_} sensitive cells {left_out} are supersensitive, which no method helps, and "
        f"{beyond} cannot be served by any mu up to {settings.mu.cap:g}",
        *seeds,
    ]


def _seeds(tables: Sequence[CalibrationTable], made: Multipliers) -> list[str]:
    """Describe how often another seed would make all sensitive cells safe, and when a redraw of some units
    would.
    """
    if not made.plan.repeatable:
        return []
    cells = set_chances(made, tables)
    seldom = sum(c.probability < LEAST for c in cells)
    if seldom:
        return [f"another seed does not help: {seldom} cells are seldom safe with this mu, whatever is drawn"]
    together = math.prod(c.probability for c in cells)
    if together < _SELDOM:
        return [
            "another seed would hardly do, all cells at once being too many; `redraw: 100` draws for failing ones only"
        ]
    words = f"another seed would do about once in {max(round(1 / together), 1)} times, if cells were independent"
    return [words + "; `redraw: 100` draws for failing cells only"]


def set_advice(findings: Sequence[Finding], tables: Collection[str]) -> list[str]:
    """Describe which of the tables, that can still be left out, hold most of the findings."""
    counts = Counter(table for f in findings for table in {c.table for c in f.cells if c.table in tables})
    return [
        f"another set: without table {table!r} {count} of {len(findings)} findings would go"
        for table, count in counts.most_common(3)
    ]
