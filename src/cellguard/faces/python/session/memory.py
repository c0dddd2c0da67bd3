"""The outputs of a session, and what each of them shows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cellguard.faces.python.asking import Asked
from cellguard.faces.python.result import ProtectedFrame
from cellguard.faces.python.session.models import Checked
from cellguard.inputs.shown.memory import Shown, shown_of
from cellguard.inputs.shown.record_sets import Rows


@dataclass(eq=False)
class Output:
    """One output of a session: a table, or a model or figure that was checked."""

    uid: str
    kind: str
    command: str
    frame: ProtectedFrame | None = None
    shown: tuple[Shown, ...] = ()
    checked: Checked | None = None
    comments: list[str] = field(default_factory=list)
    exception: str = ""
    timestamp: str = ""
    asked: Asked | None = None

    @property
    def status(self) -> str:
        """``pass``, ``review`` or ``fail``; tables pass, since they are protected before they are shown."""
        return "pass" if self.checked is None else self.checked.status


def statuses_of(frame: ProtectedFrame, asked: Asked, rows: Rows, population: str, size: int) -> tuple[Shown, ...]:
    """Return what a protected output shows, table by table."""
    pattern = frame.audit.pattern
    found = []
    for number, table in enumerate(pattern.tables.tables):
        if table.release != "here":
            continue
        places = {}
        for dimension in table.dimensions:
            coded = next(one for one in asked.coded if one.name == dimension.name)
            places[dimension.name] = np.array(
                [
                    dimension.position.get(str(code), 0) if code is not None else dimension.position.get("Missing", 0)
                    for code in coded.column.to_pylist()
                ],
                np.int64,
            )
        rules = next(tuple(spec.rules) for spec in frame.job.tables if spec.name == table.name)
        found.append(shown_of(table, pattern.status(number), rules, population, places, rows, size))
    return tuple(found)
