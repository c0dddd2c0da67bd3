"""Tables of a job that are made from the multipliers of a source: they join its register before they are released.

A source is recognised by its `source.yaml`, which names the multipliers. Its answers take part in the check, and the
job's tables, every cell of them, count as answered from then on. What cannot be checked in this way is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cellguard.answers.question import Question
from cellguard.answers.spec import FILE, source_of_multipliers
from cellguard.errors import NotProtected
from cellguard.methods.perturb.answers.source import Source
from cellguard.methods.perturb.cells.calibration import CalibrationTable

_WHO = "a job with --multipliers"


def register_tables(multipliers: Path, tables: Sequence[CalibrationTable], *, released: bool) -> bool:
    """Check tables with all that was answered from the source of these multipliers, if there is one, and register them.

    Nothing is registered where nothing is ``released``. Return whether there is a source.
    """
    folder = source_of_multipliers(multipliers)
    if folder is None:
        return False
    if not released:
        return True
    source = Source(folder)
    try:
        questions = [_question(source, table) for table in tables]
        wrong = source.claim(questions, who=_WHO)
    finally:
        source.close()
    if wrong:
        raise NotProtected(
            f"together with what was answered from {FILE} of these multipliers, the tables tell too much: "
            f"{'; '.join(wrong)}. Ask the source for them, which withholds as little as it must, or take them out"
        )
    return True


def _question(source: Source, table: CalibrationTable) -> Question:
    """Return the question whose whole answer a table is; refuse a table that the source would make otherwise."""
    variables = source.opened.variables
    for dimension in table.table.dimensions:
        known = variables.get(dimension.name)
        if known is None or known[0].codes != dimension.codes or not _same_trees(known[0].parents, dimension.parents):
            raise NotProtected(
                f"table {table.name!r}: the source of these multipliers does not know the variable {dimension.name!r}, "
                f"or knows it with other codes, so the table cannot be checked with its answers; add it to {FILE}"
            )
    if table.response not in source.opened.responses:
        raise NotProtected(
            f"table {table.name!r}: the source of these multipliers does not know the value {table.response!r}; add it "
            f"to `values` of {FILE}"
        )
    levels = {name: list(chosen) for name, chosen in (table.table.levels or {}).items()}
    return Question.of([d.name for d in table.table.dimensions], value=table.response, levels=levels)


def _same_trees(one: Sequence[object], two: Sequence[object]) -> bool:
    return len(one) == len(two) and all(list(a) == list(b) for a, b in zip(one, two, strict=True))  # type: ignore[call-overload]
