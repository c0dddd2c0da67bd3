"""The R-U map: policies by what they risk and what they tell (Duncan, Keller-McNulty and Stokes 2001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellguard.evaluate.utility import MEASURES, Utility
from cellguard.table.arrow import Streams

if TYPE_CHECKING:
    import pyarrow as pa

EVERYTHING, NOTHING = "original data", "no data"


@dataclass(frozen=True)
class Point:
    """A policy on the R-U map; ``fault`` says why it releases nothing: its figures are then those that it would have.

    ``risk`` and ``too_near`` are those of outsiders, ``inside_risk`` and ``inside_too_near`` of the respondents
    themselves (NaN and -1 where tables do not tell who they are). ``shown`` is what the policy publishes of the cells
    that were asked for, ``open`` what was not checked.
    """

    name: str
    utility: float
    risk: float
    too_near: int
    by_table: Mapping[str, Utility]
    shown: Mapping[str, str]
    seconds: float
    fault: str = ""
    inside_risk: float = float("nan")
    inside_too_near: int = -1
    open: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the point as plain data."""
        told = self.inside_too_near >= 0
        return {
            "policy": self.name,
            "utility": round(self.utility, 6),
            "risk": round(self.risk, 6),
            "too_near": self.too_near,
            "inside_risk": round(self.inside_risk, 6) if told else None,
            "inside_too_near": self.inside_too_near if told else None,
            "tables": {name: utility.plain() for name, utility in self.by_table.items()},
            "cells": dict(self.shown),
            "seconds": round(self.seconds, 2),
            "not_checked": list(self.open),
            "fault": self.fault,
        }


@dataclass(frozen=True)
class RiskUtility(Streams):
    """Policies on the R-U map, between publishing nothing and publishing everything as it is. Confidential.

    ``tolerated`` is the largest mean risk that is acceptable. It speaks Arrow, one row per policy and table:
    ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table`` take its `to_arrow`.
    """

    points: tuple[Point, ...]
    unsafe: int
    tolerated: float

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The policies that no other one beats in risk and utility at once, by rising utility."""
        released = [point for point in self.points if not point.fault]
        best = [
            p
            for p in released
            if not any(
                q.utility >= p.utility and q.risk <= p.risk and (q.utility, q.risk) != (p.utility, p.risk)
                for q in released
            )
        ]
        return tuple(sorted(best, key=lambda p: (p.utility, p.risk, p.name)))

    @property
    def recommended(self) -> Point | None:
        """The policy of the highest utility whose risk is tolerated; on ties by insiders' risk, then the first one."""
        policies = [p for p in self.points if p.name not in {EVERYTHING, NOTHING}]
        allowed = [p for p in policies if not p.fault and p.risk <= self.tolerated]
        return max(allowed, key=lambda p: (p.utility, -p.inside_too_near), default=None)

    def words(self) -> str:
        """Say what is recommended, and why."""
        best = self.recommended
        if best is None:
            if all(p.fault for p in self.points if p.name not in {EVERYTHING, NOTHING}):
                return "No policy releases anything; take another method, weaker rules, or coarser tables."
            return "The risk of no policy is tolerated; take stricter rules, or coarser tables."
        others = [p for p in self.points if not p.fault and p.risk > self.tolerated and p.utility > best.utility]
        more = [p.name for p in others if p.name != EVERYTHING]
        told = f"{100 * best.utility:.1f} % of the cells' information"
        text = f"Of the policies whose risk is tolerated, {best.name} tells the most ({told})."
        if more:
            text += f" {', '.join(more)} would tell more, but an outsider comes too near."
        if not self.unsafe:
            text += " The job's own rules call no cell unsafe, so that there is no risk to compare."
        if best.inside_too_near > 0:
            cells = f"{best.inside_too_near:,} unsafe cells" if best.inside_too_near > 1 else "one unsafe cell"
            cure = ": say `attack: {insiders: true}`" if best.name.startswith("suppress") else ""
            text += f" Respondents come too near to others in {cells} of it{cure}."
        return text

    def rows(self) -> tuple[list[str], list[list[object]]]:
        """Return the names of columns, and one row per policy and table."""
        rows: list[list[object]] = []
        for point in self.points:
            plain = point.plain()
            inside = [plain["inside_risk"], plain["inside_too_near"]]
            whole = [point.utility, point.risk, point.too_near, *inside, round(point.seconds, 2), point.fault]
            for name, utility in point.by_table.items():
                rows.append([point.name, name, *whole, *(utility.plain()[measure] for measure in MEASURES)])
            if not point.by_table:
                rows.append([point.name, "", *whole, *([None] * len(MEASURES))])
        risks = ["utility", "risk", "too_near", "inside_risk", "inside_too_near", "seconds", "fault"]
        return ["policy", "table", *risks, *MEASURES], rows

    def to_arrow(self) -> pa.Table:
        """Return one row per policy and table."""
        import pyarrow as pa

        names, rows = self.rows()
        return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def ends(unsafe: int, shown: Mapping[str, str]) -> tuple[Point, Point]:
    """Return the ends of a map: the original data, with so many unsafe cells, and no data."""
    risk = 1.0 if unsafe else 0.0
    return (
        Point(EVERYTHING, 1.0, risk, unsafe, {}, shown, 0.0, inside_risk=risk, inside_too_near=unsafe),
        Point(NOTHING, 0.0, 0.0, 0, {}, {}, 0.0, inside_risk=0.0, inside_too_near=0),
    )
