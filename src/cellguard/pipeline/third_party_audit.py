"""The audit of tables that another tool protected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cellguard.arrays import Positions
from cellguard.attack.audit import Audit, audit
from cellguard.attack.derivation import explain
from cellguard.attack.external_totals import NO_TOTALS, read_external_totals
from cellguard.attack.third_party import Intervals, hidden_cells, infer
from cellguard.errors import InputError
from cellguard.inputs.third_party_tables import TO_PROTECT, ThirdParty, read_third_party
from cellguard.methods.suppress.headline import foreign
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.rules.simple import Given
from cellguard.run_context import Run
from cellguard.table.additivity import check_additive
from cellguard.table.pattern import Pattern
from cellguard.table.table import Table
from cellguard.table.tableset import assemble, link
from cellguard.world.knowledge import Knowledge

_EXPLAINED = 100  # disclosed cells of which it is said how they are worked out


def audit_third_party(given: ThirdParty, *, within: Run = Run()) -> dict[str, Any]:  # noqa: B008
    """Work out the interval of every suppressed cell of tables made elsewhere; return a summary with a verdict.

    Without true values it can only be told which cells are known exactly.
    """
    within.tell("reading the tables")
    tables = read_third_party(given)
    linked = assemble(tables)
    if not hidden_cells(linked).any():
        for table in tables:
            check_additive(table)
        raise InputError("no cell of these tables is suppressed; name the column that marks such cells with --flag")
    if given.true:
        return _audit_truth(given, tables, within)
    known = read_external_totals(given.known, linked) if given.known else NO_TOTALS
    run = within.during("working out intervals")
    return inferred_summary(infer(linked, Knowledge(given.lower, given.upper), known=known, run=run))


def _audit_truth(given: ThirdParty, tables: Sequence[Table], run: Run) -> dict[str, Any]:
    """Audit tables whose true values are known: every cell to protect needs a percentage on both sides."""
    if not any(table.facts[TO_PROTECT].any() for table in tables):
        raise InputError(
            "--primary: no suppressed cell has such a flag, so there is nothing to protect; check the flags"
        )
    findings = assess(link(tables), [Given(TO_PROTECT.column, given.percent)])
    needs = require(findings, Knowledge(given.lower, given.upper))
    hidden = hidden_cells(needs.tables)
    known = read_external_totals(given.known, needs.tables) if given.known else NO_TOTALS
    pattern = Pattern(needs.tables, needs.primary, hidden & ~needs.primary)
    judged = audit(needs, pattern, known=known.sums, intervals=True, run=run.during("auditing"))
    done = SuppressionResult(findings, judged, known)
    return done.summary().plain() | {"intervals": _intervals(needs.tables.cell_name, judged, np.flatnonzero(hidden))}


def inferred_summary(found: Intervals) -> dict[str, Any]:
    """Return what was worked out of tables whose suppressed values are not known, with a verdict."""
    tables, disclosed = found.tables, np.flatnonzero(found.disclosed).tolist()
    constraints = found.constraints
    first = disclosed[:_EXPLAINED]
    how = explain(constraints, constraints.relations, found.unknown, found.lower, found.upper, first)
    return {
        "step": "audit",
        "verdict": "unsafe" if disclosed else "undecided" if constraints.open else "not exactly disclosed",
        "headline": foreign(len(disclosed), constraints.open),
        "set": {"cells": len(tables), "suppressed": int(found.unknown.sum()), "disclosed": len(disclosed)},
        "failing": [
            {"cell": tables.cell_name(c), "lower": float(found.lower[c]), "upper": float(found.upper[c]), "how": words}
            for c, words in zip(disclosed, how, strict=False)
        ],
        "intervals": _intervals(tables.cell_name, found, np.flatnonzero(found.unknown)),
    }


def _intervals(name: Callable[[int], str], found: Audit | Intervals, cells: Positions) -> list[dict[str, Any]]:
    ends = [(c, _finite(found.lower[c]), _finite(found.upper[c])) for c in cells.tolist()]
    return [{"cell": name(c), "lower": low, "upper": high} for c, low, high in ends]


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
