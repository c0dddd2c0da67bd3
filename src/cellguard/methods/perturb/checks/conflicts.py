"""Never mix: the same data must not be published perturbed in one table and suppressed in another (Cuppen 2000, 6.1).

Recoding is no conflict: a table with coarser codes, made from the same multipliers, is consistent with the others. A
suppressed table shows true values, of which the perturbed ones give away the noise and so the multipliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.draw.attributes import Definitions

FINE = frozenset({"perturb", "recode"})


@dataclass(frozen=True, slots=True)
class TableMethod:
    """A table, what it shows, and how it is protected: perturb, recode, suppress, round, or none."""

    name: str
    response: str
    method: str
    population: str = "all"
    where: str = ""


def conflicts(tables: Sequence[TableMethod], definitions: Definitions | None = None) -> list[Finding]:
    """Return a finding for each perturbed table and each table of the same data that is protected otherwise.

    Data are the same if response and population agree, or if the responses share a leaf of their definitions.

    >>> one, other = TableMethod("a", "turnover", "perturb"), TableMethod("b", "turnover", "suppress")
    >>> [f.text for f in conflicts([one, other])]
    ["table 'a' is perturbed and table 'b' of the same data is protected by suppress"]
    >>> conflicts([one, TableMethod("b", "turnover", "recode"), TableMethod("c", "jobs", "suppress")])
    []
    """
    known = definitions or Definitions()
    findings = []
    for one in tables:
        for other in tables:
            same = one.population == other.population and set(known.of(one.response)) & set(known.of(other.response))
            if one.method == "perturb" and other.method not in FINE and same:
                place = f" in {other.where}" if other.where else ""
                how = f"protected by {other.method}" if other.method != "none" else "not protected"
                text = f"table {one.name!r} is perturbed and table {other.name!r}{place} of the same data is {how}"
                findings.append(Finding("conflict", text, (Cell(one.name, "*"), Cell(other.name, "*"))))
    return findings
