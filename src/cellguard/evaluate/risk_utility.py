"""The R-U map: policies by what they risk and what they tell (Duncan, Keller-McNulty and Stokes 2001)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cellguard.evaluate.utility import MEASURES, Utility
from cellguard.job.registry import declared
from cellguard.seam.verdict import Kind
from cellguard.table.arrow import Streams

if TYPE_CHECKING:
    import pyarrow as pa

MEASURE = (
    "what is missing of the protection levels that the job's own rules ask for, in what an outsider can work out of a "
    "suppressed cell, or in how far a changed figure is from the true one; of noise, what is missing of what S_N asks "
    "for, cell by cell"
)
EVERYTHING, NOTHING = "original data", "no data"


@dataclass(frozen=True)
class Point:
    """A policy on the R-U map; ``fault`` says why it releases nothing: its figures are then those that it would have.

    ``risk`` and ``disclosed`` are those of outsiders, ``inside_risk`` and ``disclosed_to_insiders`` of the respondents
    themselves (NaN and -1 where tables do not tell who they are). ``shown`` is what the policy publishes of the cells
    that were asked for, ``open`` what was not checked. ``verdict`` is what the policy's own method and rules make of
    it, ``said`` in words, ``asks`` which question it answers, ``figures`` what the
    method tells of itself: unless it is ``safe``, the risk is a lower bound, for the measure looks at cells one by one
    and proves nothing.
    """

    name: str
    utility: float
    risk: float
    disclosed: int
    by_table: Mapping[str, Utility]
    shown: Mapping[str, str]
    seconds: float
    fault: str = ""
    inside_risk: float = float("nan")
    disclosed_to_insiders: int = -1
    open: tuple[str, ...] = ()
    verdict: str = "not proven"
    said: str = ""
    asks: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def failed(cls, name: str, seconds: float, fault: str, *, verdict: str = "not proven") -> Point:
        """Return the point of a policy that gives nothing to measure: it has no risk that is known."""
        nan = float("nan")
        return cls(name, nan, nan, -1, {}, {}, seconds, fault, verdict=verdict, said=fault)

    @property
    def is_end(self) -> bool:
        """Whether it is an end of the map, and no policy."""
        return self.name in {EVERYTHING, NOTHING}

    @property
    def measured(self) -> bool:
        """Whether there was something to measure."""
        return not math.isnan(self.risk)

    @property
    def proven(self) -> bool:
        """Whether the policy may be chosen: it releases something that its own checks call safe."""
        return self.measured and not self.fault and self.verdict == Kind.SAFE

    @property
    def settled(self) -> bool:
        """Whether the risk is all of it, and not a lower bound of what nobody proved."""
        return self.proven or self.is_end

    @property
    def differs(self) -> bool:
        """Whether the verdict and the measure seem to contradict each other."""
        if self.is_end or not self.measured or self.verdict == "not checked":
            return False
        near = self.disclosed > 0 or self.disclosed_to_insiders > 0
        return near == (self.verdict == Kind.SAFE)

    @property
    def difference(self) -> str:
        """Which question the verdict answers and which one the risk does, where they seem to contradict each other."""
        if not self.differs:
            return ""
        inside = f" (from insiders {self.risk_words(inside=True)})" if self.disclosed_to_insiders >= 0 else ""
        said = f"{self.name}: the verdict is '{self.verdict}', the risk {self.risk_words()}{inside}"
        return f"{said}. The verdict asks {self.asks}; the risk is {MEASURE}."

    def risk_words(self, *, inside: bool = False) -> str:
        """Return the risk as people read it; of what is not proven, what it is at least.

        >>> Point("p", 0.9, 0.0, 0, {}, {}, 0.0).risk_words()
        'at least 0.0 %'
        """
        risk = self.inside_risk if inside else self.risk
        if math.isnan(risk):
            return ""
        return f"{'' if self.settled else 'at least '}{100 * risk:.1f} %"

    def plain(self) -> dict[str, Any]:
        """Return the point as plain data; the risk of what is not proven is None, and what it is at least is
        reported.
        """
        told, measured = self.disclosed_to_insiders >= 0, self.measured
        return {
            "policy": self.name,
            "verdict": "" if self.is_end else self.verdict,
            "headline": self.said,
            "utility": round(self.utility, 6) if measured else None,
            "risk": round(self.risk, 6) if self.settled else None,
            "risk_at_least": round(self.risk, 6) if measured else None,
            "disclosed": self.disclosed if measured else None,
            "inside_risk": round(self.inside_risk, 6) if told and self.settled else None,
            "inside_risk_at_least": round(self.inside_risk, 6) if told else None,
            "disclosed_to_insiders": self.disclosed_to_insiders if told else None,
            "tables": {name: utility.plain() for name, utility in self.by_table.items()},
            "cells": dict(self.shown),
            "figures": {name: round(figure, 6) for name, figure in self.figures.items()},
            "seconds": round(self.seconds, 2),
            "not_checked": list(self.open),
            "fault": self.fault,
            "difference": self.difference,
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
        released = [point for point in self.points if point.settled]
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
        """The policy of the highest utility that is proven and whose risk is tolerated.

        On ties by insiders' risk, then the first one.
        """
        allowed = [p for p in self.points if p.proven and not p.is_end and p.risk <= self.tolerated]
        return max(allowed, key=lambda p: (p.utility, -p.disclosed_to_insiders), default=None)

    @property
    def differences(self) -> tuple[str, ...]:
        """For each policy whose verdict and risk seem to contradict each other, which question each of them answers."""
        return tuple(point.difference for point in self.points if point.differs)

    def words(self) -> str:
        """Describe what is recommended, and why."""
        best = self.recommended
        policies = [p for p in self.points if not p.is_end]
        if best is None:
            if all(p.fault for p in policies):
                return "No policy releases anything; take another method, weaker rules, or coarser tables."
            if not any(p.proven for p in policies):
                return "No policy is proven to be safe; take another method, or tables for which it can be proven."
            return "The risk of no policy is tolerated; take stricter rules, or coarser tables."
        better = [p for p in policies if not p.fault and p.utility > best.utility]
        told = f"{100 * best.utility:.1f} % of the cells' information"
        text = (
            f"Of the policies that are proven and whose risk is tolerated, {best.name} keeps the most information "
            f"({told})."
        )
        if near := [p.name for p in better if p.risk > self.tolerated]:
            text += f" {', '.join(near)} would keep more, but does not protect against an outsider."
        if unproven := [p.name for p in better if not p.proven and p.risk <= self.tolerated]:
            text += f" {', '.join(unproven)} would keep more, but is not proven safe."
        if not self.unsafe:
            text += " The job's own rules call no cell unsafe, so that there is no risk to compare."
        if best.disclosed_to_insiders > 0:
            cells = (
                f"{best.disclosed_to_insiders:,} unsafe cells" if best.disclosed_to_insiders > 1 else "one unsafe cell"
            )
            cure = ": say `attack: {insiders: true}`" if _is_attacked(best) else ""
            text += f" Respondents can estimate others too closely in {cells} of it{cure}."
        return text

    def rows(self) -> tuple[list[str], list[list[object]]]:
        """Return the names of columns, and one row per policy and table."""
        rows: list[list[object]] = []
        for point in self.points:
            plain = point.plain()
            inside = [plain["inside_risk"], plain["disclosed_to_insiders"]]
            risks = [plain[key] for key in ("utility", "risk", "risk_at_least", "disclosed")]
            whole = [plain["verdict"], *risks, *inside, round(point.seconds, 2), point.fault, point.difference]
            for name, utility in point.by_table.items():
                rows.append([point.name, name, *whole, *(utility.plain()[measure] for measure in MEASURES)])
            if not point.by_table:
                rows.append([point.name, "", *whole, *([None] * len(MEASURES))])
        names = ["verdict", "utility", "risk", "risk_at_least", "disclosed", "inside_risk", "disclosed_to_insiders"]
        return ["policy", "table", *names, "seconds", "fault", "difference", *MEASURES], rows

    def to_arrow(self) -> pa.Table:
        """Return one row per policy and table."""
        import pyarrow as pa

        names, rows = self.rows()
        return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _is_attacked(point: Point) -> bool:
    """Return whether the method of a policy looks at respondents if the job asks for it."""
    return declared(point.name.partition(",")[0]).attacked


def ends(unsafe: int, shown: Mapping[str, str]) -> tuple[Point, Point]:
    """Return the ends of a map: the original data, with so many unsafe cells, and no data."""
    risk = 1.0 if unsafe else 0.0
    return (
        Point(EVERYTHING, 1.0, risk, unsafe, {}, shown, 0.0, inside_risk=risk, disclosed_to_insiders=unsafe),
        Point(NOTHING, 0.0, 0.0, 0, {}, {}, 0.0, inside_risk=0.0, disclosed_to_insiders=0),
    )
