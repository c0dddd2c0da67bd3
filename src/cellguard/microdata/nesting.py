"""A hierarchy that several columns of the records spell, one column per level: the codes of each record are its
path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import TOTAL, from_levels
from cellguard.hierarchy.code_order import natural
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy
from cellguard.microdata.opened import Opened


def nested_hierarchy(
    opened: Opened,
    columns: Sequence[str],
    *,
    keep: str = "true",
    absent: Sequence[str] = (),
    total: str = TOTAL,
    labels: Mapping[str, str] = NOTHING,
    hushed: bool = False,
) -> Hierarchy:
    """Return the hierarchy of columns, coarsest first; the last one holds the records' codes.

    Records without a code in the last column (blank, or one of ``absent``) and those that ``keep`` leaves out say
    nothing. Codes stand in the order of ``labels``, or else in natural order: never in that of the data.
    """
    paths = _paths(opened, columns, keep, absent)
    place = {code: (i, natural(code)) for i, code in enumerate(labels)}
    paths.sort(key=lambda path: [place.get(code, (len(place), natural(code))) for code in path[:-1]])
    rows = [path[:-1] for path in paths]
    try:
        return replace(from_levels(rows, total=total, labels=labels), hushed=hushed)
    except HierarchyError:
        lines = [] if opened.origin else [int(opened.row(int(path[-1])).rsplit(" ", 1)[1]) for path in paths]
        try:
            from_levels(rows, total=total, source=f"{opened.name}, columns {', '.join(columns)},", lines=lines)
        except HierarchyError as error:
            raise HierarchyError(f"{error}; `levels` names columns that nest, the coarsest first") from None
        raise


def _paths(opened: Opened, columns: Sequence[str], keep: str, absent: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each different path of codes, and behind it the first row that has it."""
    sql = opened.engine.sql
    texts = [f"coalesce({sql.text(opened.column(name))}, '')" for name in columns]
    last = f"trim({texts[-1]}) NOT IN ({sql.listed(['', *absent])})"
    names = [f"l{i}" for i in range(len(columns))]
    inner = ", ".join(f"{text} AS {name}" for text, name in zip(texts, names, strict=True))
    found = f"(SELECT {inner}, nr FROM {opened.located} WHERE {keep} AND {last}) AS paths"
    chosen = ", ".join(names)
    return opened.rows(f"SELECT {chosen}, {sql.text('min(nr)')} FROM {found} GROUP BY {chosen} ORDER BY min(nr)")
