"""What an output folder tells of one cell whose figure was changed: the true value, the published one, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cellguard.errors import InputError, did_you_mean, listing
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_view import read_view, stored_tables
from cellguard.job.registry import find_method

if TYPE_CHECKING:
    from cellguard.seam.method import Method
    from cellguard.views.terminal import View


def explain_changed(folder: str | Path, name: str, table: str | None = None) -> list[str]:
    """Say in words what a cell is, what is published of it, and what else its method tells. Confidential."""
    output = OutputFolder(folder)
    method = cast("type[Method[Any, Any]]", find_method(output.method))
    known = stored_tables(output)
    if table is not None and table not in known:
        raise InputError(f"no table {table!r}{did_you_mean(table, known)}")
    views = [read_view(Path(folder), one, internal=True) for one in (known if table is None else [table])]
    places = [(view, row) for view in views if (row := _find(view, name)) is not None]
    if not places:
        named = ["/".join(codes) for view in views for codes in view.codes]
        raise InputError(
            f"no table has a cell {name!r}; write it as codes joined by /, in the order "
            f"{' / '.join(views[0].by)}{did_you_mean(name, named)}"
        )
    if len(places) > 1:
        raise InputError(
            f"the tables {listing([view.name for view, _ in places])} have a cell {name!r}; say which with --table"
        )
    view, row = places[0]
    stored = output.rows(view.name, internal=True)[row]
    return [
        f"{name} in table {view.name!r}: {_words(view, row, method.participle)}.",
        *method.explain(Path(folder), view.name, stored),
    ]


def _find(view: View, name: str) -> int | None:
    return next((row for row, codes in enumerate(view.codes) if "/".join(codes) == name), None)


def _words(view: View, row: int, participle: str) -> str:
    true, status = (view.true or view.value)[row], view.status[row]
    if status == "unpublished":
        return f"{true}, not in the release"
    if not view.true or not view.value[row]:
        return f"{true}, {status}"
    return f"{true}, {participle} to {view.value[row]}" + ("" if status == "published" else f"; {status}")
