"""A release and the truth behind it, as what is judged beyond single cells needs them: sums and latent cells.

All tables of one response are judged together, by the rules of all of them, if they are made from records: ready-made
tables do not tell who contributes. Of ready-made counts latent cells are judged, but no sums. Jobs that say something
of single cells beforehand are left out, since what it means for a sum is nobody's claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fuzz.attack import Goal
from fuzz.cases import Case
from fuzz.judge import amounts, is_grouped, rules_of
from fuzz.public import Shown, floor
from fuzz.rules import Need, People, strongest
from fuzz.worlds import Facts, Space


@dataclass(frozen=True)
class Response:
    """All tables of one response: what the job says of them, what is released, and the rules of all."""

    case: Case
    name: str
    specs: Sequence[Mapping[str, Any]]
    tables: Sequence[Shown]

    @property
    def is_count(self) -> bool:
        return self.name == "count"

    @property
    def is_judged(self) -> bool:
        """Whether it is known who contributes, or all are counts, and nothing else is said."""
        ready = any("cells" in spec for spec in self.specs)
        return bool(self.rules) and not any("apriori" in spec for spec in self.specs) and (self.is_ready or not ready)

    @property
    def is_ready(self) -> bool:
        """Whether all tables are ready-made counts of everybody."""
        return self.is_count and all("cells" in spec and "where" not in spec for spec in self.specs)

    @cached_property
    def rules(self) -> list[dict[str, Any]]:
        """The rules of all tables, each once."""
        return list({str(rule): rule for spec in self.specs for rule in rules_of(spec, self.case)}.values())

    @cached_property
    def people(self) -> People:
        return People(self.case, self.name, grouped=is_grouped(self.specs[0], self.case))

    @cached_property
    def worth(self) -> Sequence[int]:
        return amounts(self.case.records, self.name)

    def need(self, inside: Iterable[int]) -> Need | None:
        """What some records together need; None if they are safe."""
        inside = list(inside)
        value = sum(self.worth[i] for i in inside)
        return strongest(self.rules, self.people.crowd(inside), value, is_count=self.is_count)

    def goal(self, kind: str, name: str, cell: np.ndarray, inside: Sequence[int]) -> Goal | None:
        """The goal that some records together are; None if they are safe."""
        need = self.need(inside)
        if need is None:
            return None
        value = float(sum(self.worth[i] for i in inside))
        lower = min(need.level, value - floor(self.specs[0], self.case))
        # Of a ready-made count that may be 0 nobody knows that it is small: whoever made the tables does not, either.
        upper, sliding = max(need.level, 0.0 if self.is_ready else need.reach), need.width
        if self.is_count or max(lower, upper, sliding) < 1 - 1e-9:
            sliding = max(sliding, 1.0)
        return Goal(name, self.name, cell, value, lower, upper, sliding, kind)


def responses(case: Case, tables: Sequence[Shown]) -> list[Response]:
    """The responses of a case that can be judged beyond single cells."""
    specs = case.job["tables"]
    names = dict.fromkeys(spec["value"] for spec in specs)
    found = []
    for name in names:
        own = [(spec, table) for spec, table in zip(specs, tables, strict=True) if spec["value"] == name]
        found.append(Response(case, name, [spec for spec, _ in own], [table for _, table in own]))
    return [response for response in found if response.is_judged]


@dataclass(frozen=True)
class Scene:
    """The combinations behind a release, what is known of them, and in which of them each record is."""

    space: Space
    facts: Facts
    places: np.ndarray

    def members(self, cell: np.ndarray) -> list[int]:
        """The records of a cell."""
        return np.flatnonzero(cell[self.places] > 0).tolist()
