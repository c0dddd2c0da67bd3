"""What a run gives: what the rules find and protection must achieve, and an audit with what it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from cellguard.attack.audit import Audit
from cellguard.attack.explain import explain
from cellguard.attack.known import Known
from cellguard.errors import listing
from cellguard.files.build import input_digests
from cellguard.files.jobfile import Job
from cellguard.hierarchy.twins import twin_note
from cellguard.protect.suppress.suppress import Suppression
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings
from cellguard.table.pattern import STATUS
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a job's rules find, and what protection must achieve."""

    job: Job
    findings: Findings
    needs: Requirements
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Assessment: {self.findings!r}>"

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.findings.tables

    def warnings(self) -> list[str]:
        """Return what a statistician should know before going on."""
        found = list(self.notes)
        for dimension in {d.name: d for t in self.tables.tables for d in t.dimensions}.values():
            pairs = [f"{a} and {b}" for a, b in dimension.overlaps()]
            if pairs:
                found.append(
                    f"dimension {dimension.name!r}: groupings that do not nest overlap ({listing(pairs, 3)}); "
                    "the difference of two published groups may be a small cell"
                )
            # The codes of records were looked at when they were read.
            if not self.counts and int(dimension.level.max()) <= 1:
                rows = max(len(t) for t in self.tables.tables if dimension in t.dimensions)
                found += twin_note(dimension.name, dimension.codes, rows)
        for spec, table in zip(self.job.tables, self.tables.tables, strict=True):
            if spec.decimals is None and (np.isnan(table.rounding) or 0 < table.rounding < 0.49 * table.unit):
                found.append(
                    f"table {table.name!r}: the values have more than the {table.decimals} decimals that will be "
                    "published; say `decimals` if more of them matter"
                )
        bad = np.flatnonzero(self.needs.unprotectable)
        if len(bad):
            names = [self.tables.told_name(int(cell)) for cell in bad[:5]]
            found.append(
                f"{len(bad)} unsafe cells are unprotectable, whatever is hidden, and so the set cannot be released: "
                f"{listing(names)}{' and more' if len(bad) > 5 else ''}"
            )
        return found

    def expected_seconds(self) -> float:
        """Return a rough guess of how long protection takes, from tables measured on one core."""
        cells, unsafe = len(self.tables), int(self.findings.primary.sum())
        return 1.0 + 0.02 * cells if cells < 9_000 else 20.0 + 0.0005 * (cells + unsafe)

    def summary(self) -> dict[str, Any]:
        """Return counts, settings and run facts; nothing confidential in it."""
        return {
            "cellguard": version("cellguard"),
            "step": "assess",
            **({"microdata": dict(self.counts)} if self.counts else {}),
            "tables": {t.table.name: self._count(i) for i, t in enumerate(self.findings.by_table)},
            "set": {
                "cells": len(self.tables),
                "relations": int(self.tables.relations.shape[0]),
                "primary": int(self.findings.primary.sum()),
                "unprotectable": int(self.needs.unprotectable.sum()),
            },
            "insiders": "not checked",
            "warnings": self.warnings(),
            "seconds": {step: round(s, 3) for step, s in self.seconds.items()},
        }

    def _count(self, number: int) -> dict[str, Any]:
        here, cells = self.findings.by_table[number], self.tables.cells_of[number]
        return {
            "cells": len(here.table),
            "primary": int(self.findings.primary[cells].sum()),
            "by_rule": {str(r): int((u & here.primary).sum()) for r, u in zip(here.rules, here.unsafe, strict=True)},
            "unprotectable": int(self.needs.unprotectable[cells].sum()),
        }


@dataclass(frozen=True, eq=False)
class Audited:
    """An audit with what it was made from; ``job`` is None for a folder."""

    findings: Findings
    audit: Audit
    seconds: Mapping[str, float]
    known: Known | None = None
    job: Job | None = None
    suppression: Suppression | None = None
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Audited: {self.audit!r}>"

    def summary(self) -> dict[str, Any]:
        """Return verdict, counts and what gives cells away; no hidden value, but what an attacker would find."""
        found, tables = self.audit, self.audit.needs.tables
        return {
            "cellguard": version("cellguard"),
            "step": "audit" if self.suppression is None else "protect",
            "verdict": found.verdict,
            **({"microdata": dict(self.counts)} if self.counts else {}),
            "tables": {t.name: self._count(i) for i, t in enumerate(tables.tables)},
            "set": {
                "cells": len(tables),
                "relations": int(tables.relations.shape[0]),
                "primary": int(found.needs.primary.sum()),
                "secondary": int(found.pattern.secondary.sum()),
                "failing": int(found.failing.sum()),
                "undecided": int(found.undecided.sum()),
                "witnesses": len(found.found.moves),
            },
            **self._cost(),
            "failing": self.failures(),
            "insiders": "not checked",
            "warnings": list(self.notes),
            "settings": {} if self.job is None else self.job.model_dump(),
            "inputs": {} if self.job is None else input_digests(self.job),
            "versions": {name: version(name) for name in ("cellguard", "highspy", "numba", "numpy", "scipy")},
            "seed": None if self.suppression is None else "fixed",
            "seconds": {step: round(s, 3) for step, s in self.seconds.items()},
        }

    def failures(self, most: int = 100) -> list[dict[str, Any]]:
        """Return the cells that are not protected, how near an attacker comes, and through which relations."""
        found, tables = self.audit, self.audit.needs.tables
        relations = _with_known(tables, self.known)
        unknown = found.pattern.unknown & ~tables.empty
        wanted = np.flatnonzero(found.failing | found.undecided)[:most].tolist()
        reasons = explain(tables, relations, unknown, found.lower, found.upper, wanted)
        return [
            {
                "cell": tables.cell_name(cell),
                "lower": _finite(found.lower[cell]),
                "upper": _finite(found.upper[cell]),
                "undecided": bool(found.undecided[cell]),
                "how": how,
            }
            for cell, how in zip(wanted, reasons, strict=True)
        ]

    def _cost(self) -> dict[str, Any]:
        """Return what the secondaries cost, and how far that may be from the least possible."""
        if self.suppression is None:
            return {}
        found = self.suppression
        return {"cost": found.cost, "lower_bound": found.bound, "gap": found.gap, "deterministic": found.finished}

    def _count(self, number: int) -> dict[str, Any]:
        status = self.audit.pattern.status(number)
        cells = self.audit.needs.tables.cells_of[number]
        counts = {word: int((status == word).sum()) for word in STATUS}
        hidden = self.audit.pattern.hidden[cells]
        return {
            "cells": len(status),
            **counts,
            "failing": int(self.audit.failing[cells].sum()),
            "suppressed_value": float(self.audit.needs.tables.value[cells][hidden].sum()),
        }


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _with_known(tables: TableSet, known: Known | None) -> sp.csr_array:
    return tables.relations if known is None else sp.csr_array(sp.vstack([tables.relations, known.sums], format="csr"))
