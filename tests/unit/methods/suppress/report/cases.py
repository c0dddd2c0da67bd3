"""Runs to report on: small sets of several kinds, with values that no other figure of a page could be."""

import itertools

import numpy as np

import cellguard as cg
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Pattern

LABELS = {"A": "Farms & <fields>", "B1": "Tools"}
INDUSTRY = [("Total", ""), ("A", "Total"), ("B", "Total"), ("A1", "A"), ("A2", "A"), ("B1", "B"), ("B2", "B")]
ABOVE = {"A1": "A", "A2": "A", "B1": "B", "B2": "B"}


def up(code):
    return dict.fromkeys([code, ABOVE.get(code, "Total"), "Total"])


def cube(axes, seed=1, scale=10_000_000):
    """All cells with large odd values, so that no count, level or digest happens to look like one."""
    rng = np.random.default_rng(seed)
    found = {}
    for leaf in itertools.product(*axes):
        value, firms = int(rng.integers(scale, 9 * scale)), int(rng.integers(1, 9))
        for cell in itertools.product(*(up(code) for code in leaf)):
            total, many = found.get(cell, (0, 0))
            found[cell] = total + value, many + firms
    return found


def table(name="turnover", axes=(("A1", "A2", "B1", "B2"), ("N", "S", "W")), seed=1, response="x"):
    dimensions = [Dimension("industry", cg.Hierarchy.from_parents(INDUSTRY, labels=LABELS))]
    dimensions += [Dimension(f"d{i}", cg.Hierarchy.flat(list(axis))) for i, axis in enumerate(axes[1:], start=2)]
    cells = cube(axes, seed)
    columns = {d.name: [cell[i] for cell in cells] for i, d in enumerate(dimensions)}
    columns |= {"x": [v for v, _ in cells.values()], "n": [n for _, n in cells.values()]}
    return cg.cells(columns, by=dimensions, value="x", count="n", about=cg.About(name, response))


def protect(tables, rules=None):
    """Assess, suppress and audit, with all intervals."""
    findings = cg.assess(tables, rules or [cg.MinFrequency(4)])
    needs = cg.require(findings)
    found = cg.suppress(needs)
    return findings, cg.audit(needs, found.pattern, intervals=True)


class Told(Outcome):
    """An outcome with a summary that is given, and without a job."""

    def __init__(self, protected, summary, made=""):
        super().__init__(None, protected, {}, made)
        self.__dict__["summary"] = summary


def case(tables=None, summary=None, made="", **more):
    findings, audit = protect(table() if tables is None else tables)
    return Told(SuppressionResult(findings, audit, **more), summary or {}, made)


def unsafe_case():
    """The same table with its primaries hidden and nothing else: an outsider subtracts."""
    findings = cg.assess(table(), [cg.MinFrequency(4)])
    needs = cg.require(findings)
    pattern = Pattern(needs.tables, needs.primary, np.zeros(len(needs.tables), bool))
    return Told(SuppressionResult(findings, cg.audit(needs, pattern)), {})
