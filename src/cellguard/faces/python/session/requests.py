"""What a session makes of a call: lists of columns, names of tables, what must be suppressed, and who asked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cellguard.errors import InputError
from cellguard.faces.python.asking import Asked
from cellguard.faces.python.session.records import Records
from cellguard.table.columns import all_headed


def listed_columns(given: Any) -> list[Any]:  # noqa: ANN401
    """Return one or several columns as a list; a list of plain values is one column."""
    if given is None:
        return []
    if isinstance(given, (list, tuple)) and all(isinstance(one, str) or hasattr(one, "__len__") for one in given):
        return list(given)
    return [given]


def in_order(records: Records, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a pivot table, some of them given without names; before these may stand the frame."""
    is_frame = bool(given) and (hasattr(given[0], "columns") or isinstance(given[0], Mapping))
    if is_frame and not records.holds(given[0]):
        raise InputError(
            "this is not the frame of the session: leave it out, and for some of the session's records say `where=`, "
            "as in session.pivot_table('income', index='region', where=frame.age > 30)"
        )
    listed = given[is_frame:]
    if len(listed) > len(named):
        raise InputError(f"only {', '.join(named)} may be given without names; write margins=True")
    found = dict(named)
    for word, one in zip(named, listed, strict=False):
        if named[word] is not None:
            raise InputError(f"`{word}` is given twice: {one!r} and {named[word]!r}")
        found[word] = one
    return found


def calling_line(word: str) -> str:
    """Return the line of the researcher's program that asks for an output, if it can be read."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("cellguard"):
        frame = frame.f_back
    context = inspect.getframeinfo(frame).code_context if frame is not None else None
    return context[0].strip() if context else f"session.{word}(...)"


def with_secret(
    table: Mapping[str, Any], secret: Mapping[tuple[str, ...], str], request: Asked, held: dict[str, object]
) -> dict[str, Any]:
    """Return a table with statements about cells that must be suppressed."""
    if not secret:
        return dict(table)
    name = f"what must be suppressed in {table['name']}"
    heads = all_headed(table["by"], ("status",))
    cells = list(secret)
    held[name] = {**{head: [cell[i] for cell in cells] for i, head in enumerate(heads)}, "status": [*secret.values()]}
    return {**table, "apriori": name}


def renamed(request: Asked, uid: str, population: str) -> Asked:
    """Return a request whose tables have the name of the output in front."""
    new = {table["name"]: f"{uid}.{table['name']}" for table in request.tables}
    shape = request.shape
    means = {f"{uid}.{mean}": (new[sums], new[counts]) for mean, (sums, counts) in shape.means.items()}
    parts = [(keys, f"{uid}.{name}" if f"{uid}.{name}" in means else new[name]) for keys, name in shape.parts]
    tables = [{**table, "name": new[table["name"]]} for table in request.tables]
    shape = replace(shape, parts=parts, means=means)
    return replace(request, tables=tables, shape=shape, counts=new.get("count", "count"))
